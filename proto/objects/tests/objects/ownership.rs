//! Objects come into being, pass on and go, with one owner at a time.

use evenkeel_core::{Seed, Span};
use evenkeel_objects::{
    Denied, Gone, Object, ObjectCommand, ObjectEvent, ObjectPeer, ObjectPeerConfig, ObjectRoomConfig, Owner,
    Schema,
};

use crate::net::{Board, GAME, Net, RELAY, Ship, id, peer};

fn ship(name: &str) -> Ship {
    Ship { name: name.into(), colour: 1, health: 999, load: Vec::new() }
}

fn quiet(players: usize) -> Net {
    let mut net = Net::new(ObjectRoomConfig::default(), players, 1);
    net.run(300);
    net
}

#[test]
fn late_joiner_gets_everything_and_only_changes_travel() {
    let mut net = quiet(1);
    net.add();
    let mine = net.create(0, 0, &ship("ada"));
    net.run(200);
    net.room.place(mine, evenkeel_core::Vec3::ZERO);
    let board = net.room.create_object(&Board { scores: vec![3], title: "t".into() }, None).expect("room");
    net.run(500);
    net.join(1);
    net.run(300);
    let (owner, values) = net.copy(1, mine).expect("in scope");
    let expected = Ship { health: 0, ..ship("ada") };
    assert_eq!((owner, Ship::from_values(&values)), (Owner::Player(peer(0)), Ok(expected)));
    assert_eq!(net.copy(1, board).map(|(owner, _)| owner), Some(Owner::Server));
    let before = net.room.bytes_sent();
    net.run(1_000);
    assert_eq!(net.room.bytes_sent(), before, "nothing travels while nothing changes");
    net.set(0, mine, 1, vec![9].into());
    net.run(500);
    let changed = ObjectEvent::Changed { object: mine, values: vec![(1, vec![9].into())] };
    assert_eq!(net.seats[1].events.iter().filter(|event| **event == changed).count(), 1);
    net.assert_settled();
}

#[test]
fn ownership_passes_to_a_player_and_to_the_server() {
    let mut net = quiet(3);
    let flag = net.create(0, 0, &ship("flag"));
    net.run(200);
    net.room.place(flag, evenkeel_core::Vec3::ZERO);
    net.run(300);
    net.command(0, ObjectCommand::Give { object: flag, to: Owner::Player(peer(1)) });
    net.run(300);
    // Only the new owner's word counts.
    net.set(0, flag, 1, vec![50].into());
    net.set(1, flag, 1, vec![60].into());
    net.run(300);
    net.assert_settled();
    let (owner, values) = net.original(flag).expect("it exists");
    assert_eq!((owner, &*values[1]), (Owner::Player(peer(1)), &[60][..]));
    assert!(net.room.give(flag, Owner::Server));
    net.run(300);
    net.set(1, flag, 1, vec![70].into());
    assert!(net.room.set(flag, 1, &[80]));
    net.run(300);
    net.assert_settled();
    assert_eq!(net.copy(2, flag).map(|(_, values)| values[1].to_vec()), Some(vec![80]));
}

#[test]
fn objects_of_a_player_that_is_forgotten_go_and_given_ones_stay() {
    let config = ObjectRoomConfig { remember: Span::from_secs(2), ..ObjectRoomConfig::default() };
    let mut net = Net::new(config, 2, 1);
    net.run(300);
    let (own, given) = (net.create(0, 0, &ship("own")), net.create(1, 0, &ship("given")));
    for object in [own, given] {
        net.run(200);
        net.room.place(object, evenkeel_core::Vec3::ZERO);
    }
    net.command(1, ObjectCommand::Give { object: given, to: Owner::Player(peer(0)) });
    net.run(300);
    net.leave(0);
    net.run(300);
    let gone = ObjectEvent::Gone { object: own, why: Gone::OutOfScope };
    assert!(net.seats[1].events.contains(&gone));
    net.run(2_000);
    assert_eq!(net.original(own), None);
    assert_eq!(net.original(given).map(|(owner, _)| owner), Some(Owner::Server));
    net.assert_settled();
    net.join(0);
    net.run(500);
    // What is its own comes back with it; what it was given is the server's now.
    assert_eq!(net.original(own).map(|(owner, _)| owner), Some(Owner::Player(peer(0))));
    net.assert_settled();
}

#[test]
fn name_that_is_taken_is_denied() {
    let mut net = quiet(2);
    net.create(0, 0, &ship("first"));
    net.run(200);
    let (object, values) = (id(0, 0), ship("thief").values());
    net.command(1, ObjectCommand::Create { object, kind: Ship::KIND, values });
    net.run(300);
    assert!(net.seats[1].events.contains(&ObjectEvent::Denied { object, why: Denied::Name }));
    assert_eq!(net.room.refusals(peer(1)).names, 1);
    net.room.place(object, evenkeel_core::Vec3::ZERO);
    net.run(300);
    net.assert_settled();
}

#[test]
fn another_players_name_taken_before_the_welcome_is_given_up() {
    let mut net = Net::new(ObjectRoomConfig::default(), 2, 1);
    let (object, values) = (id(0, 0), ship("thief").values());
    net.command(1, ObjectCommand::Create { object, kind: Ship::KIND, values });
    net.run(300);
    let events = &net.seats[1].events;
    assert!(events.contains(&ObjectEvent::Denied { object, why: Denied::Name }), "{events:?}");
    assert!(events.contains(&ObjectEvent::Gone { object, why: Gone::Destroyed }), "{events:?}");
    net.assert_settled();
}

#[test]
fn another_schema_is_refused_with_words() {
    static OTHER: Schema = Schema { name: "test", objects: &[], messages: GAME_MESSAGES };
    const GAME_MESSAGES: &[evenkeel_objects::MessageKind] =
        &[evenkeel_objects::MessageKind { name: "Note", describe: |_| (), check: |_| Ok(()) }];
    let mut net = quiet(1);
    net.add();
    net.seats[1].machine = ObjectPeer::new(&ObjectPeerConfig {
        relay: RELAY,
        schema: &OTHER,
        tick: Span::from_millis(20),
        seed: Seed::new(3),
    });
    net.join(1);
    net.run(300);
    let words = net.seats[1].events.iter().find_map(|event| match event {
        ObjectEvent::Refused(words) => Some(words.clone()),
        _ => None,
    });
    let words = words.expect("refused");
    assert!(words.contains("the relay has \"planar object Ship") && words.contains("update"), "{words}");
    assert_eq!(net.room.players().count(), 1);
    assert!(GAME.mismatch(&GAME.description()).is_none());
}
