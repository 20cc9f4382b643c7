//! What was sent to a receiver and whose fate is unknown, in order of sending. There are very many of them: five take a block of 72
//! bytes, in which times and numbers are told as differences, and none takes no room.

use evenkeel_core::{SessionTime, Span};

use super::Dispatch;
use crate::vector::DrSeq;

/// So many are in one block.
const BLOCK_LEN: usize = 5;

/// A dispatch whose fate is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Flying {
    pub(super) sent: SessionTime,
    pub(super) seq: DrSeq,
    /// The nonce of its message.
    pub(super) nonce: u32,
}

impl Flying {
    pub(super) const fn dispatch(&self) -> Dispatch {
        Dispatch { sent: self.sent, seq: self.seq }
    }
}

/// A few dispatches in a row, of which the first `len` are. Never empty.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// What the others' times and numbers are differences from.
    sent: SessionTime,
    seq: DrSeq,
    len: u8,
    /// In nanoseconds.
    later: [u32; BLOCK_LEN],
    nonces: [u32; BLOCK_LEN],
    ahead: [i16; BLOCK_LEN],
    next: InFlight,
}

impl Block {
    fn new(Flying { sent, seq, nonce }: Flying) -> Self {
        let mut nonces = [0; BLOCK_LEN];
        nonces[0] = nonce;
        let (later, ahead) = ([0; BLOCK_LEN], [0; BLOCK_LEN]);
        Self { sent, seq, len: 1, later, nonces, ahead, next: InFlight(None) }
    }

    const fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    fn at(&self, place: usize) -> Flying {
        Flying {
            sent: self.sent + Span::from_nanos(i64::from(self.later[place])),
            seq: self.seq_at(place),
            nonce: self.nonces[place],
        }
    }

    #[inline]
    fn seq_at(&self, place: usize) -> DrSeq {
        DrSeq(self.seq.0.wrapping_add_signed(i32::from(self.ahead[place])))
    }

    /// Takes one more in; false if it does not fit.
    fn push(&mut self, Flying { sent, seq, nonce }: Flying) -> bool {
        let place = self.len();
        let later = u32::try_from((sent - self.sent).as_nanos());
        let ahead = i16::try_from(i64::from(seq.0) - i64::from(self.seq.0));
        let (Ok(later), Ok(ahead), true) = (later, ahead, place < BLOCK_LEN) else { return false };
        (self.later[place], self.ahead[place], self.nonces[place]) = (later, ahead, nonce);
        self.len += 1;
        true
    }

    fn remove(&mut self, place: usize) {
        for next in place + 1..self.len() {
            self.later[next - 1] = self.later[next];
            self.nonces[next - 1] = self.nonces[next];
            self.ahead[next - 1] = self.ahead[next];
        }
        self.len -= 1;
    }

    /// Takes the next block's in if all of them fit, so that many that are nearly empty do not remain.
    fn absorb_next(&mut self) {
        let Some(mut next) = self.next.0.take() else { return };
        let before = self.len;
        let fits = self.len() + next.len() <= BLOCK_LEN;
        if fits && (0..next.len()).all(|place| self.push(next.at(place))) {
            self.next = core::mem::take(&mut next.next);
        } else {
            (self.len, self.next.0) = (before, Some(next));
        }
    }
}

/// Blocks to fill again: to ask the allocator for one at each dispatch would be dear.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spare(
    // Boxed: what is kept is what the allocator gave.
    #[allow(clippy::vec_box)] Vec<Box<Block>>,
);

/// So many are kept.
const SPARE_MAX: usize = 256;

impl Spare {
    fn block(&mut self, flying: Flying) -> Box<Block> {
        match self.0.pop() {
            Some(mut block) => {
                *block = Block::new(flying);
                block
            }
            None => Box::new(Block::new(flying)),
        }
    }

    fn keep(&mut self, block: Box<Block>) {
        if self.0.len() < SPARE_MAX {
            self.0.push(block);
        }
    }
}

/// Dispatches in the order of their sending.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight(Option<Box<Block>>);

impl InFlight {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether there are no more than one block holds.
    pub(super) fn is_short(&self) -> bool {
        self.0.as_ref().is_none_or(|block| block.next.is_empty())
    }

    pub(super) fn len(&self) -> usize {
        let (mut len, mut blocks) = (0, self);
        while let Some(block) = &blocks.0 {
            (len, blocks) = (len + block.len(), &block.next);
        }
        len
    }

    pub(super) fn front(&self) -> Option<Flying> {
        self.0.as_ref().map(|block| block.at(0))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Flying> + '_ {
        let (mut blocks, mut place) = (self, 0);
        core::iter::from_fn(move || {
            let block = blocks.0.as_ref()?;
            let flying = block.at(place);
            place += 1;
            if place == block.len() {
                (blocks, place) = (&block.next, 0);
            }
            Some(flying)
        })
    }

    pub(super) fn push_back(&mut self, flying: Flying, spare: &mut Spare) {
        let mut blocks = &mut self.0;
        while let Some(block) = blocks {
            if block.next.is_empty() && block.push(flying) {
                return;
            }
            blocks = &mut block.next.0;
        }
        *blocks = Some(spare.block(flying));
    }

    pub(super) fn pop_front(&mut self) {
        self.remove_first(|_, _| true, drop);
    }

    /// Takes the dispatch of a vector out that was in the message with this nonce.
    pub(super) fn take(&mut self, seq: DrSeq, nonce: u32, spare: &mut Spare) -> Option<Flying> {
        let is_it = |block: &Block, place: usize| block.nonces[place] == nonce && block.seq_at(place) == seq;
        self.remove_first(is_it, |block| spare.keep(block))
    }

    #[inline]
    fn remove_first(
        &mut self,
        is_it: impl Fn(&Block, usize) -> bool,
        keep: impl FnOnce(Box<Block>),
    ) -> Option<Flying> {
        let mut blocks = self;
        loop {
            let block = blocks.0.as_mut()?;
            let mut place = 0;
            while place < block.len() && !is_it(block, place) {
                place += 1;
            }
            if place < block.len() {
                let flying = block.at(place);
                block.remove(place);
                if block.len == 0 {
                    let next = block.next.0.take();
                    core::mem::replace(&mut blocks.0, next).map(keep);
                } else {
                    block.absorb_next();
                }
                return Some(flying);
            }
            blocks = &mut blocks.0.as_mut()?.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use evenkeel_core::Seed;

    use super::*;

    #[test]
    fn it_is_a_queue_whatever_is_sent_and_taken_out() {
        let mut draws = Seed::new(1).draws();
        let (mut in_flight, mut queue, mut spare) = (InFlight::default(), VecDeque::new(), Spare::default());
        let mut now = SessionTime::from_nanos(0);
        for step in 0..30_000_u32 {
            now += Span::from_nanos(if draws.chance(0.01) { 5_000_000_000 } else { 20_000_000 });
            let seq = if draws.chance(0.02) { u32::MAX - step } else { step - step.min(3) * (step % 2) };
            match draws.below(8) {
                0..4 if queue.len() < 40 => {
                    let flying = Flying { sent: now, seq: DrSeq(seq), nonce: step % 7 };
                    in_flight.push_back(flying, &mut spare);
                    queue.push_back(flying);
                }
                4 => {
                    in_flight.pop_front();
                    queue.pop_front();
                }
                5..8 if !queue.is_empty() => {
                    let Flying { seq, nonce, .. } = queue[draws.below(queue.len() as u64) as usize];
                    let place = queue.iter().position(|other| (other.seq, other.nonce) == (seq, nonce));
                    let taken = in_flight.take(seq, nonce, &mut spare);
                    assert_eq!(taken, place.and_then(|place| queue.remove(place)));
                }
                _ => assert_eq!(in_flight.take(DrSeq(step + 9), 7, &mut spare), None),
            }
            assert!(in_flight.iter().eq(queue.iter().copied()));
            assert_eq!((in_flight.len(), in_flight.front()), (queue.len(), queue.front().copied()));
            assert_eq!(in_flight.is_empty(), queue.is_empty());
        }
    }

    #[test]
    fn a_block_of_five_is_small() {
        assert_eq!(size_of::<Block>(), 72);
    }
}
