//! One direction of a connection, which decides the fate of each packet.
//!
//! A datagram draws from a stream of its own, keyed by the link's seed, the sending time and the rank among
//! the packets of that instant. Each fault has a fixed place in that stream. So neither other traffic nor the
//! settings of other faults change a draw. Reliable messages draw under a label of their own and do not
//! disturb the datagrams.
//!
//! In an experiment in which one message leaves at different times in different runs, the draws can be keyed by a
//! label of the message instead: [`Link::fate_of`].

use evenkeel_core::{Draws, Seed, Span};

use crate::faults::LinkFaults;
use crate::loss::BurstState;
use crate::rate::Backlog;
use crate::time::TrueTime;

const DATAGRAMS: u64 = 1;
const RELIABLE: u64 = 2;
const BURSTS: u64 = 3;
const SECOND_COPY: u64 = 4;
const LABELLED: u64 = 5;

/// Number of lost attempts after which a reliable message is given up.
const ATTEMPTS_MAX: u32 = 32;
/// Added to one and a half round trips before a lost attempt is repeated.
const TIMEOUT_SLACK: Span = Span::from_millis(10);
/// The longest pause between two attempts.
const TIMEOUT_MAX: Span = Span::from_secs(60);

/// What happens to a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It never arrives.
    Lost,
    /// It arrives at this time.
    Once(TrueTime),
    /// It arrives at both times, in either order.
    Twice(TrueTime, TrueTime),
}

impl Fate {
    /// Returns the arrival times.
    pub fn arrivals(self) -> impl Iterator<Item = TrueTime> {
        let (first, second) = match self {
            Self::Lost => (None, None),
            Self::Once(at) => (Some(at), None),
            Self::Twice(at, again) => (Some(at), Some(again)),
        };
        first.into_iter().chain(second)
    }
}

/// Generates the keys of one kind of packets from the sending time and the rank within that instant.
#[derive(Clone, Copy, Debug)]
struct PacketKeys {
    seed: Seed,
    at: TrueTime,
    rank: u64,
}

impl PacketKeys {
    fn new(seed: Seed) -> Self {
        Self { seed, at: TrueTime::MIN, rank: 0 }
    }

    #[inline]
    fn next(&mut self, now: TrueTime) -> Seed {
        self.rank = if self.at == now { self.rank + 1 } else { 0 };
        self.at = now;
        let key = self.seed.child(now.as_nanos() as u64);
        if self.rank == 0 { key } else { key.child(self.rank) }
    }
}

/// One direction of a connection.
#[derive(Clone, Debug)]
pub struct Link {
    faults: LinkFaults,
    seed: Seed,
    is_deterministic: bool,
    latest: TrueTime,
    base: Span,
    steps_done: usize,
    datagrams: PacketKeys,
    reliable: PacketKeys,
    bursts: BurstState,
    backlog: Backlog,
    /// When the last reliable message arrives; `MAX` once the stream has stalled.
    stream_at: TrueTime,
}

impl Link {
    /// Makes a link with these faults. Links with different seeds draw unrelated numbers.
    ///
    /// # Panics
    /// If the faults do not [validate](LinkFaults::validate).
    #[must_use]
    pub fn new(faults: LinkFaults, seed: Seed) -> Self {
        faults.validate().unwrap_or_else(|error| panic!("link faults {faults:?}: {error}"));
        Self {
            is_deterministic: faults.is_deterministic(),
            latest: TrueTime::MIN,
            base: faults.delay.base,
            steps_done: 0,
            datagrams: PacketKeys::new(seed.child(DATAGRAMS)),
            reliable: PacketKeys::new(seed.child(RELIABLE)),
            bursts: BurstState::new(faults.loss, seed.child(BURSTS)),
            backlog: Backlog::EMPTY,
            stream_at: TrueTime::MIN,
            faults,
            seed,
        }
    }

    /// Replaces the faults. Packets in flight keep their fates, and reliable messages still arrive in order.
    ///
    /// # Panics
    /// If the faults do not [validate](LinkFaults::validate).
    pub fn change(&mut self, faults: LinkFaults) {
        let Self { latest, datagrams, reliable, stream_at, .. } = *self;
        *self = Self { latest, datagrams, reliable, stream_at, ..Self::new(faults, self.seed) };
    }

    /// Returns the current faults.
    #[must_use]
    pub const fn faults(&self) -> &LinkFaults {
        &self.faults
    }

    /// Decides the fate of a datagram that is sent now.
    ///
    /// The queue comes first (it may drop the packet), then loss, then the delay of each copy. Times should
    /// not decrease from call to call; an earlier time counts as the latest one so far.
    #[inline]
    pub fn fate(&mut self, now: TrueTime, bytes: usize) -> Fate {
        self.fate_of(now, bytes, None)
    }

    /// Decides the fate of a datagram that is sent now, by its label if it has one: whenever it is sent, datagrams with
    /// the same label have the same delay and are lost together. Bursts of loss remain functions of time.
    #[inline]
    pub fn fate_of(&mut self, now: TrueTime, bytes: usize, label: Option<u64>) -> Fate {
        let now = self.advance(now);
        let departure = match &self.faults.rate {
            None => Some(now),
            Some(limit) => self.backlog.offer(limit, now, bytes),
        };
        if self.is_deterministic {
            return departure.map_or(Fate::Lost, |at| Fate::Once(at + self.base));
        }
        // Taken even if the queue drops the packet, so that ranks do not depend on the queue.
        let key = match label {
            None => self.datagrams.next(now),
            Some(label) => self.seed.child(LABELLED).child(label),
        };
        let Some(departure) = departure else { return Fate::Lost };
        let mut draws = key.draws();
        let (mut loss, mut doubling) = (draws.defer(), draws.defer());
        if self.bursts.is_lost(now, &mut loss) {
            return Fate::Lost;
        }
        let first = departure + self.transit_time(now, &mut draws);
        if self.faults.duplicate > 0.0 && doubling.unit() < self.faults.duplicate {
            let second = departure + self.transit_time(now, &mut key.child(SECOND_COPY).draws());
            return Fate::Twice(first, second);
        }
        Fate::Once(first)
    }

    /// Returns when a reliable message that is sent now arrives.
    ///
    /// A lost attempt is repeated after three base delays (one and a half round trips, if both ways are
    /// alike) plus 10 ms. That pause doubles each time, up to 60 s. Messages arrive in order: a late one
    /// delays all that follow. They share the rate limit with the datagrams, pay for it once per message, and
    /// wait in its queue but are never dropped.
    ///
    /// After 32 lost attempts the link is dead. Messages behind one that never arrives never arrive either,
    /// so the result remains `None` until [`reopen`](Self::reopen).
    pub fn reliable(&mut self, now: TrueTime, bytes: usize) -> Option<TrueTime> {
        let now = self.advance(now);
        if self.stream_at == TrueTime::MAX {
            return None;
        }
        let departure = match &self.faults.rate {
            None => now,
            Some(limit) => self.backlog.append(limit, now, bytes),
        };
        let mut draws = self.reliable.next(now).draws();
        // A copy, because attempts lie in the future and the datagrams of that time have yet to come.
        let mut bursts = self.bursts.clone();
        let mut waited = Span::ZERO;
        let mut pause = (self.base.times(3) + TIMEOUT_SLACK).min(TIMEOUT_MAX);
        for _ in 0..ATTEMPTS_MAX {
            let attempt_at = now + waited;
            if !bursts.is_lost(attempt_at, &mut draws.defer()) {
                let arrival = departure + waited + self.transit_time(attempt_at, &mut draws);
                self.stream_at = self.stream_at.max(arrival);
                return Some(self.stream_at);
            }
            waited += pause;
            pause = pause.times(2).min(TIMEOUT_MAX);
        }
        self.stream_at = TrueTime::MAX;
        None
    }

    /// Resets the reliable channel for a new connection, which does not wait for earlier messages.
    pub fn reopen(&mut self) {
        self.stream_at = TrueTime::MIN;
    }

    /// Updates the time and the base delay.
    #[inline]
    fn advance(&mut self, now: TrueTime) -> TrueTime {
        self.latest = self.latest.max(now);
        while let Some(step) = self.faults.steps.get(self.steps_done)
            && step.at <= self.latest
        {
            self.base = step.delay;
            self.steps_done += 1;
        }
        self.latest
    }

    /// Draws how long one copy takes.
    #[inline]
    fn transit_time(&self, now: TrueTime, draws: &mut Draws) -> Span {
        let mut holding = draws.defer();
        let delay = self.faults.delay.jitter.delay(self.base, now, draws);
        match self.faults.reorder {
            Some(reorder) if holding.unit() < reorder.share => delay + reorder.extra,
            _ => delay,
        }
    }
}
