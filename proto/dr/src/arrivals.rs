//! A receiver's log of arrivals: numbered, repeated until the sender has confirmed them, so that a lost
//! acknowledgment costs time, never truth.

use std::collections::VecDeque;

use evenkeel_core::{DelayEstimate, SessionTime, Span};

use crate::message::{ARRIVAL_LEN, Arrival, ConfirmFrame, FEEDBACK_MAX, emit_feedback};

/// Unconfirmed arrivals that are kept; when there are more, the oldest is dropped and its truth is lost to the sender,
/// which sees the gap and settles by estimate.
pub const LOG_MAX: usize = 4096;
/// Arrivals that each acknowledgment repeats: so many in a row may be lost at no cost.
const RECENT: usize = 8;
/// Before the first round trip is known, unconfirmed arrivals are repeated after this time.
const REPEAT_FIRST: Span = Span::from_secs(1);

/// The arrivals from one sender.
#[derive(Clone, Debug, Default)]
pub struct ArrivalLog {
    /// The number of the first arrival in the log.
    oldest: u64,
    log: VecDeque<Arrival>,
    round_trip: DelayEstimate,
    repeat_at: Option<SessionTime>,
}

impl ArrivalLog {
    /// Notes an arrival.
    pub fn note(&mut self, arrival: Arrival) {
        if self.log.len() == LOG_MAX {
            self.log.pop_front();
            self.oldest += 1;
        }
        self.log.push_back(arrival);
        let wait = self.repeat_after();
        self.repeat_at.get_or_insert(arrival.at + wait);
    }

    fn repeat_after(&self) -> Span {
        if self.round_trip.samples() == 0 {
            return REPEAT_FIRST;
        }
        self.round_trip.mean() + self.round_trip.deviation().times(4) + Span::from_millis(400)
    }

    /// Writes an acknowledgment of the newest arrivals.
    pub fn acknowledge(&self, now: SessionTime, bytes: &mut Vec<u8>) {
        let skip = self.log.len().saturating_sub(RECENT);
        emit_feedback(self.oldest, self.oldest + skip as u64, now, self.log.range(skip..), bytes);
    }

    /// Writes the oldest unconfirmed arrivals again, in at most so many bytes.
    pub fn repeat(&mut self, now: SessionTime, bytes_max: usize, bytes: &mut Vec<u8>) {
        self.repeat_at = Some(now + self.repeat_after());
        let count = (bytes_max.saturating_sub(64) / ARRIVAL_LEN).clamp(1, FEEDBACK_MAX).min(self.log.len());
        emit_feedback(self.oldest, self.oldest, now, self.log.range(..count), bytes);
    }

    /// The sender has arrivals in its books.
    pub fn confirm(&mut self, confirm: &ConfirmFrame, now: SessionTime) {
        let confirmed = confirm.next.saturating_sub(self.oldest).min(self.log.len() as u64);
        self.log.drain(..confirmed as usize);
        self.oldest += confirmed;
        let round_trip = now - confirm.stamp - confirm.held;
        if round_trip >= Span::ZERO && confirmed > 0 {
            self.round_trip.sample(round_trip);
        }
        if confirmed > 0 {
            let wait = self.repeat_after();
            self.repeat_at = if self.log.is_empty() { None } else { Some(now + wait) };
        }
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
