//! A player over real sockets whose modified client claims faster reactions: it gains at most the jitter of its path.

mod support;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use evenkeel_core::{
    Channel, Endpoint, LocalTime, Malformed, PeerId, Seed, SessionTime, Span, delegate_endpoint,
};
use evenkeel_dr::{Content, RoomEntity, Threshold};
use evenkeel_game::{Action, GameConfig, GameLogic, GameOutbox, PlayerCommand, PlayerEvent};
use evenkeel_link::{DelayLaw, Jitter, Link, LinkFaults};
use evenkeel_net::Emulation;
use evenkeel_net::crank::{Crank, CrankHandle, NodeId};
use evenkeel_net::token::{Claims, IssuerKey, Name, unix_seconds};
use evenkeel_net::transport::Trust;
use evenkeel_serve::client::{PlayerMachine, player_config, player_machine};
use evenkeel_serve::{Dial, Game, RelayConfig, RelayServer, Status, SyncReport, Target, Welcome};
use evenkeel_sync_ms::message::{ActionFrame, Frame, Moment, SyncMessage, VERSION};
use support::until;
use tokio::runtime::Runtime;
use tokio::sync::watch;

const NODE: NodeId = NodeId(0);
const HONEST_REACTION: Span = Span::from_millis(200);
const LIAR_REACTION: Span = Span::from_millis(260);
/// By how much the liar claims to have been faster.
const LIE: Span = Span::from_millis(150);
const JITTER: Span = Span::from_millis(10);

/// An action as the game gets it, and where it belongs by the player's true reaction.
#[derive(Clone, Copy, Debug)]
struct Served {
    from: PeerId,
    gain: Span,
}

/// Something to react to every 400 ms; the payload of an action is its true place.
struct Game400 {
    ticks: u32,
    served: Arc<Mutex<Vec<Served>>>,
}

impl GameLogic for Game400 {
    fn action(&mut self, action: &Action, _: &mut GameOutbox) -> Result<(), Malformed> {
        let place = action.bytes.as_slice().try_into().map_err(|_| Malformed::Field)?;
        let gain = SessionTime::from_nanos(i64::from_le_bytes(place)) - action.virtual_at;
        self.served.lock().expect("no panic").push(Served { from: action.from, gain });
        Ok(())
    }

    fn tick(&mut self, _: SessionTime, _: &[RoomEntity], outbox: &mut GameOutbox) {
        self.ticks += 1;
        match self.ticks % 8 {
            0 => outbox.update(None, b"draw!"),
            _ => outbox.update_datagram(None, b"tick"),
        }
    }

    fn tick_interval(&self) -> Span {
        Span::from_millis(50)
    }
}

/// What a modified client does.
#[derive(Clone, Copy, Default)]
struct Lie {
    /// How much earlier it claims to have acted.
    early: Span,
    /// How much farther ahead it promises.
    ahead: Span,
    /// Whether it leaves pings unanswered.
    is_mute: bool,
}

/// A player's machine whose tags are too early. It changes its bytes on their way out, as a cheat would.
struct Liar {
    machine: PlayerMachine,
    lie: Lie,
}

impl Liar {
    fn falsify(&self, bytes: &mut Vec<u8>) {
        let Ok(message) = SyncMessage::parse(bytes) else { return };
        let header = message.header();
        let mut forged = Vec::new();
        header.emit(VERSION, &mut forged);
        let Lie { early, ahead, is_mute } = self.lie;
        let moved = |moment: Moment, by: Span| Moment { elapsed: moment.elapsed + by, ..moment };
        for frame in message {
            let frame = match frame {
                Frame::Action(action) => Frame::Action(ActionFrame {
                    reaction: action.reaction.map(|moment| moved(moment, -early)),
                    sent: action.sent.map(|sent| sent - early),
                    ..action
                }),
                // An action before its own promise would give the lie away.
                Frame::Promise { next, moment } => {
                    Frame::Promise { next, moment: moved(moment, ahead - early) }
                }
                Frame::Pong(_) if is_mute => continue,
                other => other,
            };
            frame.emit(header.stamp, &mut forged);
        }
        *bytes = forged;
    }
}

impl Endpoint for Liar {
    type Command = PlayerCommand;
    type Event = PlayerEvent;

    delegate_endpoint!(self.machine:
        handle_command, handle_message, handle_peer, handle_timeout, poll_event, poll_timeout);

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        let (to, channel) = self.machine.poll_transmit(now, bytes)?;
        self.falsify(bytes);
        Some((to, channel))
    }
}

/// A player that reacts to every "draw!" after a while, played by a thread.
struct Player {
    crank: CrankHandle<Liar>,
    status: watch::Receiver<Status>,
    is_over: Arc<AtomicBool>,
    playing: JoinHandle<()>,
}

impl Player {
    fn start(runtime: &Runtime, target: Target, delay: Span, reaction: Span, lie: Lie) -> Self {
        let (show, shown) = mpsc::channel();
        let crank = Crank::new().on_event(move |_, at, event| {
            if let PlayerEvent::Update { stamp, bytes, .. } = event {
                let _ = show.send((at, stamp, bytes));
            }
        });
        let crank = crank.start().expect("a thread");
        let (announce, status) = watch::channel(Status::Connecting(None));
        let build = move |welcome: &Welcome| {
            let config = player_config(welcome, Threshold::default(), Content::default());
            let config = GameConfig::from(config);
            (Liar { machine: player_machine(&config), lie }, config)
        };
        let emulation = move || {
            let jitter = Jitter::Uniform { half_width: JITTER.part(2) };
            let faults = LinkFaults { delay: DelayLaw { base: delay, jitter }, ..LinkFaults::default() };
            let link = |seed| Link::new(faults.clone(), Seed::new(seed));
            Some(Emulation { outgoing: link(1), incoming: link(2) })
        };
        runtime.spawn(Dial { target, node: NODE, build, emulation }.run(crank.clone(), announce));
        let is_over = Arc::new(AtomicBool::new(false));
        let (ends, acts) = (is_over.clone(), crank.clone());
        let playing = std::thread::spawn(move || {
            let mut due: Vec<(LocalTime, LocalTime, SessionTime)> = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                for (at, stamp, bytes) in shown.try_iter() {
                    if bytes == b"draw!" {
                        due.push((at + reaction, at, stamp));
                    }
                }
                let now = acts.clock().now();
                if let Some(index) = due.iter().position(|(when, ..)| *when <= now) {
                    let (_, at, stamp) = due.swap_remove(index);
                    let place = (stamp + (now - at)).as_nanos().to_le_bytes().to_vec();
                    let _ = acts.command(NODE, PlayerCommand::Act { reliable: true, bytes: place });
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        Self { crank, status, is_over, playing }
    }

    fn number(&self) -> PeerId {
        until("the player is connected", || matches!(*self.status.borrow(), Status::Connected(_)));
        match &*self.status.borrow() {
            Status::Connected(welcome) => welcome.player,
            other => panic!("{other:?}"),
        }
    }

    fn stop(self, runtime: &Runtime) {
        self.is_over.store(true, Ordering::Relaxed);
        self.playing.join().expect("no panic");
        drop(self.status);
        runtime.block_on(self.crank.stop(Duration::ZERO)).expect("it stops");
    }
}

/// What became of Ada, who is honest, and of Mallory.
struct Outcome {
    /// By how much earlier than they acted they were placed, on average, in milliseconds.
    gains: [f64; 2],
    sync: [SyncReport; 2],
}

fn play(lie: Lie) -> Outcome {
    let (runtime, key) = (Runtime::new().expect("a runtime"), IssuerKey::generate());
    let config = RelayConfig {
        listen: vec![(Ipv4Addr::LOCALHOST, 0).into()],
        http: vec![(Ipv4Addr::LOCALHOST, 0).into()],
        issuer: Some(key.id().to_string()),
        token_key: PathBuf::from("/nonexistent"),
        ..RelayConfig::default()
    };
    let served = Arc::new(Mutex::new(Vec::new()));
    let sink = served.clone();
    let game = Game::new(move |_| Game400 { ticks: 0, served: sink.clone() });
    let server = runtime.block_on(RelayServer::start_with(config, None, game)).expect("the relay starts");
    let room = Name::new("arena").expect("a name");
    let connect = |player: &str, delay: i64, reaction: Span, lie: Lie| {
        let claims = Claims::issue(room.clone(), Name::new(player).expect("a name"), unix_seconds(), 60);
        let target = Target {
            url: format!("https://{}/arena", server.addresses()[0]),
            token: key.sign(&claims),
            seat: None,
            trust: Trust::Pinned(server.hashes()),
        };
        Player::start(&runtime, target, Span::from_millis(delay), reaction, lie)
    };
    let honest = connect("ada", 60, HONEST_REACTION, Lie::default());
    let liar = connect("mallory", 20, LIAR_REACTION, lie);
    let numbers = [honest.number(), liar.number()];
    let of = |player: PeerId| -> Vec<Span> {
        let served = served.lock().expect("no panic");
        // The first ones come before the path is measured.
        served.iter().filter(|served| served.from == player).skip(8).map(|served| served.gain).collect()
    };
    until("both have acted", || numbers.iter().all(|player| of(*player).len() >= 15));
    let report = runtime.block_on(server.report(&room)).expect("the room exists");
    let sync = ["ada", "mallory"].map(|name| {
        let player = report.players.iter().find(|player| player.name == name).expect("it is there");
        player.sync.clone().expect("a game's room")
    });
    let mean =
        |gains: &[Span]| gains.iter().map(|gain| gain.as_millis_f64()).sum::<f64>() / gains.len() as f64;
    let gains = numbers.map(|player| mean(&of(player)));
    honest.stop(&runtime);
    liar.stop(&runtime);
    runtime.block_on(server.stop());
    Outcome { gains, sync }
}

#[test]
fn a_liar_gains_at_most_the_jitter_of_its_path() {
    let Outcome { gains: [honest, gain], sync: [ada, mallory] } = play(Lie { early: LIE, ..Lie::default() });
    let [_, jitter] = mallory.round_trip_ms;
    println!("the liar claims {LIE:?} and gains {gain:.1} ms; its path's jitter is {jitter:.1} ms");
    println!("the honest player gains {honest:.1} ms");
    // A busy machine adds to the jitter that is measured.
    assert!(gain <= jitter, "{gain} ms, jitter {jitter} ms");
    assert!(honest.abs() <= 5.0, "an honest player's place is where it acted: {honest} ms");
    assert!(mallory.clamped >= 10 && ada.clamped <= 1, "{ada:?}");
}

#[test]
fn a_liar_that_answers_nothing_and_promises_anything_gains_nothing() {
    let lie = Lie { early: LIE, ahead: Span::from_secs(1_000_000), is_mute: true };
    let Outcome { gains: [honest, gain], sync: [ada, mallory] } = play(lie);
    println!("the liar gains {gain:.1} ms, the honest player {honest:.1} ms");
    // Its actions come in the order of arrival.
    assert!(gain <= 0.0, "{gain} ms");
    assert!(honest.abs() <= 5.0, "an honest player's place is where it acted: {honest} ms");
    assert!(ada.clamped <= 1 && mallory.clamped >= 10, "{ada:?}, {mallory:?}");
}
