//! A player that plays by itself: a machine that holds a [`DrPeer`], a tank, its shots, and a pilot.

use evenkeel_core::{
    Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Reader, Rejected, Seed, SessionClock, Span,
    Vec3, Wire,
};
use evenkeel_dr::{DrCommand, DrConfig, DrEvent, DrPeer, EntityId, MotionState};

use super::field::Field;
use super::message::{News, TAG};
use super::pilot::{Choice, Pilot, Seen};
use super::referee::is_tank;
use super::{MUZZLE, RELOAD, SHOT_LIFE, SHOT_SPEED, SHOTS};
use crate::mover::STEP;
use crate::tank::{Tank, Wish};

/// How often a bot looks at what it moves.
const LOOK: Span = Span::from_millis(20);
/// And how often it makes up its mind: once in so many looks.
const DECIDES: u64 = 5;
/// Who was away for longer has stood meanwhile.
const PAUSE_MAX: Span = Span::from_secs(1);

/// How a bot plays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ArenaBotConfig {
    /// Its machine's settings.
    pub dr: DrConfig,
    /// Who it is.
    pub player: PeerId,
    /// Who the relay is.
    pub relay: PeerId,
    /// What its choices depend on.
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

/// A shot in flight.
#[derive(Clone, Copy, Debug)]
struct Shot {
    local: u32,
    position: Vec3,
    velocity: Vec3,
    left: Span,
}

/// A player that plays by itself.
#[derive(Debug)]
pub struct ArenaBot<C> {
    dr: DrPeer<C>,
    player: PeerId,
    relay: PeerId,
    field: Field,
    pilot: Pilot,
    tank: Option<Tank>,
    wish: Wish,
    shots: Vec<Shot>,
    reload: Span,
    looks: u64,
    next: Option<LocalTime>,
    latest: LocalTime,
}

impl<C: SessionClock> ArenaBot<C> {
    /// A bot with this clock.
    #[must_use]
    pub fn new(config: &ArenaBotConfig, clock: C) -> Self {
        Self {
            dr: DrPeer::with_clock(&config.dr, clock),
            player: config.player,
            relay: config.relay,
            field: Field::default(),
            pilot: Pilot::new(config.seed),
            tank: None,
            wish: Wish::default(),
            shots: Vec::new(),
            reload: Span::ZERO,
            looks: 0,
            next: None,
            latest: LocalTime::MIN,
        }
    }

    /// The machine that it plays with.
    #[must_use]
    pub const fn dr(&self) -> &DrPeer<C> {
        &self.dr
    }

    /// Its tank, if it has one.
    #[must_use]
    pub const fn tank(&self) -> Option<&Tank> {
        self.tank.as_ref()
    }

    const fn entity(&self, local: u32) -> EntityId {
        EntityId::of(self.player, local)
    }

    fn hear(&mut self, now: LocalTime, news: &News) {
        match news {
            News::Spawn { position, heading } => {
                self.end(now, 0);
                self.tank = Some(Tank::standing(self.field.free(*position), *heading));
                self.wish = Wish::default();
            }
            News::Hit { victim, .. } if *victim == self.player => {
                self.tank = None;
                self.end(now, 0);
            }
            News::Hit { shooter, shot, .. } if *shooter == self.player => {
                if let Some(place) = self.shots.iter().position(|own| self.entity(own.local) == *shot) {
                    let shot = self.shots.swap_remove(place);
                    self.end(now, shot.local);
                }
            }
            News::Hit { .. } | News::Scores(_) => {}
        }
    }

    fn end(&mut self, now: LocalTime, local: u32) {
        self.dr.handle_command(now, DrCommand::End { entity: self.entity(local) });
    }

    /// Looks at what it moves if that is due.
    fn look(&mut self, now: LocalTime) {
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
            next += LOOK;
            self.turn(now);
        }
        self.next = Some(next);
        self.tell(now);
    }

    /// One look: drives on.
    fn turn(&mut self, now: LocalTime) {
        self.looks += 1;
        self.reload = (self.reload - LOOK).max(Span::ZERO);
        if self.looks.is_multiple_of(DECIDES) {
            self.decide(now);
        }
        for _ in 0..LOOK.as_nanos() / STEP.as_nanos() {
            if let Some(tank) = &mut self.tank {
                tank.step(self.wish, STEP);
                tank.stay_on(&self.field, STEP);
            }
        }
        self.fly(now);
    }

    /// Tells what has become of it.
    fn tell(&mut self, now: LocalTime) {
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
        let seen: Vec<Seen> = self
            .dr
            .copies(now)
            .filter(|(_, entity, _)| is_tank(*entity))
            .filter_map(|(from, entity, position)| {
                let velocity = self.dr.placed_vector(from, entity)?.velocity(session);
                Some(Seen { player: entity.player(), position, velocity })
            })
            .collect();
        let Choice { wish, fire } = self.pilot.choose(&self.field, tank, &seen);
        self.wish = wish;
        if fire && self.reload == Span::ZERO {
            self.fire();
        }
    }

    fn fire(&mut self) {
        let Some(tank) = &self.tank else { return };
        let free = (1..=SHOTS).find(|local| self.shots.iter().all(|shot| shot.local != *local));
        let Some(local) = free else { return };
        let (ahead, MotionState { position, .. }) = (tank.direction(), tank.state());
        self.reload = RELOAD;
        self.shots.push(Shot {
            local,
            position: position + ahead * MUZZLE,
            velocity: ahead * SHOT_SPEED,
            left: SHOT_LIFE,
        });
    }

    /// Shots go on, until their time is over or something is in their way.
    fn fly(&mut self, now: LocalTime) {
        let mut over = Vec::new();
        self.shots.retain_mut(|shot| {
            let to = shot.position + shot.velocity * LOOK.as_secs_f64();
            shot.left = shot.left - LOOK;
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

    fn handle_command(&mut self, now: LocalTime, command: DrCommand) {
        self.dr.handle_command(now, command);
        self.look(now);
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
        let news = reader.read::<News>()?;
        reader.finish()?;
        self.latest = self.latest.max(now);
        self.hear(self.latest, &news);
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.dr.handle_peer(now, change);
        self.look(now);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.dr.handle_timeout(now);
        self.look(now);
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        self.dr.poll_transmit(now, bytes)
    }

    fn poll_event(&mut self) -> Option<DrEvent> {
        self.dr.poll_event()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        [self.next, self.dr.poll_timeout()].into_iter().flatten().min()
    }
}
