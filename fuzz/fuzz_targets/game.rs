//! A room with a game, and its players' machines, driven by the input: dead reckoning, Sync-MS, objects and the game's own
//! messages at once.

#![no_main]

use std::collections::BTreeSet;

use evenkeel_core::{
    Channel, Endpoint, LocalTime, Malformed, PeerId, ServerClock, SessionTime, Synchronized,
    delegate_endpoint,
};
use evenkeel_dr::{RoomEntity, Topology};
use evenkeel_fuzz::feed::Feed;
use evenkeel_fuzz::node::AnyClock;
use evenkeel_fuzz::play::{Play, Rules};
use evenkeel_fuzz::settings;
use evenkeel_fuzz::ships::{self, GAME, Ship};
use evenkeel_game::{
    Action, GameConfig, GameLogic, GameOutbox, GamePlayer, GameRoom, PlayerCommand, PlayerEvent, RoomCommand,
    RoomEvent,
};
use evenkeel_objects::{
    Area, Interest, Object, ObjectRoomCommand, ObjectRoomConfig, ObjectRoomEvent, ObjectView,
};
use evenkeel_session::envelope::GAME as MESSAGE;
use evenkeel_sync_ms::SmsCommand;
use evenkeel_sync_ms::message::VERSION as SYNC;
use libfuzzer_sys::fuzz_target;

const RELAY: PeerId = PeerId(0);
const ORDERS: [&str; 5] = ["reaction", "max-wait", "select-wait", "toss-wait=100:50,10:50", "none"];

/// Answers everything, and does what messages say with its objects.
#[derive(Debug, Default)]
struct Logic {
    present: BTreeSet<PeerId>,
}

impl GameLogic for Logic {
    fn joined(&mut self, player: PeerId, name: &str, outbox: &mut GameOutbox) {
        assert!(self.present.insert(player), "{player:?} joins twice");
        outbox.send(player, name.as_bytes());
    }

    fn left(&mut self, player: PeerId, outbox: &mut GameOutbox) {
        assert!(self.present.remove(&player), "{player:?} leaves, but never joined");
        outbox.broadcast(b"bye");
    }

    fn message(&mut self, from: PeerId, message: &[u8], outbox: &mut GameOutbox) -> Result<(), Malformed> {
        assert!(self.present.contains(&from), "a message of {from:?}, which is not here");
        match message {
            // No honest player sends that.
            [0xff, ..] => return Err(Malformed::Field),
            [b'o', rest @ ..] => {
                let mut feed = Feed::new(rest);
                let command = ships::room_command(&mut feed);
                obey(command, &mut feed, outbox);
            }
            _ => {}
        }
        outbox.broadcast_datagram(message);
        outbox.send(from, message);
        Ok(())
    }

    fn action(&mut self, action: &Action, outbox: &mut GameOutbox) -> Result<(), Malformed> {
        outbox.update(None, &action.bytes);
        outbox.update_datagram(Some(action.from), b"done");
        if action.bytes.is_empty() { Err(Malformed::Field) } else { Ok(()) }
    }

    fn tick(&mut self, _: SessionTime, entities: &[RoomEntity], outbox: &mut GameOutbox) {
        assert!(!self.present.is_empty(), "a tick of an empty room");
        outbox.broadcast_datagram(&[entities.len() as u8]);
    }

    fn objects(&self) -> ObjectRoomConfig {
        let area = Area::Radius { enter: 20.0, leave: 25.0 };
        ObjectRoomConfig { schema: &GAME, area, ..ObjectRoomConfig::default() }
    }

    fn interest(&self, _: PeerId, object: &ObjectView<'_>) -> Interest {
        let is_cloaked = object.kind == Ship::KIND && *object.values[1] == [7];
        if is_cloaked { Interest::Hidden } else { Interest::ByArea }
    }

    fn object_event(&mut self, event: &ObjectRoomEvent, outbox: &mut GameOutbox) {
        if let ObjectRoomEvent::Created { object, .. } = event {
            outbox.objects_mut().update(*object, |ship: &mut Ship| ship.health = 100);
        }
    }
}

/// Does with the room's objects what a command says, and moves some.
fn obey(command: ObjectRoomCommand, feed: &mut Feed<'_>, outbox: &mut GameOutbox) {
    match command {
        ObjectRoomCommand::Place { object, at } => {
            let state = settings::state(feed);
            outbox.objects_mut().place(object, at);
            outbox.observe(object, state);
        }
        ObjectRoomCommand::Destroy { object } => drop(outbox.objects_mut().destroy(object)),
        ObjectRoomCommand::Give { object, to } => drop(outbox.objects_mut().give(object, to)),
        ObjectRoomCommand::Create { .. } => {
            let board = ships::Board { scores: vec![1, 2], title: "t".into() };
            outbox.objects_mut().create_object(&board, None);
        }
        _ => {}
    }
}

enum Node {
    Room(Box<GameRoom<Logic, AnyClock>>),
    Player(Box<GamePlayer<AnyClock>>),
}

#[derive(Clone)]
enum Command {
    Room(RoomCommand),
    Player(PlayerCommand),
}

#[derive(PartialEq, Debug)]
enum Event {
    Room(RoomEvent),
    Player(PlayerEvent),
}

impl Endpoint for Node {
    type Command = Command;
    type Event = Event;

    delegate_endpoint!(match self { Room, Player }: handle_message, handle_peer, handle_timeout, poll_transmit, poll_timeout);

    fn handle_command(&mut self, now: LocalTime, command: Command) {
        match (self, command) {
            (Self::Room(room), Command::Room(command)) => room.handle_command(now, command),
            (Self::Player(player), Command::Player(command)) => player.handle_command(now, command),
            _ => unreachable!("commands are made for the node that handles them"),
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        match self {
            Self::Room(room) => room.poll_event().map(Event::Room),
            Self::Player(player) => player.poll_event().map(Event::Player),
        }
    }
}

struct Game {
    config: GameConfig,
    is_synchronized: bool,
}

impl Rules for Game {
    type Node = Node;
    const NODES: usize = 4;

    fn build(&self, node: usize) -> Node {
        let clock = match (self.is_synchronized, node) {
            (true, _) => AnyClock::Synchronized(Synchronized),
            (false, 0) => AnyClock::Server(ServerClock::default()),
            (false, _) => AnyClock::follower(RELAY),
        };
        if node == 0 {
            return Node::Room(Box::new(GameRoom::with_clock(&self.config, clock, Logic::default())));
        }
        Node::Player(Box::new(GamePlayer::with_clock(&self.config, RELAY, clock).with_schema(&GAME)))
    }

    fn is_linked(&self, one: usize, other: usize) -> bool {
        one == 0 || other == 0
    }

    fn command(&mut self, node: usize, feed: &mut Feed<'_>) -> Command {
        if node == 0 {
            return Command::Room(match feed.below(8) {
                0..3 => RoomCommand::Relay(settings::relay_command(feed)),
                3..6 => {
                    let order = feed.pick(&ORDERS).parse().expect("an order");
                    RoomCommand::Sync(SmsCommand::Switch { order, sync_out: feed.once_in(2) })
                }
                _ => RoomCommand::Named { player: PeerId(feed.small()), name: "ada".to_owned() },
            });
        }
        let channel = feed.pick(&[Channel::Datagram, Channel::Reliable]);
        Command::Player(match feed.below(16) {
            0..5 => PlayerCommand::Motion(settings::command(feed)),
            5..10 => PlayerCommand::Object(ships::command(node, feed)),
            10 | 11 => PlayerCommand::Act {
                reliable: feed.once_in(2),
                bytes: vec![8; feed.pick(&[4, 0, 900, 4_000])],
            },
            12 => PlayerCommand::Send { channel, bytes: vec![7; feed.pick(&[3, 0, 1_100, 70_000])] },
            _ => {
                let bytes = [b"o", feed.slice(12)].concat();
                PlayerCommand::Send { channel, bytes }
            }
        })
    }

    fn forge(&self, feed: &mut Feed<'_>) -> Vec<u8> {
        let mut bytes = match feed.below(4) {
            0 => vec![MESSAGE],
            1 => vec![SYNC],
            2 => return ships::forge(feed),
            _ => Vec::new(),
        };
        bytes.extend_from_slice(feed.slice(40));
        bytes
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut feed = Feed::new(bytes);
    let dr = settings::config(Topology::Relay(RELAY), &mut feed);
    let rules = Game { config: dr.into(), is_synchronized: feed.once_in(2) };
    Play::new(rules, &mut feed).run(&mut feed);
});
