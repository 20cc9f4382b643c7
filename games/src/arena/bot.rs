//! A bot for the arena: a [`DrPeer`], a tank, its shots and a pilot in one machine.

use evenkeel_core::{
    Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Reader, Rejected, Seed, SessionClock, Span,
    Vec3, Wire, delegate_endpoint,
};
use evenkeel_dr::{DrCommand, DrConfig, DrEvent, DrPeer, EntityId, MotionState};

use super::field::Field;
use super::message::{ArenaMessage, TAG};
use super::pilot::{Choice, Opponent, Pilot};
use super::referee::is_tank;
use super::{MUZZLE, RELOAD, SHOT_LIFE, SHOT_SPEED, SHOTS_MAX};
use crate::mover::STEP;
use crate::tank::{Controls, Tank};

/// Interval at which a bot moves its tank and its shots.
const TICK: Span = Span::from_millis(20);
/// Number of ticks between two decisions.
const DECISION_TICKS: u64 = 5;
/// The longest pause that is made up for; during a longer one everything stands still.
const PAUSE_MAX: Span = Span::from_secs(1);

/// Configuration of an [`ArenaBot`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ArenaBotConfig {
    /// The settings of its peer.
    pub dr: DrConfig,
    /// The player that it is.
    pub player: PeerId,
    /// The relay.
    pub relay: PeerId,
    /// The seed of its decisions.
    pub seed: Seed,
}

impl Wire for ArenaBotConfig {
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.dr.emit(bytes);
        self.player.0.emit(bytes);
        self.relay.0.emit(bytes);
        self.seed.number().emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            dr: reader.read()?,
            player: PeerId(reader.read()?),
            relay: PeerId(reader.read()?),
            seed: Seed::from_key(reader.read()?),
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
    dr: DrPeer<C>,
    player: PeerId,
    relay: PeerId,
    field: Field,
    pilot: Pilot,
    tank: Option<Tank>,
    controls: Controls,
    shots: Vec<OwnShot>,
    reload: Span,
    ticks: u64,
    next: Option<LocalTime>,
    latest: LocalTime,
}

impl<C: SessionClock> ArenaBot<C> {
    /// Makes a bot with this clock.
    #[must_use]
    pub fn new(config: &ArenaBotConfig, clock: C) -> Self {
        Self {
            dr: DrPeer::with_clock(&config.dr, clock),
            player: config.player,
            relay: config.relay,
            field: Field::default(),
            pilot: Pilot::new(config.seed),
            tank: None,
            controls: Controls::default(),
            shots: Vec::new(),
            reload: Span::ZERO,
            ticks: 0,
            next: None,
            latest: LocalTime::MIN,
        }
    }

    /// Returns its peer.
    #[must_use]
    pub const fn dr(&self) -> &DrPeer<C> {
        &self.dr
    }

    /// Returns its tank, if it has one.
    #[must_use]
    pub const fn tank(&self) -> Option<&Tank> {
        self.tank.as_ref()
    }

    const fn entity(&self, local: u32) -> EntityId {
        EntityId::of(self.player, local)
    }

    fn on_message(&mut self, now: LocalTime, message: &ArenaMessage) {
        match message {
            ArenaMessage::Spawn { position, heading } => {
                self.end(now, 0);
                self.tank = Some(Tank::standing(self.field.nearest_free(*position), *heading));
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
            ArenaMessage::Hit { .. } | ArenaMessage::Scores(_) => {}
        }
    }

    fn end(&mut self, now: LocalTime, local: u32) {
        self.dr.handle_command(now, DrCommand::End { entity: self.entity(local) });
    }

    /// Runs the ticks that are due.
    fn update(&mut self, now: LocalTime) {
        self.latest = self.latest.max(now);
        let now = self.latest;
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
        states.extend(self.shots.iter().map(|shot| {
            let state =
                MotionState { position: shot.position, velocity: shot.velocity, ..MotionState::default() };
            (self.entity(shot.local), state)
        }));
        self.dr.handle_command(now, DrCommand::ObserveAll { states });
    }

    fn decide(&mut self, now: LocalTime) {
        let Some(tank) = &self.tank else { return };
        let Some(session) = self.dr.clock().session(now) else { return };
        let others: Vec<Opponent> = self
            .dr
            .copies(now)
            .filter(|(_, entity, _)| is_tank(*entity))
            .filter_map(|(from, entity, position)| {
                let velocity = self.dr.placed_vector(from, entity)?.velocity(session);
                Some(Opponent { player: entity.player(), position, velocity })
            })
            .collect();
        let Choice { controls, fire } = self.pilot.choose(&self.field, tank, &others);
        self.controls = controls;
        if fire && self.reload == Span::ZERO {
            self.fire();
        }
    }

    fn fire(&mut self) {
        let Some(tank) = &self.tank else { return };
        let free = (1..=SHOTS_MAX).find(|local| self.shots.iter().all(|shot| shot.local != *local));
        let Some(local) = free else { return };
        let (ahead, MotionState { position, .. }) = (tank.direction(), tank.state());
        self.reload = RELOAD;
        self.shots.push(OwnShot {
            local,
            position: position + ahead * MUZZLE,
            velocity: ahead * SHOT_SPEED,
            left: SHOT_LIFE,
        });
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
    type Command = DrCommand;
    type Event = DrEvent;

    delegate_endpoint!(self.dr: poll_transmit, poll_event);

    fn handle_command(&mut self, now: LocalTime, command: DrCommand) {
        self.dr.handle_command(now, command);
        self.update(now);
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if bytes.first() != Some(&TAG) {
            return self.dr.handle_message(now, from, channel, bytes);
        }
        if from != self.relay || channel != Channel::Reliable {
            return Err(Rejected::Unexpected);
        }
        let mut reader = Reader::new(bytes);
        let message = reader.read::<ArenaMessage>()?;
        reader.finish()?;
        self.latest = self.latest.max(now);
        self.on_message(self.latest, &message);
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.dr.handle_peer(now, change);
        self.update(now);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.dr.handle_timeout(now);
        self.update(now);
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        [self.next, self.dr.poll_timeout()].into_iter().flatten().min()
    }
}
