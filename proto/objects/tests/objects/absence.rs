//! A lost connection: what a player owns waits for it, unseen, and comes back as it was.

use evenkeel_core::{Span, Vec3};
use evenkeel_objects::{
    Gone, ObjectCommand, ObjectEvent, ObjectId, ObjectRoomConfig, ObjectRoomEvent, Owner,
};

use crate::net::{Net, Ship, id, peer};

fn ship() -> Ship {
    Ship { name: "ship".into(), colour: 1, health: 0, load: Vec::new() }
}

/// Two players, and a ship of the first that the server has hit.
fn hit() -> (Net, ObjectId) {
    let config = ObjectRoomConfig { remember: Span::from_secs(5), ..ObjectRoomConfig::default() };
    let mut net = Net::new(config, 2, 1);
    net.run(200);
    let object = net.create(0, 0, &ship());
    net.run(200);
    net.room.place(object, Vec3::ZERO);
    net.room.update(object, |ship: &mut Ship| ship.health = 7);
    net.run(300);
    net.assert_settled();
    (net, object)
}

fn health(net: &Net, object: ObjectId) -> Option<u16> {
    net.room.read::<Ship>(object).map(|ship| ship.health)
}

fn created(net: &Net, object: ObjectId) -> usize {
    let is_it = |event: &&ObjectRoomEvent| matches!(event, ObjectRoomEvent::Created { object: it, .. } if *it == object);
    net.events.iter().filter(is_it).count()
}

#[test]
fn reconnecting_does_not_reset_what_the_server_writes() {
    let (mut net, object) = hit();
    net.leave(0);
    net.set(0, object, 1, vec![9].into());
    net.run(1_000);
    assert_eq!(net.copy(1, object), None, "nobody sees it meanwhile");
    let gone = ObjectEvent::Gone { object, why: Gone::OutOfScope };
    assert!(net.seats[1].events.contains(&gone));
    assert!(net.room.object(object).is_some_and(|view| view.is_held));
    // The game may go on with it.
    net.room.update(object, |ship: &mut Ship| ship.health -= 1);
    net.join(0);
    net.run(500);
    let back = Ship { health: 6, colour: 9, ..ship() };
    assert_eq!(net.room.read::<Ship>(object), Some(back));
    assert!(net.room.object(object).is_some_and(|view| !view.is_held));
    assert_eq!((created(&net, object), net.room.refusals(peer(0)).total()), (1, 0));
    assert!(net.copy(1, object).is_some());
    net.assert_settled();
    // It is as much its owner's as before.
    net.set(0, object, 1, vec![10].into());
    net.room.update(object, |ship: &mut Ship| ship.health = 3);
    net.run(300);
    assert_eq!(net.room.read::<Ship>(object), Some(Ship { health: 3, colour: 10, ..ship() }));
    net.assert_settled();
}

#[test]
fn what_is_destroyed_while_away_does_not_come_back() {
    let (mut net, object) = hit();
    net.leave(0);
    net.command(0, ObjectCommand::Destroy { object });
    net.run(500);
    net.join(0);
    net.run(500);
    assert_eq!((net.original(object), net.copy(0, object), net.copy(1, object)), (None, None, None));
}

#[test]
fn what_an_absent_player_has_goes_once_it_is_forgotten() {
    let (mut net, object) = hit();
    net.leave(0);
    net.run(4_000);
    assert_eq!(health(&net, object), Some(7));
    net.run(2_000);
    assert_eq!(health(&net, object), None);
    assert!(net.events.contains(&ObjectRoomEvent::Destroyed { object }));
    net.join(0);
    net.run(500);
    assert_eq!((health(&net, object), created(&net, object)), (Some(0), 2), "it begins anew");
}

#[test]
fn another_machine_of_the_player_has_nothing_of_the_earlier_one() {
    let (mut net, object) = hit();
    net.leave(0);
    net.seats[0].machine = Net::machine(99);
    net.join(0);
    net.run(500);
    assert_eq!(net.original(object), None);
    let next = net.create(0, 1, &ship());
    net.run(300);
    assert_eq!(health(&net, next), Some(0));
    net.assert_settled();
}

#[test]
fn what_an_absent_player_was_given_waits_for_it_too() {
    let (mut net, object) = hit();
    net.command(0, ObjectCommand::Give { object, to: Owner::Player(peer(1)) });
    net.run(300);
    net.leave(1);
    net.run(300);
    assert_eq!(net.copy(0, object), None);
    net.join(1);
    net.run(500);
    assert_eq!(net.original(object).map(|(owner, _)| owner), Some(Owner::Player(peer(1))));
    net.set(1, id(0, 0), 1, vec![44].into());
    net.run(300);
    assert_eq!(net.room.read::<Ship>(object), Some(Ship { health: 7, colour: 44, ..ship() }));
    net.assert_settled();
}

#[test]
fn what_passed_on_and_back_is_not_overwritten_by_what_a_returning_player_had() {
    let (mut net, object) = hit();
    net.leave(0);
    net.set(0, object, 1, vec![9].into());
    net.room.give(object, Owner::Server);
    net.room.update(object, |ship: &mut Ship| ship.colour = 5);
    net.join(0);
    // The server has greeted it, and hears of the object later.
    net.run(45);
    assert!(net.room.players().any(|player| player == peer(0)));
    net.room.give(object, Owner::Player(peer(0)));
    net.run(500);
    assert_eq!(net.room.read::<Ship>(object), Some(Ship { health: 7, colour: 5, ..ship() }));
    net.assert_settled();
    net.set(0, object, 1, vec![10].into());
    net.run(300);
    assert_eq!(net.room.read::<Ship>(object), Some(Ship { health: 7, colour: 10, ..ship() }));
    net.assert_settled();
}

#[test]
fn what_passes_on_and_back_before_its_owner_tells_of_it_again_is_the_same_for_all() {
    let (mut net, object) = hit();
    net.leave(0);
    net.set(0, object, 1, vec![9].into());
    net.join(0);
    net.run(45);
    net.room.give(object, Owner::Server);
    net.room.update(object, |ship: &mut Ship| ship.colour = 5);
    net.room.give(object, Owner::Player(peer(0)));
    net.run(500);
    assert_eq!(net.room.read::<Ship>(object), Some(Ship { health: 7, colour: 5, ..ship() }));
    net.assert_settled();
}

#[test]
fn what_the_server_destroys_while_its_owner_is_away_is_not_born_anew() {
    for is_back in [false, true] {
        let (mut net, object) = hit();
        net.leave(0);
        net.set(0, object, 1, vec![9].into());
        if is_back {
            net.join(0);
            net.run(45);
        }
        net.room.destroy(object);
        if !is_back {
            net.join(0);
        }
        // It goes on changing what it does not know to be gone.
        net.run(45);
        net.set(0, object, 1, vec![10].into());
        net.run(500);
        assert_eq!((net.original(object), net.copy(0, object), net.copy(1, object)), (None, None, None));
        let denied = |event: &&ObjectEvent| matches!(event, ObjectEvent::Denied { .. });
        assert_eq!(net.seats[0].events.iter().filter(denied).count(), usize::from(!is_back));
        // Its name is free.
        net.create(0, 0, &ship());
        net.run(500);
        assert_eq!(health(&net, object), Some(0));
        net.assert_settled();
    }
}
