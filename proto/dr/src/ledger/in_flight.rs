//! Vectors in flight: sent, with unknown fate. The last one of each pair is kept in its `LastSent` instead.
//!
//! Up to four share a block of 24 bytes, encoded as differences of message and vector numbers. A pair without any takes no
//! memory.

use super::sent_messages::Renumbered;
use crate::motion::vector::DrSeq;
use crate::prefetch::prefetch;

const BLOCK_LEN: usize = 4;
/// The most blocks of a short chain.
const SHORT: usize = 8;

/// The vectors in flight to one receiver, for all pairs: one chain of blocks per pair.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    blocks: Vec<Block>,
    free: Chain,
}

/// A chain of blocks: the place of its first block plus one, or 0 if empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Chain(u32);

impl Chain {
    pub(super) const NONE: Self = Self(0);

    #[inline]
    fn place(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// A message number, and a vector sent in that message.
pub(super) type Flown = (u32, DrSeq);

/// Up to four vectors. Never empty while in a chain.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// The base of `later`.
    number: u32,
    /// The base of `ahead`.
    seq: DrSeq,
    /// The next chain, shifted above the number of vectors.
    next: u32,
    later: [u16; BLOCK_LEN],
    ahead: [u8; BLOCK_LEN],
}

impl Block {
    const LEN_BITS: u32 = 3;

    const fn new((number, seq): Flown) -> Self {
        Self { number, seq, next: 1, later: [0; BLOCK_LEN], ahead: [0; BLOCK_LEN] }
    }

    #[inline]
    const fn len(&self) -> usize {
        (self.next & ((1 << Self::LEN_BITS) - 1)) as usize
    }

    fn set_len(&mut self, len: usize) {
        self.next = self.next >> Self::LEN_BITS << Self::LEN_BITS | len as u32;
    }

    #[inline]
    const fn next(&self) -> Chain {
        Chain(self.next >> Self::LEN_BITS)
    }

    fn set_next(&mut self, Chain(next): Chain) {
        self.next = next << Self::LEN_BITS | self.len() as u32;
    }

    #[inline]
    fn at(&self, place: usize) -> Flown {
        let (later, ahead) = (u32::from(self.later[place]), u32::from(self.ahead[place]));
        (self.number + later, DrSeq(self.seq.0.wrapping_add(ahead)))
    }

    /// Appends a vector. Returns false if the block is full or a difference is out of range.
    fn push(&mut self, (number, seq): Flown) -> bool {
        let place = self.len();
        let later = number.checked_sub(self.number).and_then(|later| u16::try_from(later).ok());
        let ahead = u8::try_from(seq.0.wrapping_sub(self.seq.0)).ok();
        let (Some(later), Some(ahead), true) = (later, ahead, place < BLOCK_LEN) else { return false };
        (self.later[place], self.ahead[place]) = (later, ahead);
        self.set_len(place + 1);
        true
    }

    fn remove(&mut self, place: usize) {
        for later in place + 1..BLOCK_LEN {
            (self.later[later - 1], self.ahead[later - 1]) = (self.later[later], self.ahead[later]);
        }
        self.set_len(self.len() - 1);
    }
}

impl InFlight {
    #[inline]
    fn block(&self, chain: Chain) -> Option<&Block> {
        chain.place().map(|place| &self.blocks[place])
    }

    #[inline]
    pub(super) fn prefetch(&self, chain: Chain) {
        if let Some(block) = chain.place().and_then(|place| self.blocks.get(place)) {
            prefetch::<1, _>(block);
        }
    }

    /// The vectors of a chain, in order of sending.
    pub(super) fn iter(&self, chain: Chain) -> impl Iterator<Item = Flown> + '_ {
        let blocks = core::iter::successors(self.block(chain), |block| self.block(block.next()));
        blocks.flat_map(|block| (0..block.len()).map(|place| block.at(place)))
    }

    #[inline]
    pub(super) fn front(&self, chain: Chain) -> Option<Flown> {
        self.block(chain).map(|block| block.at(0))
    }

    /// Whether a chain has at most `SHORT` blocks.
    #[inline]
    pub(super) fn is_short(&self, mut chain: Chain) -> bool {
        for _ in 0..SHORT {
            let Some(block) = self.block(chain) else { return true };
            chain = block.next();
        }
        chain.is_empty()
    }

    pub(super) fn push_back(&mut self, chain: &mut Chain, flown: Flown) {
        let mut last = None;
        let mut next = *chain;
        while let Some(place) = next.place() {
            (last, next) = (Some(place), self.blocks[place].next());
        }
        if last.is_some_and(|last| self.blocks[last].push(flown)) {
            return;
        }
        let new = self.take_free(Block::new(flown));
        match last {
            Some(last) => self.blocks[last].set_next(new),
            None => *chain = new,
        }
    }

    fn take_free(&mut self, block: Block) -> Chain {
        if let Some(place) = self.free.place() {
            let free = core::mem::replace(&mut self.free, self.blocks[place].next());
            self.blocks[place] = block;
            return free;
        }
        super::push(&mut self.blocks, block);
        let chain = Chain(self.blocks.len() as u32);
        assert!(chain.0 >> (u32::BITS - Block::LEN_BITS) == 0, "{chain:?}: fewer blocks fit in any memory");
        chain
    }

    /// Removes the first vector that matches.
    pub(super) fn take(&mut self, chain: &mut Chain, is_it: impl Fn(Flown) -> bool) -> Option<Flown> {
        let (mut before, mut here) = (None, *chain);
        while let Some(place) = here.place() {
            let block = &mut self.blocks[place];
            let next = block.next();
            let Some(found) = (0..block.len()).find(|found| is_it(block.at(*found))) else {
                (before, here) = (Some(place), next);
                continue;
            };
            let flown = block.at(found);
            block.remove(found);
            if block.len() == 0 {
                match before {
                    Some(before) => self.blocks[before].set_next(next),
                    None => *chain = next,
                }
                self.blocks[place].set_next(core::mem::replace(&mut self.free, here));
            }
            return Some(flown);
        }
        None
    }

    /// Applies a renumbering of messages. It never widens gaps between numbers, so every block still fits.
    pub(super) fn renumber(&mut self, numbers: &Renumbered) {
        for block in self.blocks.iter_mut().filter(|block| block.len() > 0) {
            let (len, next) = (block.len(), block.next());
            let mut anew = Block::new((numbers.of(block.at(0).0), block.at(0).1));
            // The base may be older than every vector left in the block.
            anew.seq = block.seq;
            anew.ahead[0] = block.ahead[0];
            for place in 1..len {
                let (number, seq) = block.at(place);
                let fits = anew.push((numbers.of(number), seq));
                assert!(fits, "{block:?} in {anew:?}");
            }
            anew.set_next(next);
            *block = anew;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use evenkeel_core::Seed;

    use super::*;

    #[test]
    fn chains_behave_like_queues() {
        let mut draws = Seed::new(1).draws();
        let mut chains = InFlight::default();
        let mut all = vec![(Chain::default(), VecDeque::<Flown>::new()); 5];
        let mut number = 0;
        for step in 0..40_000_u32 {
            number += if draws.chance(0.01) { 70_000 } else { draws.below(9) as u32 };
            let seq = if draws.chance(0.02) { u32::MAX - step } else { step - step.min(3) * (step % 2) };
            let (chain, queue) = &mut all[draws.below(5) as usize];
            match draws.below(8) {
                0..4 if queue.len() < 40 => {
                    chains.push_back(chain, (number, DrSeq(seq)));
                    queue.push_back((number, DrSeq(seq)));
                }
                4 => assert_eq!(chains.take(chain, |_| true), queue.pop_front()),
                5..8 if !queue.is_empty() => {
                    let wanted = queue[draws.below(queue.len() as u64) as usize].1;
                    let place = queue.iter().position(|(_, seq)| *seq == wanted);
                    let taken = chains.take(chain, |(_, seq)| seq == wanted);
                    assert_eq!(taken, place.and_then(|place| queue.remove(place)));
                }
                _ => assert_eq!(chains.take(chain, |(_, seq)| seq == DrSeq(step + 9)), None),
            }
            for (chain, queue) in &all {
                assert!(chains.iter(*chain).eq(queue.iter().copied()));
                assert_eq!(chain.is_empty(), queue.is_empty());
            }
        }
        let used: usize = all.iter().map(|(_, queue)| queue.len()).sum();
        assert!(chains.blocks.len() < 200 && used > 10, "{} for {used}", chains.blocks.len());
    }

    #[test]
    fn block_takes_24_bytes() {
        assert_eq!(size_of::<Block>(), 24);
    }
}
