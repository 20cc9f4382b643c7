//! The referee: decides hits, spawn places, scores and duels from what the players report to the relay and do.

use core::f64::consts::PI;
use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{Draws, PeerId, Seed, SessionTime, Span, Vec3};
use evenkeel_dr::{DrVector, EntityId, RoomEntity};

use super::duel::{Duel, PullTimes, QuickDraw};
use super::field::Field;
use super::message::{ArenaMessage, Light, Score, Trigger};
use super::shots::{Shots, Strike};
use super::{MUZZLE, RELOAD, SHOT_SPEED};

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
/// The longest time until a player knows that it was hit.
const NEWS_DELAY_MAX: Span = Span::from_millis(600);
/// How much earlier than the reload time a gun may fire, if the shots before came late. A player that was
/// held up may catch up.
const RELOAD_SLACK: Span = Span::from_secs(1);

const DUELS: u64 = 0x6475_656c;

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

    /// Whether it was hit at this time and cannot have known.
    fn is_unaware(&self, at: SessionTime) -> bool {
        let hit = match self.state {
            PlayerState::Playing(since) => since - RESPAWN_DELAY,
            PlayerState::Waiting(until) => until - RESPAWN_DELAY,
        };
        (hit..hit + NEWS_DELAY_MAX).contains(&at)
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
        } else if !self.is_unaware(fired) {
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

/// The referee of one room.
#[derive(Clone, Debug)]
pub struct Referee {
    field: Field,
    draws: Draws,
    players: BTreeMap<PeerId, Player>,
    shots: Shots,
    duels: QuickDraw,
    /// The time of the last update.
    at: SessionTime,
    /// Messages to send; without a recipient, they go to all players.
    messages: VecDeque<(Option<PeerId>, ArenaMessage)>,
}

impl Referee {
    /// Makes a referee whose decisions depend on this seed.
    #[must_use]
    pub fn new(field: Field, seed: Seed) -> Self {
        Self {
            field,
            draws: seed.draws(),
            players: BTreeMap::new(),
            shots: Shots::default(),
            duels: QuickDraw::new(seed.child(DUELS)),
            at: SessionTime::MIN,
            messages: VecDeque::new(),
        }
    }

    /// Returns the field.
    #[must_use]
    pub const fn field(&self) -> &Field {
        &self.field
    }

    /// Adds a player, which spawns at the next update.
    pub fn join(&mut self, peer: PeerId) {
        let state = PlayerState::Waiting(SessionTime::MIN);
        let player = self.players.entry(peer).or_insert_with(|| Player::new(state));
        (player.state, player.is_present, player.tank) = (state, true, None);
        self.announce_scores();
        self.messages.push_back((Some(peer), self.duels.beacon()));
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

    /// The last duels, the oldest first.
    pub fn duels(&self) -> impl DoubleEndedIterator<Item = &Duel> {
        self.duels.past()
    }

    /// What the beacon shows.
    #[must_use]
    pub const fn light(&self) -> Light {
        self.duels.light()
    }

    /// Serves a player's action. Call in the order of service.
    pub fn act(&mut self, from: PeerId, trigger: Trigger, times: PullTimes) {
        if trigger.is_pulled {
            self.duels.pull(from, times);
            self.announce_duel();
        }
        if trigger.shot > 0 {
            let shot = EntityId::of(from, trigger.shot);
            let counts = self.is_playing(from);
            if let Some(strike) = self.shots.serve(shot, counts, self.at) {
                self.hit(&strike);
            }
        }
    }

    /// Updates the game from the newest reports of all entities.
    pub fn update(&mut self, present: &[RoomEntity], now: SessionTime) {
        self.at = now;
        let (reported_tanks, reported_shots): (Vec<RoomEntity>, Vec<RoomEntity>) =
            present.iter().partition(|present| is_tank(present.entity));
        for RoomEntity { owner, newest, .. } in &reported_tanks {
            if let Some(player) = self.players.get_mut(owner) {
                player.tank = Some(*newest);
            }
        }
        let mut tanks: Vec<(PeerId, Vec3)> =
            reported_tanks.iter().filter_map(|present| self.tank(present, now)).collect();
        let players = &mut self.players;
        let accepts = |shooter: PeerId, shot: &DrVector| {
            players.get_mut(&shooter).is_some_and(|shooter| shooter.accepts(shot))
        };
        let strikes = self.shots.advance(&reported_shots, &self.field, &mut tanks, now, accepts);
        strikes.iter().for_each(|strike| self.hit(strike));
        self.spawn(&tanks, now);
        let here: Vec<PeerId> = self.scores().map(|(player, _)| player).collect();
        self.duels.update(&here, now);
        self.announce_duel();
    }

    fn announce_duel(&mut self) {
        while let Some(message) = self.duels.poll_message() {
            self.messages.push_back((None, message));
        }
    }

    fn is_playing(&self, player: PeerId) -> bool {
        self.players.get(&player).is_some_and(|player| matches!(player.state, PlayerState::Playing(_)))
    }

    /// Returns the player and position of a tank that can be hit.
    fn tank(&self, present: &RoomEntity, now: SessionTime) -> Option<(PeerId, Vec3)> {
        let player = self.players.get(&present.owner).filter(|_| is_tank(present.entity))?;
        let PlayerState::Playing(since) = player.state else { return None };
        (now - since >= SPAWN_PROTECTION).then(|| (present.owner, present.newest.project(now)))
    }

    /// A shot whose turn it is hits a tank, unless another one has.
    fn hit(&mut self, strike: &Strike) {
        let Strike { shot, shooter, victim, at } = *strike;
        if !self.is_playing(victim) {
            return;
        }
        if let Some(player) = self.players.get_mut(&victim) {
            player.score.losses = player.score.losses.saturating_add(1);
            player.state = PlayerState::Waiting(self.at + RESPAWN_DELAY);
        }
        if let Some(player) = self.players.get_mut(&shooter) {
            player.score.hits = player.score.hits.saturating_add(1);
        }
        self.messages.push_back((None, ArenaMessage::Hit { victim, shooter, shot, at }));
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

#[cfg(test)]
mod tests;
