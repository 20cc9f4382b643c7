//! The arena on this machine: a relay with a referee, bots at emulated distances, and the page.
//!
//! It is what a deployment runs: the bots come over real sockets, with tokens, as players do. Only how far away they are is
//! emulated, and can be changed while they play.

mod http;
mod live;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evenkeel_core::clock::{FollowerClock, ServerClock};
use evenkeel_core::{PeerId, Seed, SessionClock, Span};
use evenkeel_dr::{Budget, Content, DrConfig, DrRelay, PolicyKind, Threshold};
use evenkeel_games::arena::{ArenaBot, ArenaBotConfig, ArenaRoom, Score};
use evenkeel_link::{DelayLaw, Jitter, Link, LinkFaults};
use evenkeel_net::client::player_config;
use evenkeel_net::relay::{Room, RoomMachine, StartError};
use evenkeel_net::token::{Claims, IssuerKey, Name, unix_seconds};
use evenkeel_net::transport::{ConnectError, Trust};
use evenkeel_net::{
    Crank, CrankHandle, Dial, Emulation, NodeId, RELAY, RelayConfig, RelayServer, Status, Target, Welcome,
};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use live::Live;

/// The room.
pub const ROOM: &str = "arena";
/// The part of the receivers that a trigger reaches on the average, whoever decides: base sends every third vector.
const BUDGET_PART: f64 = 1.0 / 3.0;
/// How long the tokens of the arena are good.
const TOKEN_SECONDS: u64 = 7 * 24 * 3600;
/// How long leaving may take.
const GOODBYE_MAX: Duration = Duration::from_millis(400);

const NAMES: [&str; 32] = [
    "Ada", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Hal", "Ida", "Jo", "Kit", "Liv", "Max", "Nia", "Oz", "Pia", "Quin",
    "Ray", "Sue", "Tom", "Una", "Val", "Wes", "Xan", "Yui", "Zoe", "Abe", "Bea", "Cal", "Dot", "Eve", "Finn",
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
            Self::Even => "even",
        };
        name.parse().expect("there is such a policy")
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
    name: String,
    status: watch::Receiver<Status>,
    dialling: JoinHandle<Result<(), ConnectError>>,
}

/// What page and host share.
struct Shared {
    key: IssuerKey,
    bots: Vec<String>,
    crank: CrankHandle<BotMachine>,
    distances: Mutex<BTreeMap<String, Distance>>,
    choice: Mutex<Choice>,
    live: Mutex<Live>,
    /// How many people have come.
    people: Mutex<u32>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name(text: &str) -> Name {
    Name::new(text).expect("names of the arena are plain")
}

impl Shared {
    fn token(&self, player: &str) -> String {
        self.key.sign(&Claims::issue(name(ROOM), name(player), unix_seconds(), TOKEN_SECONDS))
    }

    fn distance(&self, player: &str) -> Option<Distance> {
        lock(&self.distances).get(player).copied()
    }
}

/// An arena that is running.
pub struct Arena {
    server: Arc<RelayServer>,
    shared: Arc<Shared>,
    bots: Vec<Bot>,
    tasks: Vec<JoinHandle<()>>,
}
