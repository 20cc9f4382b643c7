//! A room of objects and its players' machines, driven by the input. After a calm time on an honest network, every player has
//! exactly what is in its scope, as the server has it.

#![no_main]

use evenkeel_core::{Endpoint, LocalTime};
use evenkeel_core::{PeerId, Seed, Span, delegate_endpoint};
use evenkeel_fuzz::feed::Feed;
use evenkeel_fuzz::play::{Play, Rules};
use evenkeel_fuzz::ships::{self, GAME};
use evenkeel_objects::{
    Area, ObjectCommand, ObjectEvent, ObjectId, ObjectPeer, ObjectPeerConfig, ObjectRoom, ObjectRoomCommand,
    ObjectRoomConfig, ObjectRoomEvent, Quotas,
};
use libfuzzer_sys::fuzz_target;

const RELAY: PeerId = PeerId(0);

enum Node {
    Room(Box<ObjectRoom>),
    Peer(Box<ObjectPeer>),
}

#[derive(Clone)]
enum Command {
    Room(ObjectRoomCommand),
    Peer(ObjectCommand),
}

#[derive(PartialEq, Debug)]
enum Event {
    Room(ObjectRoomEvent),
    Peer(ObjectEvent),
}

impl Endpoint for Node {
    type Command = Command;
    type Event = Event;

    delegate_endpoint!(match self { Room, Peer }: handle_message, handle_peer, handle_timeout, poll_transmit, poll_timeout);

    fn handle_command(&mut self, now: LocalTime, command: Command) {
        match (self, command) {
            (Self::Room(room), Command::Room(command)) => room.handle_command(now, command),
            (Self::Peer(peer), Command::Peer(command)) => peer.handle_command(now, command),
            _ => unreachable!("commands are made for the node that handles them"),
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        match self {
            Self::Room(room) => room.poll_event().map(Event::Room),
            Self::Peer(peer) => peer.poll_event().map(Event::Peer),
        }
    }
}

struct Objects {
    config: ObjectRoomConfig,
}

impl Objects {
    fn new(feed: &mut Feed<'_>) -> Self {
        let tight = Quotas { objects: 2, births_per_second: 1.0, ..Quotas::default() };
        let near = Area::Radius { enter: 10.0, leave: 12.0 };
        let config = ObjectRoomConfig {
            schema: &GAME,
            server: RELAY,
            area: feed.pick(&[Area::Everywhere, near]),
            bits_per_second: feed.pick(&[None, Some(200_000.0)]),
            quotas: feed.pick(&[Quotas::default(), tight]),
            objects_max: feed.pick(&[4_096, 5]),
            remember: feed.pick(&[Span::from_secs(60), Span::ZERO]),
            look_speed_max: feed.pick(&[f64::INFINITY, 5.0]),
            ..ObjectRoomConfig::default()
        };
        Self { config }
    }
}

impl Rules for Objects {
    type Node = Node;
    const NODES: usize = 4;

    fn build(&self, node: usize) -> Node {
        if node == RELAY.0 as usize {
            return Node::Room(Box::new(ObjectRoom::new(&self.config)));
        }
        let (tick, seed) = (Span::from_millis(20), Seed::new(node as u64));
        Node::Peer(Box::new(ObjectPeer::new(&ObjectPeerConfig { relay: RELAY, schema: &GAME, tick, seed })))
    }

    fn is_linked(&self, one: usize, other: usize) -> bool {
        one == 0 || other == 0
    }

    fn command(&mut self, node: usize, feed: &mut Feed<'_>) -> Command {
        if node == 0 {
            Command::Room(ships::room_command(feed))
        } else {
            Command::Peer(ships::command(node, feed))
        }
    }

    fn forge(&self, feed: &mut Feed<'_>) -> Vec<u8> {
        ships::forge(feed)
    }

    fn check_node(&self, _: usize, machine: &Node) {
        let Node::Room(room) = machine else { return };
        let count = room.objects().count();
        assert!(count <= self.config.objects_max, "{count} objects");
        for player in room.players() {
            let owned = room.objects().filter(|view| view.owner.player() == Some(player)).count();
            assert!(owned <= count, "{player:?} owns {owned}");
        }
    }

    fn check_settled(&self, machines: &[&Node]) {
        let Node::Room(room) = machines[0] else { unreachable!("it is the first") };
        for (number, machine) in machines.iter().enumerate() {
            let (Node::Peer(peer), player) = (machine, PeerId(number as u32)) else { continue };
            if !room.players().any(|one| one == player) {
                continue;
            }
            let is_seen = |object: &ObjectId| room.watchers(*object).any(|watcher| watcher == player);
            let seen = room.objects().filter(|view| is_seen(&view.object));
            let seen: Vec<_> = seen.map(|view| (view.object, view.kind, view.owner, view.values)).collect();
            let known: Vec<_> = peer.objects().collect();
            assert!(known.iter().eq(seen.iter()), "player {number} knows {known:?}, not {seen:?}");
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut feed = Feed::new(bytes);
    let rules = Objects::new(&mut feed);
    Play::new(rules, &mut feed).run(&mut feed);
});
