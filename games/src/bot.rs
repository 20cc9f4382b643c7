//! A bot that drives a tank: a [`GamePlayer`], a tank and its driver in one machine.
//!
//! At every tick of its own clock the bot moves its tank and reports the motion to its peer; all other calls
//! pass through. So any driver can run it, and a recording of its calls replays byte for byte.
//!
//! It has no gun to aim, but takes part in the arena's quick draws.

use std::collections::VecDeque;

use evenkeel_core::{
    Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Reader, Rejected, Seed, SessionClock, Span,
    Wire, delegate_endpoint,
};
use evenkeel_dr::{DrCommand, DrConfig, DrEvent, DrPeer, EntityId, Topology};
use evenkeel_game::{GameConfig, GamePlayer, PlayerCommand, PlayerEvent};

use crate::arena::{ArenaMessage, Gunfighter, Trigger};
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

/// Events that wait for the driver, which drains them after every call. Beyond, the oldest is dropped.
const EVENTS_MAX: usize = 1_024;

const REACTIONS: u64 = 0x7265_6163;

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
    link: GamePlayer<C>,
    entity: EntityId,
    mover: Mover,
    draw: Gunfighter,
    events: VecDeque<DrEvent>,
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
        let relay = match dr.topology {
            Topology::Relay(relay) => relay,
            Topology::Direct => PeerId(0),
        };
        Self {
            link: GamePlayer::with_clock(&GameConfig::from(*dr), relay, clock),
            entity: *entity,
            mover: Mover::tank(*driver, *seed),
            draw: Gunfighter::new(seed.child(REACTIONS)),
            events: VecDeque::new(),
            tick: (*tick).clamp(Span::from_millis(1), PAUSE_MAX),
            schedule: None,
            latest: LocalTime::MIN,
        }
    }

    /// Returns its peer.
    #[must_use]
    pub const fn peer(&self) -> &DrPeer<C> {
        self.link.dr()
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
        let entity = self.entity;
        let command = match self.mover.at(step.unsigned_abs()) {
            Some(sample) => DrCommand::Observe { entity, state: sample.state },
            None => DrCommand::End { entity },
        };
        self.link.handle_command(now, command.into());
    }

    /// Reacts to what it is shown, and does what is due. Follows every call.
    fn update(&mut self, now: LocalTime) {
        let now = self.latest.max(now);
        while let Some(event) = self.link.poll_event() {
            match event {
                PlayerEvent::Update { bytes, .. } => {
                    if let Some(message) = ArenaMessage::from_update(&bytes) {
                        self.draw.see(now, &message);
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
            let mut bytes = Vec::new();
            Trigger { shot: 0, is_pulled: true }.emit(&mut bytes);
            self.link.handle_command(now, PlayerCommand::Act { reliable: true, bytes });
        }
        self.drive(now);
    }
}

impl<C: SessionClock> Endpoint for Bot<C> {
    type Command = DrCommand;
    type Event = DrEvent;

    delegate_endpoint!(self.link: poll_transmit);

    fn handle_command(&mut self, now: LocalTime, command: DrCommand) {
        self.link.handle_command(now, command.into());
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
        let drive = self.schedule.map(|(_, next)| next);
        [drive, self.draw.due_at(), self.link.poll_timeout()].into_iter().flatten().min()
    }
}
