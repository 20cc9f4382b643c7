//! A game: what is played, by whom, for how long, and what goes wrong.

use core::fmt;
use core::str::FromStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use evenkeel_core::Seed;

use crate::fault::{Fault, Faults};
use crate::{dr, memory, neo, objects, sync_ms};

/// The machines of games that name none.
const CHEAP: [Machine; 4] = [Machine::DrDirect, Machine::DrRelay, Machine::SyncMs, Machine::Objects];
/// How many of those are of NEO, whose signatures cost as much as many other games.
const NEO_SHARE: f64 = 0.02;
/// The source of whether a game with a relay is steady, how many are, how long they last, and what may go wrong in them.
const STEADY: u64 = 0x10;
const STEADY_SHARE: f64 = 0.02;
pub(crate) const STEADY_TICKS: u32 = 1_000;
const STEADY_FAULTS: [Fault; 3] = [Fault::Duplicates, Fault::Reordering, Fault::Jitter];

/// A kind of machine, with its topology.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
pub enum Machine {
    /// Dead reckoning among players; each owner runs the policy.
    DrDirect,
    /// Dead reckoning through a relay.
    DrRelay,
    /// Sync-MS.
    SyncMs,
    /// Objects and messages.
    Objects,
    /// NEO.
    Neo,
}

impl Machine {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::DrDirect, Self::DrRelay, Self::SyncMs, Self::Objects, Self::Neo];

    /// The most memory that a game may hold at any time, with its network: two to three times what games hold.
    #[must_use]
    pub const fn memory_max(self) -> i64 {
        match self {
            Self::SyncMs => 2 << 20,
            Self::DrDirect | Self::DrRelay | Self::Objects => 3 << 20,
            Self::Neo => 4 << 20,
        }
    }

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DrDirect => "dr-direct",
            Self::DrRelay => "dr-relay",
            Self::SyncMs => "sync-ms",
            Self::Objects => "objects",
            Self::Neo => "neo",
        }
    }
}

impl FromStr for Machine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let named = Self::ALL.into_iter().find(|machine| machine.name() == text);
        named.ok_or_else(|| format!("there is no machine \"{text}\"; the machines are {}", names()))
    }
}

/// A rule that must hold after every game.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
pub enum Invariant {
    /// The ledger holds the error that was shown, or counts it as an estimate.
    Ledger,
    /// What is sent stays within the budget.
    Budget,
    /// Nothing reliable is lost or doubled.
    Reliable,
    /// Honest players agree.
    Agreement,
    /// Actions are served in their order, and wait no longer than the cap. Messages arrive in theirs.
    Order,
    /// Nobody is told of what is out of its scope, and everybody of what is in it.
    Scope,
    /// Memory is bounded.
    Memory,
    /// The spread of errors is bounded for those whom the policy can serve.
    Spread,
    /// No machine panics or spins.
    Panic,
}

/// A broken invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which one.
    pub invariant: Invariant,
    /// What was seen.
    pub what: String,
}

impl Violation {
    pub(crate) fn new(invariant: Invariant, what: impl Into<String>) -> Self {
        Self { invariant, what: what.into() }
    }
}

/// What a game has shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Played {
    /// Calls that machines handled.
    pub calls: u64,
    /// Accounts of the ledger that were compared with the truth.
    pub compared: u64,
    /// Accounts that were not, because the ledger counts its error, or a receiver's claim, as estimated.
    pub estimated: u64,
    /// Reliable messages that were followed to their end.
    pub followed: u64,
    /// The most memory held.
    pub memory: i64,
}

/// A game. It is a function of these values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Game {
    /// What is played.
    pub machine: Machine,
    /// The source of everything random.
    pub seed: u64,
    /// The number of players.
    pub players: u32,
    /// The entities of each player.
    pub entities: u32,
    /// How many frames it lasts, before everybody comes back and the network calms down.
    pub ticks: u32,
    /// What goes wrong.
    pub faults: Faults,
}

impl Game {
    /// The game of a seed: on this machine, or on any.
    #[must_use]
    pub fn of_seed(seed: u64, machine: Option<Machine>) -> Self {
        let mut draws = Seed::new(seed).child(0).draws();
        let cheap = CHEAP[draws.below(CHEAP.len() as u64) as usize];
        let any = if Seed::new(seed).child(1).draws().chance(NEO_SHARE) { Machine::Neo } else { cheap };
        // Few faults at a time find what many would hide.
        let chance = [0.0, 0.1, 0.25, 0.5][draws.below(4) as usize];
        let faults: Vec<Fault> = Fault::ALL.into_iter().filter(|_| draws.chance(chance)).collect();
        let machine = machine.unwrap_or(any);
        if machine == Machine::DrRelay && Seed::new(seed).child(STEADY).draws().chance(STEADY_SHARE) {
            let faults: Vec<Fault> =
                faults.into_iter().filter(|fault| STEADY_FAULTS.contains(fault)).collect();
            let (ticks, faults) = (STEADY_TICKS, Faults::of(&faults));
            return Self { machine, seed, players: 4, entities: 1, ticks, faults };
        }
        Self {
            machine,
            seed,
            players: 2 + draws.below(3) as u32,
            entities: 1 + draws.below(2) as u32,
            ticks: 10 + draws.below(if machine == Machine::Neo { 40 } else { 90 }) as u32,
            faults: Faults::of(&faults),
        }
    }

    /// Plays the game and checks every invariant.
    ///
    /// # Errors
    /// The first [`Violation`].
    pub fn play(&self) -> Result<Played, Violation> {
        let before = memory::mark();
        let played = catch_unwind(AssertUnwindSafe(|| match self.machine {
            Machine::DrDirect | Machine::DrRelay => dr::play(self),
            Machine::SyncMs => sync_ms::play(self),
            Machine::Objects => objects::play(self),
            Machine::Neo => neo::play(self),
        }));
        let memory = memory::peak_since(before);
        let played = played.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(Violation::new(Invariant::Panic, text.unwrap_or_default()))
        })?;
        let most = self.machine.memory_max();
        if memory > most {
            let what = format!("the game held {memory} bytes, more than {most}");
            return Err(Violation::new(Invariant::Memory, what));
        }
        Ok(Played { memory, ..played })
    }
}

/// The game as a test.
impl fmt::Display for Game {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, seed, players, entities, ticks, faults } = self;
        let name = machine.name().replace('-', "_");
        let faults: Vec<String> = faults.iter().map(|fault| format!("Fault::{fault:?}")).collect();
        writeln!(f, "#[test]")?;
        writeln!(f, "fn {name}_{seed}() {{")?;
        writeln!(f, "    holds(Game {{")?;
        writeln!(f, "        machine: Machine::{machine:?},")?;
        writeln!(f, "        seed: {seed},")?;
        writeln!(f, "        players: {players},")?;
        writeln!(f, "        entities: {entities},")?;
        writeln!(f, "        ticks: {ticks},")?;
        writeln!(f, "        faults: Faults::of(&[{}]),", faults.join(", "))?;
        writeln!(f, "    }});")?;
        write!(f, "}}")
    }
}
