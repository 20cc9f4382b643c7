//! Objects and messages of a game, and commands about them that the fuzzer chooses.

use evenkeel_core::{PeerId, Vec3, Wire};
use evenkeel_objects::message::VERSION;
use evenkeel_objects::{
    Call, Delivery, GameMessage, LOCAL_MIN, Object, ObjectCommand, ObjectId, ObjectRoomCommand, Owner, Target,
};

use crate::feed::Feed;

evenkeel_objects::schema! {
    /// What the game is made of.
    pub static GAME = "fuzz";
    objects {
        /// A ship, which moves.
        Ship: planar { owner name: String, owner colour: u8, server health: u16, owner load: Vec<u32> }
        /// A score board, which everybody sees.
        Board: still { server scores: Vec<u32>, owner title: String }
    }
    messages {
        /// Something to count.
        Note { number: u32, text: String }
    }
}

/// Peers and objects per peer that commands are about.
const PEERS: usize = 4;
const LOCALS: usize = 3;
/// Tags of messages, and some beyond.
const TAGS: usize = 14;

fn peer(feed: &mut Feed<'_>) -> PeerId {
    PeerId(feed.below(PEERS) as u32)
}

fn owner(feed: &mut Feed<'_>) -> Owner {
    match feed.below(PEERS + 1) {
        0 => Owner::Server,
        peer => Owner::Player(PeerId(peer as u32)),
    }
}

fn object(feed: &mut Feed<'_>) -> ObjectId {
    ObjectId::of(peer(feed), LOCAL_MIN + feed.below(LOCALS) as u32)
}

fn ship(feed: &mut Feed<'_>) -> Ship {
    let load = vec![u32::from(feed.byte()); feed.pick(&[0, 2, 100, 600])];
    Ship { name: "s".into(), colour: feed.byte(), health: 3, load }
}

fn call(feed: &mut Feed<'_>) -> Call {
    let party = match feed.below(4) {
        0 => Target::Server,
        1 => Target::Room,
        2 => Target::Player(peer(feed)),
        _ => Target::Scope(object(feed)),
    };
    let text = "x".repeat(feed.pick(&[0, 5, 300, 3_000]));
    let bytes = Note { number: feed.small(), text }.to_bytes();
    Call { delivery: feed.pick(&Delivery::ALL), party, kind: Note::KIND, bytes }
}

/// A command of a player.
pub fn command(node: usize, feed: &mut Feed<'_>) -> ObjectCommand {
    // Mostly its own objects, which it may change.
    let own = ObjectId::of(PeerId(node as u32), LOCAL_MIN + feed.below(LOCALS) as u32);
    let object = if feed.once_in(4) { object(feed) } else { own };
    match feed.below(12) {
        0..3 => ObjectCommand::Create { object, kind: Ship::KIND, values: ship(feed).values() },
        3..6 => ObjectCommand::Set { object, values: vec![(1, vec![feed.byte()].into())] },
        6 => ObjectCommand::Set { object, values: vec![(feed.byte() % 6, feed.slice(6).into())] },
        7 => ObjectCommand::Destroy { object },
        8 => ObjectCommand::Give { object, to: owner(feed) },
        9 => {
            let values = vec![feed.slice(4).into(), feed.slice(4).into()];
            ObjectCommand::Create { object, kind: u16::from(feed.byte() % 4), values }
        }
        _ => ObjectCommand::Call(call(feed)),
    }
}

/// A command of the server's game.
pub fn room_command(feed: &mut Feed<'_>) -> ObjectRoomCommand {
    let object = object(feed);
    match feed.below(12) {
        0 => {
            let board = Board { scores: vec![1; feed.below(9)], title: "t".into() };
            ObjectRoomCommand::Create { kind: Board::KIND, values: board.values() }
        }
        1 => ObjectRoomCommand::Create { kind: Ship::KIND, values: ship(feed).values() },
        2 | 3 => ObjectRoomCommand::Set { object, field: 2, value: vec![feed.byte(), 0].into() },
        4 => ObjectRoomCommand::Destroy { object },
        5 => ObjectRoomCommand::Give { object, to: owner(feed) },
        6 => ObjectRoomCommand::Named { player: peer(feed), name: "ada".into() },
        7 | 8 => ObjectRoomCommand::Call(call(feed)),
        _ => {
            let (x, y) = (f64::from(feed.byte()) / 8.0, f64::from(feed.byte()) / 8.0);
            ObjectRoomCommand::Place { object, at: Vec3::xy(x, y) }
        }
    }
}

/// A message that begins like one of objects.
pub fn forge(feed: &mut Feed<'_>) -> Vec<u8> {
    let mut bytes = vec![VERSION, feed.below(TAGS) as u8];
    for _ in 0..feed.below(4) {
        match feed.below(3) {
            0 => object(feed).0.emit(&mut bytes),
            1 => bytes.push(feed.byte()),
            _ => bytes.extend_from_slice(feed.slice(12)),
        }
    }
    bytes.extend_from_slice(feed.slice(40));
    bytes
}
