//! A bot that drives a tank: a [`DrPeer`], a tank and its driver in one machine.
//!
//! At every tick of its own clock the bot moves its tank and reports the motion to its peer; all other calls
//! pass through. So any driver can run it, and a recording of its calls replays byte for byte.

use evenkeel_core::{
    Endpoint, LocalTime, Malformed, PeerChange, Reader, Seed, SessionClock, Span, Wire, delegate_endpoint,
};
use evenkeel_dr::{DrCommand, DrConfig, DrEvent, DrPeer, EntityId};

use crate::drivers::Driver;
use crate::mover::{Mover, STEP};

/// Configuration of a [`Bot`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BotConfig {
    /// The settings of its peer.
    pub dr: DrConfig,
    /// The entity that it drives.
    pub entity: EntityId,
    /// Its driver.
    pub driver: Driver,
    /// The seed of its path.
    pub seed: Seed,
    /// The interval between observations of the tank, from a millisecond to a minute.
    pub tick: Span,
}

/// The longest pause that is driven through afterwards; during a longer one the tank stands still.
const PAUSE_MAX: Span = Span::from_secs(60);

const DRIVERS: [Driver; 3] = [Driver::Random, Driver::Linear, Driver::Circular];

impl Wire for BotConfig {
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.dr.emit(bytes);
        self.entity.0.emit(bytes);
        bytes.push(DRIVERS.iter().position(|driver| *driver == self.driver).unwrap_or_default() as u8);
        self.seed.number().emit(bytes);
        self.tick.as_nanos().emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            dr: reader.read()?,
            entity: EntityId(reader.read()?),
            driver: *DRIVERS.get(usize::from(reader.read::<u8>()?)).ok_or(Malformed::Field)?,
            seed: Seed::from_key(reader.read()?),
            tick: Span::from_nanos(reader.read()?),
        })
    }
}

/// A player that drives a tank by itself.
#[derive(Debug)]
pub struct Bot<C> {
    peer: DrPeer<C>,
    entity: EntityId,
    mover: Mover,
    tick: Span,
    /// When the bot would have started without any long pause, and its next observation.
    schedule: Option<(LocalTime, LocalTime)>,
    latest: LocalTime,
}

impl<C: SessionClock> Bot<C> {
    /// Makes a bot with this clock.
    #[must_use]
    pub fn new(config: &BotConfig, clock: C) -> Self {
        let BotConfig { dr, entity, driver, seed, tick } = config;
        Self {
            peer: DrPeer::with_clock(dr, clock),
            entity: *entity,
            mover: Mover::tank(*driver, *seed),
            tick: (*tick).clamp(Span::from_millis(1), PAUSE_MAX),
            schedule: None,
            latest: LocalTime::MIN,
        }
    }

    /// Returns its peer.
    #[must_use]
    pub const fn peer(&self) -> &DrPeer<C> {
        &self.peer
    }

    /// Returns the entity that it drives.
    #[must_use]
    pub const fn entity(&self) -> EntityId {
        self.entity
    }

    /// Moves the tank and observes it, if that is due. The first call of any kind starts the tank.
    fn drive(&mut self, now: LocalTime) {
        self.latest = self.latest.max(now);
        let now = self.latest;
        let (mut start, next) = *self.schedule.get_or_insert((now, now));
        if next > now {
            return;
        }
        if now - next > PAUSE_MAX {
            start = now - (next - start);
        }
        let ticks = (now - start).as_nanos() / self.tick.as_nanos();
        self.schedule = Some((start, start + self.tick.times(ticks + 1)));
        let step = (now - start).as_nanos() / STEP.as_nanos();
        if let Some(sample) = self.mover.at(step.unsigned_abs()) {
            self.peer.observe(now, self.entity, sample.state);
        } else {
            self.peer.handle_command(now, DrCommand::End { entity: self.entity });
        }
    }
}

impl<C: SessionClock> Endpoint for Bot<C> {
    type Command = DrCommand;
    type Event = DrEvent;

    delegate_endpoint!(self.peer: handle_message, poll_transmit, poll_event);

    fn handle_command(&mut self, now: LocalTime, command: DrCommand) {
        self.peer.handle_command(now, command);
        self.drive(now);
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.peer.handle_peer(now, change);
        self.drive(now);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.peer.handle_timeout(now);
        self.drive(now);
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let drive = self.schedule.map(|(_, next)| next);
        [drive, self.peer.poll_timeout()].into_iter().flatten().min()
    }
}
