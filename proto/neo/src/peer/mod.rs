//! The machine of one peer.
//!
//! | what | where |
//! | --- | --- |
//! | the calls of its driver | `endpoint.rs` |
//! | peers join, leave, and are evicted | `membership.rs` |
//! | this peer's own slots: commitments, openings, votes | `speak.rs` |
//! | others' updates | `hear.rs` |
//! | what is played, and when | `decide.rs` |
//! | contradictions and proofs | `watch.rs` |
//! | state changes | `changes.rs` |
//! | votes on round length and depth | `ballots.rs` |

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use evenkeel_core::{LocalTime, MedianClock, PeerId, SessionClock, SessionTime, Span};

use crate::book::Phase;
use crate::command::NeoEvent;
use crate::config::NeoConfig;
use crate::control::Control;
use crate::crypto::{Commitment, Identity, Nonce, PublicKey};
use crate::members::{Members, Seat};
use crate::outbox::Outbox;
use crate::proof::Proof;
use crate::stats::NeoStats;
use crate::streams::Streams;
use crate::tempo::Schedule;

mod ballots;
mod changes;
mod decide;
mod endpoint;
mod hear;
mod membership;
mod speak;
#[cfg(test)]
mod tests;
mod watch;

use ballots::Ballots;

/// Events that wait for the application. Beyond, the oldest is dropped: the application has stalled.
const EVENTS_MAX: usize = 65_536;
/// Proofs kept, for those who join later.
const PROOFS_MAX: usize = 64;
/// Rounds for which a slot is kept: the thesis' five.
const ROUNDS_KEPT: i64 = 5;
/// How long a machine watches before it makes its first move, so that a peer that was restarted never commits twice to one
/// slot, even if its clock was off before.
const START_AFTER: Span = Span::from_secs(1);

/// A move that this peer committed to.
#[derive(Clone, Debug)]
struct OwnMove {
    slot: u64,
    nonce: Nonce,
    bytes: Vec<u8>,
    commitment: Commitment,
    /// How often it has been opened.
    opened: u32,
}

/// This peer's own moves.
#[derive(Clone, Debug, Default)]
struct OwnMoves {
    /// The slot of the first move, which names this peer's state changes.
    first: Option<u64>,
    /// The next slot to commit to. Never decreases, so that no slot is committed to twice.
    next: u64,
    /// The move of the next slot.
    submitted: Vec<u8>,
    /// Moves to be opened, or opened again.
    pending: VecDeque<OwnMove>,
}

/// A peer of a session without a server.
///
/// `C` is the clock: [`MedianClock`] agrees with the peers on one; [`Synchronized`](evenkeel_core::Synchronized) assumes
/// that all local clocks are the same, as papers do.
#[derive(Debug)]
pub struct NeoPeer<C = MedianClock> {
    config: NeoConfig,
    identity: Identity,
    key: PublicKey,
    clock: C,
    now: LocalTime,
    schedule: Schedule,
    members: Members,
    slots: BTreeMap<u64, Phase>,
    own: OwnMoves,
    streams: Streams,
    ballots: Ballots,
    /// Whoever cheated, with the proof.
    evicted: BTreeMap<PublicKey, Proof>,
    /// Connections of this peer's area of interest; absent before the first one was set.
    interest: Option<BTreeSet<PeerId>>,
    outbox: Outbox,
    events: VecDeque<NeoEvent>,
    stats: NeoStats,
    challenges: u64,
    /// Whether somebody began or stopped to send updates since the last slot, so that the roster may have to be renewed.
    has_new_reach: bool,
    has_left: bool,
    /// When gaps of state changes were last asked for.
    asked_at: LocalTime,
    /// How many peers were told in turn what is known here.
    turn: usize,
}

impl NeoPeer<MedianClock> {
    /// A peer whose session time is the median of all peers' clocks.
    ///
    /// # Panics
    /// If the settings do not [validate](NeoConfig::validate).
    #[must_use]
    pub fn new(config: &NeoConfig, identity: Identity) -> Self {
        Self::with_clock(config, identity, MedianClock::default())
    }
}

impl<C: SessionClock> NeoPeer<C> {
    /// A peer with this clock.
    ///
    /// # Panics
    /// If the settings do not [validate](NeoConfig::validate).
    #[must_use]
    pub fn with_clock(config: &NeoConfig, identity: Identity, clock: C) -> Self {
        config.validate().unwrap_or_else(|error| panic!("NEO's settings: {error}"));
        let key = identity.key();
        Self {
            schedule: Schedule::new(config),
            config: config.clone(),
            identity,
            key,
            clock,
            now: LocalTime::MIN,
            members: Members::new(key),
            slots: BTreeMap::new(),
            own: OwnMoves::default(),
            streams: Streams::default(),
            ballots: Ballots::default(),
            evicted: BTreeMap::new(),
            interest: None,
            outbox: Outbox::default(),
            events: VecDeque::new(),
            stats: NeoStats::default(),
            challenges: 0,
            has_new_reach: false,
            has_left: false,
            asked_at: LocalTime::MIN,
            turn: 0,
        }
    }

    /// This peer's key.
    #[must_use]
    pub const fn key(&self) -> PublicKey {
        self.key
    }

    /// The session's settings.
    #[must_use]
    pub const fn config(&self) -> &NeoConfig {
        &self.config
    }

    /// What was counted so far.
    #[must_use]
    pub fn stats(&self) -> NeoStats {
        NeoStats { changes_lost: self.streams.lost, changes_refused: self.streams.refused, ..self.stats }
    }

    /// The peers that take part now, with their keys.
    pub fn present(&self) -> impl Iterator<Item = (PeerId, PublicKey)> {
        self.members.present().filter_map(|(_, member)| Some((member.peer, member.proved()?.0)))
    }

    /// The proofs against peers that were evicted.
    pub fn proofs(&self) -> impl Iterator<Item = &Proof> {
        self.evicted.values()
    }

    /// The session time, if there is one.
    #[must_use]
    pub fn session_time(&self, now: LocalTime) -> Option<SessionTime> {
        self.clock.session(self.now.max(now))
    }

    /// The current round length and depth.
    #[must_use]
    pub fn tempo(&self) -> (Span, u32) {
        let tempo = self.schedule.of(self.own.next);
        (tempo.round, tempo.depth)
    }

    fn session_now(&self) -> Option<SessionTime> {
        self.clock.session(self.now)
    }

    fn push_event(&mut self, event: NeoEvent) {
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    fn send(&mut self, to: PeerId, control: &Control) {
        if !self.outbox.push_reliable(to, control) {
            self.stats.refused += 1;
        }
    }

    /// Sends to everyone who proved its key.
    fn send_to_all(&mut self, control: &Control) {
        for peer in self.members.proved_peers() {
            self.send(peer, control);
        }
    }

    fn peer_in(&self, seat: Seat) -> Option<PeerId> {
        self.members.get(seat).map(|member| member.peer)
    }

    /// The slot's phase, if the slot is within what is kept: from [`ROUNDS_KEPT`] rounds ago to one round ahead.
    fn slot_mut(&mut self, slot: u64) -> Option<&mut Phase> {
        let at = self.session_now()?;
        if !self.is_kept(slot, at) {
            return None;
        }
        Some(self.slots.entry(slot).or_insert_with(|| Phase::new(slot)))
    }

    fn is_kept(&self, slot: u64, at: SessionTime) -> bool {
        let tempo = self.schedule.of(slot);
        let age = at - self.schedule.begin(slot);
        -tempo.round <= age && age <= self.keep_span(slot)
    }

    /// How long after its beginning a slot is kept: longer than anything about it can still be decided.
    fn keep_span(&self, slot: u64) -> Span {
        let round = self.schedule.of(slot).round;
        let decided = (self.given_up_at(slot) - self.schedule.begin(slot)) + round;
        round.times(ROUNDS_KEPT).max(decided)
    }
}
