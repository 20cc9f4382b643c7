//! The vector last sent to a receiver, in eight bytes. It usually shows whether the receiver lacks the newest vector, which every
//! tick checks for every pair.

use evenkeel_core::{SessionTime, Span};

use super::sent_messages::{NUMBERS_END, SentMessages};
use crate::motion::vector::DrSeq;

/// The vector last sent to a receiver, and whether it determines what the receiver shows.
// C layout, because SIMD code reads several at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct LastSent {
    /// The number of the vector.
    pub seq: DrSeq,
    /// The number of its message, with two status bits on top.
    mark: u32,
}

const _: () = assert!(NUMBERS_END == LastSent::REPORTED, "the status bits are above all message numbers");

impl LastSent {
    /// Status: only the account can determine what the receiver shows.
    pub const UNCLEAR: u32 = 1 << 31;
    /// Status: the vector's arrival was reported, or the place is empty.
    pub const REPORTED: u32 = 1 << 30;
    /// The value of an empty place, which lacks nothing.
    pub(super) const NOBODY: Self = Self { seq: DrSeq(u32::MAX), mark: Self::REPORTED };

    /// A vector sent in the message with this number.
    #[inline]
    pub(crate) const fn new(seq: DrSeq, number: u32, state: u32) -> Self {
        debug_assert!(number < NUMBERS_END, "the message's number fits");
        Self { seq, mark: number | state }
    }

    /// The number of the message it was sent in.
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

    /// What the receiver shows, or will show. A vector that stays unreported for longer than `lost_after` may be lost.
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

/// The vector that a receiver shows, or will show once the vectors in flight arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShownVector {
    /// The newest vector.
    Newest,
    /// An older vector.
    Older(DrSeq),
    /// Only the account can determine it.
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
