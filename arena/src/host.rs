//! The host: starts relay, bots and page, and stops them.

use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::clock::{FollowerClock, ServerClock};
use evenkeel_core::{Seed, Span};
use evenkeel_dr::{Content, Threshold};
use evenkeel_game::GameConfig;
use evenkeel_games::arena::{
    ArenaBot, ArenaBotConfig, ArenaRoom, Field, ReactionTimes, Referee, SHOT_SPEED, TANK,
};
use evenkeel_link::Link;
use evenkeel_net::token::IssuerKey;
use evenkeel_net::transport::{ConnectError, Trust};
use evenkeel_net::{Emulation, NodeId};
use evenkeel_serve::client::player_config;
use evenkeel_serve::{Dial, RELAY, RelayConfig, RelayServer, Target, Welcome};
use evenkeel_serve::{Game, Pages, RoomConfig, StartError};
use tokio::task::JoinHandle;

use crate::choice::{PolicyChoice, budget};
use crate::delay::LinkDelay;
use crate::dialling::DialTask;
use crate::state::{HostState, ROOM};
use crate::{api, live, sight};

/// The machine of the arena's room.
pub type RoomMachine = ArenaRoom<ServerClock>;
/// The arena's relay.
pub type ArenaServer = RelayServer<RoomMachine>;

/// The kind that a recording of an arena's relay carries.
pub const ARENA_RECORDING: &[u8] = b"arena";
/// The most that anybody's shots and updates wait for others. It takes twice the delay to see a beacon and answer it.
const CAP: Span = Span::from_millis(600);
/// How long the bots may take to leave.
const GOODBYE_MAX: Duration = Duration::from_millis(400);
/// How long stopping everything may take.
const STOP_MAX: Duration = Duration::from_millis(1_800);

/// The bots' names; further bots get a number.
const NAMES: [&str; 32] = [
    "Ada", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Hal", "Ida", "Jo", "Kit", "Liv", "Max", "Nia", "Oz",
    "Pia", "Quin", "Ray", "Sue", "Tom", "Una", "Val", "Wes", "Xan", "Yui", "Zoe", "Abe", "Bea", "Cal", "Dot",
    "Eve", "Finn",
];

/// The settings of an arena.
pub struct ArenaConfig {
    /// The number of bots.
    pub bots: usize,
    /// The bots' one-way delays, in order; the last one applies to all further bots.
    pub delays: Vec<Span>,
    /// The policy at the start.
    pub choice: PolicyChoice,
    /// The port of page, API and WebTransport on loopback.
    pub port: u16,
    /// The seed of the bots and the referee.
    pub seed: u64,
    /// Where to record every call to the relay, if anywhere.
    pub record: Option<Box<dyn Write + Send>>,
}

/// Why an arena did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArenaError {
    /// The relay did not start.
    #[error(transparent)]
    Relay(#[from] StartError),
    /// The relay did not admit a bot.
    #[error("a bot could not join: {0}")]
    Bot(#[from] ConnectError),
    /// The system refused a thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// The machine of one of the arena's bots.
pub(crate) type ArenaBotMachine = ArenaBot<FollowerClock>;

/// A running arena.
pub struct Arena {
    server: Arc<ArenaServer>,
    state: Arc<HostState>,
    bots: Vec<DialTask>,
    sampling: [JoinHandle<()>; 2],
}

impl Arena {
    /// Starts an arena on the current tokio runtime; returns when every bot has joined.
    ///
    /// # Errors
    /// [`ArenaError`] if the relay does not start or a bot cannot join.
    pub async fn start(config: ArenaConfig) -> Result<Self, ArenaError> {
        let ArenaConfig { bots, delays, choice, port, seed, record } = config;
        let names: Vec<String> = (0..bots).map(bot_name).collect();
        let last = delays.last().copied().unwrap_or(Span::ZERO);
        let delays = (0..bots).map(|bot| LinkDelay::new(delays.get(bot).copied().unwrap_or(last))).collect();
        let key = IssuerKey::generate();
        let relay = relay_config(port, choice, &key);
        let state = Arc::new(HostState::new(key, &names, delays, choice)?);
        let game = Game {
            recording_name: ARENA_RECORDING,
            seed,
            make_room: Box::new(make_room),
            pages: Pages::of(api::router(&state)),
        };
        let server = Arc::new(RelayServer::start_with(relay, record, game).await?);
        state.attach(&server);
        // One after the other, so that the room lists them in the order of their delays.
        let mut tasks = Vec::new();
        for (index, name) in names.into_iter().enumerate() {
            let task = dial(&server, &state, index, name, Seed::new(seed).child(index as u64 + 1));
            if !task.admitted().await {
                return Err(task.failure().await.into());
            }
            tasks.push(task);
        }
        let sampling = [
            tokio::spawn(live::sample(Arc::downgrade(&server), state.clone())),
            tokio::spawn(sight::sample(Arc::downgrade(&server), state.clone())),
        ];
        Ok(Self { server, state, bots: tasks, sampling })
    }

    /// The addresses that serve the page.
    #[must_use]
    pub fn page_addresses(&self) -> &[SocketAddr] {
        self.server.http_addresses()
    }

    /// The relay.
    #[must_use]
    pub fn server(&self) -> &ArenaServer {
        &self.server
    }

    /// Stops the arena: the bots leave, and the relay tells its players.
    pub async fn stop(self) {
        let Self { server, state, bots, sampling } = self;
        sampling.iter().for_each(JoinHandle::abort);
        bots.iter().for_each(DialTask::abort);
        let stopping = async { tokio::join!(state.crank.stop(GOODBYE_MAX), server.stop()) };
        let _ = tokio::time::timeout(STOP_MAX, stopping).await;
    }
}

/// Connects the bot with this number.
fn dial(server: &ArenaServer, state: &Arc<HostState>, index: usize, name: String, seed: Seed) -> DialTask {
    let target = Target {
        url: state.url(server),
        token: state.token(&name),
        seat: None,
        trust: Trust::Pinned(server.hashes()),
    };
    let build = move |welcome: &Welcome| {
        let dr = player_config(welcome, Threshold::default(), Content::default());
        let config = ArenaBotConfig {
            game: GameConfig::from(dr),
            reactions: ReactionTimes::default(),
            player: welcome.player,
            relay: RELAY,
            seed,
        };
        (ArenaBot::new(&config, FollowerClock::new(RELAY)), config)
    };
    let crank = state.crank.clone();
    let state = state.clone();
    let emulation = move || {
        let faults = state.delay(&name).faults();
        let link = |label| Link::new(faults.clone(), seed.child(label));
        Some(Emulation { outgoing: link(1), incoming: link(2) })
    };
    let dial = Dial { target, node: NodeId(index as u32), build, emulation };
    DialTask::spawn(|status| dial.run(crank, status))
}

/// Makes the machine of the arena's room.
#[must_use]
pub fn make_room(config: &GameConfig, seed: Seed) -> RoomMachine {
    ArenaRoom::with_clock(config, ServerClock::default(), Referee::new(Field::default(), seed))
}

fn bot_name(index: usize) -> String {
    let name = NAMES[index % NAMES.len()];
    if index < NAMES.len() { name.to_owned() } else { format!("{name}-{}", index / NAMES.len() + 1) }
}

/// The loopback addresses of this machine. Some machines have no IPv6.
fn loopback(port: u16) -> Vec<SocketAddr> {
    let mut addresses = vec![(Ipv4Addr::LOCALHOST, port).into()];
    if UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        addresses.push((Ipv6Addr::LOCALHOST, port).into());
    }
    addresses
}

fn relay_config(port: u16, choice: PolicyChoice, key: &IssuerKey) -> RelayConfig {
    let mut config = RelayConfig {
        listen: loopback(port),
        issuer: Some(key.id().to_string()),
        threads: 1,
        rooms_max: 1,
        open: false,
        ..RelayConfig::default()
    };
    // Nothing goes farther or faster than a shot, which leaves the field before the referee notices.
    let Field { half, .. } = Field::default();
    let room = RoomConfig {
        policy: choice.policy().to_string(),
        order: choice.order().to_string(),
        sync_out: choice.is_sync_out(),
        cap_ms: CAP.as_millis_f64(),
        budget: budget(),
        position_max: half.x.max(half.y) + 0.1 * SHOT_SPEED,
        speed_max: SHOT_SPEED,
        acceleration_max: TANK.acceleration,
        turn_rate_max: TANK.turn_rate,
        ..config.room.clone()
    };
    config.rooms.insert(ROOM.to_owned(), room);
    config
}
