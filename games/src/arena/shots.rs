//! The shots in flight, as the referee follows them.
//!
//! A shot's path comes from its owner's report, and its turn from the action by which it was fired. A tank that it strikes is
//! hit once the action has been served: of two shots at one tank, or of two tanks at each other, the one served first counts.

use std::collections::BTreeMap;

use evenkeel_core::{PeerId, SessionTime, Span, Vec3};
use evenkeel_dr::{DrSeq, DrVector, EntityId, RoomEntity};

use super::SHOT_LIFE;
use super::field::Field;

/// A shot that passes a tank's centre at less than this distance hits it.
pub const HIT_RADIUS: f64 = 2.9;
/// How long a report waits for its action, and an action for its report.
const PENDING_MAX: Span = Span::from_secs(1);

/// A shot that struck a tank.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Strike {
    pub(super) shot: EntityId,
    pub(super) shooter: PeerId,
    pub(super) victim: PeerId,
    pub(super) at: Vec3,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum ShotState {
    Flying,
    /// It struck before it was served.
    Struck(Strike, SessionTime),
    /// It has hit something, or does not count.
    Spent,
}

/// A shot in flight. It flies as first reported, whatever later reports say.
#[derive(Clone, Copy, Debug)]
struct TrackedShot {
    first: DrSeq,
    path: DrVector,
    state: ShotState,
    is_served: bool,
}

/// Whether a served action counts, and when it was served.
type Served = (bool, SessionTime);

/// The shots of a room.
#[derive(Clone, Debug, Default)]
pub(super) struct Shots {
    tracked: BTreeMap<EntityId, TrackedShot>,
    /// Actions whose shots have not been reported yet.
    served: BTreeMap<EntityId, Served>,
    at: Option<SessionTime>,
}

impl Shots {
    /// An action was served. `counts` is whether its player was in the game. Returns what its shot has struck already.
    pub(super) fn serve(&mut self, shot: EntityId, counts: bool, now: SessionTime) -> Option<Strike> {
        let Some(tracked) = self.tracked.get_mut(&shot).filter(|tracked| !tracked.is_served) else {
            self.served.insert(shot, (counts, now));
            return None;
        };
        tracked.is_served = true;
        let struck = match tracked.state {
            ShotState::Struck(strike, _) if counts => Some(strike),
            _ => None,
        };
        if struck.is_some() || !counts {
            tracked.state = ShotState::Spent;
        }
        struck
    }

    /// Moves all shots on. `tanks` are those that can be hit, without those that are. A new shot counts if `accepts` says so.
    pub(super) fn advance(
        &mut self,
        present: &[RoomEntity],
        field: &Field,
        tanks: &mut Vec<(PeerId, Vec3)>,
        now: SessionTime,
        mut accepts: impl FnMut(PeerId, &DrVector) -> bool,
    ) -> Vec<Strike> {
        let before = self.at.replace(now);
        let is_pending = |since: SessionTime| now - since <= PENDING_MAX;
        self.served.retain(|_, (_, at)| is_pending(*at));
        let mut strikes = Vec::new();
        let mut old = core::mem::take(&mut self.tracked);
        for report in present {
            let known = old.remove(&report.entity).filter(|shot| shot.first == report.first);
            let mut shot = known.unwrap_or_else(|| self.track(report, &mut accepts));
            let since =
                known.and(before).map_or(shot.path.generated, |before| before.max(shot.path.generated));
            let until = now.min(shot.path.generated + SHOT_LIFE);
            if shot.state == ShotState::Flying && since < until {
                let path = (shot.path.project(since), shot.path.project(until));
                shot.fly(report, field, path, tanks, now);
            }
            if let ShotState::Struck(strike, _) = shot.state
                && shot.is_served
            {
                tanks.retain(|(tank, _)| *tank != strike.victim);
                shot.state = ShotState::Spent;
                strikes.push(strike);
            }
            self.tracked.insert(report.entity, shot);
        }
        // Its owner may have ended a shot that waits for its turn.
        let waits =
            |shot: &TrackedShot| matches!(shot.state, ShotState::Struck(_, since) if is_pending(since));
        for (entity, shot) in old.into_iter().filter(|(_, shot)| waits(shot)) {
            self.tracked.entry(entity).or_insert(shot);
        }
        strikes
    }

    /// Follows a shot that has just been reported.
    fn track(
        &mut self,
        report: &RoomEntity,
        accepts: &mut impl FnMut(PeerId, &DrVector) -> bool,
    ) -> TrackedShot {
        let served = self.served.remove(&report.entity);
        let is_accepted = accepts(report.owner, &report.newest) && served.is_none_or(|(counts, _)| counts);
        let state = if is_accepted { ShotState::Flying } else { ShotState::Spent };
        TrackedShot { first: report.first, path: report.newest, state, is_served: served.is_some() }
    }
}

impl TrackedShot {
    /// Moves on to the first thing in the way.
    fn fly(
        &mut self,
        report: &RoomEntity,
        field: &Field,
        (from, to): (Vec3, Vec3),
        tanks: &[(PeerId, Vec3)],
        now: SessionTime,
    ) {
        let stop = field.first_hit(from, to);
        let others = tanks.iter().filter(|(player, _)| *player != report.owner);
        let first = others
            .filter_map(|(player, at)| hit_fraction(from, to, *at).map(|part| (part, *player)))
            .filter(|(part, _)| stop.is_none_or(|stop| *part <= stop))
            .reduce(|a, b| if b.0 < a.0 { b } else { a });
        self.state = match first {
            Some((part, victim)) => {
                let at = from + (to - from) * part;
                let strike = Strike { shot: report.entity, shooter: report.owner, victim, at };
                ShotState::Struck(strike, now)
            }
            None if stop.is_some() => ShotState::Spent,
            None => ShotState::Flying,
        };
    }
}

/// Returns the fraction of a straight path that is nearest to a place, if it is near enough for a hit.
fn hit_fraction(from: Vec3, to: Vec3, at: Vec3) -> Option<f64> {
    let path = to - from;
    let length = path.length_squared();
    let part = if length > 0.0 { ((at - from).dot(path) / length).clamp(0.0, 1.0) } else { 0.0 };
    ((from + path * part).distance(at) <= HIT_RADIUS).then_some(part)
}
