//! Who is hit, who starts where, and the score. The relay decides, by what it has been told of everybody.

use core::f64::consts::PI;
use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{Draws, PeerId, Seed, SessionTime, Span, Vec3};
use evenkeel_dr::{DrSeq, DrVector, EntityId, RoomEntity};

use super::field::Field;
use super::message::{News, Score};
use super::{MUZZLE, RELOAD, SHOT_LIFE, SHOT_SPEED};

/// A shot that passes a tank's middle by less hits it.
pub const HIT_RADIUS: f64 = 2.9;
/// Who was hit starts again after this.
const AWAY: Span = Span::from_secs(2);
/// And can't be hit for so long.
const SPARED: Span = Span::from_millis(1_500);
/// How many places are tried for whoever starts; the one that is farthest from everybody is taken.
const PLACES: usize = 16;
/// A shot that is told of for the first time is on a line through its tank, but for so much: what is told of a tank is a little off,
const ASIDE: f64 = 2.0;
/// and it is no farther ahead of the gun than it flies in this time: a player may not have got to tell of it at once.
const LATE: Span = Span::from_millis(200);
/// A gun may be loaded sooner than it can be by so much, once, if the shots before came later: who was held up makes up for it.
const HELD_UP: Span = Span::from_secs(1);

/// How it stands with a player.
#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    /// It starts then.
    Away(SessionTime),
    /// It has started then.
    Out(SessionTime),
}

#[derive(Clone, Copy, Debug)]
struct Player {
    score: Score,
    state: State,
    is_here: bool,
    /// Its tank as it was told of last.
    tank: Option<DrVector>,
    /// When its gun is loaded.
    loaded: SessionTime,
    /// Its shots that did not count: they did not come out of its gun, or too soon.
    fouls: u32,
}

impl Player {
    fn new(state: State) -> Self {
        let (score, tank, loaded) = (Score::default(), None, SessionTime::MIN);
        Self { score, state, is_here: true, tank, loaded, fouls: 0 }
    }

    /// Whether this is a shot from its gun.
    fn fires(&mut self, shot: &DrVector) -> bool {
        let fired = shot.generated;
        let was_out = match self.state {
            State::Out(since) => since <= fired,
            // It did not know yet that it was hit.
            State::Away(until) => fired < until - AWAY,
        };
        let is_fair =
            was_out && fired >= self.loaded - HELD_UP && self.tank.is_some_and(|tank| is_from(&tank, shot));
        if is_fair {
            self.loaded = self.loaded.max(fired) + RELOAD;
        } else {
            self.fouls = self.fouls.saturating_add(1);
        }
        is_fair
    }
}

/// Whether a shot comes out of a tank's gun.
fn is_from(tank: &DrVector, shot: &DrVector) -> bool {
    let (way, speed) = (shot.state.velocity, shot.state.velocity.length());
    if speed <= 0.0 {
        return false;
    }
    let ahead = way * (1.0 / speed);
    let from_tank = shot.project(shot.generated) - tank.project(shot.generated);
    let along = from_tank.dot(ahead);
    let aside = from_tank.distance(ahead * along);
    aside <= ASIDE && (MUZZLE - ASIDE..=MUZZLE + ASIDE + SHOT_SPEED * LATE.as_secs_f64()).contains(&along)
}

/// A shot in flight. It flies as it was first told of, whatever is told of it later.
#[derive(Clone, Copy, Debug)]
struct Shot {
    first: DrSeq,
    path: DrVector,
    /// It has hit something, or never counted.
    is_spent: bool,
}

/// The referee of one room.
#[derive(Clone, Debug)]
pub struct Referee {
    field: Field,
    draws: Draws,
    players: BTreeMap<PeerId, Player>,
    /// Shots that were there at the last look.
    shots: BTreeMap<EntityId, Shot>,
    at: Option<SessionTime>,
    /// What is to be told, and whom; `None`: everybody.
    news: VecDeque<(Option<PeerId>, News)>,
}

impl Referee {
    /// A referee whose choices depend on this seed.
    #[must_use]
    pub fn new(field: Field, seed: Seed) -> Self {
        let (players, shots) = (BTreeMap::new(), BTreeMap::new());
        Self { field, draws: seed.draws(), players, shots, at: None, news: VecDeque::new() }
    }

    /// The field.
    #[must_use]
    pub const fn field(&self) -> &Field {
        &self.field
    }

    /// A player comes: it starts with the next look.
    pub fn join(&mut self, player: PeerId) {
        let state = State::Away(SessionTime::MIN);
        let player = self.players.entry(player).or_insert_with(|| Player::new(state));
        (player.state, player.is_here, player.tank) = (state, true, None);
        self.tell_scores();
    }

    /// A player goes. If it comes back it has its score.
    pub fn leave(&mut self, player: PeerId) {
        if let Some(player) = self.players.get_mut(&player) {
            player.is_here = false;
        }
        self.tell_scores();
    }

    /// Everybody who is here, and how it is doing.
    pub fn scores(&self) -> impl Iterator<Item = (PeerId, Score)> + '_ {
        self.players.iter().filter(|(_, player)| player.is_here).map(|(peer, player)| (*peer, player.score))
    }

    /// How a player is doing; noughts if it never came.
    #[must_use]
    pub fn score(&self, player: PeerId) -> Score {
        self.players.get(&player).map(|player| player.score).unwrap_or_default()
    }

    /// How many of a player's shots did not count, because they did not come out of its gun, or sooner than it can be loaded.
    #[must_use]
    pub fn fouls(&self, player: PeerId) -> u32 {
        self.players.get(&player).map_or(0, |player| player.fouls)
    }

    /// What is to be told next, and whom; `None`: everybody.
    pub fn poll_news(&mut self) -> Option<(Option<PeerId>, News)> {
        self.news.pop_front()
    }

    fn tell_scores(&mut self) {
        let scores = News::Scores(self.scores().collect());
        self.news.push_back((None, scores));
    }

    /// Looks at everything that is there.
    pub fn look(&mut self, present: &[RoomEntity], now: SessionTime) {
        let before = self.at.replace(now);
        for RoomEntity { owner, newest, .. } in present.iter().filter(|present| is_tank(present.entity)) {
            if let Some(player) = self.players.get_mut(owner) {
                player.tank = Some(*newest);
            }
        }
        let mut tanks: Vec<(PeerId, Vec3)> =
            present.iter().filter_map(|present| self.tank(present, now)).collect();
        let mut shots = BTreeMap::new();
        for told in present.iter().filter(|present| !is_tank(present.entity)) {
            let known = self.shots.get(&told.entity).filter(|shot| shot.first == told.first).copied();
            let mut shot = known.unwrap_or_else(|| {
                let shooter = self.players.get_mut(&told.owner);
                let is_spent = !shooter.is_some_and(|shooter| shooter.fires(&told.newest));
                Shot { first: told.first, path: told.newest, is_spent }
            });
            let (since, ends) = (shot.path.generated, shot.path.generated + SHOT_LIFE);
            let since = known.and(before).map_or(since, |before| before.max(since));
            let until = now.min(ends);
            if !shot.is_spent && since < until {
                let way = (shot.path.project(since), shot.path.project(until));
                shot.is_spent = self.fly(told, way, &mut tanks, now);
            }
            shots.insert(told.entity, shot);
        }
        self.shots = shots;
        self.start(&tanks, now);
    }

    /// Whether this is a tank that can be hit, of whom, and where it is.
    fn tank(&self, present: &RoomEntity, now: SessionTime) -> Option<(PeerId, Vec3)> {
        let player = self.players.get(&present.owner).filter(|_| is_tank(present.entity))?;
        let State::Out(since) = player.state else { return None };
        (now - since >= SPARED).then(|| (present.owner, present.newest.project(now)))
    }

    /// A shot goes on; whether it has hit something.
    fn fly(
        &mut self,
        shot: &RoomEntity,
        (from, to): (Vec3, Vec3),
        tanks: &mut Vec<(PeerId, Vec3)>,
        now: SessionTime,
    ) -> bool {
        let stop = self.field.stops(from, to);
        let hits = tanks.iter().enumerate().filter(|(_, (player, _))| *player != shot.owner);
        let hits = hits.filter_map(|(place, (_, at))| passes(from, to, *at).map(|part| (part, place)));
        let first = hits
            .filter(|(part, _)| stop.is_none_or(|stop| *part <= stop))
            .reduce(|a, b| if b.0 < a.0 { b } else { a });
        let Some((part, place)) = first else { return stop.is_some() };
        let (victim, _) = tanks.swap_remove(place);
        self.hit(victim, shot, from + (to - from) * part, now);
        true
    }

    fn hit(&mut self, victim: PeerId, shot: &RoomEntity, at: Vec3, now: SessionTime) {
        if let Some(player) = self.players.get_mut(&victim) {
            player.score.losses = player.score.losses.saturating_add(1);
            player.state = State::Away(now + AWAY);
        }
        if let Some(player) = self.players.get_mut(&shot.owner) {
            player.score.hits = player.score.hits.saturating_add(1);
        }
        let news = News::Hit { victim, shooter: shot.owner, shot: shot.entity, at };
        self.news.push_back((None, news));
        self.tell_scores();
    }

    /// Sends those in whose time has come.
    fn start(&mut self, tanks: &[(PeerId, Vec3)], now: SessionTime) {
        let mut taken: Vec<Vec3> = tanks.iter().map(|(_, at)| *at).collect();
        let due = |player: &Player| player.is_here && matches!(player.state, State::Away(at) if at <= now);
        let due: Vec<PeerId> =
            self.players.iter().filter(|(_, player)| due(player)).map(|(peer, _)| *peer).collect();
        for peer in due {
            let position = self.place(&taken);
            taken.push(position);
            // It faces the middle, more or less.
            let heading = libm::atan2(-position.y, -position.x) + self.draws.uniform(-0.25 * PI, 0.25 * PI);
            self.news.push_back((Some(peer), News::Spawn { position, heading }));
            if let Some(player) = self.players.get_mut(&peer) {
                player.state = State::Out(now);
            }
        }
    }

    /// A free place, far from those that are taken.
    fn place(&mut self, taken: &[Vec3]) -> Vec3 {
        let half = self.field.half;
        let mut best = (f64::NEG_INFINITY, Vec3::ZERO);
        for _ in 0..PLACES {
            let drawn = Vec3::xy(self.draws.uniform(-half.x, half.x), self.draws.uniform(-half.y, half.y));
            let place = self.field.free(drawn);
            let nearest = taken.iter().map(|taken| taken.distance(place)).fold(f64::INFINITY, f64::min);
            if nearest > best.0 {
                best = (nearest, place);
            }
        }
        best.1
    }
}

/// The first entity of a player is its tank, the others are its shots.
#[must_use]
pub fn is_tank(entity: EntityId) -> bool {
    entity == EntityId::of(entity.player(), 0)
}

/// The part of a straight way at which it comes nearest to a place, if that is near enough for a hit.
fn passes(from: Vec3, to: Vec3, at: Vec3) -> Option<f64> {
    let way = to - from;
    let length = way.length_squared();
    let part = if length > 0.0 { ((at - from).dot(way) / length).clamp(0.0, 1.0) } else { 0.0 };
    ((from + way * part).distance(at) <= HIT_RADIUS).then_some(part)
}

#[cfg(test)]
mod tests {
    use evenkeel_dr::{DrVector, MotionKind, MotionState};

    use super::*;

    fn at(millis: i64) -> SessionTime {
        SessionTime::from_nanos(0) + Span::from_millis(millis)
    }

    fn present(player: u32, local: u32, position: Vec3, velocity: Vec3, millis: i64) -> RoomEntity {
        let state = MotionState { position, velocity, ..MotionState::default() };
        let newest = DrVector::generate(at(millis), &state, MotionKind::Linear);
        RoomEntity {
            entity: EntityId::of(PeerId(player), local),
            owner: PeerId(player),
            first: DrSeq(0),
            newest,
        }
    }

    /// A referee with two players who have started and are not spared any more.
    fn referee() -> Referee {
        let mut referee = Referee::new(Field::default(), Seed::new(1));
        (1..3).for_each(|player| referee.join(PeerId(player)));
        referee.look(&[], at(0));
        let spawned =
            std::iter::from_fn(|| referee.poll_news()).filter(|(_, news)| matches!(news, News::Spawn { .. }));
        assert_eq!(spawned.count(), 2);
        referee.look(&[], at(2_000));
        referee
    }

    fn hits(referee: &mut Referee) -> Vec<(u32, u32)> {
        let news = std::iter::from_fn(|| referee.poll_news());
        let hits = news.filter_map(|(_, news)| match news {
            News::Hit { victim, shooter, .. } => Some((victim.0, shooter.0)),
            _ => None,
        });
        hits.collect()
    }

    #[test]
    fn a_shot_hits_once_counts_and_its_victim_starts_again() {
        let mut referee = referee();
        let own = present(1, 0, Vec3::xy(20.0 - MUZZLE, 0.0), Vec3::ZERO, 1_000);
        let tank = present(2, 0, Vec3::xy(40.0, 2.0), Vec3::ZERO, 1_000);
        let shot = present(1, 1, Vec3::xy(20.0, 0.0), Vec3::xy(60.0, 0.0), 2_000);
        referee.look(&[own, tank, shot], at(2_200));
        assert_eq!(hits(&mut referee), []);
        referee.look(&[own, tank, shot], at(2_400));
        assert_eq!(hits(&mut referee), [(2, 1)]);
        referee.look(&[own, tank, shot], at(2_420));
        assert_eq!(hits(&mut referee), []);
        let scores: Vec<_> =
            referee.scores().map(|(player, score)| (player.0, score.hits, score.losses)).collect();
        assert_eq!(scores, [(1, 1, 0), (2, 0, 1)]);
        referee.look(&[], at(4_400));
        let spawned =
            std::iter::from_fn(|| referee.poll_news()).find(|(_, news)| matches!(news, News::Spawn { .. }));
        assert_eq!(spawned.map(|(to, _)| to), Some(Some(PeerId(2))));
    }

    #[test]
    fn blocks_protect_and_nobody_hits_itself() {
        let mut referee = referee();
        let own = present(1, 0, Vec3::xy(-20.0, -4.0), Vec3::ZERO, 1_000);
        let hidden = present(2, 0, Vec3::xy(4.0, -4.0), Vec3::ZERO, 1_000);
        let shot = present(1, 1, Vec3::xy(-20.0 + MUZZLE, -4.0), Vec3::xy(60.0, 0.0), 2_000);
        for millis in (2_020..3_000).step_by(20) {
            referee.look(&[own, hidden, shot], at(millis));
        }
        assert_eq!((hits(&mut referee), referee.fouls(PeerId(1))), (vec![], 0));
    }

    /// Whom a shot hits that player 1 tells of at 2 s, and how many fouls that makes: its tank goes north at (20, 0), the other's
    /// stands 30 units to the east of it.
    fn shoot(place: Vec3, velocity: Vec3) -> (Vec<(u32, u32)>, u32) {
        let mut referee = referee();
        let own = present(1, 0, Vec3::xy(20.0, -20.0), Vec3::xy(0.0, 20.0), 1_000);
        let other = present(2, 0, Vec3::xy(50.0, 0.0), Vec3::ZERO, 1_000);
        let shot = present(1, 1, place, velocity, 2_000);
        (2_000..4_000).step_by(20).for_each(|millis| referee.look(&[own, other, shot], at(millis)));
        (hits(&mut referee), referee.fouls(PeerId(1)))
    }

    #[test]
    fn only_shots_from_the_gun_count() {
        let east = Vec3::xy(SHOT_SPEED, 0.0);
        let hit = (vec![(2, 1)], 0);
        assert_eq!(shoot(Vec3::xy(20.0 + MUZZLE, 0.0), east), hit);
        assert_eq!(
            shoot(Vec3::xy(20.0 + MUZZLE + 6.0, 1.0), east),
            hit,
            "it is told of a tenth of a second late"
        );
        for (place, velocity) in [
            (Vec3::xy(20.0 + MUZZLE, 3.0), east),
            (Vec3::xy(20.0 - MUZZLE, 0.0), east),
            (Vec3::xy(40.0, 0.0), east),
            (Vec3::xy(50.0, -MUZZLE), Vec3::xy(0.0, SHOT_SPEED)),
            (Vec3::xy(20.0 + MUZZLE, 0.0), Vec3::ZERO),
        ] {
            assert_eq!(shoot(place, velocity), (vec![], 1), "{place:?} {velocity:?}");
        }
    }

    #[test]
    fn a_shot_flies_as_it_was_fired_and_no_longer_than_shots_do() {
        let tank = present(1, 0, Vec3::xy(20.0 - MUZZLE, 0.0), Vec3::ZERO, 1_000);
        let fired = present(1, 1, Vec3::xy(20.0, 0.0), Vec3::xy(0.1 * SHOT_SPEED, 0.0), 2_000);
        let bent = present(1, 1, Vec3::xy(20.0, 0.0), Vec3::xy(0.0, SHOT_SPEED), 2_040);
        for other in [Vec3::xy(20.0, 20.0), Vec3::xy(20.0 + 0.15 * SHOT_SPEED + HIT_RADIUS, 0.0)] {
            let (mut referee, other) = (referee(), present(2, 0, other, Vec3::ZERO, 1_000));
            for millis in (2_000..6_000).step_by(20) {
                let shot = if millis < 2_040 { fired } else { bent };
                referee.look(&[tank, other, shot], at(millis));
            }
            assert_eq!((hits(&mut referee), referee.fouls(PeerId(1))), (vec![], 0));
        }
    }

    #[test]
    fn a_gun_takes_its_time_to_be_loaded() {
        let mut referee = referee();
        let tank = present(1, 0, Vec3::xy(20.0 - MUZZLE, 0.0), Vec3::ZERO, 1_000);
        let mut fire = |local, millis| {
            let shot = present(1, local, Vec3::xy(20.0, 0.0), Vec3::xy(SHOT_SPEED, 0.0), millis);
            referee.look(&[tank, shot], at(millis));
            referee.fouls(PeerId(1))
        };
        let reload = RELOAD.as_nanos() / 1_000_000;
        assert_eq!([fire(1, 2_000), fire(2, 2_000 + reload)], [0, 0]);
        // It was held up before, and makes up for it; but not twice.
        assert_eq!([fire(1, 4_700), fire(2, 5_700), fire(1, 6_900)], [0, 1, 1]);
    }

    #[test]
    fn who_is_hit_fires_no_more_but_what_it_fired_before_counts() {
        let mut referee = referee();
        let tanks = [(1, 20.0 - MUZZLE), (2, 50.0 + MUZZLE)]
            .map(|(player, x)| present(player, 0, Vec3::xy(x, 0.0), Vec3::ZERO, 1_000));
        let deadly = present(1, 1, Vec3::xy(20.0, 0.0), Vec3::xy(SHOT_SPEED, 0.0), 2_000);
        (2_000..2_600).step_by(20).for_each(|millis| referee.look(&[tanks[0], tanks[1], deadly], at(millis)));
        assert_eq!(hits(&mut referee), [(2, 1)]);
        let answer =
            |local, millis| present(2, local, Vec3::xy(50.0, 0.0), Vec3::xy(-SHOT_SPEED, 0.0), millis);
        referee.look(&[tanks[0], tanks[1], answer(1, 2_300), answer(2, 2_590)], at(2_600));
        assert_eq!(referee.fouls(PeerId(2)), 1);
        referee.look(&[tanks[0], tanks[1], answer(1, 2_300), answer(2, 2_590)], at(3_200));
        assert_eq!(hits(&mut referee), [(1, 2)]);
    }

    #[test]
    fn who_starts_does_so_in_a_free_place_far_from_the_others() {
        let mut referee = referee();
        let tank = present(1, 0, Vec3::xy(50.0, 30.0), Vec3::ZERO, 1_000);
        for player in 3..40 {
            referee.join(PeerId(player));
            referee.look(&[tank], at(2_000 + i64::from(player)));
            let news: Vec<_> = std::iter::from_fn(|| referee.poll_news()).collect();
            let Some((_, News::Spawn { position, .. })) =
                news.iter().find(|(to, _)| *to == Some(PeerId(player)))
            else {
                panic!("{player} does not start: {news:?}");
            };
            assert!(referee.field().free(*position).distance(*position) < 1e-9);
            assert!(position.distance(Vec3::xy(50.0, 30.0)) > 20.0, "{position:?}");
        }
    }
}
