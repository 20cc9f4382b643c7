//! An owner's uplink to its relay: each vector leaves at once as a datagram, and is repeated until the relay has
//! recorded it.
//!
//! The relay needs the newest vector early, and all of them eventually: the ledger is exact only as far as the exported
//! path has no holes.

use std::collections::VecDeque;

use evenkeel_core::{Backoff, DelayEstimate, PeerId, SessionTime, Span, earlier};
use evenkeel_session::Outbox;

use super::Threshold;
use crate::message::{VectorFrame, emit_ended, emit_introduce, emit_vector};
use crate::motion::{DrSeq, EntityId};

/// Vectors that the relay has not recorded yet. Beyond, every entity is introduced anew, and the relay estimates what
/// it misses.
pub const UNRECORDED_MAX: usize = 1024;

/// Repetitions of a vector that the relay does not record. Beyond, every entity is introduced anew.
const REPEATS_MAX: u32 = 64;

/// How long the next observation of an outdated entity is awaited.
const OBSERVATION_AWAITED: Span = Span::from_millis(500);

#[derive(Clone, Copy, Debug)]
struct Unrecorded {
    frame: VectorFrame,
    sent: SessionTime,
    repeats: u32,
}

/// The uplink to one relay.
#[derive(Clone, Debug)]
pub struct Uplink {
    pub(crate) relay: PeerId,
    threshold: Threshold,
    present: bool,
    /// In the order in which they were last sent.
    unrecorded: VecDeque<Unrecorded>,
    /// Some vectors will never be recorded, so every entity must be introduced anew.
    pub(crate) gave_up: bool,
    /// Until when observations of outdated entities are awaited.
    waits_until: Option<SessionTime>,
    round_trip: DelayEstimate,
    backoff: Backoff,
}

impl Uplink {
    /// An uplink to this relay, for entities with this threshold.
    #[must_use]
    pub fn new(relay: PeerId, threshold: Threshold) -> Self {
        Self {
            relay,
            threshold,
            present: false,
            unrecorded: VecDeque::new(),
            gave_up: false,
            waits_until: None,
            round_trip: DelayEstimate::default(),
            backoff: Backoff::default(),
        }
    }

    /// Introduces every entity, because the relay has joined or has missed too much.
    pub fn join(&mut self, frames: impl Iterator<Item = VectorFrame>, outbox: &mut Outbox) {
        (self.present, self.gave_up) = (true, false);
        self.unrecorded.clear();
        for frame in frames {
            self.introduce(&frame, outbox);
        }
    }

    /// Forgets the relay, which has left.
    pub fn leave(&mut self) {
        (self.present, self.waits_until) = (false, None);
        self.unrecorded.clear();
    }

    /// Notes that some entities are introduced with their next observation, or without one after a while.
    pub fn wait(&mut self, now: SessionTime) {
        self.waits_until = Some(now + OBSERVATION_AWAITED);
    }

    /// Whether observations have been awaited long enough. True only once.
    pub fn stop_waiting(&mut self, now: SessionTime) -> bool {
        self.waits_until.take_if(|until| *until <= now).is_some()
    }

    /// Introduces an entity: its first vector, or the one from which the relay continues.
    pub fn introduce(&mut self, frame: &VectorFrame, outbox: &mut Outbox) {
        if self.present {
            outbox.reliable(self.relay, |stamp, bytes| emit_introduce(frame, &self.threshold, stamp, bytes));
        }
    }

    /// Sends a further vector of an entity.
    pub fn trigger(&mut self, frame: &VectorFrame, outbox: &mut Outbox) {
        if !self.present {
            return;
        }
        if self.unrecorded.len() == UNRECORDED_MAX {
            self.gave_up = true;
            return;
        }
        self.unrecorded.push_back(Unrecorded { frame: *frame, sent: frame.sent, repeats: 0 });
        outbox.datagram(self.relay, |stamp, bytes| emit_vector(frame, stamp, bytes));
    }

    /// Ends an entity. Its vectors are still repeated until they are recorded, because the ledger needs them.
    pub fn end(&mut self, entity: EntityId, last: DrSeq, at: SessionTime, outbox: &mut Outbox) {
        if self.present {
            outbox.reliable(self.relay, |stamp, bytes| emit_ended(entity, last, at, stamp, bytes));
        }
    }

    /// Handles a record: the relay has an entity's vectors up to `contiguous`, and `newest` has just arrived.
    pub fn on_recorded(&mut self, entity: EntityId, contiguous: DrSeq, newest: DrSeq, now: SessionTime) {
        for unrecorded in &self.unrecorded {
            let Unrecorded { frame, sent, repeats } = *unrecorded;
            if (frame.entity, frame.seq) == (entity, newest) && repeats == 0 {
                self.round_trip.sample(now - sent);
            }
        }
        self.backoff.answered();
        self.unrecorded
            .retain(|u| u.frame.entity != entity || (u.frame.seq > contiguous && u.frame.seq != newest));
    }

    fn repeat_after(&self) -> Span {
        // Before the first answer, repeating late costs little.
        let usual = match self.round_trip.samples() {
            0 => Span::from_millis(500),
            _ => self.round_trip.mean() + self.round_trip.deviation().times(4) + Span::from_millis(50),
        };
        self.backoff.after(usual)
    }

    /// Repeats the vectors that were not recorded in time.
    pub fn on_timeout(&mut self, now: SessionTime, outbox: &mut Outbox) {
        let repeat_after = self.repeat_after();
        for repeated in 0..self.unrecorded.len() {
            let due = self.unrecorded.front().is_some_and(|first| first.sent + repeat_after <= now);
            let Some(mut first) = self.unrecorded.pop_front_if(|_| due) else { return };
            if repeated == 0 {
                self.backoff.repeated();
            }
            (first.sent, first.repeats) = (now, first.repeats + 1);
            outbox.datagram(self.relay, |stamp, bytes| emit_vector(&first.frame, stamp, bytes));
            self.gave_up |= first.repeats == REPEATS_MAX;
            self.unrecorded.push_back(first);
        }
    }

    /// When [`on_timeout`](Self::on_timeout) is due.
    #[must_use]
    pub fn next_timeout(&self) -> Option<SessionTime> {
        let repeat = self.unrecorded.front().map(|first| first.sent + self.repeat_after());
        earlier(repeat, self.waits_until)
    }
}
