//! Both machines on the hostile schedule that every machine must survive.

use evenkeel_core::contract::check;
use evenkeel_core::{
    Channel, Draws, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Seed, Span, Vec3, earlier,
};
use evenkeel_objects::{
    Area, Call, Delivery, GameMessage, LOCAL_MIN, Object, ObjectCommand, ObjectId, ObjectPeer,
    ObjectPeerConfig, ObjectRoom, ObjectRoomCommand, ObjectRoomConfig, Owner, Target,
};

use crate::net::{Board, GAME, RELAY, Ship, note};

/// Either side.
enum Side {
    Room(Box<ObjectRoom>),
    Peer(Box<ObjectPeer>),
}

#[derive(Clone)]
enum Asked {
    Room(ObjectRoomCommand),
    Peer(ObjectCommand),
}

impl Endpoint for Side {
    type Command = Asked;
    type Event = ();

    fn handle_command(&mut self, now: LocalTime, command: Asked) {
        match (self, command) {
            (Self::Room(room), Asked::Room(command)) => room.handle_command(now, command),
            (Self::Peer(peer), Asked::Peer(command)) => peer.handle_command(now, command),
            _ => unreachable!("commands are made for their side"),
        }
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        match self {
            Self::Room(room) => room.handle_message(now, from, channel, bytes),
            Self::Peer(peer) => peer.handle_message(now, from, channel, bytes),
        }
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        match self {
            Self::Room(room) => room.handle_peer(now, change),
            Self::Peer(peer) => peer.handle_peer(now, change),
        }
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        match self {
            Self::Room(room) => room.handle_timeout(now),
            Self::Peer(peer) => peer.handle_timeout(now),
        }
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        match self {
            Self::Room(room) => room.poll_transmit(now, bytes),
            Self::Peer(peer) => peer.poll_transmit(now, bytes),
        }
    }

    fn poll_event(&mut self) -> Option<()> {
        match self {
            Self::Room(room) => room.poll_event().map(drop),
            Self::Peer(peer) => peer.poll_event().map(drop),
        }
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        match self {
            Self::Room(room) => earlier(room.poll_timeout(), None),
            Self::Peer(peer) => peer.poll_timeout(),
        }
    }
}

fn build(node: usize) -> Side {
    if node == 0 {
        let area = Area::Radius { enter: 10.0, leave: 12.0 };
        let config = ObjectRoomConfig {
            schema: &GAME,
            area,
            bits_per_second: Some(50_000.0),
            ..ObjectRoomConfig::default()
        };
        return Side::Room(Box::new(ObjectRoom::new(&config)));
    }
    let (tick, seed) = (Span::from_millis(20), Seed::new(node as u64));
    Side::Peer(Box::new(ObjectPeer::new(&ObjectPeerConfig { relay: RELAY, schema: &GAME, tick, seed })))
}

fn command(node: usize, draws: &mut Draws) -> Asked {
    let object = ObjectId::of(PeerId(draws.below(4) as u32), LOCAL_MIN + draws.below(3) as u32);
    let owner = Owner::Player(PeerId(draws.below(4) as u32));
    let party = [Target::Server, Target::Room, Target::Player(PeerId(2)), Target::Scope(object)]
        [draws.below(4) as usize];
    let delivery = Delivery::ALL[draws.below(5) as usize];
    let call = Call { delivery, party, kind: 0, bytes: note(draws.below(100) as u32).to_bytes() };
    let ship = Ship { name: "s".into(), colour: 1, health: 2, load: vec![7; draws.below(300) as usize] };
    if node == 0 {
        return Asked::Room(match draws.below(6) {
            0 => ObjectRoomCommand::Create {
                kind: Board::KIND,
                values: Board { scores: vec![1], title: "t".into() }.values(),
            },
            1 => ObjectRoomCommand::Set { object, field: 2, value: vec![draws.below(100) as u8].into() },
            2 => ObjectRoomCommand::Destroy { object },
            3 => ObjectRoomCommand::Give { object, to: owner },
            4 => ObjectRoomCommand::Call(call),
            _ => ObjectRoomCommand::Place { object, at: Vec3::xy(draws.uniform(-20.0, 20.0), 0.0) },
        });
    }
    Asked::Peer(match draws.below(8) {
        0 | 1 => ObjectCommand::Create { object, kind: Ship::KIND, values: ship.values() },
        2..5 => ObjectCommand::Set { object, values: vec![(1, vec![draws.below(100) as u8].into())] },
        5 => ObjectCommand::Destroy { object },
        6 => ObjectCommand::Give { object, to: owner },
        _ => ObjectCommand::Call(call),
    })
}

#[test]
fn both_machines_survive_a_hostile_schedule() {
    for seed in 0..6 {
        check(seed, 3_000, 4, build, command);
    }
}
