//! One receiver's error, read along the exported path: the walk that both the settled and the estimated error take.

use evenkeel_core::SessionTime;

use crate::divergence::{Divergence, export_error, export_error_roughly, linear_error};
use crate::history::History;
use crate::ledger::sums::Sums;
use crate::ledger::waiting::Arrived;
use crate::vector::{DrSeq, DrVector};

/// A point on the exported path with what a receiver shows there and the error it has gathered up to there.
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
    /// The error of a receiver begins to count when its first vector arrives.
    #[must_use]
    pub fn open(history: &History, placed: DrSeq, vector: DrVector, at: SessionTime) -> Self {
        Self { at, exported: history.exported_at(at), placed, vector, error: 0.0 }
    }

    /// Counts the error up to a time, at most to the entity's end. Time never runs back.
    pub fn integrate_to(&mut self, history: &History, to: SessionTime) {
        self.count_to(history, to, export_error);
    }

    /// The same for estimates: roughly where paths turn.
    pub fn estimate_to(&mut self, history: &History, to: SessionTime) {
        self.count_to(history, to, export_error_roughly);
    }

    fn count_to(&mut self, history: &History, to: SessionTime, error: Count) {
        let mut settled = Settled::new(self);
        settled.count_to(history, &self.vector, to, error, |error| self.error += error);
        (self.at, self.exported) = (settled.at, settled.exported);
    }

    /// Estimates the error up to the last vector that was exported before a time, or at it.
    pub fn estimate_exported(&mut self, history: &History, to: SessionTime) {
        if let Some(last) = history.last_until(self.exported, to) {
            self.estimate_to(history, last);
        }
    }

    /// A vector arrives here and now. The newest generated wins: an older one is never placed.
    pub fn place(&mut self, seq: DrSeq, vector: DrVector) {
        if seq > self.placed {
            self.placed = seq;
            self.vector = vector;
        }
    }

    /// The earliest time, up to `by`, at which the error reaches `error`, the newest vector being exported all the
    /// while; otherwise counts up to `by`.
    pub fn reach(&mut self, history: &History, error: f64, by: SessionTime) -> Option<SessionTime> {
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

/// How the error between two vectors is counted, from a time to another.
type Count = fn(&DrVector, &DrVector, SessionTime, SessionTime) -> f64;

/// Up to where an error is settled. Neither the error is in it, nor the vector that is placed: many receivers have the same.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Settled {
    pub(crate) at: SessionTime,
    /// The number of the vector that is exported at that time.
    pub(crate) exported: DrSeq,
    /// The number of the vector that the receiver places.
    pub(crate) placed: DrSeq,
}

impl Settled {
    pub(super) const fn new(cursor: &Cursor) -> Self {
        let Cursor { at, exported, placed, .. } = *cursor;
        Self { at, exported, placed }
    }

    /// The error of a receiver begins to count when its first vector arrives.
    pub(super) fn open(history: &History, placed: DrSeq, at: SessionTime) -> Self {
        Self { at, exported: history.exported_at(at), placed }
    }

    /// Counts the error up to a time, at most to the entity's end, while a vector is shown. Time never runs back.
    #[inline]
    fn count_to(
        &mut self,
        history: &History,
        shown: &DrVector,
        to: SessionTime,
        error: Count,
        mut add: impl FnMut(f64),
    ) {
        let to = history.ended().map_or(to, |end| to.min(end));
        if self.at >= to {
            return;
        }
        let (mut exported, later) = history.from(self.exported);
        let mut later = later.iter();
        while self.at < to {
            let next = later.next().filter(|next| next.vector.generated <= to);
            let until = next.map_or(to, |next| next.vector.generated);
            if let Some(exported) = exported
                && until > self.at
                // Nearly always the receiver has the very vector that is exported, and there is nothing to integrate.
                && !(self.placed == self.exported && (core::ptr::eq(exported, shown) || exported == shown))
            {
                add(linear_error(exported, shown, self.at, until)
                    .unwrap_or_else(|| error(exported, shown, self.at, until)));
            }
            self.at = self.at.max(until);
            match next {
                Some(next) => (self.exported, exported) = (next.seq, Some(&next.vector)),
                None => break,
            }
        }
    }
}

/// A settled error that moves on along the exported path, while vectors are shown as they are in the history: what others have counted
/// along it is not counted again.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    history: &'a History,
    settled: Settled,
    /// Where in the history the exported vector is, if it is there.
    place: Option<usize>,
}

impl<'a> Walk<'a> {
    #[inline(always)]
    pub(super) fn new(history: &'a History, settled: Settled) -> Self {
        Self { history, settled, place: history.place(settled.exported).ok() }
    }

    /// A vector that the history has arrives. The newest generated wins: an older one is never placed.
    #[inline]
    pub(super) fn arrive(&mut self, (seq, at): Arrived, sums: &mut Sums) {
        self.move_on(at, sums);
        self.settled.placed = self.settled.placed.max(seq);
    }

    /// It ends here.
    #[inline]
    pub(super) fn end(mut self, at: SessionTime, sums: &mut Sums) -> Settled {
        self.move_on(at, sums);
        self.settled
    }

    /// From where the error is settled up to an end, while one newer vector arrives. Where the exported vector is in the history has
    /// been found.
    #[inline(always)]
    pub(super) fn past(
        history: &History,
        place: usize,
        Settled { at, exported, placed }: Settled,
        (seq, arrived): Arrived,
        end: SessionTime,
        sums: &mut Sums,
    ) -> Settled {
        let mut point = Point { at, exported, place };
        // A loop, so that the way is there once, and no call.
        for (placed, to) in [(placed, arrived), (seq, end)] {
            point.move_on(history, placed, to, sums);
        }
        Settled { at: point.at, exported: point.exported, placed: seq }
    }

    #[inline(never)]
    fn move_on(&mut self, to: SessionTime, sums: &mut Sums) {
        let Self { history, settled: Settled { at, exported, placed }, place } = *self;
        if let Some(place) = place {
            let mut point = Point { at, exported, place };
            point.move_on(history, placed, to, sums);
            let Point { at, exported, place } = point;
            (self.settled.at, self.settled.exported, self.place) = (at, exported, Some(place));
        } else {
            // What was exported has been given up.
            self.settled.count_to(history, shown(history, placed), to, export_error, |error| sums.add(error));
            self.place = history.place(self.settled.exported).ok();
        }
    }
}

/// A point on the exported path, and where in the history that is.
#[derive(Clone, Copy, Debug)]
struct Point {
    at: SessionTime,
    exported: DrSeq,
    place: usize,
}

impl Point {
    /// Moves on while a vector is placed. Mostly that is what is exported, and nothing has been exported since.
    #[inline(always)]
    fn move_on(&mut self, history: &History, placed: DrSeq, to: SessionTime, sums: &mut Sums) {
        let Self { at, exported, place } = *self;
        if placed == exported && place + 1 == history.len() && history.ended().is_none() {
            self.at = at.max(to);
        } else if at < to {
            self.integrate(history, placed, to, sums);
        }
    }

    #[inline(always)]
    fn integrate(&mut self, history: &History, placed: DrSeq, to: SessionTime, sums: &mut Sums) {
        let Self { mut at, mut exported, mut place } = *self;
        let to = history.ended().map_or(to, |end| to.min(end));
        if at >= to {
            return;
        }
        let (shown, mut rest) = (shown(history, placed), history.path().get(place..).unwrap_or_default());
        // How many are passed can't be foreseen, and a processor that is wrong about it loses time: so there is one end to the loop.
        while let [stretch, later @ ..] = rest
            && let Some(until) = later.first().map(|next| next.vector.generated).filter(|next| *next <= to)
        {
            let vector = &stretch.vector;
            if until > at && placed != exported {
                let older = exported.0.wrapping_sub(placed.0);
                let known = (at == vector.generated)
                    .then(|| stretch.piece(older, || whole_piece(vector, shown, at, until)));
                match known.flatten() {
                    Some(piece) => sums.add(piece),
                    None => sums.count(vector, shown, at, until),
                }
            }
            (at, rest, place) = (at.max(until), later, place + 1);
            exported = history.number(place);
        }
        if let Some(last) = rest.first()
            && at < to
        {
            if placed != exported {
                sums.count(&last.vector, shown, at, to);
            }
            at = to;
        }
        *self = Self { at, exported, place };
    }
}

/// The vector that is shown. It can't be missing: the history is told who shows what before it gives anything up.
#[inline]
fn shown(history: &History, placed: DrSeq) -> &DrVector {
    history.shown(placed).unwrap_or_else(|| history.newest().1)
}

/// What is kept for everybody who shows the same. It is rare: out of line, it is in nobody's way.
#[cold]
#[inline(never)]
fn whole_piece(exported: &DrVector, shown: &DrVector, from: SessionTime, to: SessionTime) -> f64 {
    export_error(exported, shown, from, to)
}
