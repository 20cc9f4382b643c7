//! One direction of one connection: the fate of each packet.
//!
//! The draws of a datagram come from a stream of its own, keyed by link seed, sending time and rank among the
//! packets of that instant, and each fault has its fixed place in that stream. So neither other traffic nor
//! another fault's setting changes what a packet draws. Messages on the reliable channel draw under another
//! label, and so do not disturb the datagrams.

use evenkeel_core::{Draws, Seed, Span};

use crate::faults::LinkFaults;
use crate::loss::Stretches;
use crate::rate::Backlog;
use crate::time::TrueTime;

const DATAGRAMS: u64 = 1;
const RELIABLE: u64 = 2;
const STRETCHES: u64 = 3;
const SECOND_COPY: u64 = 4;

/// A reliable message that was lost so many times never arrives.
const ATTEMPTS_MAX: u32 = 32;
/// What is added to one and a half round trips before a lost attempt is repeated.
const TIMEOUT_SLACK: Span = Span::from_millis(10);
/// The longest pause between two attempts.
const TIMEOUT_MAX: Span = Span::from_secs(60);

/// What becomes of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It never arrives.
    Lost,
    /// It arrives at this time.
    Once(TrueTime),
    /// It arrives twice, at these times, of which either may be the earlier.
    Twice(TrueTime, TrueTime),
}

impl Fate {
    /// The times at which it arrives.
    pub fn arrivals(self) -> impl Iterator<Item = TrueTime> {
        let (first, second) = match self {
            Self::Lost => (None, None),
            Self::Once(at) => (Some(at), None),
            Self::Twice(at, again) => (Some(at), Some(again)),
        };
        first.into_iter().chain(second)
    }
}

/// The keys of one kind of packets: what they draw depends on the instant and the rank within it.
#[derive(Clone, Copy, Debug)]
struct Keys {
    seed: Seed,
    at: TrueTime,
    rank: u64,
}

impl Keys {
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

/// One direction of one connection.
#[derive(Clone, Debug)]
pub struct Link {
    faults: LinkFaults,
    seed: Seed,
    is_certain: bool,
    latest: TrueTime,
    base: Span,
    steps_done: usize,
    datagrams: Keys,
    reliable: Keys,
    stretches: Stretches,
    backlog: Backlog,
    /// When the last reliable message arrives; `MAX` once the stream has stalled.
    stream_at: TrueTime,
}

impl Link {
    /// A link with these faults. Links with different seeds draw unrelated numbers.
    ///
    /// # Panics
    /// If the faults do not [validate](LinkFaults::validate).
    #[must_use]
    pub fn new(faults: LinkFaults, seed: Seed) -> Self {
        faults.validate().unwrap_or_else(|error| panic!("link faults {faults:?}: {error}"));
        Self {
            is_certain: faults.is_certain(),
            latest: TrueTime::MIN,
            base: faults.delay.base,
            steps_done: 0,
            datagrams: Keys::new(seed.child(DATAGRAMS)),
            reliable: Keys::new(seed.child(RELIABLE)),
            stretches: Stretches::new(faults.loss, seed.child(STRETCHES)),
            backlog: Backlog::EMPTY,
            stream_at: TrueTime::MIN,
            faults,
            seed,
        }
    }

    /// It has other faults from now on. What is under way arrives as it would have, and reliable messages still do not
    /// overtake each other.
    ///
    /// # Panics
    /// If the faults do not [validate](LinkFaults::validate).
    pub fn change(&mut self, faults: LinkFaults) {
        let Self { latest, datagrams, reliable, stream_at, .. } = *self;
        *self = Self { latest, datagrams, reliable, stream_at, ..Self::new(faults, self.seed) };
    }

    /// The options that it was made with.
    #[must_use]
    pub const fn faults(&self) -> &LinkFaults {
        &self.faults
    }

    /// What becomes of a datagram of so many bytes that is sent now.
    ///
    /// The order of things: the queue (which may drop it), loss, then for each copy the delay. Times must not
    /// decrease from call to call; an earlier one counts as the latest that was seen.
    #[inline]
    pub fn fate(&mut self, now: TrueTime, bytes: usize) -> Fate {
        let now = self.advance(now);
        let departure = match &self.faults.rate {
            None => Some(now),
            Some(limit) => self.backlog.offer(limit, now, bytes),
        };
        if self.is_certain {
            return departure.map_or(Fate::Lost, |at| Fate::Once(at + self.base));
        }
        // The key is taken before the queue's verdict, so that ranks do not depend on it.
        let key = self.datagrams.next(now);
        let Some(departure) = departure else { return Fate::Lost };
        let mut draws = key.draws();
        let (mut loss, mut doubling) = (draws.put_off(), draws.put_off());
        if self.stretches.is_lost(now, &mut loss) {
            return Fate::Lost;
        }
        let first = departure + self.flight(now, &mut draws);
        if self.faults.duplicate > 0.0 && doubling.unit() < self.faults.duplicate {
            let second = departure + self.flight(now, &mut key.child(SECOND_COPY).draws());
            return Fate::Twice(first, second);
        }
        Fate::Once(first)
    }

    /// When a message of so many bytes that is sent now arrives on the reliable channel.
    ///
    /// The rule: an attempt that is lost is repeated after three base delays (one and a half round trips, if
    /// the way back is like the way there) and 10 ms, and that pause doubles each time, up to 60 s. Messages
    /// never overtake each other: one that is late holds up all that follow. A rate limit is shared with the
    /// datagrams, is paid once per message, and makes messages wait but never drops them.
    ///
    /// `None` after 32 lost attempts: the link is dead. What comes behind a message that never arrives never
    /// arrives either, so from then on it is `None` until [`reopen`](Self::reopen).
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
        // Attempts reach into the future, where the datagrams have not been yet.
        let mut stretches = self.stretches.clone();
        let mut waited = Span::ZERO;
        let mut pause = (self.base.times(3) + TIMEOUT_SLACK).min(TIMEOUT_MAX);
        for _ in 0..ATTEMPTS_MAX {
            let attempt_at = now + waited;
            if !stretches.is_lost(attempt_at, &mut draws.put_off()) {
                let arrival = departure + waited + self.flight(attempt_at, &mut draws);
                self.stream_at = self.stream_at.max(arrival);
                return Some(self.stream_at);
            }
            waited += pause;
            pause = pause.times(2).min(TIMEOUT_MAX);
        }
        self.stream_at = TrueTime::MAX;
        None
    }

    /// Starts the reliable channel anew, as a new connection over the same path does: it no longer waits for
    /// what was sent before.
    pub fn reopen(&mut self) {
        self.stream_at = TrueTime::MIN;
    }

    /// Brings the base delay up to date.
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

    /// How long one copy is under way.
    #[inline]
    fn flight(&self, now: TrueTime, draws: &mut Draws) -> Span {
        let mut holding = draws.put_off();
        let delay = self.faults.delay.jitter.delay(self.base, now, draws);
        match self.faults.reorder {
            Some(reorder) if holding.unit() < reorder.share => delay + reorder.extra,
            _ => delay,
        }
    }
}
