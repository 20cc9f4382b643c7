//! What was sent last to a receiver, in eight bytes. Nearly always it tells whether the receiver lacks the newest vector, which
//! every tick asks of every pair.

use evenkeel_core::{SessionTime, Span};

use super::sent_messages::{NUMBERS_END, SentMessages};
use crate::motion::vector::DrSeq;

/// What was sent last to a receiver, and whether that tells what it shows.
// In C layout, because several are read at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct LastSent {
    /// The vector that was sent last.
    pub seq: DrSeq,
    /// The number of its message, below two status bits.
    mark: u32,
}

const _: () = assert!(NUMBERS_END == LastSent::REPORTED, "the bits are above all numbers of messages");

impl LastSent {
    /// Status: only the account can tell what the receiver shows.
    pub const UNCLEAR: u32 = 1 << 31;
    /// Status: it is reported to have arrived, or the place is empty.
    pub const REPORTED: u32 = 1 << 30;
    /// An empty place lacks nothing.
    pub(super) const NOBODY: Self = Self { seq: DrSeq(u32::MAX), mark: Self::REPORTED };

    /// A vector that was sent in the message with this number.
    #[inline]
    pub(crate) const fn new(seq: DrSeq, number: u32, state: u32) -> Self {
        debug_assert!(number < NUMBERS_END, "the message's number fits");
        Self { seq, mark: number | state }
    }

    /// The number of its message.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u32 {
        self.mark & (NUMBERS_END - 1)
    }

    /// The status bits.
    #[must_use]
    #[inline]
    pub const fn status(self) -> u32 {
        self.mark & (Self::UNCLEAR | Self::REPORTED)
    }

    /// Message number and status in one: [unclear](Self::UNCLEAR) is the highest bit, and [reported](Self::REPORTED) is above
    /// all message numbers.
    #[must_use]
    #[inline]
    pub const fn mark(self) -> u32 {
        self.mark
    }

    #[inline]
    pub(super) const fn set_status(&mut self, state: u32) {
        self.mark = self.number() | state;
    }

    #[inline]
    pub(super) const fn set_number(&mut self, number: u32) {
        *self = Self::new(self.seq, number, self.status());
    }

    /// What the receiver shows. A vector that has not been reported for longer than `lost_after` may be lost.
    #[must_use]
    #[inline]
    pub fn shows(
        self,
        newest: DrSeq,
        now: SessionTime,
        lost_after: Span,
        messages: &SentMessages,
    ) -> ShownVector {
        let is_awaited = || now - messages.sent(self.number()) <= lost_after && lost_after < Span::MAX;
        if self.mark & Self::UNCLEAR != 0 || self.mark & Self::REPORTED == 0 && !is_awaited() {
            ShownVector::Unclear
        } else if self.seq >= newest {
            ShownVector::Newest
        } else {
            ShownVector::Older(self.seq)
        }
    }
}

/// Which vector a receiver shows, or will show when what is in flight arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShownVector {
    /// The newest one.
    Newest,
    /// An older one.
    Older(DrSeq),
    /// Only the account can tell.
    Unclear,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_and_status_do_not_overlap() {
        for number in [0, 7, NUMBERS_END - 1] {
            for state in [0, LastSent::REPORTED, LastSent::UNCLEAR] {
                let mut last_sent = LastSent::new(DrSeq(3), number, LastSent::REPORTED);
                last_sent.set_status(state);
                assert_eq!((last_sent.number(), last_sent.status()), (number, state));
                last_sent.set_number(5);
                assert_eq!((last_sent.number(), last_sent.status(), last_sent.seq), (5, state, DrSeq(3)));
            }
        }
    }
}
