//! The calls of a driver.

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Vec3, earlier};
use evenkeel_session::Room;

use super::{ObjectRoom, scope};
use crate::command::ObjectRoomEvent;
use crate::delivery::Call;
use crate::link::Link;
use crate::message::{Frame, Packet};
use crate::object::{ObjectId, Owner, Value};
use crate::peer::{TICK_MIN, refusal};

/// What the server's game asks of its room.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ObjectRoomCommand {
    /// Creates an object of the server.
    Create {
        /// Its kind.
        kind: u16,
        /// The values of its fields.
        values: Vec<Value>,
    },
    /// Changes a field that the server may write.
    Set {
        /// The object.
        object: ObjectId,
        /// The field's place.
        field: u8,
        /// Its value.
        value: Value,
    },
    /// Destroys an object, whoever owns it.
    Destroy {
        /// The object.
        object: ObjectId,
    },
    /// Passes an object on, whoever owns it.
    Give {
        /// The object.
        object: ObjectId,
        /// Its next owner.
        to: Owner,
    },
    /// Sends a message of the server.
    Call(Call),
    /// Tells where an object is, for areas of interest.
    Place {
        /// The object.
        object: ObjectId,
        /// Where it is.
        at: Vec3,
    },
    /// Tells a player's name.
    Named {
        /// The player.
        player: PeerId,
        /// Its name.
        name: String,
    },
}

impl Endpoint for ObjectRoom {
    type Command = ObjectRoomCommand;
    type Event = ObjectRoomEvent;

    fn handle_command(&mut self, now: LocalTime, command: ObjectRoomCommand) {
        self.hold(now);
        match command {
            ObjectRoomCommand::Create { kind, values } => {
                self.create(kind, values, None);
            }
            ObjectRoomCommand::Set { object, field, value } => {
                self.set(object, usize::from(field), &value);
            }
            ObjectRoomCommand::Destroy { object } => {
                self.destroy(object);
            }
            ObjectRoomCommand::Give { object, to } => {
                self.give(object, to);
            }
            ObjectRoomCommand::Call(call) => self.call(call),
            ObjectRoomCommand::Place { object, at } => self.place(object, at),
            ObjectRoomCommand::Named { player, name } => self.set_name(player, &name),
        }
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if self.players.get(from).is_none_or(|player| player.link.is_none()) {
            return Err(Rejected::UnknownPeer);
        }
        match channel {
            Channel::Datagram => {
                let packet = Packet::parse(bytes).map_err(refusal)?;
                self.check_packet(from, &packet)?;
                self.hold(now);
                self.apply_packet(from, packet);
            }
            Channel::Reliable => {
                let frame = Frame::parse(bytes).map_err(refusal)?;
                self.check_frame(from, &frame)?;
                self.hold(now);
                if let Frame::Packet(packet) = frame {
                    self.apply_packet(from, packet);
                } else if let Some(link) = self.players.get_mut(from).and_then(|player| player.link.as_mut())
                {
                    let number = link.count_reliable();
                    self.apply_frame(from, number, frame);
                    self.schedule(from);
                }
            }
        }
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.hold(now);
        if self.config.schema.is_empty() {
            return;
        }
        let peer = change.peer();
        self.leave(peer);
        if let PeerChange::Joined { datagram_max, .. } = change {
            let bytes_per_second = self.config.bits_per_second.map(|bits| bits / 8.0);
            let link = Link::new(datagram_max, self.config.tick.max(TICK_MIN), bytes_per_second, self.now);
            self.players.entry(peer).link = Some(link);
            if self.next_review.is_none() {
                self.next_review = Some(self.now + self.config.review);
            }
        }
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.hold(now);
        if self.is_review_due(now) {
            self.review(now, &mut |_, _| scope::Interest::ByArea);
        }
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        self.hold(now);
        while let Some(peer) = self.ready.front().copied() {
            let link = self.players.get_mut(peer).and_then(|player| player.link.as_mut());
            if let Some(link) = link {
                if link.take_reliable(bytes) {
                    return Some((peer, Channel::Reliable));
                }
                link.is_ready = false;
            }
            self.ready.pop_front();
        }
        self.poll_packet(bytes)
    }

    fn poll_event(&mut self) -> Option<ObjectRoomEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        earlier(self.due.first().map(|(at, _)| *at), earlier(self.next_review, self.news.at()))
    }
}

impl Room for ObjectRoom {
    fn stalled(event: &ObjectRoomEvent) -> Option<PeerId> {
        match event {
            ObjectRoomEvent::Stalled { player } => Some(*player),
            _ => None,
        }
    }

    fn named(player: PeerId, name: &str) -> Option<ObjectRoomCommand> {
        Some(ObjectRoomCommand::Named { player, name: name.to_owned() })
    }
}
