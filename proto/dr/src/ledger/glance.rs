//! What tells of a pair whether it lacks the newest vector, nearly always. At each tick every pair is asked this, and most have
//! nothing to gain: so it is kept apart from the accounts, one after the other for all receivers of an entity. So is what a look
//! at everybody's error needs.

use evenkeel_core::{SessionTime, Span};

use crate::vector::DrSeq;

/// A pair at a glance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glance {
    /// The place of its receiver.
    pub(crate) link: u32,
    /// The place of its account.
    pub(crate) slot: u32,
    /// The newest vector that is reported to have arrived.
    pub(crate) arrived: DrSeq,
    /// The vector that was sent last, and when.
    pub(crate) last: DrSeq,
    pub(crate) sent: SessionTime,
}

/// Which vector a receiver shows, or will show when what is on its way arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shows {
    /// The newest.
    Newest,
    /// This one.
    Older(DrSeq),
    /// The account must be asked.
    Unclear,
}

impl Glance {
    /// A pair of which nothing can be told without its account.
    pub(super) const fn unclear(link: u32, slot: u32) -> Self {
        let (arrived, last) = (DrSeq(0), DrSeq(u32::MAX));
        Self { link, slot, arrived, last, sent: SessionTime::MIN }
    }

    /// The newest that has arrived is known, and what was sent last is the newest that was sent.
    pub(super) const fn set(&mut self, arrived: DrSeq, last: DrSeq, sent: SessionTime) {
        (self.arrived, self.last, self.sent) = (arrived, last, sent);
    }

    /// What the receiver shows. What is not reported for longer than `lost_after` may be lost.
    #[inline]
    pub(crate) fn shows(&self, newest: DrSeq, now: SessionTime, lost_after: Span) -> Shows {
        let seq = if self.arrived >= self.last {
            self.arrived
        } else if now - self.sent <= lost_after && lost_after < Span::MAX {
            self.last
        } else {
            return Shows::Unclear;
        };
        if seq >= newest { Shows::Newest } else { Shows::Older(seq) }
    }

    /// What the receiver shows, unless what was sent last got lost.
    #[inline]
    pub(crate) fn expected(&self) -> DrSeq {
        self.arrived.max(self.last)
    }

    /// Whether what was sent last was sent before a time and is not reported.
    #[inline]
    pub(crate) fn is_overdue(&self, before: SessionTime) -> bool {
        self.arrived < self.last && self.sent < before
    }
}

/// A pair as the looks at its error see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Its error at the last look, unless that is told by a sum; not a number: there was no look.
    pub(crate) error: f64,
    /// What its error is above the sum of everybody who shows the same vector.
    pub(crate) base: f64,
    /// Above which sum; 0: above none.
    pub(crate) sum: u32,
    /// By which sum its error at the last look is told: that was `base` above it. 0: by none.
    pub(crate) told: u16,
    /// What is on its way.
    pub(crate) pending: Pending,
}

/// What of an account tells more than what has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pending {
    /// Only the account knows.
    Unclear,
    /// Nothing.
    Nothing,
    /// What was sent last.
    Last,
    /// Several vectors, or one that was sent before.
    Several,
}

impl Look {
    /// There was no look yet.
    pub(super) const NONE: Self =
        Self { error: f64::NAN, base: 0.0, sum: 0, told: 0, pending: Pending::Unclear };
}
