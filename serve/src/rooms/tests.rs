//! Connections of one player that come and go in any order.

use super::*;

fn rooms() -> Rooms {
    Rooms::new(RelayConfig::default(), Seed::new(1), 1)
}

fn reserve(rooms: &mut Rooms) -> Reservation {
    let name = |text| Name::new(text).expect("a name");
    rooms.reserve(&name("arena"), &name("ada")).expect("there is space")
}

/// An open connection.
struct Open(NodeId, PeerId, Arc<PeerCounters>);

fn confirm(rooms: &mut Rooms, reservation: Reservation) -> Open {
    let open = Open(reservation.node, reservation.peer, Arc::default());
    rooms.confirm(reservation, open.2.clone());
    open
}

fn leave(rooms: &mut Rooms, Open(node, peer, counters): Open) {
    rooms.leave(node, peer, &counters);
}

/// Returns the number of listed players, and whether the room counts as empty.
fn state(rooms: &Rooms) -> (usize, bool) {
    let (_, room) = rooms.iter().next().expect("there is a room");
    (room.players().count(), room.is_empty())
}

#[test]
fn new_rooms_go_to_the_thread_with_the_fewest_players() {
    let config = RelayConfig { rooms_max: 8, ..RelayConfig::default() };
    let mut rooms = Rooms::new(config, Seed::new(1), 2);
    let mut enter = |room: &str, player: &str| {
        let name = |text| Name::new(text).expect("a name");
        rooms.reserve(&name(room), &name(player)).expect("there is space").node
    };
    let nodes =
        [enter("a", "ada"), enter("b", "bob"), enter("a", "cyd"), enter("c", "dan"), enter("d", "eve")];
    assert_eq!(nodes, [0, 1, 0, 3, 2].map(NodeId), "d goes where two play in one room, not in two");
}

#[test]
fn a_failed_second_connection_leaves_the_first_listed() {
    let rooms = &mut rooms();
    let reservation = reserve(rooms);
    let first = confirm(rooms, reservation);
    let second = reserve(rooms);
    rooms.cancel(second);
    assert_eq!(state(rooms), (1, false));
    leave(rooms, first);
    assert_eq!(state(rooms), (0, true));
}

#[test]
fn the_end_of_the_first_connection_leaves_the_second_its_slot() {
    let rooms = &mut rooms();
    let reservation = reserve(rooms);
    let first = confirm(rooms, reservation);
    let reservation = reserve(rooms);
    leave(rooms, first);
    assert_eq!(state(rooms), (0, false));
    let second = confirm(rooms, reservation);
    assert_eq!(state(rooms), (1, false));
    leave(rooms, second);
    assert_eq!(state(rooms), (0, true));
}

#[test]
fn the_end_of_a_replaced_connection_does_not_end_its_successor() {
    let rooms = &mut rooms();
    let reservation = reserve(rooms);
    let first = confirm(rooms, reservation);
    let reservation = reserve(rooms);
    let second = confirm(rooms, reservation);
    leave(rooms, first);
    assert_eq!(state(rooms), (1, false));
    leave(rooms, second);
    assert_eq!(state(rooms), (0, true));
}

#[test]
fn connections_that_overtake_each_other_leave_nothing_behind() {
    let rooms = &mut rooms();
    let (slow, fast) = (reserve(rooms), reserve(rooms));
    let fast = confirm(rooms, fast);
    let slow = confirm(rooms, slow);
    leave(rooms, fast);
    assert_eq!(state(rooms), (1, false));
    leave(rooms, slow);
    assert_eq!(state(rooms), (0, true));
}

#[test]
fn a_reserved_number_is_not_given_to_another_player() {
    let rooms = &mut rooms();
    let ada = reserve(rooms);
    let name = |text: &str| Name::new(text).expect("a name");
    let bob = rooms.reserve(&name("arena"), &name("bob")).expect("there is space");
    assert_ne!(ada.peer, bob.peer);
    assert_eq!(reserve(rooms).peer, ada.peer);
}
