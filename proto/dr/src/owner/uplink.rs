//! An owner's way to its relay: every vector at once as a datagram, and again until the relay has recorded it.
//!
//! The relay needs the newest vector early and all of them eventually: without one of them it would not know the
//! exported path, and the ledger would not be exact.

use std::collections::VecDeque;

use evenkeel_core::{Backoff, DelayEstimate, PeerId, SessionTime, Span};
use evenkeel_session::Outbox;

use crate::message::{VectorFrame, emit_ended, emit_introduce, emit_vector};
use crate::threshold::Threshold;
use crate::vector::{DrSeq, EntityId};

/// Vectors that the relay has not recorded; when there are more, every entity is introduced anew and the relay settles
/// what it misses by estimate.
pub const UNRECORDED_MAX: usize = 1024;

/// A vector that the relay does not answer for is given up after so many repetitions, as if there were too many.
const REPEATS_MAX: u32 = 64;

#[derive(Clone, Copy, Debug)]
struct Unrecorded {
    frame: VectorFrame,
    sent: SessionTime,
    repeats: u32,
}

/// The vectors that are on their way to the relay, in the order of their last sending.
#[derive(Clone, Debug)]
pub struct Uplink {
    relay: PeerId,
    threshold: Threshold,
    present: bool,
    unrecorded: VecDeque<Unrecorded>,
    /// Some vector will never be recorded.
    gave_up: bool,
    round_trip: DelayEstimate,
    backoff: Backoff,
}

impl Uplink {
    /// The way to this relay, for entities whose vectors are made by this threshold.
    #[must_use]
    pub fn new(relay: PeerId, threshold: Threshold) -> Self {
        Self {
            relay,
            threshold,
            present: false,
            unrecorded: VecDeque::new(),
            gave_up: false,
            round_trip: DelayEstimate::default(),
            backoff: Backoff::default(),
        }
    }

    /// The relay.
    #[must_use]
    pub const fn relay(&self) -> PeerId {
        self.relay
    }

    /// Whether some vector will never be recorded, so that the relay must learn of every entity anew.
    #[must_use]
    pub const fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// The relay comes, or comes back, or has missed too much: it learns of every entity.
    pub fn join(&mut self, frames: impl Iterator<Item = VectorFrame>, outbox: &mut Outbox) {
        (self.present, self.gave_up) = (true, false);
        self.unrecorded.clear();
        for frame in frames {
            self.introduce(&frame, outbox);
        }
    }

    /// The relay goes.
    pub fn leave(&mut self) {
        self.present = false;
        self.unrecorded.clear();
    }

    /// An entity's first vector, or one that the relay must go on from.
    pub fn introduce(&mut self, frame: &VectorFrame, outbox: &mut Outbox) {
        if self.present {
            outbox.reliable(self.relay, |stamp, bytes| emit_introduce(frame, &self.threshold, stamp, bytes));
        }
    }

    /// A further vector of an entity.
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

    /// An entity ends. Its vectors are repeated until they are recorded all the same: they are part of the truth.
    pub fn end(&mut self, entity: EntityId, last: DrSeq, at: SessionTime, outbox: &mut Outbox) {
        if self.present {
            outbox.reliable(self.relay, |stamp, bytes| emit_ended(entity, last, at, stamp, bytes));
        }
    }

    /// The relay has recorded an entity's vectors up to `contiguous`, and `newest` has just come.
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
        // Repeating too late costs little, before anything is known.
        let usual = match self.round_trip.samples() {
            0 => Span::from_millis(500),
            _ => self.round_trip.mean() + self.round_trip.deviation().times(4) + Span::from_millis(50),
        };
        self.backoff.after(usual)
    }

    /// Sends again what is not recorded in time.
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

    /// When to be called again.
    #[must_use]
    pub fn next_timeout(&self) -> Option<SessionTime> {
        self.unrecorded.front().map(|first| first.sent + self.repeat_after())
    }
}
