//! A bot for the arena: a [`GamePlayer`], a tank, its shots, a pilot and a person's reactions in one machine.

use std::collections::VecDeque;

use evenkeel_core::{
    Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Reader, Rejected, Seed, SessionClock, Span,
    Vec3, Wire, delegate_endpoint,
};
use evenkeel_dr::{DrCommand, DrEvent, DrPeer, EntityId, MotionState};
use evenkeel_game::{GameConfig, GamePlayer, PlayerCommand, PlayerEvent};

use super::draw::Gunfighter;
use super::field::Field;
use super::message::{ArenaMessage, Trigger};
use super::pilot::{Choice, Opponent, Pilot};
use super::reaction::ReactionTimes;
use super::referee::is_tank;
use super::{MUZZLE, RELOAD, SHOT_LIFE, SHOT_SPEED, SHOTS_MAX, TANK};
use crate::mover::STEP;
use crate::tank::{Controls, Tank};

/// Interval at which a bot moves its tank and its shots.
const TICK: Span = Span::from_millis(20);
/// Number of ticks between two decisions.
const DECISION_TICKS: u64 = 5;
/// The longest pause that is made up for; during a longer one everything stands still.
const PAUSE_MAX: Span = Span::from_secs(1);

/// Events that wait for the driver, which drains them after every call. Beyond, the oldest is dropped.
const EVENTS_MAX: usize = 1_024;

const REACTIONS: u64 = 0x7265_6163;

/// Configuration of an [`ArenaBot`].
#[derive(Clone, PartialEq, Debug)]
pub struct ArenaBotConfig {
    /// The settings of its protocols.
    pub game: GameConfig,
    /// How fast it reacts.
    pub reactions: ReactionTimes,
    /// The player that it is.
    pub player: PeerId,
    /// The relay.
    pub relay: PeerId,
    /// The seed of its decisions.
    pub seed: Seed,
}

impl Wire for ArenaBotConfig {
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.reactions.emit(bytes);
        self.player.0.emit(bytes);
        self.relay.0.emit(bytes);
        self.seed.number().emit(bytes);
        // They take the rest.
        self.game.emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            reactions: reader.read()?,
            player: PeerId(reader.read()?),
            relay: PeerId(reader.read()?),
            seed: Seed::from_key(reader.read()?),
            game: reader.read()?,
        })
    }
}

/// One of the bot's shots in flight.
#[derive(Clone, Copy, Debug)]
struct OwnShot {
    local: u32,
    position: Vec3,
    velocity: Vec3,
    left: Span,
}

/// A player that fights by itself.
#[derive(Debug)]
pub struct ArenaBot<C> {
    link: GamePlayer<C>,
    player: PeerId,
    field: Field,
    pilot: Pilot,
    draw: Gunfighter,
    tank: Option<Tank>,
    controls: Controls,
    shots: Vec<OwnShot>,
    reload: Span,
    ticks: u64,
    next: Option<LocalTime>,
    latest: LocalTime,
    /// When it last reported the motion of its tank and shots.
    observed_at: LocalTime,
    events: VecDeque<DrEvent>,
}

impl<C: SessionClock> ArenaBot<C> {
    /// Makes a bot with this clock.
    #[must_use]
    pub fn new(config: &ArenaBotConfig, clock: C) -> Self {
        Self {
            link: GamePlayer::with_clock(&config.game, config.relay, clock),
            player: config.player,
            field: Field::default(),
            pilot: Pilot::new(config.seed),
            draw: Gunfighter::with_times(config.reactions, config.seed.child(REACTIONS)),
            tank: None,
            controls: Controls::default(),
            shots: Vec::new(),
            reload: Span::ZERO,
            ticks: 0,
            next: None,
            latest: LocalTime::MIN,
            observed_at: LocalTime::MIN,
            events: VecDeque::new(),
        }
    }

    /// Returns the player that it is.
    #[must_use]
    pub const fn player(&self) -> PeerId {
        self.player
    }

    /// Returns its peer.
    #[must_use]
    pub const fn dr(&self) -> &DrPeer<C> {
        self.link.dr()
    }

    /// Returns its tank, if it has one.
    #[must_use]
    pub const fn tank(&self) -> Option<&Tank> {
        self.tank.as_ref()
    }

    /// Returns the real motion of its tank, as last reported, and when that was. `None` while it has no tank.
    #[must_use]
    pub fn observed(&self) -> Option<(LocalTime, MotionState)> {
        self.tank.as_ref().map(|tank| (self.observed_at, tank.state()))
    }

    const fn entity(&self, local: u32) -> EntityId {
        EntityId::of(self.player, local)
    }

    fn on_message(&mut self, now: LocalTime, message: &ArenaMessage) {
        match message {
            ArenaMessage::Spawn { position, heading } => {
                self.end(now, 0);
                let tank = Tank::standing(self.field.nearest_free(*position), *heading);
                self.tank = Some(tank.with_limits(TANK));
                self.controls = Controls::default();
            }
            ArenaMessage::Hit { victim, .. } if *victim == self.player => {
                self.tank = None;
                self.end(now, 0);
            }
            ArenaMessage::Hit { shooter, shot, .. } if *shooter == self.player => {
                if let Some(index) = self.shots.iter().position(|own| self.entity(own.local) == *shot) {
                    let shot = self.shots.swap_remove(index);
                    self.end(now, shot.local);
                }
            }
            ArenaMessage::Beacon { .. } | ArenaMessage::Won { .. } => self.draw.see(now, message),
            ArenaMessage::Hit { .. } | ArenaMessage::Scores(_) => {}
        }
    }

    fn end(&mut self, now: LocalTime, local: u32) {
        self.command(now, DrCommand::End { entity: self.entity(local) });
    }

    fn command(&mut self, now: LocalTime, command: DrCommand) {
        self.link.handle_command(now, command.into());
    }

    /// Reacts to what is shown to it, and does what is due. Follows every call.
    fn update(&mut self, now: LocalTime) {
        self.latest = self.latest.max(now);
        let now = self.latest;
        while let Some(event) = self.link.poll_event() {
            match event {
                PlayerEvent::Update { bytes, .. } => {
                    if let Some(message) = ArenaMessage::from_update(&bytes) {
                        self.on_message(now, &message);
                    }
                }
                PlayerEvent::Motion(event) => {
                    if self.events.len() == EVENTS_MAX {
                        self.events.pop_front();
                    }
                    self.events.push_back(event);
                }
                _ => {}
            }
        }
        if self.draw.is_due(now) {
            self.pull_trigger(now, true);
        }
        self.drive(now);
    }

    /// Runs the ticks that are due.
    fn drive(&mut self, now: LocalTime) {
        let mut next = *self.next.get_or_insert(now);
        if now - next > PAUSE_MAX {
            next = now;
        }
        if next > now {
            return;
        }
        while next <= now {
            next += TICK;
            self.tick(now);
        }
        self.next = Some(next);
        self.observe(now);
    }

    /// Moves everything by a tick.
    fn tick(&mut self, now: LocalTime) {
        self.ticks += 1;
        self.reload = (self.reload - TICK).max(Span::ZERO);
        if self.ticks.is_multiple_of(DECISION_TICKS) {
            self.decide(now);
        }
        for _ in 0..TICK.as_nanos() / STEP.as_nanos() {
            if let Some(tank) = &mut self.tank {
                tank.step(self.controls, STEP);
                tank.stay_on(&self.field, STEP);
            }
        }
        self.fly(now);
    }

    /// Reports the motion of tank and shots.
    fn observe(&mut self, now: LocalTime) {
        let mut states: Vec<(EntityId, MotionState)> =
            self.tank.iter().map(|tank| (self.entity(0), tank.state())).collect();
        self.observed_at = now;
        states.extend(self.shots.iter().map(|shot| {
            let state =
                MotionState { position: shot.position, velocity: shot.velocity, ..MotionState::default() };
            (self.entity(shot.local), state)
        }));
        self.command(now, DrCommand::ObserveAll { states });
    }

    fn decide(&mut self, now: LocalTime) {
        let Some(tank) = &self.tank else { return };
        let dr = self.link.dr();
        let Some(session) = dr.clock().session(now) else { return };
        let others: Vec<Opponent> = dr
            .copies(now)
            .filter(|(_, entity, _)| is_tank(*entity))
            .filter_map(|(from, entity, position)| {
                let velocity = dr.placed_vector(from, entity)?.velocity(session);
                Some(Opponent { player: entity.player(), position, velocity })
            })
            .collect();
        let Choice { controls, fire } = self.pilot.choose(&self.field, tank, &others);
        self.controls = controls;
        if fire && self.reload == Span::ZERO && !self.draw.holds_fire() {
            self.pull_trigger(now, false);
        }
    }

    /// Fires if the gun is loaded. In a quick draw, pulling the trigger counts in any case.
    fn pull_trigger(&mut self, now: LocalTime, is_draw: bool) {
        let shot = self.fire();
        if shot.is_none() && !is_draw {
            return;
        }
        let mut bytes = Vec::new();
        Trigger { shot: shot.unwrap_or(0), is_pulled: true }.emit(&mut bytes);
        self.link.handle_command(now, PlayerCommand::Act { reliable: true, bytes });
    }

    /// Returns the number of the shot.
    fn fire(&mut self) -> Option<u32> {
        let tank = self.tank.as_ref().filter(|_| self.reload == Span::ZERO)?;
        let local = (1..=SHOTS_MAX).find(|local| self.shots.iter().all(|shot| shot.local != *local))?;
        let (ahead, MotionState { position, .. }) = (tank.direction(), tank.state());
        self.reload = RELOAD;
        self.shots.push(OwnShot {
            local,
            position: position + ahead * MUZZLE,
            velocity: ahead * SHOT_SPEED,
            left: SHOT_LIFE,
        });
        Some(local)
    }

    /// Moves the shots, and ends those whose time is over or that hit something.
    fn fly(&mut self, now: LocalTime) {
        let mut over = Vec::new();
        self.shots.retain_mut(|shot| {
            let to = shot.position + shot.velocity * TICK.as_secs_f64();
            shot.left = shot.left - TICK;
            let goes_on = shot.left > Span::ZERO && self.field.is_clear(shot.position, to);
            shot.position = to;
            if !goes_on {
                over.push(shot.local);
            }
            goes_on
        });
        over.into_iter().for_each(|local| self.end(now, local));
    }
}

impl<C: SessionClock> Endpoint for ArenaBot<C> {
    type Command = PlayerCommand;
    type Event = DrEvent;

    delegate_endpoint!(self.link: poll_transmit);

    fn handle_command(&mut self, now: LocalTime, command: PlayerCommand) {
        self.link.handle_command(now, command);
        self.update(now);
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        self.link.handle_message(now, from, channel, bytes)?;
        self.update(now);
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.link.handle_peer(now, change);
        self.update(now);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.link.handle_timeout(now);
        self.update(now);
    }

    fn poll_event(&mut self) -> Option<DrEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        [self.next, self.draw.due_at(), self.link.poll_timeout()].into_iter().flatten().min()
    }
}
