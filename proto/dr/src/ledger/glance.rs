//! What tells of a pair whether it lacks the newest vector, nearly always. At each tick every pair is asked this, and most have
//! nothing to gain: so it is kept apart from the accounts, in columns for all receivers of an entity. So is what a look at
//! everybody's error needs.

use evenkeel_core::{SessionTime, Span};

use super::push;
use crate::vector::DrSeq;

/// A pair: where to find what belongs to it, and what its receiver has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glance {
    /// The place of its receiver.
    pub(crate) link: u32,
    /// The place of its account.
    pub(crate) slot: u32,
    /// The newest vector that is reported to have arrived.
    pub(crate) arrived: DrSeq,
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

/// What every receiver of an entity is expected to show, in columns, by the places of the receivers: so several are asked at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prospects {
    /// The vector that it shows, unless what was sent last got lost.
    pub(crate) seqs: Vec<DrSeq>,
    /// When that was sent, if it is not reported. The end of time: it is reported, or there is nobody. The beginning of time: nothing
    /// can be told without the account.
    pub(crate) sent: Vec<SessionTime>,
}

impl Prospects {
    /// Of who is not there, it is clear that nothing is lacking.
    pub(crate) const NOBODY: (DrSeq, SessionTime) = (DrSeq(u32::MAX), SessionTime::MAX);
    /// Nothing can be told without the account.
    pub(super) const UNCLEAR: (DrSeq, SessionTime) = (DrSeq(u32::MAX), SessionTime::MIN);

    pub(super) fn set(&mut self, link: u32, (seq, sent): (DrSeq, SessionTime)) {
        while self.seqs.len() <= link as usize {
            push(&mut self.seqs, Self::NOBODY.0);
            push(&mut self.sent, Self::NOBODY.1);
        }
        (self.seqs[link as usize], self.sent[link as usize]) = (seq, sent);
    }

    /// What a receiver is expected to show, and when that was sent if it is not reported.
    #[inline]
    pub(crate) fn of(&self, link: u32) -> (DrSeq, SessionTime) {
        (self.seqs[link as usize], self.sent[link as usize])
    }

    /// What a receiver shows. What is not reported for longer than `lost_after` may be lost.
    #[inline]
    pub(crate) fn shows(&self, link: u32, newest: DrSeq, now: SessionTime, lost_after: Span) -> Shows {
        let (seq, sent) = self.of(link);
        let is_awaited = now - sent <= lost_after && lost_after < Span::MAX;
        if sent < SessionTime::MAX && !is_awaited {
            Shows::Unclear
        } else if seq >= newest {
            Shows::Newest
        } else {
            Shows::Older(seq)
        }
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
