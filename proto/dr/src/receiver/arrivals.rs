//! A receiver's log of arrivals: numbered, repeated until the sender has confirmed them, so that a lost
//! acknowledgment costs time, never truth.
//!
//! Each acknowledgment also repeats the last arrivals, so that some in a row may be lost at no cost. If
//! more are, the sender sees the hole and says so, and gets everything from there on again; and for a while more are repeated.

use std::collections::VecDeque;

use evenkeel_core::{Backoff, DelayEstimate, SessionTime, Span};

use crate::message::{Arrival, ConfirmFrame, FEEDBACK_LEN_MAX, FEEDBACK_MAX, RUN_LEN_MAX, emit_feedback};

/// Unconfirmed arrivals that are kept; when there are more, the oldest is dropped. Its truth is then lost to the sender,
/// which sees the gap and counts it.
pub const LOG_MAX: usize = 16_384;
/// Each arrival is told in so many acknowledgments, if it is not confirmed before.
const REPEATED: usize = 3;
/// Arrivals that each acknowledgment holds at least.
const RECENT: u64 = 4;
/// And where one more has been lost than that makes up for, for so many arrivals.
const RECENT_WARY: u64 = 8;
const WARY: u64 = 256;
/// Arrivals that are sent again at one go when the sender misses some.
const REPAIR_MAX: u64 = 1024;
/// Before the first round trip is known, unconfirmed arrivals are repeated after this time.
const REPEAT_FIRST: Span = Span::from_secs(1);

/// A run of arrivals that fits one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    first: u64,
    count: usize,
}

/// The arrivals from one sender.
#[derive(Clone, Debug, Default)]
pub struct ArrivalLog {
    /// The number of the first arrival in the log.
    oldest: u64,
    log: VecDeque<Arrival>,
    /// Up to where the last acknowledgments reached, the earliest first.
    reached: [u64; REPEATED],
    /// The sender has missed some: more are repeated up to this number.
    wary_until: u64,
    /// Up to where a hole has been repaired, and since when.
    repaired: Option<(u64, SessionTime)>,
    round_trip: DelayEstimate,
    backoff: Backoff,
    repeat_at: Option<SessionTime>,
}

impl ArrivalLog {
    /// The number that the next arrival will have.
    fn next(&self) -> u64 {
        self.oldest + self.log.len() as u64
    }

    /// Notes an arrival.
    pub fn note(&mut self, arrival: Arrival) {
        if self.log.len() == LOG_MAX {
            self.log.pop_front();
            self.oldest += 1;
        }
        self.log.push_back(arrival);
        if self.repeat_at.is_none() {
            self.repeat_at = Some(arrival.at + self.repeat_after());
        }
    }

    fn repeat_after(&self) -> Span {
        let usual = match self.round_trip.samples() {
            0 => REPEAT_FIRST,
            _ => self.round_trip.mean() + self.round_trip.deviation().times(4) + Span::from_millis(400),
        };
        self.backoff.after(usual)
    }

    /// What to acknowledge now: everything since the last acknowledgment, and what the ones before it said.
    pub fn acknowledge(&mut self, bytes_max: usize) -> impl Iterator<Item = Run> + use<> {
        let next = self.next();
        let recent = if next < self.wary_until { RECENT_WARY } else { RECENT };
        let from = self.reached[0].min(next.saturating_sub(recent)).max(self.oldest);
        self.reached.rotate_left(1);
        self.reached[REPEATED - 1] = next;
        runs(from, next, bytes_max)
    }

    /// What to repeat when that is due: the oldest that is unconfirmed, and what follows.
    pub fn repeat(&mut self, now: SessionTime, bytes_max: usize) -> impl Iterator<Item = Run> + use<> {
        self.backoff.repeated();
        self.repeat_at = Some(now + self.repeat_after());
        runs(self.oldest, self.next().min(self.oldest + REPAIR_MAX), bytes_max)
    }

    /// What to send again because the sender misses some: the part of it that has not been sent again yet.
    pub fn repair(&mut self, bytes_max: usize) -> impl Iterator<Item = Run> + use<> {
        let (reached, since) = self.repaired.unwrap_or((self.oldest, SessionTime::MIN));
        let from = reached.max(self.oldest);
        let to = self.next().min(from + REPAIR_MAX);
        self.repaired = Some((to, since));
        runs(from, to, bytes_max)
    }

    /// Writes a run as a frame of a message with this stamp.
    pub fn emit(&self, run: Run, stamp: SessionTime, bytes: &mut Vec<u8>) {
        let skip = run.first.saturating_sub(self.oldest) as usize;
        emit_feedback(self.oldest, run.first, stamp, self.log.range(skip..skip + run.count), bytes);
    }

    /// The sender has arrivals in its books. True if it misses some, so that they should be sent again at once.
    pub fn confirm(&mut self, confirm: &ConfirmFrame, now: SessionTime) -> bool {
        let outdated = confirm.next < self.oldest;
        let confirmed = confirm.next.saturating_sub(self.oldest).min(self.log.len() as u64);
        self.log.drain(..confirmed as usize);
        self.oldest += confirmed;
        if confirmed > 0 {
            self.backoff.answered();
        }
        let round_trip = now - confirm.stamp - confirm.held;
        if round_trip >= Span::ZERO && confirmed > 0 {
            self.round_trip.sample(round_trip);
        }
        if self.log.is_empty() {
            self.repeat_at = None;
            return false;
        }
        let wait = self.repeat_after();
        if confirmed > 0 {
            self.repeat_at = Some(now + wait);
        }
        if confirm.hole {
            self.wary_until = self.next() + WARY;
        }
        // A repair goes on from where it had come to, and starts over only when it should have had its effect.
        if self.repaired.is_none_or(|(reached, since)| reached <= self.oldest || now - since >= wait) {
            self.repaired = Some((self.oldest, now));
        }
        confirm.hole && !outdated && self.repaired.is_some_and(|(reached, _)| reached < self.next())
    }

    /// When unconfirmed arrivals are due to be repeated.
    #[must_use]
    pub const fn repeat_at(&self) -> Option<SessionTime> {
        self.repeat_at
    }

    /// Half of the measured round trip.
    #[must_use]
    pub fn one_way(&self) -> Span {
        self.round_trip.mean().part(2)
    }
}

/// The numbers from `from` up to `to`, in runs that fit a frame in so many bytes even if no two came together.
fn runs(from: u64, to: u64, bytes_max: usize) -> impl Iterator<Item = Run> {
    let room = bytes_max.saturating_sub(FEEDBACK_LEN_MAX) / RUN_LEN_MAX;
    let size = room.clamp(1, FEEDBACK_MAX);
    let mut next = from;
    core::iter::from_fn(move || {
        let (first, count) = (next, size.min(to.saturating_sub(next) as usize));
        next += count as u64;
        (count > 0).then_some(Run { first, count })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::{DrSeq, EntityId};

    /// One arrival, which is acknowledged at once; gives how many the acknowledgment holds.
    fn arrive(log: &mut ArrivalLog, number: u32) -> usize {
        let at = SessionTime::from_nanos(i64::from(number));
        log.note(Arrival { entity: EntityId(0), seq: DrSeq(number), at, nonce: number });
        log.acknowledge(1200).map(|run| run.count).sum()
    }

    #[test]
    fn acknowledgments_hold_more_for_a_while_after_the_sender_missed_some() {
        let mut log = ArrivalLog::default();
        let held: Vec<usize> = (0..20).map(|number| arrive(&mut log, number)).collect();
        assert_eq!(held[..4], [1, 2, 3, 4]);
        assert!(held[4..].iter().all(|count| *count == RECENT as usize), "{held:?}");
        let confirm = |next, hole| {
            let (stamp, held) = (SessionTime::from_nanos(0), Span::ZERO);
            ConfirmFrame { next, stamp, held, hole }
        };
        assert!(log.confirm(&confirm(10, true), SessionTime::from_nanos(30)));
        let mut wary = (20..20 + WARY as u32 - 1).map(|number| arrive(&mut log, number));
        assert!(wary.all(|count| count == RECENT_WARY as usize));
        assert_eq!(arrive(&mut log, 20 + WARY as u32), RECENT as usize);
        let newest = log.next();
        assert!(!log.confirm(&confirm(newest - 1, false), SessionTime::from_nanos(300)));
        assert_eq!(arrive(&mut log, 300), 2, "what is confirmed is not said again");
    }
}
