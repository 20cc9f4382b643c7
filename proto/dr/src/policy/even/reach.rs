//! Rules out pairs for which a message can't be worth its price, without computing square roots.
//!
//! A message gains at most the distance between the newest vector and the one that the receiver shows. Between two linear
//! vectors that is largest at an end of the time over which the gain is averaged. So two points decide nearly every pair,
//! and the expected path of the entity need not be computed.

use evenkeel_core::{PeerId, SessionTime, Span, Vec3};

use super::control::Control;
use super::path::Path;
use super::share::{LEAD_MAX, WORST, window};
use crate::ledger::LastSent;
use crate::motion::linear::sift::ReceiverColumns;
use crate::motion::vector::{DrVector, MotionKind};
use crate::policy::Review;

/// Margin for the rounding of bounds.
pub(super) const MARGIN: f64 = 1e-6;

/// A receiver's properties that all entities share.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReachRow {
    pub(super) peer: PeerId,
    pub(super) lost_after: Span,
    /// An unreported vector in a message before this may be lost.
    overdue: u32,
    /// Seconds until a message sent now arrives, and until the end of the time that counts.
    from: f64,
    to: f64,
    /// Factor on a message's worth: 1 for the worst off, less for the others.
    pub(super) boost: f64,
    /// One over the boost; infinite if it is not served.
    rarity: f64,
    pub(super) worst: bool,
    /// Whether it may be sent anything: it has been looked at, and is not too far ahead of the others.
    pub(super) is_served: bool,
}

/// The columns of all receivers that every entity reads, by their places.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceiverTerms {
    /// Seconds until the end of the time that counts, rounded up.
    to: Vec<f32>,
    /// One over the boost, rounded down; infinite if it is not served.
    rarity: Vec<f32>,
    /// An unreported vector in a message before this may be lost.
    overdue: Vec<u32>,
}

impl ReceiverTerms {
    /// Adds what the receivers of an entity were sent last.
    pub(super) fn of<'a>(&'a self, last_sents: &'a [LastSent]) -> ReceiverColumns<'a> {
        ReceiverColumns { last_sents, to: &self.to, most: &self.rarity, overdue: &self.overdue }
    }
}

/// Margin for rounding to `f32` and a few operations.
const COARSE: f64 = 1e-6;

/// Rounds a non-negative number up. NaN stays NaN.
pub(super) fn above(number: f64) -> f32 {
    (number * (1.0 + COARSE)) as f32 + f32::MIN_POSITIVE
}

fn below(number: f64) -> f32 {
    (number * (1.0 - COARSE)) as f32
}

/// The error that a message must save.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// To be worth its price.
    pub(super) price: f64,
    /// To be worth anything.
    pub(super) least: f64,
    /// Whether a refusal of one of the worst off is noted.
    pub(super) notes_refusals: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    rows: Vec<ReachRow>,
    /// The columns made of the rows; the second version is for decisions that note refusals.
    asks: [ReceiverTerms; 2],
    /// Seconds until the end of the time that counts for the farthest.
    pub(super) farthest: f64,
    /// The key that the rows were made for: owner, time, and two change counters.
    made: Option<(Option<PeerId>, SessionTime, u64, u64)>,
}

impl Reach {
    /// Makes the rows for an owner and the current time, unless they are up to date.
    pub(super) fn update(&mut self, review: &Review<'_>, owner: Option<PeerId>, control: &Control) {
        let key = Some((owner, review.now(), review.changes(), control.changes));
        if self.made == key {
            return;
        }
        self.made = key;
        self.rows.clear();
        self.rows.extend(review.receivers().zip(review.messages_by_place()).map(|(receiver, messages)| {
            let (Some((peer, outlook)), Some(messages)) = (receiver, messages) else {
                return ReachRow::NOBODY;
            };
            // Before anything is known, every unreported vector may be lost.
            let is_known = outlook.lost_after < Span::MAX;
            let overdue = if is_known { outlook.now - outlook.lost_after } else { SessionTime::MAX };
            let end = outlook.delay + window(outlook.delay);
            let standing = control.find(peer);
            let boost = standing.map_or(1.0, |standing| standing.boost);
            let ahead = standing.is_some_and(|standing| standing.above < control.above_max - LEAD_MAX);
            let (worst, is_served) = (boost > WORST, standing.is_some() && !ahead);
            let rarity = if is_served { 1.0 / boost } else { f64::INFINITY };
            ReachRow {
                peer,
                lost_after: outlook.lost_after,
                overdue: messages.first_since(overdue),
                from: outlook.delay.as_secs_f64(),
                to: end.as_secs_f64(),
                boost,
                rarity,
                worst,
                is_served,
            }
        }));
        self.farthest = self.rows.iter().map(|row| row.to).fold(0.0, f64::max);
        for (notes_refusals, asks) in [false, true].into_iter().zip(&mut self.asks) {
            let is_noted = |row: &ReachRow| notes_refusals && row.worst && row.is_served;
            let rarity = |row: &ReachRow| if is_noted(row) { 0.0 } else { below(row.rarity) };
            asks.to.clear();
            asks.to.extend(self.rows.iter().map(|row| above(row.to)));
            asks.rarity.clear();
            asks.rarity.extend(self.rows.iter().map(rarity));
            asks.overdue.clear();
            asks.overdue.extend(self.rows.iter().map(|row| row.overdue));
        }
    }

    pub(super) fn asks(&self, notes_refusals: bool) -> &ReceiverTerms {
        &self.asks[usize::from(notes_refusals)]
    }

    #[inline]
    pub(super) fn row(&self, place: u32) -> &ReachRow {
        &self.rows[place as usize]
    }
}

impl ReachRow {
    const NOBODY: Self = Self {
        peer: PeerId(0),
        lost_after: Span::ZERO,
        overdue: 0,
        from: 0.0,
        to: 0.0,
        boost: 0.0,
        rarity: f64::INFINITY,
        worst: false,
        is_served: false,
    };

    /// Whether sending the newest vector to this receiver can't be worth it, given its separation. `lives` is one over the
    /// product of the newest vector's life in seconds and the largest weight of its pairs.
    #[inline]
    pub(super) fn rules_out(&self, apart: &Separation, asked: &Terms, lives: f64) -> bool {
        let noted = asked.notes_refusals && self.worst;
        let index = if noted { asked.least } else { asked.least.max(asked.price * self.rarity) };
        let (from, to) = (apart.at(self.from), apart.at(self.to));
        // A NaN index exceeds every bound.
        let distance = (1.0 - MARGIN) * index * lives;
        distance >= apart.distance_min && from.max(to) <= distance * distance
    }
}

/// The separation of a vector from the newest one, from now on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Separation {
    position: Vec3,
    velocity: Vec3,
    /// Position and velocity of the newest one.
    newest: (Vec3, Vec3),
    /// The distance below which differences may be rounding errors.
    distance_min: f64,
}

impl Separation {
    #[inline]
    fn at(&self, seconds: f64) -> f64 {
        (self.position + self.velocity * seconds).length_squared()
    }
}

/// How much closer to the entity the newest vector brings a receiver: the mean over a short time from its arrival on, by
/// Simpson's rule.
#[inline]
pub(super) fn gain(path: &Path, age: f64, apart: &Separation, row: &ReachRow) -> f64 {
    let nearer = |seconds: f64| {
        let (position, velocity) = apart.newest;
        let off = position + velocity * seconds - path.after(age + seconds);
        (off + (apart.position + apart.velocity * seconds)).length() - off.length()
    };
    let middle = 0.5 * (row.from + row.to);
    (nearer(row.from) + 4.0 * nearer(middle) + nearer(row.to)) * (1.0 / 6.0)
}

/// The separation of a vector from the newest, if both are linear.
pub(super) fn apart(shown: &DrVector, newest: &DrVector, now: SessionTime) -> Option<Separation> {
    if [shown, newest].iter().any(|vector| vector.kind != MotionKind::Linear) {
        return None;
    }
    let (position, velocity) = (newest.project(now), newest.state.velocity);
    Some(Separation {
        newest: (position, velocity),
        position: shown.project(now) - position,
        velocity: shown.state.velocity - velocity,
        distance_min: distance_min(position, velocity),
    })
}

/// The distance below which two paths at this position and velocity may differ by rounding only.
pub(super) fn distance_min(position: Vec3, velocity: Vec3) -> f64 {
    let size = |v: Vec3| v.x.abs() + v.y.abs() + v.z.abs();
    MARGIN * (size(position) + 8.0 * size(velocity))
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Seed;

    use super::*;
    use crate::motion::vector::MotionState;

    #[test]
    fn only_pairs_below_the_price_are_ruled_out() {
        let mut draws = Seed::new(5).draws();
        let now = SessionTime::from_nanos(7_000_000_000);
        let mut ruled_out = 0;
        for _ in 0..20_000 {
            let mut vector = |age: i64| {
                let mut xy = |most: f64| Vec3::xy(draws.uniform(-most, most), draws.uniform(-most, most));
                let state = MotionState { position: xy(3.0), velocity: xy(4.0), ..MotionState::default() };
                DrVector { generated: now - Span::from_millis(age), state, kind: MotionKind::Linear }
            };
            let (shown, newest) = (vector(500), vector(20));
            let delay = Span::from_secs_f64(draws.uniform(0.0, 0.8));
            let (boost, life) = (draws.uniform(0.01, 1.0), draws.uniform(0.01, 0.7));
            let row = ReachRow {
                from: delay.as_secs_f64(),
                to: (delay + window(delay)).as_secs_f64(),
                rarity: 1.0 / boost,
                ..ReachRow::NOBODY
            };
            let asked = Terms { price: draws.uniform(0.0, 2.0), least: 0.01, notes_refusals: false };
            let apart = apart(&shown, &newest, now).expect("both are linear");
            if !row.rules_out(&apart, &asked, 1.0 / life) {
                continue;
            }
            ruled_out += 1;
            // A receiver gains most if the entity is on the newest vector's path.
            for stray in [0.0, 0.1, 5.0] {
                let nearer = |part: f64| {
                    let at = now + Span::from_secs_f64(row.from + part * (row.to - row.from));
                    let there = newest.project(at) + Vec3::xy(stray, -stray);
                    shown.project(at).distance(there) - newest.project(at).distance(there)
                };
                let gain = (nearer(0.0) + 4.0 * nearer(0.5) + nearer(1.0)) / 6.0;
                assert!(
                    gain * life <= asked.least || gain * life * boost <= asked.price,
                    "{row:?} {asked:?}"
                );
            }
        }
        assert!((2_000..18_000).contains(&ruled_out), "{ruled_out}");
    }

    #[test]
    fn only_linear_vectors_have_a_separation() {
        let vector =
            |kind| DrVector { generated: SessionTime::default(), state: MotionState::default(), kind };
        let (linear, circular) = (vector(MotionKind::Linear), vector(MotionKind::Circular));
        assert!(apart(&linear, &circular, SessionTime::default()).is_none());
        assert!(apart(&linear, &linear, SessionTime::default()).is_some());
    }
}
