//! The exported path of one entity, as far back as some receiver's error is not settled.
//!
//! At the owner nothing can be missing. At a relay a vector may still be under way while a newer one is here; the
//! exported path is then known exactly only up to the last vector before the hole, and even without a hole only up to
//! the newest vector, because the owner may have made another since.

use std::collections::VecDeque;

use evenkeel_core::SessionTime;

use crate::vector::{DrSeq, DrVector};

/// Vectors kept of one entity; when full, the oldest is given up and those who still needed it settle by estimate.
pub const HISTORY_MAX: usize = 2048;

/// Vectors that may be missing before one that is taken; beyond that, its owner must introduce the entity anew.
pub const HOLE_MAX: usize = 256;

/// What became of a vector that was offered to the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// It is the newest.
    Newest,
    /// It closes a hole.
    Filled,
    /// It is known, too old, or contradicts its neighbours; nothing changed.
    Ignored,
}

/// The vectors of one entity in order.
#[derive(Clone, Debug)]
pub struct History {
    first: DrSeq,
    vectors: VecDeque<Option<DrVector>>,
    contiguous: DrSeq,
    complete: bool,
    /// When it ended, and with which vector.
    ended: Option<(SessionTime, DrSeq)>,
}

impl History {
    /// A path that begins with this vector. `complete`: kept by the owner itself, so that nothing can be missing.
    #[must_use]
    pub fn new(seq: DrSeq, vector: DrVector, complete: bool) -> Self {
        Self { first: seq, vectors: VecDeque::from([Some(vector)]), contiguous: seq, complete, ended: None }
    }

    /// The newest vector and its number.
    #[must_use]
    pub fn newest(&self) -> (DrSeq, &DrVector) {
        let vector =
            self.vectors.back().and_then(Option::as_ref).expect("the last vector of a history is known");
        (DrSeq(self.first.0 + (self.vectors.len() - 1) as u32), vector)
    }

    /// A vector by its number, if it is known and still kept.
    #[must_use]
    pub fn vector(&self, seq: DrSeq) -> Option<&DrVector> {
        let index = seq.0.checked_sub(self.first.0)?;
        self.vectors.get(index as usize)?.as_ref()
    }

    /// The first known vector after a number.
    #[must_use]
    pub fn after(&self, seq: DrSeq) -> Option<(DrSeq, &DrVector)> {
        let start = (seq.0 + 1).saturating_sub(self.first.0) as usize;
        (start..self.vectors.len())
            .find_map(|i| self.vectors[i].as_ref().map(|vector| (DrSeq(self.first.0 + i as u32), vector)))
    }

    /// The number of the oldest vector that is kept.
    #[must_use]
    pub const fn first(&self) -> DrSeq {
        self.first
    }

    /// Every vector up to this number is known, or was before it was given up.
    #[must_use]
    pub const fn contiguous(&self) -> DrSeq {
        self.contiguous
    }

    /// How many places it takes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.vectors.len()
    }

    /// Never: a history begins with a vector.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }

    /// Takes in a vector.
    pub fn record(&mut self, seq: DrSeq, vector: DrVector) -> Recorded {
        let (newest, newest_vector) = self.newest();
        if self.ended.is_some_and(|(at, last)| seq > last || vector.generated > at) {
            return Recorded::Ignored;
        }
        if seq > newest {
            let room = HISTORY_MAX.saturating_sub(self.vectors.len()).min(HOLE_MAX);
            let missing = (seq.0 - newest.0 - 1) as usize;
            if vector.generated <= newest_vector.generated || missing >= room.max(1) {
                return Recorded::Ignored;
            }
            self.vectors.extend(core::iter::repeat_n(None, missing));
            self.vectors.push_back(Some(vector));
            self.close_holes();
            return Recorded::Newest;
        }
        if seq <= self.contiguous || self.vector(seq).is_some() || seq < self.first {
            return Recorded::Ignored;
        }
        let before = (self.first.0..seq.0).rev().find_map(|n| self.vector(DrSeq(n)));
        let fits = before.is_none_or(|v| v.generated < vector.generated)
            && self.after(seq).is_none_or(|(_, v)| vector.generated < v.generated);
        if !fits {
            return Recorded::Ignored;
        }
        self.vectors[(seq.0 - self.first.0) as usize] = Some(vector);
        self.close_holes();
        Recorded::Filled
    }

    fn close_holes(&mut self) {
        while self.vector(self.contiguous.next()).is_some() {
            self.contiguous = self.contiguous.next();
        }
    }

    /// The path starts anew with this vector, whatever is missing before it.
    pub fn restart(&mut self, seq: DrSeq, vector: DrVector) -> bool {
        let (newest, newest_vector) = self.newest();
        if seq <= newest || vector.generated <= newest_vector.generated {
            return false;
        }
        *self = Self { ended: self.ended, ..Self::new(seq, vector, self.complete) };
        true
    }

    /// The entity ceases to be; `last` is the number of its last vector.
    pub fn end(&mut self, last: DrSeq, at: SessionTime) {
        let (newest, vector) = self.newest();
        self.ended.get_or_insert((at.max(vector.generated), last.max(newest)));
    }

    /// When the entity ceased to be.
    #[must_use]
    pub fn ended(&self) -> Option<SessionTime> {
        self.ended.map(|(at, _)| at)
    }

    /// Up to when the exported path is known for certain.
    #[must_use]
    pub fn exact_until(&self) -> SessionTime {
        let (newest, vector) = self.newest();
        if self.complete || self.ended.is_some_and(|(_, last)| self.contiguous >= last) {
            return SessionTime::MAX;
        }
        if self.contiguous == newest {
            return vector.generated;
        }
        self.vector(self.contiguous).map_or(SessionTime::MIN, |v| v.generated)
    }

    /// The newest known vector that was generated before a time, if it is not the first one that is kept.
    #[must_use]
    pub fn newest_before(&self, at: SessionTime) -> Option<(DrSeq, SessionTime)> {
        let known = (self.first.0..).zip(&self.vectors).skip(1);
        let old = known.filter_map(|(seq, vector)| Some((DrSeq(seq), vector.as_ref()?.generated)));
        old.take_while(|(_, generated)| *generated < at).last()
    }

    /// Gives up every vector before a number that is not the newest.
    pub fn trim(&mut self, before: DrSeq) {
        while self.first < before && self.vectors.len() > 1 {
            self.vectors.pop_front();
            self.first = self.first.next();
            // A hole is never the first: the path could not be read from it.
            while self.vectors.front().is_some_and(Option::is_none) {
                self.vectors.pop_front();
                self.first = self.first.next();
            }
        }
        self.contiguous = self.contiguous.max(self.first);
        self.close_holes();
    }
}
