//! Rules out nearly all receivers at a tick with one small table.
//!
//! The distance between two linear paths is a convex function of time, so over an interval it is nowhere above the chord
//! between its ends. Two numbers per shown vector thus bound its distance from the newest one, for a while and for all
//! receivers. They are computed on demand and kept with the entity.

use evenkeel_core::SessionTime;

use super::reach::{MARGIN, Reach, Separation, Terms, above, apart, distance_min};
use crate::motion::linear::sift::{DistanceBounds, ReceiverColumns, ReceiverSet};
use crate::motion::vector::{DrSeq, DrVector, MotionKind};
use crate::policy::Exported;

/// Seconds for which chords are valid.
const DRAWN: f64 = 0.2;
/// Margin for receivers farther away than any is now.
const FARTHER: f64 = 1.25;
/// Margin for rounding.
const ROUNDED: f64 = 1.0 + 1e-9;
/// The range of ages of vectors that are bounded.
const NEAR: usize = 64;

/// A bound on the distance of a vector from the newest one.
#[derive(Clone, Copy, Debug)]
struct Chord {
    seq: DrSeq,
    bound: Bound,
}

/// At most `first`, plus at most `growth` per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    first: f64,
    growth: f64,
}

impl Bound {
    /// The bound of a vector so close to the newest that no message is worth sending.
    const IDLE: Self = Self { first: f64::NEG_INFINITY, growth: 0.0 };

    #[inline]
    fn after(&self, seconds: f64) -> f64 {
        self.first + self.growth * seconds
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Chords {
    /// The newest vector, and its generation.
    newest: Option<(DrSeq, SessionTime)>,
    from: SessionTime,
    /// The longest time that counts for a receiver, in seconds, that the chords cover.
    farthest: f64,
    all: Vec<Chord>,
}

impl Chords {
    fn renew(&mut self, newest: (DrSeq, SessionTime), farthest: f64, now: SessionTime) {
        let is_drawn = (0.0..=DRAWN).contains(&(now - self.from).as_secs_f64());
        if self.newest != Some(newest) || !is_drawn || farthest > self.farthest {
            (self.newest, self.from, self.farthest) = (Some(newest), now, FARTHER * farthest);
            self.all.clear();
        }
    }

    fn draw(&mut self, seq: DrSeq, shown: &DrVector, newest: &DrVector) -> Option<Chord> {
        if [shown, newest].iter().any(|vector| vector.kind != MotionKind::Linear) {
            return None;
        }
        let position = shown.project(self.from) - newest.project(self.from);
        let velocity = shown.state.velocity - newest.state.velocity;
        let seconds = DRAWN + self.farthest;
        let (first, last) = (position.length(), (position + velocity * seconds).length());
        let growth = ((last - first) / seconds).max(0.0);
        let chord = Chord { seq, bound: Bound { first: ROUNDED * first, growth: ROUNDED * growth } };
        self.all.push(chord);
        Some(chord)
    }
}

/// Bounds and separations of the vectors before an entity's newest one, now.
#[derive(Clone, Debug, Default)]
pub(super) struct CandidateFilter {
    /// Bounds of shown vectors, in units of the floor: the gain that makes a message to the worst off worth its price.
    pub(super) bounds: Vec<(DrSeq, Bound)>,
    lines: DistanceBounds<NEAR>,
    floor: f64,
    /// The separations found so far; `None` if only the account gives it.
    known: Vec<(DrSeq, Option<Separation>)>,
    newest: DrSeq,
    /// Seconds since the chords began.
    since: f64,
    /// The distance below which differences may be rounding errors.
    distance_min: f64,
    /// The distance up to which no message is worth sending.
    idle: f64,
    farthest: f64,
}

impl CandidateFilter {
    /// Begins with an entity. `lives` is one over the product of its newest vector's longest life in seconds and its largest
    /// weight.
    pub(super) fn begin(
        &mut self,
        chords: &mut Chords,
        exported: &Exported<'_>,
        reach: &Reach,
        asked: &Terms,
        lives: f64,
        now: SessionTime,
    ) {
        let (newest, vector) = exported.newest();
        chords.renew((newest, vector.generated), reach.farthest, now);
        (self.newest, self.farthest) = (newest, reach.farthest);
        self.since = (now - chords.from).as_secs_f64();
        self.distance_min = distance_min(vector.project(now), vector.state.velocity);
        (self.floor, self.idle) = (asked.floor(lives), (1.0 - MARGIN) * asked.least * lives);
        self.known.clear();
        self.bounds.clear();
        self.lines.clear();
        self.lines.set(0, f32::NEG_INFINITY, 0.0);
        for chord in &chords.all {
            self.note(chord);
        }
    }

    fn note(&mut self, chord: &Chord) {
        let Bound { growth, .. } = chord.bound;
        let mut bound = Bound { first: chord.bound.after(self.since).max(self.distance_min), growth };
        if bound.after(self.farthest) <= self.idle {
            bound = Bound::IDLE;
        }
        let unit = 1.0 / self.floor;
        bound = Bound { first: bound.first * unit, growth: bound.growth * unit };
        self.bounds.push((chord.seq, bound));
        self.draw(chord.seq, bound);
    }

    fn draw(&mut self, seq: DrSeq, Bound { first, growth }: Bound) {
        self.lines.set(self.newest.0.wrapping_sub(seq.0) as usize, above(first), above(growth));
    }

    /// Raises the floor once it is known how long the newest vector will hold. Returns whether it has changed.
    #[inline]
    pub(super) fn raise(&mut self, asked: &Terms, lives: f64) -> bool {
        let floor = asked.floor(lives);
        if floor == self.floor {
            return false;
        }
        let part = core::mem::replace(&mut self.floor, floor) / floor;
        for place in 0..self.bounds.len() {
            let (seq, bound) = &mut self.bounds[place];
            *bound = Bound { first: bound.first * part, growth: bound.growth * part };
            let (seq, bound) = (*seq, *bound);
            self.draw(seq, bound);
        }
        true
    }

    /// Finds the receivers from a place on to which the newest vector may be worth sending.
    #[inline]
    pub(super) fn sift(&self, columns: &ReceiverColumns<'_>, from: usize, left: &mut ReceiverSet) {
        self.lines.sift(self.newest, columns, from, left);
    }

    /// The separation of a vector of an entity from its newest; `None` if only the account gives it.
    pub(super) fn separation(
        &mut self,
        chords: &mut Chords,
        exported: &Exported<'_>,
        seq: DrSeq,
        now: SessionTime,
    ) -> Option<Separation> {
        if self.newest.0.wrapping_sub(seq.0) as usize >= NEAR {
            return None;
        }
        if let Some((_, known)) = self.known.iter().find(|(known, _)| *known == seq) {
            return *known;
        }
        let (shown, newest) = (exported.shown(seq), exported.newest().1);
        if self.bounds.iter().all(|(known, _)| *known != seq)
            && let Some(chord) = shown.and_then(|shown| chords.draw(seq, shown, newest))
        {
            self.note(&chord);
        }
        let separation = shown.and_then(|shown| apart(shown, newest, now));
        self.known.push((seq, separation));
        separation
    }
}

impl Terms {
    /// The gain that makes a message to the worst off worth its price.
    fn floor(&self, lives: f64) -> f64 {
        (1.0 - MARGIN) * self.price * lives
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::{Seed, Span, Vec3};

    use super::*;
    use crate::motion::vector::MotionState;

    #[test]
    fn chords_bound_every_distance() {
        let mut draws = Seed::new(7).draws();
        let now = SessionTime::from_nanos(7_000_000_000);
        let mut tight = 0;
        for _ in 0..2_000 {
            let mut vector = |age: i64| {
                let mut xy = |most: f64| Vec3::xy(draws.uniform(-most, most), draws.uniform(-most, most));
                let state = MotionState { position: xy(3.0), velocity: xy(4.0), ..MotionState::default() };
                DrVector { generated: now - Span::from_millis(age), state, kind: MotionKind::Linear }
            };
            let (shown, newest) = (vector(500), vector(20));
            let mut chords = Chords::default();
            let key = (DrSeq(9), newest.generated);
            chords.renew(key, 0.8, now);
            let Chord { bound, .. } = chords.draw(DrSeq(8), &shown, &newest).expect("both are linear");
            for _ in 0..20 {
                let (since, ahead) = (draws.uniform(0.0, DRAWN), draws.uniform(0.0, 0.8 * FARTHER));
                let at = now + Span::from_secs_f64(since) + Span::from_secs_f64(ahead);
                let distance = shown.project(at).distance(newest.project(at));
                let most = Bound { first: bound.after(since), growth: bound.growth }.after(ahead);
                assert!(distance <= most, "{distance} {most}");
                tight += u32::from(distance > 0.9 * most);
            }
            chords.renew(key, 0.9, now + Span::from_millis(200));
            assert_eq!(chords.all.len(), 1, "they still hold");
            chords.renew(key, 0.9, now + Span::from_millis(201));
            assert!(chords.all.is_empty());
        }
        assert!(tight > 10_000, "{tight} of 40000");
    }

    #[test]
    fn chords_are_redrawn_for_a_newer_vector_or_a_farther_receiver() {
        let vector =
            |kind| DrVector { generated: SessionTime::default(), state: MotionState::default(), kind };
        let (linear, circular) = (vector(MotionKind::Linear), vector(MotionKind::Circular));
        let mut chords = Chords::default();
        let (now, key) = (SessionTime::from_nanos(5), |seq| (DrSeq(seq), SessionTime::default()));
        for (seq, farthest, kept) in [(3, 0.4, true), (4, 0.4, false), (3, 0.6, false)] {
            chords.renew(key(3), 0.4, now);
            assert!(chords.draw(DrSeq(1), &linear, &circular).is_none());
            assert!(chords.draw(DrSeq(1), &linear, &linear).is_some());
            chords.renew(key(seq), farthest, now);
            assert_eq!(!chords.all.is_empty(), kept, "{seq} {farthest}");
            chords = Chords::default();
        }
    }
}
