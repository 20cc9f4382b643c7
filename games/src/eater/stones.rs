//! Who ate which stone: state that peers agree on without a server and without an order of messages.
//!
//! A slot holds one stone at a time. Its places are drawn from the game's seed, so that eating is the only change of state:
//! the claim to generation `g` of a slot ends that stone, and stone `g + 1` is there. If two eaters claim the same stone,
//! because each ate it before it heard of the other, the earlier one has it; a draw decides between claims of the same step.
//! So the ledger is a join semilattice: peers that have seen the same claims agree, in whatever order and how often these
//! came, and each stone has one winner. A claim is never forgotten; [`Stones::digest`] shows what a peer lacks.
//!
//! Deviation: in the thesis a server decides who ate a stone, and tells it over TCP (3.3.1).

use std::collections::BTreeMap;

use evenkeel_core::Seed;

use super::maze::{Cell, Maze};

/// Limit on the stones that are there at a time.
pub const SLOTS_MAX: u16 = 64;
/// Limit on the stones of a slot in a game. The last one stays.
pub const GENERATIONS_MAX: u32 = 16_384;
/// A claim may be this many stones of its slot ahead of what is known.
const AHEAD_MAX: u32 = 512;

/// An eater: a number by which all peers know it, and which nobody else can have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct EaterId(pub u64);

/// A stone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct StoneId {
    /// Its slot.
    pub slot: u16,
    /// How many stones the slot had before.
    pub generation: u32,
}

/// An eater's word that it ate a stone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Claim {
    /// The stone.
    pub stone: StoneId,
    /// The eater.
    pub eater: EaterId,
    /// When: the step.
    pub step: u32,
}

/// On whose word a claim is held; the first counts most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Word {
    /// Its eater's own, and nothing speaks against it.
    Own,
    /// Its eater's own, but it cannot be true: the stone is gone, but nobody has it.
    False,
    /// Somebody else's. It never stands against an eater's own.
    Hearsay,
}

/// What a claim changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    /// The stone was still there.
    Eaten,
    /// Somebody else had claimed it, but this claim is earlier.
    Overturned {
        /// Who had it until now.
        loser: EaterId,
    },
    /// Somebody else claimed it earlier.
    TooLate,
    /// Nothing: it was known.
    Known,
    /// Nothing: there is no such stone, or none that could be known yet.
    OutOfRange,
}

/// A claim as a ledger holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct HeldClaim {
    claim: Claim,
    word: Word,
}

impl HeldClaim {
    fn scores(&self) -> bool {
        self.word != Word::False
    }
}

/// The stones of a game and who ate them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stones {
    seed: Seed,
    maze: (u16, u16),
    /// The claims to the stones of each slot, by generation; `None` where only a later one is known.
    slots: Vec<Vec<Option<HeldClaim>>>,
    scores: BTreeMap<EaterId, u32>,
}

const PLACES: u64 = 0x0070_6c61;
const TIES: u64 = 0x0074_6965;

impl Stones {
    /// The stones at the start of a game.
    ///
    /// # Panics
    /// If there are more than [`SLOTS_MAX`].
    #[must_use]
    pub fn new(seed: Seed, maze: &Maze, slots: u16) -> Self {
        assert!(slots <= SLOTS_MAX, "at most {SLOTS_MAX} stones, not {slots}");
        Self {
            seed,
            maze: (maze.columns(), maze.rows()),
            slots: vec![Vec::new(); usize::from(slots)],
            scores: BTreeMap::new(),
        }
    }

    /// Returns the stones that are there.
    pub fn present(&self) -> impl Iterator<Item = (StoneId, Cell)> + Clone {
        (0..).zip(&self.slots).map(|(slot, claims)| {
            let generation = claims.len() as u32;
            let stone = StoneId { slot, generation };
            (stone, self.place(stone))
        })
    }

    /// Returns whether the stone is there.
    #[must_use]
    pub fn is_present(&self, stone: StoneId) -> bool {
        self.slots.get(usize::from(stone.slot)).is_some_and(|claims| claims.len() as u32 == stone.generation)
    }

    /// Returns where a stone is, was, or will be.
    #[must_use]
    pub fn place(&self, stone: StoneId) -> Cell {
        let mut draws = stone.seed(self.seed.child(PLACES)).draws();
        let column = draws.below(u64::from(self.maze.0)) as u16;
        Cell { column, row: draws.below(u64::from(self.maze.1)) as u16 }
    }

    /// Applies a claim. A false one ends the stone, but its eater does not have it.
    pub fn apply(&mut self, claim: Claim, word: Word) -> Applied {
        let StoneId { slot, generation } = claim.stone;
        let Some(claims) = self.slots.get(usize::from(slot)) else { return Applied::OutOfRange };
        let known = claims.len() as u32;
        if generation >= GENERATIONS_MAX - 1 || generation > known + AHEAD_MAX {
            return Applied::OutOfRange;
        }
        let (slot, index) = (usize::from(slot), generation as usize);
        let new = HeldClaim { claim, word };
        let held = claims.get(index).copied().flatten();
        if let Some(held) = held.filter(|held| self.rank(held) <= self.rank(&new)) {
            return if held.claim == claim { Applied::Known } else { Applied::TooLate };
        }
        let claims = &mut self.slots[slot];
        if claims.len() <= index {
            claims.resize(index + 1, None);
        }
        claims[index] = Some(new);
        if new.scores() {
            *self.scores.entry(claim.eater).or_default() += 1;
        }
        let Some(held) = held else { return Applied::Eaten };
        if held.scores()
            && let Some(score) = self.scores.get_mut(&held.claim.eater)
        {
            *score -= 1;
        }
        self.scores.retain(|_, score| *score > 0);
        if held.claim == claim { Applied::Known } else { Applied::Overturned { loser: held.claim.eater } }
    }

    /// Returns whether this claim, if it is true and its eater's own word, would change anything.
    #[must_use]
    pub fn would_win(&self, claim: Claim) -> bool {
        self.held(claim.stone).is_none_or(|held| {
            let is_judged = held.claim == claim && held.word != Word::Hearsay;
            !is_judged && self.rank(&HeldClaim { claim, word: Word::Own }) < self.rank(&held)
        })
    }

    fn held(&self, stone: StoneId) -> Option<HeldClaim> {
        *self.slots.get(usize::from(stone.slot))?.get(stone.generation as usize)?
    }

    /// Returns whether a stone is gone, though nobody is known who claimed it.
    #[must_use]
    pub fn is_missing(&self, stone: StoneId) -> bool {
        stone.generation < self.generation(stone.slot) && self.held(stone).is_none()
    }

    /// The order of claims to the same stone; the least has it.
    fn rank(&self, held: &HeldClaim) -> (Word, u32, u64, EaterId) {
        let Claim { stone, eater, step } = held.claim;
        let tie = stone.seed(self.seed.child(TIES)).child(eater.0).number();
        (held.word, step, tie, eater)
    }

    /// Returns how many stones each eater has, most first.
    #[must_use]
    pub fn scores(&self) -> Vec<(EaterId, u32)> {
        let mut scores: Vec<_> = self.scores.iter().map(|(eater, score)| (*eater, *score)).collect();
        scores.sort_by_key(|(eater, score)| (core::cmp::Reverse(*score), *eater));
        scores
    }

    /// Returns how many stones an eater has.
    #[must_use]
    pub fn score(&self, eater: EaterId) -> u32 {
        self.scores.get(&eater).copied().unwrap_or(0)
    }

    /// Returns the claim that has a stone, if one does.
    #[must_use]
    pub fn winner(&self, stone: StoneId) -> Option<Claim> {
        self.held(stone).filter(HeldClaim::scores).map(|held| held.claim)
    }

    /// Returns how many stones are gone, and of how many of them nobody is known to have eaten them.
    #[must_use]
    pub fn gone(&self) -> (u64, u64) {
        let claims = || self.slots.iter().flatten();
        let unknown = claims().filter(|held| held.is_none_or(|held| !held.scores())).count();
        (claims().count() as u64, unknown as u64)
    }

    /// Returns a number for the claims before this step of each slot: peers that know the same have the same.
    #[must_use]
    pub fn digest(&self, before: u32) -> Vec<u16> {
        let of_slot = |claims: &Vec<Option<HeldClaim>>| {
            let settled = claims.iter().flatten().map(|held| &held.claim).filter(|claim| claim.step < before);
            settled.fold(0_u64, |sum, claim| sum.wrapping_add(hash(claim))) as u16
        };
        self.slots.iter().map(of_slot).collect()
    }

    /// Returns the known claims to stones of a slot from this generation on.
    pub fn claims(&self, slot: u16, from: u32) -> impl Iterator<Item = Claim> {
        let claims = self.slots.get(usize::from(slot)).map_or(&[][..], Vec::as_slice);
        claims.iter().skip(from as usize).flatten().map(|held| held.claim)
    }

    /// Returns how many stones of a slot are gone.
    #[must_use]
    pub fn generation(&self, slot: u16) -> u32 {
        self.slots.get(usize::from(slot)).map_or(0, |claims| claims.len() as u32)
    }
}

impl StoneId {
    const fn seed(self, seed: Seed) -> Seed {
        seed.child((self.slot as u64) << 32 | self.generation as u64)
    }
}

fn hash(claim: &Claim) -> u64 {
    claim.stone.seed(Seed::new(claim.eater.0).child(u64::from(claim.step))).number()
}
