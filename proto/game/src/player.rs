//! A player's machine: a [`DrPeer`] that carries the motion, an [`Smc`] that shows updates and tags actions, and the game's
//! messages beside them.
//!
//! Only dead reckoning exchanges clock readings; Sync-MS goes by its clock.
//!
//! ```
//! use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId};
//! use evenkeel_dr::{DrConfig, Topology};
//! use evenkeel_game::{GamePlayer, PlayerCommand, PlayerEvent};
//!
//! let (relay, now) = (PeerId(0), LocalTime::from_nanos(0));
//! let config = DrConfig { topology: Topology::Relay(relay), ..DrConfig::default() };
//! let mut player = GamePlayer::new(&config.into(), relay);
//! player.handle_peer(now, PeerChange::Joined { peer: relay, datagram_max: 1200 });
//!
//! player.handle_command(now, PlayerCommand::Send { channel: Channel::Reliable, bytes: b"hello".to_vec() });
//! let mut bytes = Vec::new();
//! assert_eq!(player.poll_transmit(now, &mut bytes), Some((relay, Channel::Reliable)));
//! assert_eq!(bytes, b"\x47hello");
//!
//! player.handle_message(now, relay, Channel::Reliable, b"\x47welcome").expect("a game's message");
//! let message = PlayerEvent::Message { channel: Channel::Reliable, bytes: b"welcome".to_vec() };
//! assert!(std::iter::from_fn(|| player.poll_event()).any(|event| event == message));
//! ```

mod command;

pub use command::{PlayerCommand, PlayerEvent};

use std::collections::{BTreeSet, VecDeque};

use evenkeel_core::clock::MirroredClock;
use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionClock, Span, Synchronized, earlier,
};
use evenkeel_dr::{DrCommand, DrPeer, EntityId, MotionState};
use evenkeel_objects::message::VERSION as OBJECTS;
use evenkeel_objects::schema::EMPTY;
use evenkeel_objects::{
    Denied, Gone, ObjectCommand, ObjectEvent, ObjectId, ObjectPeer, ObjectPeerConfig, Owner, Schema,
};
use evenkeel_session::envelope::is_same_kind;
use evenkeel_session::game::{emit_message, fits, parse_message};
use evenkeel_sync_ms::message::VERSION as SYNC;
use evenkeel_sync_ms::{Smc, SmcCommand, SmcEvent};

use crate::config::GameConfig;
use crate::follower::Follower;
use crate::motions::{entity, space};

/// Messages that wait to be sent, and that wait for the game. A driver drains both after every call.
const WAITING_MAX: usize = 1_024;
/// Events of objects that wait for the game. Beyond, the oldest is dropped.
const OBJECT_EVENTS_MAX: usize = 65_536;
const OBJECT_SEED: u64 = 0x6f62_6a65_6374_7301;
/// Changes of the clock that are not worth telling.
const OFFSET_STEP: Span = Span::from_nanos(20_000);

/// A player's machine.
#[derive(Debug)]
pub struct GamePlayer<C = Synchronized> {
    dr: DrPeer<C>,
    sync: Follower<Smc<MirroredClock>>,
    objects: ObjectPeer,
    object_config: ObjectPeerConfig,
    object_events: VecDeque<ObjectEvent>,
    /// Objects that were last moved as their type does not move.
    astray: BTreeSet<ObjectId>,
    player: Option<PeerId>,
    /// Session time minus local time, as last told, and whether that is still to be told.
    offset: Option<Span>,
    is_offset_new: bool,
    relay: PeerId,
    is_connected: bool,
    outgoing: VecDeque<(Channel, Vec<u8>)>,
    incoming: VecDeque<(Channel, Vec<u8>)>,
}

impl GamePlayer {
    /// A player of this relay whose clock shows session time.
    #[must_use]
    pub fn new(config: &GameConfig, relay: PeerId) -> Self {
        Self::with_clock(config, relay, Synchronized)
    }
}

impl<C: SessionClock> GamePlayer<C> {
    /// A player of this relay with this clock.
    #[must_use]
    pub fn with_clock(config: &GameConfig, relay: PeerId, clock: C) -> Self {
        let (tick, seed) = (config.dr.tick, config.dr.seed.child(OBJECT_SEED));
        let object_config = ObjectPeerConfig { relay, schema: &EMPTY, tick, seed };
        Self {
            dr: DrPeer::with_clock(&config.dr, clock),
            sync: Follower::new(Smc::with_clock(&config.sync, relay, MirroredClock::default())),
            objects: ObjectPeer::new(&object_config),
            object_config,
            object_events: VecDeque::new(),
            astray: BTreeSet::new(),
            player: None,
            offset: None,
            is_offset_new: false,
            relay,
            is_connected: false,
            outgoing: VecDeque::new(),
            incoming: VecDeque::new(),
        }
    }

    /// Gives the player a game's objects and typed messages.
    #[must_use]
    pub fn with_schema(mut self, schema: &'static Schema) -> Self {
        self.object_config.schema = schema;
        self.objects = ObjectPeer::new(&self.object_config);
        self
    }

    /// The machine of its objects.
    #[must_use]
    pub const fn objects(&self) -> &ObjectPeer {
        &self.objects
    }

    /// The machine of its motion.
    #[must_use]
    pub const fn dr(&self) -> &DrPeer<C> {
        &self.dr
    }

    /// The module that shows updates and tags actions.
    #[must_use]
    pub const fn sync(&self) -> &Smc<MirroredClock> {
        &self.sync.machine
    }

    /// Acts. Of two players, whoever reacts faster is served first at the relay, however far away. A reliable action arrives
    /// unless the connection breaks.
    pub fn act(&mut self, now: LocalTime, reliable: bool, bytes: Vec<u8>) {
        self.handle_command(now, PlayerCommand::Act { reliable, bytes });
    }

    /// Takes the events of objects. What is not this player's any more is not its to move.
    fn settle(&mut self, now: LocalTime) {
        while let Some(event) = self.objects.poll_event() {
            let lost = match event {
                ObjectEvent::Ready { player, .. } => {
                    self.player = Some(player);
                    None
                }
                ObjectEvent::Owned { object, owner } if owner.player() != self.player => Some(object),
                ObjectEvent::Gone { object, why: Gone::Destroyed } => Some(object),
                ObjectEvent::Created { object, owner, .. } => {
                    let is_own = match owner {
                        Owner::Player(peer) => self.player.is_none_or(|player| player == peer),
                        Owner::Server => false,
                    };
                    (!is_own).then_some(object)
                }
                _ => None,
            };
            if let Some(object) = lost
                && self.dr.exported_vector(entity(object)).is_some()
            {
                self.dr.handle_command(now, DrCommand::End { entity: entity(object) });
            }
            if let ObjectEvent::Gone { object, .. } = event {
                self.astray.remove(&object);
            }
            self.push_object_event(event);
        }
    }

    fn on_motion_command(&mut self, now: LocalTime, mut command: DrCommand) {
        match &mut command {
            DrCommand::Observe { entity, state } if !self.moves_so(*entity, state) => return,
            DrCommand::ObserveAll { states } => {
                states.retain(|(entity, state)| self.moves_so(*entity, state))
            }
            _ => {}
        }
        self.dr.handle_command(now, command);
    }

    /// Whether an object of this type moves so. If not, the game is told, once.
    fn moves_so(&mut self, entity: EntityId, state: &MotionState) -> bool {
        let object = ObjectId(entity.0);
        let Some(kind) = self.objects.kind(object) else { return true };
        let moves_so = space(kind.motion).has(state);
        if moves_so {
            self.astray.remove(&object);
        } else if self.astray.insert(object) {
            self.push_object_event(ObjectEvent::Denied { object, why: Denied::Motion });
        }
        moves_so
    }

    fn push_object_event(&mut self, event: ObjectEvent) {
        if self.object_events.len() == OBJECT_EVENTS_MAX {
            self.object_events.pop_front();
        }
        self.object_events.push_back(event);
    }

    fn on_object_command(&mut self, now: LocalTime, command: ObjectCommand) {
        self.objects.handle_command(now, command);
        self.settle(now);
    }

    fn follow(&mut self, now: LocalTime) -> LocalTime {
        if let Some(session) = self.dr.clock().session(now) {
            let offset = Span::from_nanos(session.as_nanos().saturating_sub(now.as_nanos()));
            if self.offset.is_none_or(|told| (offset - told).abs() > OFFSET_STEP) {
                (self.offset, self.is_offset_new) = (Some(offset), true);
            }
        }
        self.sync.follow(self.dr.clock(), now)
    }
}

impl<C: SessionClock> Endpoint for GamePlayer<C> {
    type Command = PlayerCommand;
    type Event = PlayerEvent;

    fn handle_command(&mut self, now: LocalTime, command: PlayerCommand) {
        match command {
            PlayerCommand::Motion(command) => self.on_motion_command(now, command),
            PlayerCommand::Act { reliable, bytes } => {
                let now = self.follow(now);
                self.sync.machine.handle_command(now, SmcCommand::Act { reliable, bytes });
            }
            PlayerCommand::Object(command) => self.on_object_command(now, command),
            PlayerCommand::Send { channel, bytes } => {
                let has_room = self.outgoing.len() < WAITING_MAX;
                if self.is_connected && has_room && fits(channel, bytes.len()) {
                    self.outgoing.push_back((channel, bytes));
                }
            }
        }
        self.follow(now);
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if let Some(message) = parse_message(bytes) {
            if from != self.relay || !self.is_connected {
                return Err(Rejected::UnknownPeer);
            }
            if self.incoming.len() == WAITING_MAX {
                self.incoming.pop_front();
            }
            self.incoming.push_back((channel, message.to_vec()));
            return Ok(());
        }
        if bytes.first().is_some_and(|first| is_same_kind(*first, SYNC)) {
            return self.sync.handle_message(self.dr.clock(), now, from, channel, bytes);
        }
        if bytes.first().is_some_and(|first| is_same_kind(*first, OBJECTS)) {
            self.objects.handle_message(now, from, channel, bytes)?;
            self.settle(now);
            return Ok(());
        }
        self.dr.handle_message(now, from, channel, bytes)?;
        self.follow(now);
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        if change.peer() == self.relay {
            self.outgoing.clear();
            self.is_connected = matches!(change, PeerChange::Joined { .. });
        }
        self.dr.handle_peer(now, change);
        self.objects.handle_peer(now, change);
        self.settle(now);
        let now = self.follow(now);
        self.sync.machine.handle_peer(now, change);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.dr.handle_timeout(now);
        self.objects.handle_timeout(now);
        let now = self.follow(now);
        self.sync.machine.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        if let Some((channel, message)) = self.outgoing.pop_front() {
            emit_message(&message, bytes);
            return Some((self.relay, channel));
        }
        let sync = self.sync.machine.poll_transmit(now, bytes);
        let own = sync.or_else(|| self.objects.poll_transmit(now, bytes));
        own.or_else(|| self.dr.poll_transmit(now, bytes))
    }

    fn poll_event(&mut self) -> Option<PlayerEvent> {
        if core::mem::take(&mut self.is_offset_new)
            && let Some(offset) = self.offset
        {
            return Some(PlayerEvent::Clock { offset });
        }
        let message = self.incoming.pop_front();
        message
            .map(|(channel, bytes)| PlayerEvent::Message { channel, bytes })
            .or_else(|| self.sync.machine.poll_event().and_then(shown))
            .or_else(|| self.object_events.pop_front().map(PlayerEvent::Object))
            .or_else(|| self.dr.poll_event().map(PlayerEvent::Motion))
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let objects = self.objects.poll_timeout();
        earlier(objects, earlier(self.sync.machine.poll_timeout(), self.dr.poll_timeout()))
    }
}

/// A mirrored clock has no events of its own: dead reckoning reports them.
fn shown(event: SmcEvent) -> Option<PlayerEvent> {
    match event {
        SmcEvent::Update { stamp, late, bytes, .. } => Some(PlayerEvent::Update { stamp, late, bytes }),
        SmcEvent::Clock(_) => None,
    }
}
