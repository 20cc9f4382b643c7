//! The arena on this machine: a relay with a referee, bots at emulated distances, and the page.
//!
//! It is what a deployment runs: the bots come over real sockets, with tokens, as players do. Only how far away they are is
//! emulated, and can be changed while they play.

mod http;
mod live;
mod page;
mod shared;
pub mod tally;

use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::clock::{FollowerClock, ServerClock};
use evenkeel_core::{Seed, Span};
use evenkeel_dr::{Budget, Content, DrConfig, PolicyKind, Threshold};
use evenkeel_games::arena::{ArenaBot, ArenaBotConfig, ArenaRoom, Field, SHOT_SPEED};
use evenkeel_games::{ACCELERATION_MAX, TURN_RATE_MAX};
use evenkeel_link::{DelayLaw, Jitter, Link, LinkFaults};
use evenkeel_net::token::{IssuerKey, Name};
use evenkeel_net::transport::{ConnectError, Trust};
use evenkeel_net::{Emulation, NodeId};
use evenkeel_serve::client::player_config;
use evenkeel_serve::{Dial, RELAY, RelayConfig, RelayServer, Status, Target, Welcome};
use evenkeel_serve::{Game, POLICY, RoomConfig, StartError};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use shared::{Shared, lock};

/// The machine of the arena's room.
pub type RoomMachine = ArenaRoom<ServerClock>;
/// The arena's relay.
pub type ArenaServer = RelayServer<RoomMachine>;

/// The room.
pub const ROOM: &str = "arena";
/// The part of the receivers that a trigger reaches on the average, whoever decides: base sends every third vector.
const BUDGET_PART: f64 = 1.0 / 3.0;
/// The farthest that somebody can be put.
pub const DELAY_MAX: Span = Span::from_secs(1);
/// What a recording of an arena's relay says that it is.
pub const RECORDED: &[u8] = b"arena";
/// How long the bots may take to leave,
const GOODBYE_MAX: Duration = Duration::from_millis(400);
/// and all of it.
const STOP_MAX: Duration = Duration::from_millis(1_800);

const NAMES: [&str; 32] = [
    "Ada", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Hal", "Ida", "Jo", "Kit", "Liv", "Max", "Nia", "Oz",
    "Pia", "Quin", "Ray", "Sue", "Tom", "Una", "Val", "Wes", "Xan", "Yui", "Zoe", "Abe", "Bea", "Cal", "Dot",
    "Eve", "Finn",
];

/// Who decides, in the page's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// Without us: every third vector to everybody.
    Base,
    /// The papers' best.
    Papers,
    /// Ours.
    Even,
}

impl Choice {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Base, Self::Papers, Self::Even];

    /// The policy.
    ///
    /// # Panics
    /// Never: the names are those of policies that there are.
    #[must_use]
    pub fn policy(self) -> PolicyKind {
        let name = match self {
            Self::Base => "base-1/3",
            Self::Papers => "deterministic-budget",
            Self::Even => POLICY,
        };
        name.parse().expect("there is such a policy")
    }

    /// The choice whose policy has this name, if it is one of them.
    #[must_use]
    pub fn of(policy: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.policy().to_string() == policy)
    }

    /// What people call it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Base => "without us",
            Self::Papers => "the papers' best",
            Self::Even => "even",
        }
    }
}

/// How many times its error without us anybody may have under a policy.
fn cap(policy: &str) -> Option<f64> {
    match policy.parse() {
        Ok(PolicyKind::Even(even)) => even.kappa(),
        _ => None,
    }
}

/// The same for all.
fn budget() -> Budget {
    Budget::of_receivers(BUDGET_PART).expect("a part between nothing and all")
}

/// How far away somebody is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Distance {
    /// One way, each way.
    pub delay: Span,
    /// Half of the width of its jitter.
    pub jitter: Span,
}

impl Distance {
    /// Not at all.
    pub const NONE: Self = Self { delay: Span::ZERO, jitter: Span::ZERO };

    /// So far, with a jitter of a tenth.
    #[must_use]
    pub fn new(delay: Span) -> Self {
        Self { delay, jitter: delay.part(10) }
    }

    fn faults(self) -> LinkFaults {
        let jitter = match self.jitter {
            Span::ZERO => Jitter::Constant,
            half_width => Jitter::Uniform { half_width },
        };
        LinkFaults { delay: DelayLaw { base: self.delay, jitter }, ..LinkFaults::default() }
    }
}

/// What is played.
pub struct ArenaConfig {
    /// How many bots.
    pub bots: usize,
    /// How far they are away, in order; the last one is for all further ones.
    pub delays: Vec<Span>,
    /// Who decides at first.
    pub choice: Choice,
    /// Where, on loopback.
    pub port: u16,
    /// What the bots and the referee depend on.
    pub seed: u64,
    /// Records every call to the relay.
    pub record: Option<Box<dyn Write + Send>>,
}

/// Why there is no arena.
#[derive(Debug, thiserror::Error)]
pub enum ArenaError {
    /// The relay.
    #[error(transparent)]
    Relay(#[from] StartError),
    /// A bot.
    #[error("a bot was not let in: {0}")]
    Bot(#[from] ConnectError),
    /// The system.
    #[error("a thread could not be started: {0}")]
    Thread(#[from] std::io::Error),
}

type BotMachine = ArenaBot<FollowerClock>;

/// One bot.
struct Bot {
    status: watch::Receiver<Status>,
    dialling: JoinHandle<Result<(), ConnectError>>,
}

fn name(text: &str) -> Name {
    Name::new(text).expect("names of the arena are plain")
}

/// An arena that is running.
pub struct Arena {
    server: Arc<ArenaServer>,
    shared: Arc<Shared>,
    bots: Vec<Bot>,
    tasks: Vec<JoinHandle<()>>,
}

impl Arena {
    /// Starts everything; on a tokio runtime. Comes back when the bots are there.
    ///
    /// # Errors
    /// [`ArenaError`] says in words why not.
    pub async fn start(config: ArenaConfig) -> Result<Self, ArenaError> {
        let ArenaConfig { bots, delays, choice, port, seed, record } = config;
        let names: Vec<String> = (0..bots).map(bot_name).collect();
        let last = delays.last().copied().unwrap_or(Span::ZERO);
        let distance = |index: usize| Distance::new(delays.get(index).copied().unwrap_or(last));
        let distances = (0..bots).map(distance).collect();
        let key = IssuerKey::generate();
        let relay = settings(port, choice, &key);
        let shared = Arc::new(Shared::new(key, &names, distances, choice)?);
        let game =
            Game { recording_name: RECORDED, seed, make_room: Box::new(room), pages: http::router(&shared) };
        let server = Arc::new(RelayServer::start_with(relay, record, game).await?);
        shared.serve(&server);
        let mut arena = Self { server, shared, bots: Vec::new(), tasks: Vec::new() };
        // One after the other, so that they are listed in the order of their distances.
        for (index, name) in names.into_iter().enumerate() {
            let mut bot = arena.dial(index, name, Seed::new(seed).child(index as u64 + 1));
            let there = bot.status.wait_for(|status| !matches!(status, Status::Connecting(None))).await;
            if there.is_ok_and(|status| matches!(&*status, Status::Over(_))) {
                let failed = (&mut bot.dialling).await.ok().and_then(Result::err);
                return Err(failed.unwrap_or(ConnectError::Broken("the relay let it go".to_owned())).into());
            }
            arena.bots.push(bot);
        }
        let (server, shared) = (Arc::downgrade(&arena.server), arena.shared.clone());
        arena.tasks.push(tokio::spawn(live::watch(server, shared)));
        Ok(arena)
    }

    fn dial(&self, index: usize, name: String, seed: Seed) -> Bot {
        let (announce, status) = watch::channel(Status::Connecting(None));
        let target = Target {
            url: self.shared.url(&self.server),
            token: self.shared.token(&name),
            seat: None,
            trust: Trust::Pinned(self.server.hashes()),
        };
        let build = move |welcome: &Welcome| {
            let dr = player_config(welcome, Threshold::default(), Content::default());
            let config = ArenaBotConfig { dr, player: welcome.player, relay: RELAY, seed };
            (ArenaBot::new(&config, FollowerClock::new(RELAY)), config)
        };
        let (shared, of) = (self.shared.clone(), name.clone());
        let emulation = move || {
            let faults = shared.distance(&of).faults();
            let link = |label| Link::new(faults.clone(), seed.child(label));
            Some(Emulation { outgoing: link(1), incoming: link(2) })
        };
        let dial = Dial { target, node: NodeId(index as u32), build, emulation };
        Bot { status, dialling: tokio::spawn(dial.run(self.shared.crank.clone(), announce)) }
    }

    /// Where the page is.
    #[must_use]
    pub fn pages(&self) -> &[SocketAddr] {
        self.server.http_addresses()
    }

    /// The relay.
    #[must_use]
    pub fn server(&self) -> &ArenaServer {
        &self.server
    }

    /// Ends it: the bots leave, the players are told.
    pub async fn stop(self) {
        let Self { server, shared, bots, tasks } = self;
        tasks.iter().for_each(JoinHandle::abort);
        bots.iter().for_each(|bot| bot.dialling.abort());
        let stopping = async { tokio::join!(shared.crank.stop(GOODBYE_MAX), server.stop()) };
        let _ = tokio::time::timeout(STOP_MAX, stopping).await;
    }
}

/// The machine of the arena's room.
#[must_use]
pub fn room(config: &DrConfig, seed: Seed) -> RoomMachine {
    ArenaRoom::new(config, ServerClock::default(), seed)
}

fn bot_name(index: usize) -> String {
    let name = NAMES[index % NAMES.len()];
    if index < NAMES.len() { name.to_owned() } else { format!("{name}-{}", index / NAMES.len() + 1) }
}

/// This machine's addresses for itself. Some machines have no IPv6.
fn loopback(port: u16) -> Vec<SocketAddr> {
    let mut addresses = vec![(Ipv4Addr::LOCALHOST, port).into()];
    if UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        addresses.push((Ipv6Addr::LOCALHOST, port).into());
    }
    addresses
}

/// The settings of the relay.
fn settings(port: u16, choice: Choice, key: &IssuerKey) -> RelayConfig {
    let mut config = RelayConfig {
        listen: loopback(port),
        issuer: Some(key.id().to_string()),
        rooms_max: 1,
        open: false,
        ..RelayConfig::default()
    };
    // Nothing goes farther or faster than a shot; one may have left the field when that is noticed.
    let Field { half, .. } = Field::default();
    let room = RoomConfig {
        policy: choice.policy().to_string(),
        budget: budget(),
        position_max: half.x.max(half.y) + 0.1 * SHOT_SPEED,
        speed_max: SHOT_SPEED,
        acceleration_max: ACCELERATION_MAX,
        turn_rate_max: TURN_RATE_MAX,
        ..config.room.clone()
    };
    config.rooms.insert(ROOM.to_owned(), room);
    config
}
