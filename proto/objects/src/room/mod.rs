//! The server's machine: every object of a room, who sees it, and the messages between players.
//!
//! - `change`: objects come into being, change, pass on and go.
//! - `review`: who sees what, by [`scope`]; `news`: the same for what is new.
//! - `route`: messages, and what players may ask ([`quota`]).
//! - `endpoint`: the calls of a driver.
//! - `greet`: schemas are compared, and sessions go on after a lost connection.

mod change;
mod endpoint;
mod greet;
mod news;
pub mod quota;
mod review;
mod route;
pub mod scope;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use evenkeel_core::{Channel, Draws, LocalTime, PeerId, Rejected, Seed, Span};
use evenkeel_session::PeerMap;

use crate::command::ObjectRoomEvent;
use crate::delivery::Target;
use crate::link::{CallsIn, CallsOut, Link};
use crate::message::{Frame, Packet};
use crate::object::{FieldSet, LOCAL_MAX, LOCAL_MIN, ObjectId};
use crate::peer::check_packet;
use crate::schema::Schema;
use crate::table::ObjectTable;
pub use endpoint::ObjectRoomCommand;
use news::News;
use quota::{Quotas, Refusals, Usage};
use scope::{Area, ObjectView, Viewpoints};

/// Events that wait for the server's game. Beyond, the oldest is dropped.
const EVENTS_MAX: usize = 65_536;
/// Objects of a player that were destroyed while it was away. Beyond, the one with the lowest name is forgotten.
const ENDED_MAX: usize = 4_096;
const NAMES: u64 = 0x6e61_6d65_7300;

/// The settings of a room's objects.
#[derive(Clone, Copy, Debug)]
pub struct ObjectRoomConfig {
    /// The game's schema.
    pub schema: &'static Schema,
    /// The number of the server among creators of objects: the relay's among peers.
    pub server: PeerId,
    /// The shortest time between two packets to a player, unless one is full.
    pub tick: Span,
    /// Who sees what.
    pub area: Area,
    /// How often that is reviewed.
    pub review: Span,
    /// Whether a game's own function decides, too. If so, nothing is shown before a review has asked it.
    pub asks_game: bool,
    /// How fast the place from which a player looks may move, per second. Unbounded by default, because units are the game's: if
    /// scopes hide something, set it to what the fastest object may do, or players leap about and see it all.
    pub look_speed_max: f64,
    /// What fields and messages may take for one player, with the headers of their datagrams; `None` if there is no limit.
    pub bits_per_second: Option<f64>,
    /// What a player may do.
    pub quotas: Quotas,
    /// Objects in the room.
    pub objects_max: usize,
    /// How long messages wait for a player whose connection broke.
    pub remember: Span,
    /// The source of the server's names for objects.
    pub seed: Seed,
}

impl Default for ObjectRoomConfig {
    fn default() -> Self {
        Self {
            schema: &crate::schema::EMPTY,
            server: PeerId(0),
            tick: Span::from_millis(20),
            area: Area::Everywhere,
            review: Span::from_millis(100),
            asks_game: false,
            look_speed_max: f64::INFINITY,
            bits_per_second: None,
            quotas: Quotas::default(),
            objects_max: 4_096,
            remember: Span::from_secs(60),
            seed: Seed::new(0),
        }
    }
}

/// A player, present or lately present.
#[derive(Debug, Default)]
struct Player {
    name: String,
    link: Option<Link>,
    out: CallsOut,
    heard: CallsIn,
    /// How many of its reliable messages were not delivered, since it was told; and the kind and receivers of the last.
    unheard: Option<(u64, u16, Target)>,
    /// The machine that it was last, and how many sessions that had begun before; `None` if none was greeted.
    instance: Option<u64>,
    /// What it created, and was destroyed while it was away or before it told of it again: it is not born anew. And whether the
    /// player hears of the end anyway.
    ended: BTreeMap<ObjectId, bool>,
    /// When its connection broke.
    left_at: LocalTime,
    views: Viewpoints,
    reviewed_at: LocalTime,
    /// How many objects count against its quota: those it created, whoever owns them now.
    charged: usize,
    usage: Usage,
    refusals: Refusals,
}

/// The server's machine.
#[derive(Debug)]
pub struct ObjectRoom {
    config: ObjectRoomConfig,
    table: ObjectTable,
    players: PeerMap<Player>,
    /// Links by when they have something to do.
    due: BTreeSet<(LocalTime, PeerId)>,
    /// Players with reliable messages.
    ready: VecDeque<PeerId>,
    next_review: Option<LocalTime>,
    /// What is new, and when that alone is to be reviewed, if a game's own function decides.
    news: News,
    events: VecDeque<ObjectRoomEvent>,
    /// News of how much the motion of objects matters to those who see them.
    weights: BTreeMap<(ObjectId, PeerId), f32>,
    draws: Draws,
    now: LocalTime,
    refused: u64,
    /// What has left to players that are gone.
    past_bytes: u64,
}

impl Default for ObjectRoom {
    /// A room of a game without objects.
    fn default() -> Self {
        Self::new(&ObjectRoomConfig::default())
    }
}

impl ObjectRoom {
    /// A room without players and objects.
    #[must_use]
    pub fn new(config: &ObjectRoomConfig) -> Self {
        Self {
            config: *config,
            table: ObjectTable::default(),
            players: PeerMap::new(),
            due: BTreeSet::new(),
            ready: VecDeque::new(),
            next_review: None,
            news: News::default(),
            events: VecDeque::new(),
            weights: BTreeMap::new(),
            draws: config.seed.child(NAMES).draws(),
            now: LocalTime::MIN,
            refused: 0,
            past_bytes: 0,
        }
    }

    /// Advances the time, at which whatever is asked of the room by other calls happens.
    pub fn advance(&mut self, now: LocalTime) {
        self.hold(now);
    }

    /// Its settings.
    #[must_use]
    pub const fn config(&self) -> &ObjectRoomConfig {
        &self.config
    }

    /// An object.
    #[must_use]
    pub fn object(&self, object: ObjectId) -> Option<ObjectView<'_>> {
        self.table.get(object).map(view)
    }

    /// Every object, by name.
    pub fn objects(&self) -> impl Iterator<Item = ObjectView<'_>> {
        self.table.iter().map(|(_, entry)| view(entry))
    }

    /// The players who have an object in scope.
    pub fn watchers(&self, object: ObjectId) -> impl Iterator<Item = PeerId> {
        self.table.get(object).into_iter().flat_map(|entry| entry.watchers.iter().map(|(peer, _)| *peer))
    }

    /// The name of a player, from its token. Empty if nobody told the room.
    #[must_use]
    pub fn name(&self, player: PeerId) -> &str {
        self.players.get(player).map_or("", |player| &player.name)
    }

    /// The players that are connected and play the room's game.
    pub fn players(&self) -> impl Iterator<Item = PeerId> {
        let is_here = |player: &Player| player.link.as_ref().is_some_and(|link| link.is_greeted);
        self.players.iter().filter(move |(_, player)| is_here(player)).map(|(peer, _)| peer)
    }

    /// What was refused to a player.
    #[must_use]
    pub fn refusals(&self, player: PeerId) -> Refusals {
        self.players.get(player).map_or_else(Refusals::default, |player| player.refusals)
    }

    /// Everything refused, to players who have left, too.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// The bytes of all messages that have left, without the headers of the transport.
    #[must_use]
    pub fn bytes_sent(&self) -> u64 {
        let links = self.players.values().filter_map(|player| player.link.as_ref());
        self.past_bytes + links.map(|link| link.traffic.bytes).sum::<u64>()
    }

    /// The packets that have left to the players who are here.
    #[must_use]
    pub fn packets_sent(&self) -> u64 {
        let links = self.players.values().filter_map(|player| player.link.as_ref());
        links.map(|link| link.traffic.packets).sum()
    }

    /// The next news of how much an object's motion matters to a player who sees it: 1, or what the game said by
    /// [`Interest::Seen`](scope::Interest::Seen). Take it after the events.
    pub fn poll_weight(&mut self) -> Option<(ObjectId, PeerId, f32)> {
        self.weights.pop_first().map(|((object, player), weight)| (object, player, weight))
    }

    /// Tells the room a player's name.
    pub fn set_name(&mut self, player: PeerId, name: &str) {
        let now = self.now;
        let player = self.players.entry(player);
        name.clone_into(&mut player.name);
        if player.link.is_none() && player.instance.is_none() {
            player.left_at = now;
        }
    }

    /// A new name for an object of the server.
    fn draw_name(&mut self) -> ObjectId {
        loop {
            let local = LOCAL_MIN + self.draws.below(u64::from(LOCAL_MAX - LOCAL_MIN)) as u32;
            let id = ObjectId::of(self.config.server, local);
            if self.table.place(id).is_none() {
                return id;
            }
        }
    }

    fn hold(&mut self, now: LocalTime) -> LocalTime {
        self.now = self.now.max(now);
        self.now
    }

    fn push_event(&mut self, event: ObjectRoomEvent) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Counts something that a player may not do.
    fn refuse(&mut self, player: PeerId, count: impl FnOnce(&mut Refusals)) {
        self.refused += 1;
        if let Some(player) = self.players.get_mut(player) {
            count(&mut player.refusals);
        }
    }

    /// Lists a link for what it has to send.
    fn schedule(&mut self, peer: PeerId) {
        let Some(player) = self.players.get_mut(peer) else { return };
        let Some(link) = &mut player.link else { return };
        link.stream(&mut player.out, self.now);
        if link.has_reliable() && !link.is_ready {
            link.is_ready = true;
            self.ready.push_back(peer);
        }
        let next = link.next_time(&player.out, self.now);
        if next != link.scheduled {
            if let Some(at) = link.scheduled {
                self.due.remove(&(at, peer));
            }
            link.scheduled = next;
            if let Some(at) = next {
                self.due.insert((at, peer));
            }
        }
        let is_stalled = link.is_stalled;
        if is_stalled {
            link.is_stalled = false;
            self.push_event(ObjectRoomEvent::Stalled { player: peer });
        }
    }

    fn apply_frame(&mut self, from: PeerId, number: u64, frame: Frame<'_>) {
        match frame {
            Frame::Hello { instance, received, description } => {
                self.greet(from, instance, received, description);
            }
            Frame::Create { slot, id, kind, values, .. } => {
                self.on_create(from, number, slot, (id, kind), values)
            }
            Frame::Drop { slot, id, why } => self.on_drop(from, slot, id, why),
            Frame::Adopt { slot, id } => self.on_adopt(from, number, slot, id),
            Frame::Give { id, to } => self.on_give(from, id, to),
            Frame::Call(number, call) => self.on_call(from, number, call),
            _ => {}
        }
    }

    fn apply_packet(&mut self, from: PeerId, packet: Packet<'_>) {
        let (now, quotas) = (self.now, self.config.quotas);
        let Some(player) = self.players.get_mut(from) else { return };
        // A packet beyond the quota counts as lost: its sender will slow down and send the newest values later.
        let count = packet.states.len() + packet.calls.len();
        if count > 0 && !player.usage.changes(now, count, &quotas) {
            return self.refuse(from, |refusals| refusals.changes += 1);
        }
        let Some(link) = &mut player.link else { return };
        if link.on_packet(&packet.head, &mut player.out, now) {
            for (number, call) in packet.calls {
                self.on_call(from, number, call);
            }
            for state in packet.states {
                let fields = FieldSet(state.fields);
                self.on_state(from, &packet.head, state.slot, fields, state.values);
            }
        }
        self.schedule(from);
    }

    /// Whether a frame is one that a player may send now.
    fn check_frame(&self, from: PeerId, frame: &Frame<'_>) -> Result<(), Rejected> {
        let link = self.players.get(from).and_then(|player| player.link.as_ref());
        let is_greeted = link.is_some_and(|link| link.is_greeted);
        let is_expected = match frame {
            Frame::Hello { .. } => !is_greeted,
            Frame::Packet(packet) => return self.check_packet(from, packet),
            Frame::Create { kind, values, .. } => {
                let kind = self.config.schema.object(*kind).ok_or(Rejected::OutOfRange)?;
                kind.split(FieldSet::first(kind.fields.len()), values)?;
                is_greeted
            }
            Frame::Call(_, call) => {
                if !self.config.schema.accepts_message(call.kind, &call.bytes) {
                    return Err(Rejected::OutOfRange);
                }
                is_greeted
            }
            Frame::Drop { .. } | Frame::Adopt { .. } | Frame::Give { .. } => is_greeted,
            _ => false,
        };
        if is_expected { Ok(()) } else { Err(Rejected::Unexpected) }
    }

    fn check_packet(&self, from: PeerId, packet: &Packet<'_>) -> Result<(), Rejected> {
        let link = self.players.get(from).and_then(|player| player.link.as_ref());
        let Some(link) = link.filter(|link| link.is_greeted) else { return Err(Rejected::Unexpected) };
        let schema = self.config.schema;
        if packet.calls.iter().any(|(_, call)| !schema.accepts_message(call.kind, &call.bytes)) {
            return Err(Rejected::OutOfRange);
        }
        check_packet(packet, |slot, fields, values| {
            let copy = link.copies.known(slot, packet.head.sent);
            copy.and_then(|copy| self.table.at(copy.place))
                .map_or(Ok(()), |entry| entry.kind.split(fields, values).map(drop))
        })
    }

    /// Writes the packet of the next link that is due.
    fn poll_packet(&mut self, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        let now = self.now;
        loop {
            let (_, peer) = self.due.first().copied().filter(|(at, _)| *at <= now)?;
            let player = self.players.get_mut(peer).expect("a scheduled player is here");
            let link = player.link.as_mut().expect("a scheduled player is connected");
            link.on_timeout(&mut player.out, now);
            let packet = link.packet(now, &mut player.out, &self.table, bytes);
            self.schedule(peer);
            if packet.is_none() {
                self.postpone(peer);
            }
            if let Some(is_datagram) = packet {
                return Some((peer, if is_datagram { Channel::Datagram } else { Channel::Reliable }));
            }
        }
    }

    /// Makes sure that a link without anything to send is not due at once again.
    fn postpone(&mut self, peer: PeerId) {
        let later = self.now + Span::from_millis(1);
        let Some(link) = self.players.get_mut(peer).and_then(|player| player.link.as_mut()) else { return };
        if let Some(at) = link.scheduled.filter(|at| *at <= self.now) {
            self.due.remove(&(at, peer));
            self.due.insert((later, peer));
            link.scheduled = Some(later);
        }
    }
}

fn view(entry: &crate::table::Entry) -> ObjectView<'_> {
    ObjectView {
        object: entry.id,
        kind: entry.number,
        owner: entry.owner,
        values: &entry.values,
        position: entry.position,
        is_held: entry.is_held,
    }
}
