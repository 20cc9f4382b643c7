//! What a game in a room sends.

use std::collections::VecDeque;

use evenkeel_core::{Channel, PeerId};
use evenkeel_dr::MotionState;
use evenkeel_objects::{Call, Delivery, GameMessage, ObjectId, ObjectRoom, Target};
use evenkeel_session::game::{emit_message, fits};
use evenkeel_sync_ms::SmsCommand;
use evenkeel_sync_ms::message::PAYLOAD_MAX;

use crate::motions;

/// Messages and updates that wait to be sent; they are drained after every call. Beyond, they are dropped and counted.
pub const OUTGOING_MAX: usize = 65_536;
/// Their bytes.
pub const OUTGOING_BYTES_MAX: usize = 64 << 20;

/// Where a game puts messages and updates for its players, and who they are.
#[derive(Debug, Default)]
pub struct GameOutbox {
    players: Vec<PeerId>,
    outgoing: VecDeque<(PeerId, Channel, Vec<u8>)>,
    updates: VecDeque<(Option<PeerId>, Channel, Vec<u8>)>,
    /// Those of all that wait.
    bytes: usize,
    unsent: u64,
    pub(super) objects: ObjectRoom,
    motions: VecDeque<(ObjectId, MotionState)>,
}

impl GameOutbox {
    /// The players in the room, in the order in which they joined.
    #[must_use]
    pub fn players(&self) -> &[PeerId] {
        &self.players
    }

    /// The objects of the room.
    #[must_use]
    pub const fn objects(&self) -> &ObjectRoom {
        &self.objects
    }

    /// The objects of the room, to create and change them.
    pub const fn objects_mut(&mut self) -> &mut ObjectRoom {
        &mut self.objects
    }

    /// Sends a typed message, with this guarantee.
    pub fn tell<T: GameMessage>(&mut self, to: Target, delivery: Delivery, message: &T) {
        self.objects.call(Call { delivery, party: to, kind: T::KIND, bytes: message.to_bytes() });
    }

    /// Reports the motion of an object that the server owns. Call it at every tick. Returns false, and does nothing, if there is no
    /// such object, or if objects of its type do not move so: planar ones stay at z = 0, spatial ones have no turn rate, and still
    /// ones no motion.
    pub fn observe(&mut self, object: ObjectId, state: MotionState) -> bool {
        let moves_so = motions::space_of(&self.objects, object).has(&state);
        if moves_so && self.motions.len() < OUTGOING_MAX {
            self.motions.push_back((object, state));
        }
        moves_so
    }

    pub(super) fn of(objects: ObjectRoom) -> Self {
        Self { objects, ..Self::default() }
    }

    pub(super) fn poll_motion(&mut self) -> Option<(ObjectId, MotionState)> {
        self.motions.pop_front()
    }

    /// Sends a player a message that arrives, in order. Does nothing if the player is not in the room.
    pub fn send(&mut self, to: PeerId, message: &[u8]) {
        self.push(to, Channel::Reliable, message);
    }

    /// Sends a player a message in a datagram of its own, which may be lost. For what the next one makes obsolete.
    pub fn send_datagram(&mut self, to: PeerId, message: &[u8]) {
        self.push(to, Channel::Datagram, message);
    }

    /// Sends all players a message that arrives, in order.
    pub fn broadcast(&mut self, message: &[u8]) {
        (0..self.players.len()).for_each(|index| self.send(self.players[index], message));
    }

    /// Sends all players a message in a datagram each, which may be lost.
    pub fn broadcast_datagram(&mut self, message: &[u8]) {
        (0..self.players.len()).for_each(|index| self.send_datagram(self.players[index], message));
    }

    /// Sends a player, or all of them, an update that arrives. With Sync-out, everybody sees it at the same time. Updates are
    /// what [actions](crate::GameLogic::action) react to: an enemy that appears, a target that is hit.
    pub fn update(&mut self, to: Option<PeerId>, message: &[u8]) {
        self.push_update(to, Channel::Reliable, message);
    }

    /// Sends such an update in a datagram, which may be lost. For what the next one makes obsolete.
    pub fn update_datagram(&mut self, to: Option<PeerId>, message: &[u8]) {
        self.push_update(to, Channel::Datagram, message);
    }

    fn push_update(&mut self, to: Option<PeerId>, channel: Channel, message: &[u8]) {
        if to.is_some_and(|to| !self.players.contains(&to)) {
            return;
        }
        if message.len() > PAYLOAD_MAX || !self.has_room(message.len()) {
            self.unsent += 1;
            return;
        }
        self.bytes += message.len();
        self.updates.push_back((to, channel, message.to_vec()));
    }

    fn has_room(&self, len: usize) -> bool {
        self.outgoing.len() + self.updates.len() < OUTGOING_MAX && self.bytes + len <= OUTGOING_BYTES_MAX
    }

    fn push(&mut self, to: PeerId, channel: Channel, message: &[u8]) {
        if !self.players.contains(&to) {
            return;
        }
        if !self.has_room(message.len()) || !fits(channel, message.len()) {
            self.unsent += 1;
            return;
        }
        self.bytes += message.len();
        self.outgoing.push_back((to, channel, message.to_vec()));
    }

    pub(super) const fn unsent(&self) -> u64 {
        self.unsent
    }

    pub(super) fn join(&mut self, peer: PeerId) {
        self.players.push(peer);
    }

    /// Forgets a player and its messages. Returns whether it was there.
    pub(super) fn leave(&mut self, peer: PeerId) -> bool {
        let before = self.players.len();
        self.players.retain(|player| *player != peer);
        self.outgoing.retain(|(to, ..)| *to != peer);
        self.updates.retain(|(to, ..)| *to != Some(peer));
        let updates = self.updates.iter().map(|(.., message)| message.len());
        self.bytes = self.outgoing.iter().map(|(.., message)| message.len()).chain(updates).sum();
        self.players.len() < before
    }

    /// Replaces the contents of `bytes` with the next message.
    pub(super) fn poll(&mut self, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        let (to, channel, message) = self.outgoing.pop_front()?;
        self.bytes -= message.len();
        emit_message(&message, bytes);
        Some((to, channel))
    }

    /// The next update, as a command to Sync-MS.
    pub(super) fn poll_update(&mut self) -> Option<SmsCommand> {
        let (to, channel, bytes) = self.updates.pop_front()?;
        self.bytes -= bytes.len();
        Some(SmsCommand::Update { to, reliable: channel == Channel::Reliable, bytes })
    }
}
