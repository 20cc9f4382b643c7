//! The room of a relay with a game: a [`DrRelay`] that carries the motion, an [`Sms`] that orders the players' actions and
//! times the game's updates, and the game's logic.
//!
//! Like every machine it is driven by its inputs alone, so a recording of a room replays byte for byte, provided that the
//! game computes the same from the same calls.

use std::collections::VecDeque;

use evenkeel_core::clock::MirroredClock;
use evenkeel_core::{
    Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Rejected, SessionClock, Span, Synchronized,
    earlier,
};
use evenkeel_dr::relay::limits::PLAYERS_MAX;
use evenkeel_dr::{DrRelay, DrRoom, RoomEntity, SecondLimit};
use evenkeel_objects::message::VERSION as OBJECTS;
use evenkeel_objects::{ObjectRoom, ObjectRoomConfig, ObjectRoomEvent};
use evenkeel_session::envelope::{GAME, is_same_kind};
use evenkeel_session::game::parse_message;
use evenkeel_session::{PeerMap, Room};
use evenkeel_sync_ms::message::VERSION as SYNC;
use evenkeel_sync_ms::{Action, Sms, SmsCommand, SmsEvent};

use crate::command::{RoomCommand, RoomEvent};
use crate::config::GameConfig;
use crate::follower::Follower;
use crate::logic::GameLogic;
use crate::motions::{self, ObjectBandwidth};
use crate::outbox::GameOutbox;

/// The shortest time between two ticks.
const TICK_MIN: Span = Span::from_millis(1);
/// Events that wait for the driver, which drains them after every call. Beyond, the oldest is dropped.
const EVENTS_MAX: usize = 4_096;
const OBJECT_SEED: u64 = 0x6f62_6a65_6374_7300;

/// A room whose players' actions may be served in fair order.
pub trait SyncRoom: Endpoint {
    /// The module that orders them; `None` if the room has none.
    fn sync(&self) -> Option<&Sms<MirroredClock>> {
        None
    }

    /// Actions of a player that the game refused.
    fn refused(&self, player: PeerId) -> u64 {
        let _ = player;
        0
    }

    /// A command to that module, as one to the room; `None` if the room has none.
    fn sync_command(command: SmsCommand) -> Option<Self::Command> {
        let _ = command;
        None
    }
}

impl<C: SessionClock> SyncRoom for DrRelay<C> {}

/// The machine of a room with a game.
#[derive(Debug)]
pub struct GameRoom<G, C = Synchronized> {
    dr: DrRelay<C>,
    sync: Follower<Sms<MirroredClock>>,
    game: G,
    outbox: GameOutbox,
    events: VecDeque<RoomEvent>,
    bandwidth: ObjectBandwidth,
    /// How many of their actions the game refused.
    refused: PeerMap<u64>,
    /// The names that players will join under. There are no more than a relay has players.
    names: PeerMap<String>,
    next: Option<LocalTime>,
    latest: LocalTime,
    present: Vec<RoomEntity>,
}

impl<G: GameLogic> GameRoom<G> {
    /// A room whose clock shows session time.
    #[must_use]
    pub fn new(config: &GameConfig, game: G) -> Self {
        Self::with_clock(config, Synchronized, game)
    }
}

impl<G: GameLogic, C: SessionClock> GameRoom<G, C> {
    /// A room with this clock.
    #[must_use]
    pub fn with_clock(config: &GameConfig, clock: C, game: G) -> Self {
        let mut dr = DrRelay::with_clock(&config.dr, clock);
        motions::scope(&mut dr);
        // Nonces and names of one protocol must not reveal another's.
        let (tick, seed) = (config.dr.tick, config.dr.seed.child(OBJECT_SEED));
        let mut objects = ObjectRoomConfig { tick, seed, asks_game: true, ..game.objects() };
        // Motion gets half of a budget at least.
        let half = match config.dr.budget.per_second() {
            Some(SecondLimit::Bits(bits)) => Some(0.5 * bits),
            _ => None,
        };
        objects.bits_per_second = objects.bits_per_second.or(half);
        let outbox = GameOutbox::of(ObjectRoom::new(&objects));
        Self {
            dr,
            sync: Follower::new(Sms::with_clock(&config.sync, MirroredClock::default())),
            game,
            outbox,
            events: VecDeque::new(),
            bandwidth: ObjectBandwidth::default(),
            refused: PeerMap::new(),
            names: PeerMap::new(),
            next: None,
            latest: LocalTime::MIN,
            present: Vec::new(),
        }
    }

    /// The game.
    #[must_use]
    pub const fn game(&self) -> &G {
        &self.game
    }

    /// Messages and updates of the game that were not sent, because they were too long or too many at once.
    #[must_use]
    pub const fn unsent(&self) -> u64 {
        self.outbox.unsent()
    }

    /// Ticks if that is due.
    fn tick(&mut self, now: LocalTime) {
        self.latest = self.latest.max(now);
        let now = self.latest;
        if self.next.is_some_and(|next| next > now) || self.outbox.players().is_empty() {
            return;
        }
        self.outbox.objects.advance(now);
        let Some(session) = self.dr.clock().session(now) else { return };
        let interval = self.game.tick_interval().max(TICK_MIN);
        let next = self.next.map_or(now, |next| next + interval);
        self.next = Some(if next > now { next } else { now + interval });
        self.present.clear();
        self.present.extend(self.dr.entities());
        self.game.tick(session, &self.present, &mut self.outbox);
    }

    /// Hands actions whose turn it is and events of objects to the game, and the game's updates and motions to their protocols,
    /// until there are none.
    fn settle(&mut self, now: LocalTime) {
        let now = self.sync.follow(self.dr.clock(), now);
        loop {
            while let Some(event) = self.sync.machine.poll_event() {
                match event {
                    SmsEvent::Action(action) => self.act(&action),
                    other => self.push_event(RoomEvent::Sync(other)),
                }
            }
            if let Some(event) = self.outbox.objects.poll_event() {
                self.on_object_event(now, event);
            } else if let Some(weighed) = self.outbox.objects.poll_weight() {
                motions::weigh(&mut self.dr, now, weighed);
            } else if let Some((object, state)) = self.outbox.poll_motion() {
                self.dr.observe(now, motions::entity(object), &state);
            } else if let Some(update) = self.outbox.poll_update() {
                self.sync.machine.handle_command(now, update);
            } else {
                return;
            }
        }
    }

    fn act(&mut self, action: &Action) {
        if self.game.action(action, &mut self.outbox).is_err() {
            let refused = self.refused(action.from) + 1;
            self.refused.insert(action.from, refused);
        }
    }

    fn on_object_event(&mut self, now: LocalTime, event: ObjectRoomEvent) {
        motions::apply(&mut self.dr, now, &event, &self.outbox.objects);
        self.outbox.objects.advance(now);
        self.game.object_event(&event, &mut self.outbox);
        if motions::concerns_driver(&event).is_some() {
            self.push_event(RoomEvent::Object(event));
        }
    }

    /// Reviews who sees what, if that is due.
    fn review(&mut self, now: LocalTime) {
        let Self { outbox, game, dr, bandwidth, .. } = self;
        if !outbox.objects.is_review_due(now) {
            return;
        }
        outbox.objects.advance(now);
        let is_whole = outbox.objects.is_whole_review_due(now);
        if is_whole {
            motions::place(dr, now, &mut outbox.objects);
        }
        outbox.objects.review(now, &mut |viewer, object| game.interest(viewer, object));
        if is_whole {
            dr.reserve(bandwidth.measure(now, &outbox.objects));
        }
    }

    fn push_event(&mut self, event: RoomEvent) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    fn on_game_message(&mut self, from: PeerId, message: &[u8]) -> Result<(), Rejected> {
        if !self.outbox.players().contains(&from) {
            return Err(Rejected::UnknownPeer);
        }
        self.game.message(from, message, &mut self.outbox).map_err(|malformed| match malformed {
            // The game's versions are its own business: drivers close connections over a protocol's.
            Malformed::Version { .. } => Rejected::Malformed(Malformed::UnknownTag(GAME)),
            other => other.into(),
        })
    }
}

impl<G: GameLogic, C: SessionClock> DrRoom<C> for GameRoom<G, C> {
    fn dr(&self) -> &DrRelay<C> {
        &self.dr
    }
}

impl<G: GameLogic, C: SessionClock> SyncRoom for GameRoom<G, C> {
    fn sync(&self) -> Option<&Sms<MirroredClock>> {
        Some(&self.sync.machine)
    }

    fn refused(&self, player: PeerId) -> u64 {
        self.refused.get(player).copied().unwrap_or(0)
    }

    fn sync_command(command: SmsCommand) -> Option<RoomCommand> {
        Some(RoomCommand::Sync(command))
    }
}

impl<G: GameLogic, C: SessionClock> Room for GameRoom<G, C> {
    fn stalled(event: &RoomEvent) -> Option<PeerId> {
        match event {
            RoomEvent::Relay(event) => DrRelay::<C>::stalled(event),
            RoomEvent::Sync(event) => Sms::<C>::stalled(event),
            RoomEvent::Object(event) => ObjectRoom::stalled(event),
        }
    }

    fn named(player: PeerId, name: &str) -> Option<RoomCommand> {
        Some(RoomCommand::Named { player, name: name.to_owned() })
    }

    fn tallies(&self, player: PeerId) -> Vec<(&'static str, u64)> {
        let mut tallies = self.game.tallies(player);
        let refused = self.outbox.objects.refusals(player).total();
        if refused > 0 {
            tallies.push(("objects refused", refused));
        }
        tallies
    }
}

impl<G: GameLogic, C: SessionClock> Endpoint for GameRoom<G, C> {
    type Command = RoomCommand;
    type Event = RoomEvent;

    fn handle_command(&mut self, now: LocalTime, command: RoomCommand) {
        match command {
            RoomCommand::Relay(command) => self.dr.handle_command(now, command),
            RoomCommand::Sync(command) => {
                let now = self.sync.follow(self.dr.clock(), now);
                self.sync.machine.handle_command(now, command);
            }
            RoomCommand::Named { player, name } if player.0 < PLAYERS_MAX => {
                self.outbox.objects.set_name(player, &name);
                self.names.insert(player, name);
            }
            RoomCommand::Named { .. } => {}
        }
        self.settle(now);
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if let Some(message) = parse_message(bytes) {
            self.on_game_message(from, message)?;
        } else if bytes.first().is_some_and(|first| is_same_kind(*first, SYNC)) {
            self.sync.handle_message(self.dr.clock(), now, from, channel, bytes)?;
        } else if bytes.first().is_some_and(|first| is_same_kind(*first, OBJECTS)) {
            self.outbox.objects.handle_message(now, from, channel, bytes)?;
        } else {
            return self.dr.handle_message(now, from, channel, bytes);
        }
        self.settle(now);
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.dr.handle_peer(now, change);
        let at = self.sync.follow(self.dr.clock(), now);
        self.sync.machine.handle_peer(at, change);
        self.outbox.objects.handle_peer(now, change);
        // What a player that left has done counts all the same.
        self.settle(now);
        let peer = change.peer();
        if self.outbox.leave(peer) {
            self.game.left(peer, &mut self.outbox);
        }
        if let PeerChange::Joined { .. } = change {
            self.refused.remove(peer);
            self.outbox.join(peer);
            let name = self.names.get(peer).map_or("", String::as_str);
            self.game.joined(peer, name, &mut self.outbox);
        }
        self.tick(now);
        self.settle(now);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.dr.handle_timeout(now);
        let at = self.sync.follow(self.dr.clock(), now);
        self.sync.machine.handle_timeout(at);
        self.review(now);
        self.outbox.objects.handle_timeout(now);
        self.settle(now);
        self.tick(now);
        self.settle(now);
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        self.outbox
            .poll(bytes)
            .or_else(|| self.sync.machine.poll_transmit(now, bytes))
            .or_else(|| self.outbox.objects.poll_transmit(now, bytes))
            .or_else(|| self.dr.poll_transmit(now, bytes))
    }

    fn poll_event(&mut self) -> Option<RoomEvent> {
        let event = self.events.pop_front();
        event.or_else(|| self.dr.poll_event().map(RoomEvent::Relay))
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let tick = self.next.filter(|_| !self.outbox.players().is_empty());
        let tick = earlier(tick, self.outbox.objects.poll_timeout());
        earlier(tick, earlier(self.sync.machine.poll_timeout(), self.dr.poll_timeout()))
    }
}
