//! A player that drives itself: a machine that holds a [`DrPeer`] and a tank with its driver.
//!
//! It looks at its tank at every tick of its own clock and tells its peer; everything else passes through. So it is turned
//! by the same cranks as any machine, and a recording of its calls replays to the byte.

use evenkeel_core::{
    Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Reader, Rejected, Seed, SessionClock, Span,
    Wire,
};
use evenkeel_dr::{DrCommand, DrConfig, DrEvent, DrPeer, EntityId};

use crate::drivers::Driver;
use crate::mover::{Mover, STEP};

/// How a bot plays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BotConfig {
    /// Its machine's settings.
    pub dr: DrConfig,
    /// The entity that it drives.
    pub entity: EntityId,
    /// How it drives.
    pub driver: Driver,
    /// What its way depends on.
    pub seed: Seed,
    /// How often it looks at its tank, from a millisecond to a minute.
    pub tick: Span,
}

/// Who was away for longer has stood meanwhile; so much of the way is driven at once at most.
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

/// A self-driven player.
#[derive(Debug)]
pub struct Bot<C> {
    peer: DrPeer<C>,
    entity: EntityId,
    mover: Mover,
    tick: Span,
    /// When it would have begun if it had never been away, and its next look at the tank.
    looks: Option<(LocalTime, LocalTime)>,
    latest: LocalTime,
}

impl<C: SessionClock> Bot<C> {
    /// A bot with this clock.
    #[must_use]
    pub fn new(config: &BotConfig, clock: C) -> Self {
        let BotConfig { dr, entity, driver, seed, tick } = config;
        Self {
            peer: DrPeer::with_clock(dr, clock),
            entity: *entity,
            mover: Mover::tank(*driver, *seed),
            tick: (*tick).clamp(Span::from_millis(1), PAUSE_MAX),
            looks: None,
            latest: LocalTime::MIN,
        }
    }

    /// The machine that it plays with.
    #[must_use]
    pub const fn peer(&self) -> &DrPeer<C> {
        &self.peer
    }

    /// The entity that it drives.
    #[must_use]
    pub const fn entity(&self) -> EntityId {
        self.entity
    }

    /// Looks at its tank if that is due. The first time that anything happens starts the engine.
    fn look(&mut self, now: LocalTime) {
        self.latest = self.latest.max(now);
        let now = self.latest;
        let (mut start, next) = *self.looks.get_or_insert((now, now));
        if next > now {
            return;
        }
        if now - next > PAUSE_MAX {
            start = now - (next - start);
        }
        let ticks = (now - start).as_nanos() / self.tick.as_nanos();
        self.looks = Some((start, start + self.tick.times(ticks + 1)));
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

    fn handle_command(&mut self, now: LocalTime, command: DrCommand) {
        self.peer.handle_command(now, command);
        self.look(now);
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        self.peer.handle_message(now, from, channel, bytes)
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.peer.handle_peer(now, change);
        self.look(now);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.peer.handle_timeout(now);
        self.look(now);
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        self.peer.poll_transmit(now, bytes)
    }

    fn poll_event(&mut self) -> Option<DrEvent> {
        self.peer.poll_event()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let look = self.looks.map(|(_, next)| next);
        [look, self.peer.poll_timeout()].into_iter().flatten().min()
    }
}
