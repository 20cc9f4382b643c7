//! The walk along an exported path that sums one receiver's error, for both settled errors and estimates.

use evenkeel_core::SessionTime;

use super::growth::Growth;
use crate::ledger::exported_path::{ExportedPath, PathSegment};
use crate::motion::divergence::{Divergence, export_error, export_error_roughly, linear_error};
use crate::motion::vector::{DrSeq, DrVector};

/// A point on the exported path, with the vector that a receiver shows there and its accumulated error.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    /// How far the error is counted.
    pub at: SessionTime,
    /// The vector that is exported at that time.
    pub exported: DrSeq,
    /// The number of the vector that the receiver places.
    pub placed: DrSeq,
    /// That vector, as the receiver placed it.
    pub vector: DrVector,
    /// The export error so far.
    pub error: f64,
}

impl Cursor {
    /// Starts where a receiver's first vector arrives: its error counts from then on.
    #[must_use]
    pub fn open(history: &ExportedPath, placed: DrSeq, vector: DrVector, at: SessionTime) -> Self {
        Self { at, exported: history.exported_at(at), placed, vector, error: 0.0 }
    }

    /// Counts the error up to a time, at most to the entity's end. Time never runs back.
    pub fn integrate_to(&mut self, history: &ExportedPath, to: SessionTime) {
        self.count_to(history, to, export_error);
    }

    /// Estimates the error up to a time: exact for linear paths, rough where paths turn.
    pub fn estimate_to(&mut self, history: &ExportedPath, to: SessionTime) {
        self.count_to(history, to, export_error_roughly);
    }

    fn count_to(
        &mut self,
        history: &ExportedPath,
        to: SessionTime,
        count: fn(&DrVector, &DrVector, SessionTime, SessionTime) -> f64,
    ) {
        let (mut point, mut steps) = (Point::of(self), Steps::from(history, self.exported));
        let to = history.ended().map_or(to, |end| to.min(end));
        while let Some(Step { exported, seq, from, until, .. }) = point.step(&mut steps, to) {
            // Most of the time the receiver has the very vector that is exported.
            let Some(PathSegment { vector: exported, .. }) = exported else { continue };
            if until > from && !(self.placed == seq && *exported == self.vector) {
                let linear = linear_error(exported, &self.vector, from, until);
                self.error += linear.unwrap_or_else(|| count(exported, &self.vector, from, until));
            }
        }
        (self.at, self.exported) = (point.at, point.exported);
    }

    /// Places a vector that arrives here and now, unless a newer one is placed.
    pub fn place(&mut self, seq: DrSeq, vector: DrVector) {
        if seq > self.placed {
            self.placed = seq;
            self.vector = vector;
        }
    }

    /// Returns the earliest time, up to `by`, at which the error reaches `error` while the newest vector stays exported;
    /// otherwise counts up to `by`.
    pub fn reach(&mut self, history: &ExportedPath, error: f64, by: SessionTime) -> Option<SessionTime> {
        if self.error >= error {
            return Some(self.at);
        }
        if by <= self.at {
            return None;
        }
        let (_, newest) = history.newest();
        let divergence = Divergence::between(newest, &self.vector, self.at);
        match divergence.reaches(error - self.error, (by - self.at).as_secs_f64()) {
            Some(after) => Some(self.at + evenkeel_core::Span::from_secs_f64(after)),
            None => {
                self.estimate_to(history, by);
                None
            }
        }
    }
}

/// How far an error is settled: a [`Cursor`] without the error and without the placed vector.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Point {
    pub(crate) at: SessionTime,
    pub(crate) exported: DrSeq,
    pub(crate) placed: DrSeq,
}

impl Point {
    pub(super) const fn of(cursor: &Cursor) -> Self {
        let Cursor { at, exported, placed, .. } = *cursor;
        Self { at, exported, placed }
    }

    /// Starts where a receiver's first vector arrives.
    pub(super) fn open(history: &ExportedPath, placed: DrSeq, at: SessionTime) -> Self {
        Self { at, exported: history.exported_at(at), placed }
    }

    /// Moves on towards a time, at most to the next exported vector. Returns the step; `None` when it is there.
    #[inline(always)]
    fn step<'a>(&mut self, steps: &mut Steps<'a>, to: SessionTime) -> Option<Step<'a>> {
        let from = self.at;
        if from >= to {
            return None;
        }
        let next = steps.later.first().filter(|next| next.vector.generated <= to);
        let until = next.map_or(to, |next| next.vector.generated);
        let step =
            Step { exported: steps.exported, seq: self.exported, from, until, is_whole: next.is_some() };
        self.at = from.max(until);
        if let Some(next) = next {
            self.exported = next.seq;
            (steps.exported, steps.later) = (Some(next), &steps.later[1..]);
        }
        Some(step)
    }

    /// Moves on to a time while the placed vector is shown as the history has it, and adds the error to `growth`.
    #[inline(always)]
    pub(super) fn settle_to(&mut self, history: &ExportedPath, to: SessionTime, growth: &mut Growth) {
        let (placed, end) = (self.placed, history.ended());
        if placed == self.exported && placed == history.newest_number() && end.is_none() {
            // Most of the time the newest vector is shown: there is no error.
            self.at = self.at.max(to);
            return;
        }
        let to = end.map_or(to, |end| to.min(end));
        if self.at >= to {
            return;
        }
        // The history keeps every vector that some receiver shows, so it is never missing.
        let shown = history.shown(placed).unwrap_or_else(|| history.newest().1);
        let mut steps = Steps::from(history, self.exported);
        let is_given_up = steps.exported.is_none();
        while let Some(Step { exported, seq, from, until, is_whole }) = self.step(&mut steps, to) {
            let Some(exported) = exported.filter(|_| until > from && seq != placed) else { continue };
            let vector = &exported.vector;
            if is_whole
                && from == vector.generated
                && let Some(kept) =
                    exported.piece(seq.0.wrapping_sub(placed.0), || whole_piece(vector, shown, from, until))
            {
                growth.add_shared(kept);
            } else if is_given_up {
                growth.add_shared(export_error(vector, shown, from, until));
            } else {
                growth.add(vector, shown, from, until);
            }
        }
    }
}

/// What is left of an exported path.
struct Steps<'a> {
    /// The exported vector, unless it was given up.
    exported: Option<&'a PathSegment>,
    later: &'a [PathSegment],
}

impl<'a> Steps<'a> {
    #[inline(always)]
    fn from(history: &'a ExportedPath, exported: DrSeq) -> Self {
        let path = history.path();
        match history.place(exported) {
            Ok(place) => Self { exported: path.get(place), later: path.get(place + 1..).unwrap_or_default() },
            Err(next) => Self { exported: None, later: path.get(next..).unwrap_or_default() },
        }
    }
}

struct Step<'a> {
    exported: Option<&'a PathSegment>,
    seq: DrSeq,
    from: SessionTime,
    until: SessionTime,
    /// Whether it ends with the next exported vector.
    is_whole: bool,
}

// Out of line, because only the first receiver of a segment needs it.
#[cold]
#[inline(never)]
fn whole_piece(exported: &DrVector, shown: &DrVector, from: SessionTime, until: SessionTime) -> f64 {
    export_error(exported, shown, from, until)
}

#[derive(Debug)]
pub(super) enum Walk {
    /// Shows vectors as the history has them; the error goes to a [`Growth`].
    Plain(Point),
    /// Shows vectors of its own, and adds pieces to the error one by one.
    Own(Cursor),
}

impl Walk {
    pub(super) fn move_on(&mut self, history: &ExportedPath, to: SessionTime, growth: &mut Growth) {
        match self {
            Self::Plain(point) => point.settle_to(history, to, growth),
            Self::Own(cursor) => cursor.integrate_to(history, to),
        }
    }

    /// Places a vector that arrives here, unless a newer one is placed.
    pub(super) fn place(&mut self, seq: DrSeq, vector: DrVector) {
        match self {
            Self::Plain(point) => point.placed = point.placed.max(seq),
            Self::Own(cursor) => cursor.place(seq, vector),
        }
    }

    pub(super) const fn point(&self) -> Point {
        match self {
            Self::Plain(point) => *point,
            Self::Own(cursor) => Point::of(cursor),
        }
    }
}
