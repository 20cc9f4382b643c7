//! A receiver's log of arrivals. They are numbered and repeated until the sender has confirmed them, so a lost
//! acknowledgment costs time but no accuracy.
//!
//! Each acknowledgment repeats the last few arrivals, so several acknowledgments in a row may be lost at no cost. If
//! more are, the sender reports the hole, gets everything from there on again, and for a while acknowledgments repeat
//! more.

use std::collections::VecDeque;

use evenkeel_core::{Backoff, DelayEstimate, SessionTime, Span};

use crate::message::{Arrival, ConfirmFrame, FEEDBACK_LEN_MAX, FEEDBACK_MAX, RUN_LEN_MAX, emit_feedback};

/// Unconfirmed arrivals that are kept. Beyond, the oldest is dropped; the sender sees the gap and estimates it.
pub const LOG_MAX: usize = 16_384;
/// Acknowledgments that hold each arrival, unless it is confirmed before.
const REPEATED: usize = 3;
/// Arrivals in each acknowledgment, at least.
const RECENT_MIN: u64 = 4;
/// Arrivals in each acknowledgment while recovering from a hole, at least.
const RECENT_RECOVERING_MIN: u64 = 8;
/// Arrivals until the recovery from a hole is over.
const RECOVERY: u64 = 256;
/// Arrivals that are sent again at once when the sender misses some.
const REPAIR_MAX: u64 = 1024;
/// The time after which unconfirmed arrivals are repeated, before a round trip was measured.
const REPEAT_FIRST: Span = Span::from_secs(1);

/// Consecutive arrivals that fit one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrivalRange {
    first: u64,
    count: usize,
}

/// The arrivals from one sender.
#[derive(Clone, Debug, Default)]
pub struct ArrivalLog {
    /// The number of the first arrival in the log.
    oldest: u64,
    log: VecDeque<Arrival>,
    /// The ends of the last acknowledgments, the earliest first.
    reached: [u64; REPEATED],
    /// The number up to which acknowledgments hold more, because the sender missed some.
    recovering_until: u64,
    /// The end of the repair of a hole so far, and when the repair began.
    repaired: Option<(u64, SessionTime)>,
    round_trip: DelayEstimate,
    backoff: Backoff,
    repeat_at: Option<SessionTime>,
}

impl ArrivalLog {
    fn next(&self) -> u64 {
        self.oldest + self.log.len() as u64
    }

    /// Logs an arrival.
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

    /// The arrivals to acknowledge now: the new ones, and those of the last acknowledgments.
    pub fn acknowledge(&mut self, bytes_max: usize) -> impl Iterator<Item = ArrivalRange> + use<> {
        let next = self.next();
        let recent = if next < self.recovering_until { RECENT_RECOVERING_MIN } else { RECENT_MIN };
        let from = self.reached[0].min(next.saturating_sub(recent)).max(self.oldest);
        self.reached.rotate_left(1);
        self.reached[REPEATED - 1] = next;
        ranges(from, next, bytes_max)
    }

    /// The arrivals to repeat at [`repeat_at`](Self::repeat_at): the oldest unconfirmed one, and those that follow.
    pub fn repeat(
        &mut self,
        now: SessionTime,
        bytes_max: usize,
    ) -> impl Iterator<Item = ArrivalRange> + use<> {
        self.backoff.repeated();
        self.repeat_at = Some(now + self.repeat_after());
        ranges(self.oldest, self.next().min(self.oldest + REPAIR_MAX), bytes_max)
    }

    /// The arrivals to send again because the sender misses some: those that this repair has not sent yet.
    pub fn repair(&mut self, bytes_max: usize) -> impl Iterator<Item = ArrivalRange> + use<> {
        let (reached, since) = self.repaired.unwrap_or((self.oldest, SessionTime::MIN));
        let from = reached.max(self.oldest);
        let to = self.next().min(from + REPAIR_MAX);
        self.repaired = Some((to, since));
        ranges(from, to, bytes_max)
    }

    /// Appends a range as a frame of a message with this stamp.
    pub fn emit(&self, range: ArrivalRange, stamp: SessionTime, bytes: &mut Vec<u8>) {
        let skip = range.first.saturating_sub(self.oldest) as usize;
        emit_feedback(self.oldest, range.first, stamp, self.log.range(skip..skip + range.count), bytes);
    }

    /// Handles a confirmation. Returns true if the sender misses arrivals, which should be [repaired](Self::repair)
    /// at once.
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
            self.recovering_until = self.next() + RECOVERY;
        }
        // A repair continues where it stopped, and starts over only when it had time to take effect.
        if self.repaired.is_none_or(|(reached, since)| reached <= self.oldest || now - since >= wait) {
            self.repaired = Some((self.oldest, now));
        }
        confirm.hole && !outdated && self.repaired.is_some_and(|(reached, _)| reached < self.next())
    }

    /// When unconfirmed arrivals are to be repeated.
    #[must_use]
    pub const fn repeat_at(&self) -> Option<SessionTime> {
        self.repeat_at
    }

    /// Half the measured round trip.
    #[must_use]
    pub fn one_way(&self) -> Span {
        self.round_trip.mean().part(2)
    }
}

/// Splits the numbers from `from` up to `to` into ranges whose frames take at most `bytes_max`, even if each arrival
/// came with a message of its own.
fn ranges(from: u64, to: u64, bytes_max: usize) -> impl Iterator<Item = ArrivalRange> {
    let room = bytes_max.saturating_sub(FEEDBACK_LEN_MAX) / RUN_LEN_MAX;
    let size = room.clamp(1, FEEDBACK_MAX);
    let mut next = from;
    core::iter::from_fn(move || {
        let (first, count) = (next, size.min(to.saturating_sub(next) as usize));
        next += count as u64;
        (count > 0).then_some(ArrivalRange { first, count })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::{DrSeq, EntityId};

    /// Logs an arrival and acknowledges it at once. Returns the number of arrivals in the acknowledgment.
    fn arrive(log: &mut ArrivalLog, number: u32) -> usize {
        let at = SessionTime::from_nanos(i64::from(number));
        log.note(Arrival { entity: EntityId(0), seq: DrSeq(number), at, nonce: number });
        log.acknowledge(1200).map(|range| range.count).sum()
    }

    #[test]
    fn acknowledgments_hold_more_arrivals_for_a_while_after_a_hole() {
        let mut log = ArrivalLog::default();
        let held: Vec<usize> = (0..20).map(|number| arrive(&mut log, number)).collect();
        assert_eq!(held[..4], [1, 2, 3, 4]);
        assert!(held[4..].iter().all(|count| *count == RECENT_MIN as usize), "{held:?}");
        let confirm = |next, hole| {
            let (stamp, held) = (SessionTime::from_nanos(0), Span::ZERO);
            ConfirmFrame { next, stamp, held, hole }
        };
        assert!(log.confirm(&confirm(10, true), SessionTime::from_nanos(30)));
        let mut recovering = (20..20 + RECOVERY as u32 - 1).map(|number| arrive(&mut log, number));
        assert!(recovering.all(|count| count == RECENT_RECOVERING_MIN as usize));
        assert_eq!(arrive(&mut log, 20 + RECOVERY as u32), RECENT_MIN as usize);
        let newest = log.next();
        assert!(!log.confirm(&confirm(newest - 1, false), SessionTime::from_nanos(300)));
        assert_eq!(arrive(&mut log, 300), 2, "confirmed arrivals are not repeated");
    }
}
