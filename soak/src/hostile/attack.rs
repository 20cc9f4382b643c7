//! The state that all attackers share: where to, how much, and what has been counted.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use evenkeel_dr::relay::limits::PLAYERS_MAX;
use evenkeel_serve::Target;

use super::kind::AttackKind;
use super::{AttackPlan, ROOM, members};
use crate::relay_process::RelayProcess;

/// A counter that attackers add to concurrently.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What attackers of one kind sent, and what the relay confirmed to them.
#[derive(Debug, Default)]
pub(super) struct AttackCounters {
    /// Datagrams, messages or connections.
    pub(super) sent: Counter,
    pub(super) vectors: Counter,
    pub(super) reports: Counter,
    pub(super) recorded: Counter,
    pub(super) settled: Counter,
}

/// How connections ended that the relay must close, or must not accept.
#[derive(Debug, Default)]
pub(super) struct ConnectionEnds {
    /// Connections that never read: closed for that.
    pub(super) too_slow: Counter,
    /// Connections that never read: closed for another reason.
    pub(super) not_too_slow: Counter,
    /// Connections that stalled: closed in time.
    pub(super) closed: Counter,
    /// Connections that stalled: not closed in time.
    pub(super) held: Counter,
    /// Connections that were admitted without a token or with a bad one.
    pub(super) admitted: Counter,
}

/// The state that all attackers share.
pub(super) struct Attack {
    pub(super) target: Target,
    /// A token with a seat for each attacking member.
    pub(super) member_token: String,
    pub(super) relay: SocketAddr,
    /// By kind.
    pub(super) counters: Vec<AttackCounters>,
    /// Vectors that attackers got from the relay, by the player whose entities they are of.
    pub(super) passed_on: Vec<Counter>,
    /// Whether the members only keep the honest players company.
    pub(super) harmless: bool,
    pub(super) ends: ConnectionEnds,
    /// The attacking members by player number.
    players: Mutex<BTreeMap<u32, AttackKind>>,
    over: AtomicBool,
    /// The number of datagrams and messages to send.
    pub(super) messages: u64,
    pub(super) until: Instant,
}

impl Attack {
    pub(super) fn new(relay: &RelayProcess, plan: AttackPlan, harmless: bool) -> Arc<Self> {
        Arc::new(Self {
            target: relay.target(ROOM, String::new()),
            member_token: relay.token(ROOM, members::NAME, members::MEMBERS),
            relay: relay.players,
            counters: AttackKind::ALL.iter().map(|_| AttackCounters::default()).collect(),
            passed_on: (0..PLAYERS_MAX).map(|_| Counter::default()).collect(),
            harmless,
            ends: ConnectionEnds::default(),
            players: Mutex::default(),
            over: AtomicBool::new(false),
            messages: plan.messages,
            until: Instant::now() + plan.duration,
        })
    }

    /// Counts a datagram, message or connection of a kind.
    pub(super) fn count(&self, kind: AttackKind) {
        self.counters(kind).sent.add(1);
    }

    pub(super) fn counters(&self, kind: AttackKind) -> &AttackCounters {
        &self.counters[kind as usize]
    }

    /// Everything sent so far.
    pub(super) fn total(&self) -> u64 {
        self.counters.iter().map(|counters| counters.sent.value()).sum()
    }

    pub(super) fn finish(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    pub(super) fn players(&self) -> MutexGuard<'_, BTreeMap<u32, AttackKind>> {
        self.players.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The player numbers of the attacking members.
    pub(super) fn player_numbers(&self) -> BTreeSet<u32> {
        self.players().keys().copied().collect()
    }
}
