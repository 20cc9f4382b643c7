//! Connections of one player that come and go in whatever order.

use super::*;

fn rooms() -> Rooms {
    Rooms::new(RelayConfig::default(), Seed::new(1))
}

fn enter(rooms: &mut Rooms) -> Entry {
    let name = |text| Name::new(text).expect("a name");
    rooms.enter(&name("arena"), &name("ada")).expect("there is a place")
}

/// A connection that has got in.
struct There(NodeId, PeerId, Arc<PeerCounters>);

fn come(rooms: &mut Rooms, entry: Entry) -> There {
    let there = There(entry.node, entry.peer, Arc::default());
    rooms.came(entry, there.2.clone());
    there
}

fn go(rooms: &mut Rooms, There(node, peer, counters): There) {
    rooms.went(node, peer, &counters);
}

/// How many are listed, and whether the room counts as empty.
fn books(rooms: &Rooms) -> (usize, bool) {
    let (_, room) = rooms.iter().next().expect("there is a room");
    (room.present().count(), room.is_empty())
}

#[test]
fn a_second_connection_that_fails_leaves_the_first_in_the_books() {
    let rooms = &mut rooms();
    let entry = enter(rooms);
    let first = come(rooms, entry);
    let second = enter(rooms);
    rooms.did_not_come(second);
    assert_eq!(books(rooms), (1, false));
    go(rooms, first);
    assert_eq!(books(rooms), (0, true));
}

#[test]
fn a_first_connection_that_dies_leaves_the_second_its_place() {
    let rooms = &mut rooms();
    let entry = enter(rooms);
    let first = come(rooms, entry);
    let entry = enter(rooms);
    go(rooms, first);
    assert_eq!(books(rooms), (0, false));
    let second = come(rooms, entry);
    assert_eq!(books(rooms), (1, false));
    go(rooms, second);
    assert_eq!(books(rooms), (0, true));
}

#[test]
fn the_end_of_a_replaced_connection_is_not_that_of_the_next() {
    let rooms = &mut rooms();
    let entry = enter(rooms);
    let first = come(rooms, entry);
    let entry = enter(rooms);
    let second = come(rooms, entry);
    go(rooms, first);
    assert_eq!(books(rooms), (1, false));
    go(rooms, second);
    assert_eq!(books(rooms), (0, true));
}

#[test]
fn connections_that_overtake_each_other_leave_nothing_behind() {
    let rooms = &mut rooms();
    let (slow, fast) = (enter(rooms), enter(rooms));
    let fast = come(rooms, fast);
    let slow = come(rooms, slow);
    go(rooms, fast);
    assert_eq!(books(rooms), (1, false));
    go(rooms, slow);
    assert_eq!(books(rooms), (0, true));
}

#[test]
fn a_number_is_not_given_away_while_its_player_is_on_its_way_in() {
    let rooms = &mut rooms();
    let ada = enter(rooms);
    let name = |text: &str| Name::new(text).expect("a name");
    let bob = rooms.enter(&name("arena"), &name("bob")).expect("there is a place");
    assert_ne!(ada.peer, bob.peer);
    assert_eq!(enter(rooms).peer, ada.peer);
}
