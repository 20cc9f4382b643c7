//! The machines of a game of objects, and a member that lies.

use std::collections::BTreeMap;

use evenkeel_core::{
    Channel, Draws, Endpoint, LocalTime, PeerChange, PeerId, Reader, SessionTime, Varint, Wire,
};
use evenkeel_objects::message::VERSION;
use evenkeel_objects::{
    ObjectCommand, ObjectEvent, ObjectId, ObjectPeer, ObjectRoom, ObjectRoomCommand, ObjectRoomConfig,
    ObjectRoomEvent,
};

use crate::actor::ClockedEndpoint;

evenkeel_objects::schema! {
    /// What the games are made of.
    pub(super) static GAME = "campaign";
    objects {
        /// A ship, which moves.
        Ship: planar { owner name: String, owner colour: u8, server health: u16, owner load: Vec<u32> }
        /// A score board, which everybody sees.
        Board: still { server scores: Vec<u32>, owner title: String }
    }
    messages {
        /// Something to count.
        Note { number: u32, body: Vec<u32> }
        /// Something of which only the newest counts.
        Wave { number: u32 }
    }
}

/// The headers around a datagram, which count for a budget.
const OVERHEAD: f64 = 58.0;
/// What of a budget can be saved up: a quarter of a second, or a packet.
const BURST_SECONDS: f64 = 0.25;
const PACKET_MAX: f64 = 1_400.0;
/// The tag of what would have been a datagram, on the reliable channel.
const PACKET: u8 = 0;
/// The tags of what names an object: creations after a slot, gifts, adoptions and ends.
const CREATE: u8 = 4;
const ADOPT: u8 = 7;
const GIVE: u8 = 8;
const DROP: u8 = 11;

/// What may leave on one link, as the setting says.
#[derive(Clone, Copy)]
struct Meter {
    bytes: f64,
    at: LocalTime,
}

/// The server's machine, with a meter on every link.
pub(super) struct MeteredRoom {
    pub(super) room: ObjectRoom,
    bits_per_second: Option<f64>,
    meters: BTreeMap<PeerId, Meter>,
    /// The first packet that left beyond the budget.
    pub(super) excess: Option<String>,
}

impl MeteredRoom {
    /// With these settings, or with a budget that is planted as four times as much.
    pub(super) fn new(config: &ObjectRoomConfig, is_excessive: bool) -> Self {
        let bits_per_second = config.bits_per_second;
        let planted = if is_excessive { bits_per_second.map(|bits| 4.0 * bits) } else { bits_per_second };
        let room = ObjectRoom::new(&ObjectRoomConfig { bits_per_second: planted, ..*config });
        Self { room, bits_per_second, meters: BTreeMap::new(), excess: None }
    }

    /// Reliable messages leave at any time, and packets wait for them: a packet may leave while nothing is owed.
    fn measure(&mut self, now: LocalTime, to: PeerId, channel: Channel, bytes: &[u8]) {
        let (Some(bits), Some(meter)) = (self.bits_per_second, self.meters.get_mut(&to)) else {
            return;
        };
        if channel == Channel::Reliable && bytes.get(1) != Some(&PACKET) {
            meter.bytes -= bytes.len() as f64;
            return;
        }
        let per_second = bits / 8.0;
        let earned = (now - meter.at).as_secs_f64().max(0.0) * per_second;
        meter.bytes = (meter.bytes + earned).min((per_second * BURST_SECONDS).max(PACKET_MAX));
        meter.at = meter.at.max(now);
        if meter.bytes < -1.0 {
            let owed = -meter.bytes;
            self.excess
                .get_or_insert(format!("a packet left to {to:?} with {owed:.0} bytes owed at {bits} bit/s"));
        }
        meter.bytes -= bytes.len() as f64 + OVERHEAD;
    }
}

impl Endpoint for MeteredRoom {
    type Command = ObjectRoomCommand;
    type Event = ObjectRoomEvent;

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.meters.insert(change.peer(), Meter { bytes: 0.0, at: now });
        self.room.handle_peer(now, change);
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        let (to, channel) = self.room.poll_transmit(now, bytes)?;
        self.measure(now, to, channel, bytes);
        Some((to, channel))
    }

    evenkeel_core::delegate_endpoint!(self.room:
        handle_command, handle_message, handle_timeout, poll_event, poll_timeout);
}

/// The server or a player.
pub(super) enum ObjectNode {
    Room(Box<MeteredRoom>),
    Player(Box<ObjectPeer>),
}

/// A command for one of them.
pub(super) enum ObjectNodeCommand {
    Room(ObjectRoomCommand),
    Player(ObjectCommand),
}

/// An event of one of them.
pub(super) enum ObjectNodeEvent {
    Room(ObjectRoomEvent),
    Player(ObjectEvent),
}

/// Objects need no common time.
impl ClockedEndpoint for ObjectNode {
    fn session(&self, _: LocalTime) -> Option<SessionTime> {
        None
    }
}

impl Endpoint for ObjectNode {
    type Command = ObjectNodeCommand;
    type Event = ObjectNodeEvent;

    fn handle_command(&mut self, now: LocalTime, command: ObjectNodeCommand) {
        match (self, command) {
            (Self::Room(room), ObjectNodeCommand::Room(command)) => room.handle_command(now, command),
            (Self::Player(player), ObjectNodeCommand::Player(command)) => player.handle_command(now, command),
            _ => unreachable!("commands are made for the node that handles them"),
        }
    }

    fn poll_event(&mut self) -> Option<ObjectNodeEvent> {
        match self {
            Self::Room(room) => room.poll_event().map(ObjectNodeEvent::Room),
            Self::Player(player) => player.poll_event().map(ObjectNodeEvent::Player),
        }
    }

    evenkeel_core::delegate_endpoint!(match self { Room, Player }:
        handle_message, handle_peer, handle_timeout, poll_transmit, poll_timeout);
}

/// Reaches for the objects of others, and acknowledges what did not arrive, or not what did.
pub(super) fn forge(bytes: &mut Vec<u8>, channel: Channel, draws: &mut Draws) {
    if !draws.chance(0.3) {
        return;
    }
    let forged = match channel {
        Channel::Datagram => forge_head(bytes, 1, draws),
        Channel::Reliable if bytes.get(1) == Some(&PACKET) => forge_head(bytes, 2, draws),
        Channel::Reliable => forge_name(bytes, draws),
    };
    if let Some(forged) = forged {
        *bytes = forged;
    }
}

/// Changes what a packet says of the other direction.
fn forge_head(bytes: &[u8], start: usize, draws: &mut Draws) -> Option<Vec<u8>> {
    let mut reader = Reader::new(bytes.get(start..)?);
    let mut head = [0; 5];
    for number in &mut head {
        *number = reader.read::<Varint>().ok()?.0;
    }
    let [_, newest, missing, received, sent] = &mut head;
    match draws.below(5) {
        0 => *missing = 0,
        1 => *newest += draws.below(4),
        2 => *received += draws.below(4),
        3 => *sent += draws.below(4),
        _ => (*newest, *received) = (0, 0),
    }
    let mut forged = bytes[..start].to_vec();
    head.into_iter().for_each(|number| Varint(number).emit(&mut forged));
    forged.extend_from_slice(reader.rest());
    Some(forged)
}

/// Replaces the name of an object of its own by one of another player.
fn forge_name(bytes: &[u8], draws: &mut Draws) -> Option<Vec<u8>> {
    let (version, tag) = (*bytes.first()?, *bytes.get(1)?);
    if version != VERSION || ![CREATE, ADOPT, GIVE, DROP].contains(&tag) {
        return None;
    }
    let mut reader = Reader::new(&bytes[2..]);
    if tag != GIVE {
        reader.read::<Varint>().ok()?;
    }
    let at = bytes.len() - reader.remaining();
    let id = ObjectId(reader.read().ok()?);
    let other = ObjectId::of(PeerId(1 + draws.below(3) as u32), id.local());
    let mut name = Vec::new();
    other.0.emit(&mut name);
    let mut forged = bytes.to_vec();
    forged[at..at + name.len()].copy_from_slice(&name);
    Some(forged)
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Seed;

    use super::*;

    #[test]
    fn a_forged_name_is_of_another_player() {
        let mut bytes = vec![VERSION, GIVE];
        ObjectId::of(PeerId(4), 7).0.emit(&mut bytes);
        bytes.push(2);
        let forged = forge_name(&bytes, &mut Seed::new(1).draws()).expect("it names an object");
        let name = ObjectId(Reader::new(&forged[2..]).read().expect("a name"));
        assert_eq!((forged.len(), name.local()), (bytes.len(), 7));
        assert!(name.creator() != PeerId(4));
    }

    #[test]
    fn a_forged_head_has_the_rest_of_the_packet() {
        let bytes = [VERSION, 1, 2, 3, 4, 5, 8, 99];
        let forged = forge_head(&bytes, 1, &mut Seed::new(1).draws()).expect("it is a packet");
        assert_eq!((forged[0], &forged[forged.len() - 2..]), (VERSION, &[8, 99][..]));
    }
}
