//! Which pairs a message can't be worth its price at, told without a root.
//!
//! A message brings a receiver nearer to the entity by no more than the newest vector is away from what it shows. Between two linear
//! vectors that distance is largest at an end of the time over which the gain is averaged. So two points tell of nearly
//! every pair that there is nothing to decide, and the path that the entity is expected to take is not even asked for.

use evenkeel_core::{PeerId, SessionTime, Span, Vec3};

use super::control::Control;
use super::path::Path;
use super::share::{LEAD_MAX, WORST, window};
use crate::fairness::{Exported, Review};
use crate::ledger::LastSent;
use crate::linear::sift::ReceiverColumns;
use crate::vector::{DrSeq, DrVector, MotionKind};

/// Bounds and what they bound are rounded differently; this much is left for it.
pub(super) const MARGIN: f64 = 1e-6;

/// One receiver, as every entity of the sender needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReachRow {
    pub(super) peer: PeerId,
    pub(super) lost_after: Span,
    /// What was sent in a message before this and is not reported may be lost.
    overdue: u32,
    /// Seconds until what is sent now arrives, and until the end of the time that counts.
    from: f64,
    to: f64,
    /// What a message to it is worth more: 1 for the worst off, less for the others.
    pub(super) boost: f64,
    /// One over that; infinite if it is not to be sent any.
    rarity: f64,
    /// Whether it is one of the worst off.
    pub(super) worst: bool,
    /// Whether it may be sent anything: it has been looked at, and is not too far ahead of the others.
    pub(super) is_served: bool,
}

/// What is asked of all receivers at every entity and tick, in columns, by their places.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceiverTerms {
    /// Seconds until the end of the time that counts, rounded up.
    to: Vec<f32>,
    /// One over what a message to it is worth more, rounded down; infinite if it is not to be sent any.
    rarity: Vec<f32>,
    /// What was sent in a message before this and is not reported may be lost.
    overdue: Vec<u32>,
}

impl ReceiverTerms {
    /// The same with what the receivers of an entity are expected to show.
    pub(super) fn of<'a>(&'a self, last_sents: &'a [LastSent]) -> ReceiverColumns<'a> {
        ReceiverColumns { last_sents, to: &self.to, most: &self.rarity, overdue: &self.overdue }
    }

    fn clear(&mut self) {
        self.to.clear();
        self.rarity.clear();
        self.overdue.clear();
    }

    fn push(&mut self, row: &ReachRow, notes_refusals: bool) {
        let is_noted = notes_refusals && row.worst && row.is_served;
        self.to.push(above(row.to));
        self.rarity.push(if is_noted { 0.0 } else { below(row.rarity) });
        self.overdue.push(row.overdue);
    }
}

/// What rounding takes away, to half as many digits and in a few steps, is less than this.
const COARSE: f64 = 1e-6;

/// A number that is not below one that is nought or more; what is not a number stays so.
pub(super) fn above(number: f64) -> f32 {
    (number * (1.0 + COARSE)) as f32 + f32::MIN_POSITIVE
}

/// A number that is not above one that is nought or more.
fn below(number: f64) -> f32 {
    (number * (1.0 - COARSE)) as f32
}

/// What a message must save.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// To be worth its price.
    pub(super) price: f64,
    /// To be worth anything.
    pub(super) least: f64,
    /// Whether it is noted that one of the worst off is refused it.
    pub(super) notes_refusals: bool,
}

/// All receivers by their places.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    rows: Vec<ReachRow>,
    /// The same in short; and where refusals are noted, which are those of the worst off.
    asks: [ReceiverTerms; 2],
    /// Seconds until the end of the time that counts for the farthest.
    farthest: f64,
    /// For whom and when they were made, and what of.
    made: Option<(Option<PeerId>, SessionTime, u64, u64)>,
}

impl Reach {
    /// Sees to it that the rows are those of an owner and of now.
    pub(super) fn update(&mut self, review: &Review<'_>, owner: Option<PeerId>, control: &Control) {
        let key = Some((owner, review.now(), review.changes(), control.changes()));
        if self.made == key {
            return;
        }
        self.made = key;
        self.rows.clear();
        self.rows.extend(review.receivers().zip(review.messages_by_place()).map(|(receiver, messages)| {
            let (Some((peer, outlook)), Some(messages)) = (receiver, messages) else {
                return ReachRow::NOBODY;
            };
            // Before anything is known of it, whatever is not reported may be lost.
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
            asks.clear();
            self.rows.iter().for_each(|row| asks.push(row, notes_refusals));
        }
    }

    /// Seconds until the end of the time that counts for the farthest.
    pub(super) const fn farthest(&self) -> f64 {
        self.farthest
    }

    /// What is asked of all receivers.
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

    /// Whether nothing can come of sending the newest vector to this receiver, which shows one so far apart from it. `lives` is
    /// one over the seconds that the newest will hold, times its weight.
    #[inline]
    pub(super) fn rules_out(&self, apart: &Separation, asked: &Terms, lives: f64) -> bool {
        let noted = asked.notes_refusals && self.worst;
        let index = if noted { asked.least } else { asked.least.max(asked.price * self.rarity) };
        let (from, to) = (apart.at(self.from), apart.at(self.to));
        // An index that is not a number is beyond every bound.
        let distance = (1.0 - MARGIN) * index * lives;
        distance >= apart.distance_min && from.max(to) <= distance * distance
    }
}

/// How far a vector is from the newest one, from now on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Separation {
    position: Vec3,
    velocity: Vec3,
    /// Where the newest one is, and goes.
    newest: (Vec3, Vec3),
    /// Shorter distances may be nothing but rounding.
    distance_min: f64,
}

impl Separation {
    /// The square of the distance after so many seconds.
    #[inline]
    fn at(&self, seconds: f64) -> f64 {
        (self.position + self.velocity * seconds).length_squared()
    }
}

/// By how much a receiver that shows such a vector will be nearer to the entity with the newest one: the mean over a short
/// time from its arrival on, by Simpson's rule.
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

/// What is known of a vector before the newest one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known {
    /// It can't be told at a glance.
    Unclear,
    /// Nothing can come of sending the newest to anybody who shows it.
    Idle,
    /// It is so far apart.
    Separation(Separation),
}

impl Reach {
    /// How far a vector of an entity is apart from its newest. `lives` is one over the most seconds that that will hold,
    /// times the largest weight.
    pub(super) fn find(
        &self,
        exported: &Exported<'_>,
        seq: DrSeq,
        now: SessionTime,
        asked: &Terms,
        lives: f64,
    ) -> Known {
        let Some(apart) = exported.shown(seq).and_then(|shown| apart(shown, exported.newest().1, now)) else {
            return Known::Unclear;
        };
        // Nobody's message is worth more than that of the worst off, and nobody's gain is counted longer than the farthest's.
        let most = ReachRow { to: self.farthest, rarity: 1.0, worst: true, ..ReachRow::NOBODY };
        if most.rules_out(&apart, asked, lives) { Known::Idle } else { Known::Separation(apart) }
    }
}

fn apart(shown: &DrVector, newest: &DrVector, now: SessionTime) -> Option<Separation> {
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

/// Between paths that are there, and go so fast, shorter distances may be nothing but rounding.
pub(super) fn distance_min(position: Vec3, velocity: Vec3) -> f64 {
    let size = |v: Vec3| v.x.abs() + v.y.abs() + v.z.abs();
    MARGIN * (size(position) + 8.0 * size(velocity))
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Seed;

    use super::*;
    use crate::vector::MotionState;

    #[test]
    fn nothing_that_is_ruled_out_could_be_worth_its_price() {
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
            // The entity may go anywhere; it gains most who is on the newest vector's very path.
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
    fn a_glance_that_is_not_clear_rules_nothing_out() {
        let vector =
            |kind| DrVector { generated: SessionTime::default(), state: MotionState::default(), kind };
        let (linear, circular) = (vector(MotionKind::Linear), vector(MotionKind::Circular));
        assert!(apart(&linear, &circular, SessionTime::default()).is_none());
        assert!(apart(&linear, &linear, SessionTime::default()).is_some());
    }
}
