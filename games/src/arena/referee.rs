//! The referee: decides hits, spawn places and scores from what the players report to the relay.

use core::f64::consts::PI;
use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{Draws, PeerId, Seed, SessionTime, Span, Vec3};
use evenkeel_dr::{DrSeq, DrVector, EntityId, RoomEntity};

use super::field::Field;
use super::message::{ArenaMessage, Score};
use super::{MUZZLE, RELOAD, SHOT_LIFE, SHOT_SPEED};

/// A shot that passes a tank's centre at less than this distance hits it.
pub const HIT_RADIUS: f64 = 2.9;
/// Time between being hit and spawning again.
const RESPAWN_DELAY: Span = Span::from_secs(2);
/// Time after spawning in which a player cannot be hit.
const SPAWN_PROTECTION: Span = Span::from_millis(1_500);
/// Number of random places considered for a spawn; the one farthest from all tanks is taken.
const SPAWN_CANDIDATES: usize = 16;
/// Distance that the origin of a new shot may be off its tank's muzzle, because reported positions are not exact.
const MUZZLE_TOLERANCE: f64 = 2.0;
/// The longest time between firing and reporting a shot, in which it flies ahead of the muzzle.
const REPORT_DELAY_MAX: Span = Span::from_millis(200);
/// How much earlier than the reload time a gun may fire, if the shots before came late. A player that was
/// held up may catch up.
const RELOAD_SLACK: Span = Span::from_secs(1);

/// Whether a player is on the field.
#[derive(Clone, Copy, PartialEq, Debug)]
enum PlayerState {
    /// It spawns at this time.
    Waiting(SessionTime),
    /// It spawned at this time.
    Playing(SessionTime),
}

#[derive(Clone, Copy, Debug)]
struct Player {
    score: Score,
    state: PlayerState,
    is_present: bool,
    /// Its tank as last reported.
    tank: Option<DrVector>,
    /// When its gun is loaded.
    loaded: SessionTime,
    /// Number of its shots that did not count: not fired from its gun, or too soon.
    fouls: u32,
}

impl Player {
    fn new(state: PlayerState) -> Self {
        let (score, tank, loaded) = (Score::default(), None, SessionTime::MIN);
        Self { score, state, is_present: true, tank, loaded, fouls: 0 }
    }

    /// Returns whether this is a valid shot from its gun, and counts a foul otherwise.
    fn accepts(&mut self, shot: &DrVector) -> bool {
        let fired = shot.generated;
        let was_playing = match self.state {
            PlayerState::Playing(since) => since <= fired,
            // The player did not know yet that it was hit.
            PlayerState::Waiting(until) => fired < until - RESPAWN_DELAY,
        };
        let is_fair = was_playing
            && fired >= self.loaded - RELOAD_SLACK
            && self.tank.is_some_and(|tank| is_from_gun(&tank, shot));
        if is_fair {
            self.loaded = self.loaded.max(fired) + RELOAD;
        } else {
            self.fouls = self.fouls.saturating_add(1);
        }
        is_fair
    }
}

/// Returns whether a shot starts at a tank's gun.
fn is_from_gun(tank: &DrVector, shot: &DrVector) -> bool {
    let (velocity, speed) = (shot.state.velocity, shot.state.velocity.length());
    if speed <= 0.0 {
        return false;
    }
    let ahead = velocity * (1.0 / speed);
    let from_tank = shot.project(shot.generated) - tank.project(shot.generated);
    let along = from_tank.dot(ahead);
    let aside = from_tank.distance(ahead * along);
    aside <= MUZZLE_TOLERANCE
        && (MUZZLE - MUZZLE_TOLERANCE
            ..=MUZZLE + MUZZLE_TOLERANCE + SHOT_SPEED * REPORT_DELAY_MAX.as_secs_f64())
            .contains(&along)
}

/// A shot in flight. It flies as first reported, whatever later reports say.
#[derive(Clone, Copy, Debug)]
struct TrackedShot {
    first: DrSeq,
    path: DrVector,
    /// Whether it has hit something or did not count.
    is_spent: bool,
}

/// The referee of one room.
#[derive(Clone, Debug)]
pub struct Referee {
    field: Field,
    draws: Draws,
    players: BTreeMap<PeerId, Player>,
    /// The shots of the last update.
    shots: BTreeMap<EntityId, TrackedShot>,
    at: Option<SessionTime>,
    /// Messages to send; without a recipient, they go to all players.
    messages: VecDeque<(Option<PeerId>, ArenaMessage)>,
}

impl Referee {
    /// Makes a referee whose decisions depend on this seed.
    #[must_use]
    pub fn new(field: Field, seed: Seed) -> Self {
        let (players, shots) = (BTreeMap::new(), BTreeMap::new());
        Self { field, draws: seed.draws(), players, shots, at: None, messages: VecDeque::new() }
    }

    /// Returns the field.
    #[must_use]
    pub const fn field(&self) -> &Field {
        &self.field
    }

    /// Adds a player, which spawns at the next update.
    pub fn join(&mut self, player: PeerId) {
        let state = PlayerState::Waiting(SessionTime::MIN);
        let player = self.players.entry(player).or_insert_with(|| Player::new(state));
        (player.state, player.is_present, player.tank) = (state, true, None);
        self.announce_scores();
    }

    /// Removes a player. Its score is kept in case it comes back.
    pub fn leave(&mut self, player: PeerId) {
        if let Some(player) = self.players.get_mut(&player) {
            player.is_present = false;
        }
        self.announce_scores();
    }

    /// Returns the present players with their scores.
    pub fn scores(&self) -> impl Iterator<Item = (PeerId, Score)> + '_ {
        self.players
            .iter()
            .filter(|(_, player)| player.is_present)
            .map(|(peer, player)| (*peer, player.score))
    }

    /// Returns a player's score; zero if it never came.
    #[must_use]
    pub fn score(&self, player: PeerId) -> Score {
        self.players.get(&player).map(|player| player.score).unwrap_or_default()
    }

    /// Returns the number of a player's shots that did not count, because they were not fired from its gun or
    /// came too soon.
    #[must_use]
    pub fn fouls(&self, player: PeerId) -> u32 {
        self.players.get(&player).map_or(0, |player| player.fouls)
    }

    /// Returns the next message to send and its recipient; `None` as the recipient means all players. Call
    /// until `None`.
    pub fn poll_message(&mut self) -> Option<(Option<PeerId>, ArenaMessage)> {
        self.messages.pop_front()
    }

    fn announce_scores(&mut self) {
        let scores = ArenaMessage::Scores(self.scores().collect());
        self.messages.push_back((None, scores));
    }

    /// Updates the game from the newest reports of all entities.
    pub fn update(&mut self, present: &[RoomEntity], now: SessionTime) {
        let before = self.at.replace(now);
        for RoomEntity { owner, newest, .. } in present.iter().filter(|present| is_tank(present.entity)) {
            if let Some(player) = self.players.get_mut(owner) {
                player.tank = Some(*newest);
            }
        }
        let mut tanks: Vec<(PeerId, Vec3)> =
            present.iter().filter_map(|present| self.tank(present, now)).collect();
        let mut shots = BTreeMap::new();
        for report in present.iter().filter(|present| !is_tank(present.entity)) {
            let known = self.shots.get(&report.entity).filter(|shot| shot.first == report.first).copied();
            let mut shot = known.unwrap_or_else(|| {
                let shooter = self.players.get_mut(&report.owner);
                let is_spent = !shooter.is_some_and(|shooter| shooter.accepts(&report.newest));
                TrackedShot { first: report.first, path: report.newest, is_spent }
            });
            let (since, ends) = (shot.path.generated, shot.path.generated + SHOT_LIFE);
            let since = known.and(before).map_or(since, |before| before.max(since));
            let until = now.min(ends);
            if !shot.is_spent && since < until {
                let path = (shot.path.project(since), shot.path.project(until));
                shot.is_spent = self.fly(report, path, &mut tanks, now);
            }
            shots.insert(report.entity, shot);
        }
        self.shots = shots;
        self.spawn(&tanks, now);
    }

    /// Returns the player and position of a tank that can be hit.
    fn tank(&self, present: &RoomEntity, now: SessionTime) -> Option<(PeerId, Vec3)> {
        let player = self.players.get(&present.owner).filter(|_| is_tank(present.entity))?;
        let PlayerState::Playing(since) = player.state else { return None };
        (now - since >= SPAWN_PROTECTION).then(|| (present.owner, present.newest.project(now)))
    }

    /// Moves a shot on. Returns whether it hit something.
    fn fly(
        &mut self,
        shot: &RoomEntity,
        (from, to): (Vec3, Vec3),
        tanks: &mut Vec<(PeerId, Vec3)>,
        now: SessionTime,
    ) -> bool {
        let stop = self.field.first_hit(from, to);
        let hits = tanks.iter().enumerate().filter(|(_, (player, _))| *player != shot.owner);
        let hits = hits.filter_map(|(index, (_, at))| hit_fraction(from, to, *at).map(|part| (part, index)));
        let first = hits
            .filter(|(part, _)| stop.is_none_or(|stop| *part <= stop))
            .reduce(|a, b| if b.0 < a.0 { b } else { a });
        let Some((part, index)) = first else { return stop.is_some() };
        let (victim, _) = tanks.swap_remove(index);
        self.hit(victim, shot, from + (to - from) * part, now);
        true
    }

    fn hit(&mut self, victim: PeerId, shot: &RoomEntity, at: Vec3, now: SessionTime) {
        if let Some(player) = self.players.get_mut(&victim) {
            player.score.losses = player.score.losses.saturating_add(1);
            player.state = PlayerState::Waiting(now + RESPAWN_DELAY);
        }
        if let Some(player) = self.players.get_mut(&shot.owner) {
            player.score.hits = player.score.hits.saturating_add(1);
        }
        let message = ArenaMessage::Hit { victim, shooter: shot.owner, shot: shot.entity, at };
        self.messages.push_back((None, message));
        self.announce_scores();
    }

    /// Spawns the players whose time has come.
    fn spawn(&mut self, tanks: &[(PeerId, Vec3)], now: SessionTime) {
        let mut taken: Vec<Vec3> = tanks.iter().map(|(_, at)| *at).collect();
        let due = |player: &Player| {
            player.is_present && matches!(player.state, PlayerState::Waiting(at) if at <= now)
        };
        let due: Vec<PeerId> =
            self.players.iter().filter(|(_, player)| due(player)).map(|(peer, _)| *peer).collect();
        for peer in due {
            let position = self.spawn_place(&taken);
            taken.push(position);
            // The tank roughly faces the centre.
            let heading = libm::atan2(-position.y, -position.x) + self.draws.uniform(-0.25 * PI, 0.25 * PI);
            self.messages.push_back((Some(peer), ArenaMessage::Spawn { position, heading }));
            if let Some(player) = self.players.get_mut(&peer) {
                player.state = PlayerState::Playing(now);
            }
        }
    }

    /// Returns a free place far from those that are taken.
    fn spawn_place(&mut self, taken: &[Vec3]) -> Vec3 {
        let half = self.field.half;
        let mut best = (f64::NEG_INFINITY, Vec3::ZERO);
        for _ in 0..SPAWN_CANDIDATES {
            let drawn = Vec3::xy(self.draws.uniform(-half.x, half.x), self.draws.uniform(-half.y, half.y));
            let place = self.field.nearest_free(drawn);
            let nearest = taken.iter().map(|taken| taken.distance(place)).fold(f64::INFINITY, f64::min);
            if nearest > best.0 {
                best = (nearest, place);
            }
        }
        best.1
    }
}

/// Returns whether an entity is a tank: the first entity of each player. The others are shots.
#[must_use]
pub fn is_tank(entity: EntityId) -> bool {
    entity == EntityId::of(entity.player(), 0)
}

/// Returns the fraction of a straight path that is nearest to a place, if it is near enough for a hit.
fn hit_fraction(from: Vec3, to: Vec3, at: Vec3) -> Option<f64> {
    let path = to - from;
    let length = path.length_squared();
    let part = if length > 0.0 { ((at - from).dot(path) / length).clamp(0.0, 1.0) } else { 0.0 };
    ((from + path * part).distance(at) <= HIT_RADIUS).then_some(part)
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

    /// A referee with two players who have spawned and can be hit.
    fn referee() -> Referee {
        let mut referee = Referee::new(Field::default(), Seed::new(1));
        (1..3).for_each(|player| referee.join(PeerId(player)));
        referee.update(&[], at(0));
        let spawned = std::iter::from_fn(|| referee.poll_message())
            .filter(|(_, message)| matches!(message, ArenaMessage::Spawn { .. }));
        assert_eq!(spawned.count(), 2);
        referee.update(&[], at(2_000));
        referee
    }

    fn hits(referee: &mut Referee) -> Vec<(u32, u32)> {
        let messages = std::iter::from_fn(|| referee.poll_message());
        let hits = messages.filter_map(|(_, message)| match message {
            ArenaMessage::Hit { victim, shooter, .. } => Some((victim.0, shooter.0)),
            _ => None,
        });
        hits.collect()
    }

    #[test]
    fn a_shot_hits_once_and_counts_and_its_victim_respawns() {
        let mut referee = referee();
        let own = present(1, 0, Vec3::xy(20.0 - MUZZLE, 0.0), Vec3::ZERO, 1_000);
        let tank = present(2, 0, Vec3::xy(40.0, 2.0), Vec3::ZERO, 1_000);
        let shot = present(1, 1, Vec3::xy(20.0, 0.0), Vec3::xy(60.0, 0.0), 2_000);
        referee.update(&[own, tank, shot], at(2_200));
        assert_eq!(hits(&mut referee), []);
        referee.update(&[own, tank, shot], at(2_400));
        assert_eq!(hits(&mut referee), [(2, 1)]);
        referee.update(&[own, tank, shot], at(2_420));
        assert_eq!(hits(&mut referee), []);
        let scores: Vec<_> =
            referee.scores().map(|(player, score)| (player.0, score.hits, score.losses)).collect();
        assert_eq!(scores, [(1, 1, 0), (2, 0, 1)]);
        referee.update(&[], at(4_400));
        let spawned = std::iter::from_fn(|| referee.poll_message())
            .find(|(_, message)| matches!(message, ArenaMessage::Spawn { .. }));
        assert_eq!(spawned.map(|(to, _)| to), Some(Some(PeerId(2))));
    }

    #[test]
    fn blocks_stop_shots_and_no_player_hits_itself() {
        let mut referee = referee();
        let own = present(1, 0, Vec3::xy(-20.0, -4.0), Vec3::ZERO, 1_000);
        let hidden = present(2, 0, Vec3::xy(4.0, -4.0), Vec3::ZERO, 1_000);
        let shot = present(1, 1, Vec3::xy(-20.0 + MUZZLE, -4.0), Vec3::xy(60.0, 0.0), 2_000);
        for millis in (2_020..3_000).step_by(20) {
            referee.update(&[own, hidden, shot], at(millis));
        }
        assert_eq!((hits(&mut referee), referee.fouls(PeerId(1))), (vec![], 0));
    }

    /// Returns the hits and fouls of a shot that player 1 reports at 2 s. Its tank drives north at (20, 0),
    /// and the other's stands 30 units to the east of it.
    fn shoot(place: Vec3, velocity: Vec3) -> (Vec<(u32, u32)>, u32) {
        let mut referee = referee();
        let own = present(1, 0, Vec3::xy(20.0, -20.0), Vec3::xy(0.0, 20.0), 1_000);
        let other = present(2, 0, Vec3::xy(50.0, 0.0), Vec3::ZERO, 1_000);
        let shot = present(1, 1, place, velocity, 2_000);
        (2_000..4_000).step_by(20).for_each(|millis| referee.update(&[own, other, shot], at(millis)));
        (hits(&mut referee), referee.fouls(PeerId(1)))
    }

    #[test]
    fn only_shots_from_the_gun_count() {
        let east = Vec3::xy(SHOT_SPEED, 0.0);
        let hit = (vec![(2, 1)], 0);
        assert_eq!(shoot(Vec3::xy(20.0 + MUZZLE, 0.0), east), hit);
        assert_eq!(shoot(Vec3::xy(20.0 + MUZZLE + 6.0, 1.0), east), hit, "reported a tenth of a second late");
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
    fn a_shot_flies_as_first_reported_and_no_longer_than_its_life() {
        let tank = present(1, 0, Vec3::xy(20.0 - MUZZLE, 0.0), Vec3::ZERO, 1_000);
        let fired = present(1, 1, Vec3::xy(20.0, 0.0), Vec3::xy(0.1 * SHOT_SPEED, 0.0), 2_000);
        let bent = present(1, 1, Vec3::xy(20.0, 0.0), Vec3::xy(0.0, SHOT_SPEED), 2_040);
        for other in [Vec3::xy(20.0, 20.0), Vec3::xy(20.0 + 0.15 * SHOT_SPEED + HIT_RADIUS, 0.0)] {
            let (mut referee, other) = (referee(), present(2, 0, other, Vec3::ZERO, 1_000));
            for millis in (2_000..6_000).step_by(20) {
                let shot = if millis < 2_040 { fired } else { bent };
                referee.update(&[tank, other, shot], at(millis));
            }
            assert_eq!((hits(&mut referee), referee.fouls(PeerId(1))), (vec![], 0));
        }
    }

    #[test]
    fn a_gun_needs_its_reload_time() {
        let mut referee = referee();
        let tank = present(1, 0, Vec3::xy(20.0 - MUZZLE, 0.0), Vec3::ZERO, 1_000);
        let mut fire = |local, millis| {
            let shot = present(1, local, Vec3::xy(20.0, 0.0), Vec3::xy(SHOT_SPEED, 0.0), millis);
            referee.update(&[tank, shot], at(millis));
            referee.fouls(PeerId(1))
        };
        let reload = RELOAD.as_nanos() / 1_000_000;
        assert_eq!([fire(1, 2_000), fire(2, 2_000 + reload)], [0, 0]);
        // The first shot came late, and the next catches up; but only once.
        assert_eq!([fire(1, 4_700), fire(2, 5_700), fire(1, 6_900)], [0, 1, 1]);
    }

    #[test]
    fn a_player_that_was_hit_cannot_fire_but_its_earlier_shots_count() {
        let mut referee = referee();
        let tanks = [(1, 20.0 - MUZZLE), (2, 50.0 + MUZZLE)]
            .map(|(player, x)| present(player, 0, Vec3::xy(x, 0.0), Vec3::ZERO, 1_000));
        let deadly = present(1, 1, Vec3::xy(20.0, 0.0), Vec3::xy(SHOT_SPEED, 0.0), 2_000);
        (2_000..2_600)
            .step_by(20)
            .for_each(|millis| referee.update(&[tanks[0], tanks[1], deadly], at(millis)));
        assert_eq!(hits(&mut referee), [(2, 1)]);
        let answer =
            |local, millis| present(2, local, Vec3::xy(50.0, 0.0), Vec3::xy(-SHOT_SPEED, 0.0), millis);
        referee.update(&[tanks[0], tanks[1], answer(1, 2_300), answer(2, 2_590)], at(2_600));
        assert_eq!(referee.fouls(PeerId(2)), 1);
        referee.update(&[tanks[0], tanks[1], answer(1, 2_300), answer(2, 2_590)], at(3_200));
        assert_eq!(hits(&mut referee), [(1, 2)]);
    }

    #[test]
    fn players_spawn_in_free_places_far_from_others() {
        let mut referee = referee();
        let tank = present(1, 0, Vec3::xy(50.0, 30.0), Vec3::ZERO, 1_000);
        for player in 3..40 {
            referee.join(PeerId(player));
            referee.update(&[tank], at(2_000 + i64::from(player)));
            let messages: Vec<_> = std::iter::from_fn(|| referee.poll_message()).collect();
            let Some((_, ArenaMessage::Spawn { position, .. })) =
                messages.iter().find(|(to, _)| *to == Some(PeerId(player)))
            else {
                panic!("{player} does not spawn: {messages:?}");
            };
            assert!(referee.field().nearest_free(*position).distance(*position) < 1e-9);
            assert!(position.distance(Vec3::xy(50.0, 30.0)) > 20.0, "{position:?}");
        }
    }
}
