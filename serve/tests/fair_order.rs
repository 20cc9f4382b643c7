//! Actions and updates over real sockets: the faster reaction counts first, and everybody sees an update at once.

mod support;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use evenkeel_core::clock::ServerClock;
use evenkeel_core::transcript::{Transcript, replay};
use evenkeel_core::{LocalTime, Malformed, PeerId, Reader, Seed, SessionTime, Span};
use evenkeel_dr::RoomEntity;
use evenkeel_game::{Action, GameConfig, GameLogic, GameOutbox, GameRoom};
use evenkeel_link::{Link, LinkFaults};
use evenkeel_net::Emulation;
use evenkeel_net::clock::LocalClock;
use evenkeel_net::token::{Claims, IssuerKey, Name, unix_seconds};
use evenkeel_serve::client::player_machine;
use evenkeel_serve::{Client, ClientConfig, ClientEvent, Game, RelayConfig, RelayServer, RoomReport};
use evenkeel_sync_ms::Order;
use support::until;
use tokio::runtime::Runtime;

/// One-way delays.
const FAR: i64 = 100;
const NEAR: i64 = 5;
/// How long they take to react to an update.
const FAR_REACTION: Span = Span::from_millis(150);
const NEAR_REACTION: Span = Span::from_millis(170);

/// Something to see every 50 ms, and something to react to every 600 ms. Whoever is served first wins.
#[derive(Default)]
struct Duel {
    ticks: u32,
    round: u32,
    won: bool,
}

impl GameLogic for Duel {
    fn action(&mut self, action: &Action, outbox: &mut GameOutbox) -> Result<(), Malformed> {
        if action.bytes != self.round.to_le_bytes() {
            return Err(Malformed::Field);
        }
        if !std::mem::replace(&mut self.won, true) {
            outbox.update(None, &[b'w', action.from.0 as u8]);
        }
        Ok(())
    }

    fn tick(&mut self, _: SessionTime, _: &[RoomEntity], outbox: &mut GameOutbox) {
        self.ticks += 1;
        if self.ticks.is_multiple_of(12) {
            (self.round, self.won) = (self.round + 1, false);
            let [a, b, c, d] = self.round.to_le_bytes();
            outbox.update(None, &[b'd', a, b, c, d]);
        } else {
            outbox.update_datagram(None, b"t");
        }
    }

    fn tick_interval(&self) -> Span {
        Span::from_millis(50)
    }
}

/// A recording in memory.
#[derive(Clone, Default)]
struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// When a player saw each update, and who won the rounds as far as it knows.
#[derive(Default)]
struct Seen {
    shown: BTreeMap<SessionTime, LocalTime>,
    won_by: Vec<PeerId>,
}

/// A player with a delay and a reaction time, played by a thread.
struct Duellist {
    seen: Arc<Mutex<Seen>>,
    is_over: Arc<AtomicBool>,
    playing: JoinHandle<()>,
}

impl Duellist {
    fn start(client: Client, clock: LocalClock, reaction: Span) -> Self {
        let (seen, is_over) = (Arc::new(Mutex::new(Seen::default())), Arc::new(AtomicBool::new(false)));
        let (sees, ends) = (seen.clone(), is_over.clone());
        let playing = std::thread::spawn(move || {
            let mut shots: Vec<(LocalTime, Vec<u8>)> = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                for (at, event) in client.events() {
                    let ClientEvent::Update { stamp, bytes, .. } = event else { continue };
                    let mut seen = sees.lock().expect("no panic");
                    seen.shown.insert(stamp, at);
                    match bytes.split_first() {
                        Some((b'd', round)) => shots.push((at + reaction, round.to_vec())),
                        Some((b'w', [winner])) => seen.won_by.push(PeerId(u32::from(*winner))),
                        _ => {}
                    }
                }
                let due = shots.iter().position(|(at, _)| *at <= clock.now());
                if let Some((_, shot)) = due.map(|index| shots.swap_remove(index)) {
                    client.act(&shot).expect("connected");
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        Self { seen, is_over, playing }
    }

    fn rounds(&self) -> Vec<PeerId> {
        self.seen.lock().expect("no panic").won_by.clone()
    }
}

struct Stage {
    runtime: Runtime,
    server: RelayServer<GameRoom<Duel, ServerClock>>,
    key: IssuerKey,
    clock: LocalClock,
}

impl Stage {
    fn start(record: MemoryFile) -> Self {
        let (runtime, key) = (Runtime::new().expect("a runtime"), IssuerKey::generate());
        let config = RelayConfig {
            listen: vec![(Ipv4Addr::LOCALHOST, 0).into()],
            http: vec![(Ipv4Addr::LOCALHOST, 0).into()],
            issuer: Some(key.id().to_string()),
            token_key: PathBuf::from("/nonexistent"),
            ..RelayConfig::default()
        };
        let game = Game::new(|_| Duel::default());
        let starting = RelayServer::start_with(config, Some(Box::new(record)), game);
        let server = runtime.block_on(starting).expect("the relay starts");
        Self { runtime, server, key, clock: LocalClock::start() }
    }

    fn connect(&self, player: &str, delay: i64, record: MemoryFile) -> Client {
        let token = self.key.sign(&Claims::issue(room(), name(player), unix_seconds(), 60));
        let url = format!("https://{}/arena", self.server.addresses()[0]);
        let mut config = ClientConfig::pinned(&url, &token, &self.server.hashes());
        config.emulation = Some(Box::new(move || {
            let link = |seed| Link::new(LinkFaults::constant(Span::from_millis(delay)), Seed::new(seed));
            Emulation { outgoing: link(1), incoming: link(2) }
        }));
        config.clock = self.clock;
        config.record = Some(Box::new(record));
        Client::connect(config).expect("admitted")
    }

    fn report(&self) -> RoomReport {
        self.runtime.block_on(self.server.report(&room())).expect("the room exists")
    }

    fn http(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.server.http_addresses()[0]).expect("connected");
        let (head, body) = request.split_once('\n').unwrap_or((request, ""));
        let length = body.len();
        write!(stream, "{head} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n").expect("sent");
        write!(stream, "Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
            .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }
}

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

fn room() -> Name {
    name("arena")
}

/// Plays until both have seen this many more rounds decided. Returns who won the last of them, as the first player saw it.
fn play(players: &[Duellist; 2], rounds: usize) -> Vec<PeerId> {
    let before = players.each_ref().map(|player| player.rounds().len());
    until("the rounds are decided", || {
        players.iter().zip(before).all(|(player, before)| player.rounds().len() >= before + rounds)
    });
    players[0].rounds().split_off(before[0])
}

/// How far apart the players saw the updates of the last seconds, in sorted order.
fn apart(players: &[Duellist; 2]) -> Vec<Span> {
    let [far, near] = players.each_ref().map(|player| player.seen.lock().expect("no panic"));
    let both = far.shown.iter().filter_map(|(stamp, at)| Some(*at - *near.shown.get(stamp)?));
    let mut apart: Vec<Span> = both.map(Span::abs).skip(40).collect();
    apart.sort_unstable();
    apart
}

#[test]
fn the_faster_reaction_counts_first_and_everybody_sees_it_at_once() {
    let files: [MemoryFile; 3] = Default::default();
    let stage = Stage::start(files[0].clone());
    let far = stage.connect("far", FAR, files[1].clone());
    let near = stage.connect("near", NEAR, files[2].clone());
    let [far_player, near_player] = [&far, &near].map(|client| client.player().expect("connected"));
    let duellists =
        [Duellist::start(far, stage.clock, FAR_REACTION), Duellist::start(near, stage.clock, NEAR_REACTION)];
    // The first rounds are for measuring.
    play(&duellists, 3);
    let fair = play(&duellists, 8);
    assert!(fair.iter().filter(|winner| **winner == far_player).count() >= 7, "{fair:?}");
    let apart = apart(&duellists);
    let (median, most) = (apart[apart.len() / 2], apart[apart.len() * 9 / 10]);
    assert!(median <= Span::from_millis(2) && most <= Span::from_millis(10), "{median:?}, {most:?}");

    let report = stage.report();
    assert_eq!((report.order.as_deref(), report.sync_out), (Some("reaction"), Some(true)));
    let [far, near] = [0, 1].map(|index| report.players[index].sync.clone().expect("a game's room"));
    assert_eq!([&far.standing, &near.standing], ["guaranteed"; 2]);
    assert!(far.actions >= 11 && far.updates > 100 && far.refused == 0, "{far:?}");
    assert!((2.0 * FAR as f64..2.0 * FAR as f64 + 40.0).contains(&far.round_trip_ms[0]), "{far:?}");
    assert!(near.wait_ms > far.wait_ms, "the near one waits for the far one: {near:?} {far:?}");
    let metrics = stage.http("GET /metrics");
    assert!(metrics.contains("evenkeel_player_guaranteed{room=\"arena\",player=\"far\"} 1"), "{metrics}");

    // Without an order the near one wins, although Sync-out still shows both the same.
    let answer = stage.http("POST /api/rooms/arena/order\n{\"order\": \"none\"}");
    assert!(answer.ends_with("{\"order\":\"none\",\"sync_out\":true}"), "{answer}");
    play(&duellists, 1);
    let unfair = play(&duellists, 4);
    assert!(unfair.iter().filter(|winner| **winner == near_player).count() >= 3, "{unfair:?}");
    assert!(stage.http("POST /api/rooms/arena/order\n{\"order\": \"fifo\"}").contains("is no order"));
    assert!(stage.server.switch_order(&room(), Order::MaxWait, false));
    until("the switch is reported", || stage.report().sync_out == Some(false));

    for Duellist { is_over, playing, .. } in duellists {
        is_over.store(true, Ordering::Relaxed);
        playing.join().expect("it leaves the room");
    }
    stage.runtime.block_on(stage.server.stop());
    replays(&files);
}

/// Replays what the relay and the players recorded.
fn replays(files: &[MemoryFile; 3]) {
    let [relay, far, near] = files.each_ref().map(|file| file.0.lock().expect("no panic").clone());
    let open = |recorded| Transcript::open(recorded).expect("a transcript");
    let config = |bytes: &[u8]| Reader::new(bytes).read::<GameConfig>();
    let relayed = replay(open(&relay), |_, bytes| {
        Ok(GameRoom::with_clock(&config(bytes)?, ServerClock::default(), Duel::default()))
    });
    assert!(relayed.as_ref().is_ok_and(|done| done.transmits > 300), "{relayed:?}");
    for player in [&far, &near] {
        let played = replay(open(player), |_, bytes| Ok(player_machine(&config(bytes)?)));
        assert!(played.as_ref().is_ok_and(|done| done.transmits > 300), "{played:?}");
    }
}

#[test]
fn a_relay_without_a_game_has_no_actions_to_order() {
    let (runtime, key) = (Runtime::new().expect("a runtime"), IssuerKey::generate());
    let config = RelayConfig {
        listen: vec![(Ipv4Addr::LOCALHOST, 0).into()],
        http: vec![(Ipv4Addr::LOCALHOST, 0).into()],
        issuer: Some(key.id().to_string()),
        token_key: PathBuf::from("/nonexistent"),
        ..RelayConfig::default()
    };
    let server = runtime.block_on(RelayServer::start(config, None)).expect("the relay starts");
    let token = key.sign(&Claims::issue(room(), name("ada"), unix_seconds(), 60));
    let url = format!("https://{}/arena", server.addresses()[0]);
    let ada = Client::connect(ClientConfig::pinned(&url, &token, &server.hashes())).expect("admitted");
    ada.act(b"is anybody there?").expect("sent");
    let report = || runtime.block_on(server.report(&room())).expect("the room exists");
    until("the action is counted as rejected", || {
        report().players.first().is_some_and(|player| player.rejected > 0)
    });
    assert_eq!((report().order, &report().players[0].sync), (None, &None));
    assert!(!server.switch_order(&room(), Order::None, false));
    assert!(ada.player().is_some(), "the player stays");
}
