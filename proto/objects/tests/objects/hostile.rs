//! Hostile members: what they may not do is refused and counted, and nobody else notices.

use evenkeel_core::{Channel, Endpoint, Rejected, Vec3, Wire};
use evenkeel_objects::{
    Area, Delivery, Object, ObjectCommand, ObjectEvent, ObjectRoomConfig, ObjectRoomEvent, Quotas, Target,
};

use crate::net::{Net, Ship, id, note, peer};

fn ship(name: &str) -> Ship {
    Ship { name: name.into(), colour: 1, health: 0, load: Vec::new() }
}

/// A room with a victim (0), a villain (1) and a witness (2), each with a ship.
fn room(config: ObjectRoomConfig) -> Net {
    let mut net = Net::new(config, 3, 1);
    net.run(200);
    for seat in 0..3 {
        let object = net.create(seat, 0, &ship("ship"));
        net.run(150);
        net.room.place(object, Vec3::xy(seat as f64, 0.0));
    }
    net.run(300);
    net.assert_settled();
    net
}

/// What the others have seen so far.
fn noticed(net: &Net) -> [usize; 2] {
    [0, 2].map(|seat| net.seats[seat].events.len())
}

#[test]
fn anothers_object_is_not_to_be_taken_given_or_changed() {
    let mut net = room(ObjectRoomConfig::default());
    let (before, original) = (noticed(&net), net.original(id(0, 0)));
    // Forged by hand: an honest machine sends none of this.
    let victim = id(0, 0).0;
    let mut adopt = vec![0x51, 7, 40];
    victim.emit(&mut adopt);
    let mut give = vec![0x51, 8];
    victim.emit(&mut give);
    give.push(1 + 2);
    for bytes in [&adopt, &give] {
        net.room.handle_message(net.now, peer(1), Channel::Reliable, bytes).expect("well formed");
    }
    // A value for the slot that was not adopted, and one for a field of its own ship that the server writes.
    let head = |number: u8| vec![0x51, number, 0, 0, 0, 120];
    let mut foreign = head(110);
    foreign.extend([8, 40, 2, 2, 9]);
    let mut health = head(111);
    health.extend([8, 0, 2, 4, 99]);
    for bytes in [&foreign, &health] {
        net.room.handle_message(net.now, peer(1), Channel::Datagram, bytes).expect("well formed");
    }
    net.run(500);
    assert_eq!(net.room.refusals(peer(1)).foreign, 3);
    assert_eq!((net.original(id(0, 0)), noticed(&net)), (original, before));
    assert_eq!(net.room.read::<Ship>(id(1, 0)).map(|ship| ship.health), Some(0));
}

#[test]
fn endless_names_are_refused() {
    let quotas = Quotas { objects: 20, ..Quotas::default() };
    let mut net = room(ObjectRoomConfig { quotas, ..ObjectRoomConfig::default() });
    let before = noticed(&net);
    for local in 1..2_000 {
        net.create(1, local, &ship("more"));
    }
    net.run(2_000);
    let owned = net.room.objects().filter(|view| view.owner.player() == Some(peer(1))).count();
    assert!(owned <= 20, "{owned}");
    assert!(net.room.refusals(peer(1)).objects >= 1_900);
    assert_eq!(noticed(&net), before, "nothing of it moved into anybody's scope");
    let denied = |event: &&ObjectEvent| matches!(event, ObjectEvent::Denied { .. });
    assert!(net.seats[1].events.iter().filter(denied).count() >= 1_900);
}

#[test]
fn call_floods_are_refused_and_others_are_heard() {
    let mut net = room(ObjectRoomConfig::default());
    for number in 0..60_000 {
        net.call(1, Target::Room, Delivery::Unreliable, &note(number));
        net.call(1, Target::Room, Delivery::ReliableOrdered, &note(number));
        if number % 500 == 0 {
            net.call(0, Target::Room, Delivery::ReliableOrdered, &note(number));
            net.run(20);
        }
    }
    net.run(3_000);
    let has_stalled = net.events.iter().any(|event| matches!(event, ObjectRoomEvent::Stalled { .. }));
    assert!(!has_stalled, "nobody is put out by it");
    let refusals = net.room.refusals(peer(1));
    assert!(refusals.calls + refusals.changes > 1_000, "{refusals:?}");
    assert_eq!(net.room.refusals(peer(0)).total(), 0);
    let heard = net.notes(2, Delivery::ReliableOrdered);
    let of_the_victim: Vec<u32> = (0..60_000).step_by(500).collect();
    assert!(of_the_victim.iter().all(|number| heard.contains(number)));
    net.set(0, id(0, 0), 1, vec![200].into());
    net.run(500);
    assert_eq!(net.copy(2, id(0, 0)), net.original(id(0, 0)));
}

#[test]
fn who_leaps_about_sees_no_more_than_who_walks() {
    let area = Area::Radius { enter: 10.0, leave: 12.0 };
    let config = ObjectRoomConfig { area, look_speed_max: 20.0, ..ObjectRoomConfig::default() };
    let mut net = room(config);
    net.room.place(id(0, 0), Vec3::xy(300.0, 0.0));
    net.run(400);
    assert!(net.copy(1, id(0, 0)).is_none());
    let seen = net.seats[1].events.len();
    for step in 0..40 {
        let x = if step % 2 == 0 { 300.0 } else { 0.0 };
        net.room.place(id(1, 0), Vec3::xy(x, 0.0));
        net.run(100);
    }
    let news = &net.seats[1].events[seen..];
    let is_victim =
        |event: &ObjectEvent| matches!(event, ObjectEvent::Created { object, .. } if *object == id(0, 0));
    assert!(!news.iter().any(is_victim));
    assert!(net.room.refusals(peer(1)).leaps > 10);
}

#[test]
fn speaking_to_anothers_scope_is_refused() {
    let mut net = room(ObjectRoomConfig::default());
    net.call(1, Target::Scope(id(0, 0)), Delivery::ReliableOrdered, &note(1));
    net.call(0, Target::Scope(id(0, 0)), Delivery::ReliableOrdered, &note(2));
    net.run(500);
    assert_eq!(net.room.refusals(peer(1)).calls, 1);
    assert_eq!(net.notes(2, Delivery::ReliableOrdered), [2]);
}

#[test]
fn nonsense_is_rejected() {
    let mut net = room(ObjectRoomConfig::default());
    let now = net.now;
    let mut rejects =
        |channel, bytes: &[u8]| net.room.handle_message(now, peer(1), channel, bytes).expect_err("nonsense");
    assert!(matches!(rejects(Channel::Reliable, &[0x51]), Rejected::Malformed(_)));
    assert!(matches!(rejects(Channel::Reliable, &[0x52, 1]), Rejected::Malformed(_)));
    assert_eq!(rejects(Channel::Reliable, &[0x02, 1]), Rejected::Unexpected);
    // A welcome, and a message of no kind.
    assert_eq!(rejects(Channel::Reliable, &[0x51, 2, 1, 0, 0, 0, 1, 0]), Rejected::Unexpected);
    assert_eq!(rejects(Channel::Reliable, &[0x51, 10, 0, 5, 0, 77, 0]), Rejected::OutOfRange);
    // A field of its ship that is cut off.
    let cut = [0x51, 100, 0, 0, 0, 120, 8, 0, 2, 8, 5];
    assert!(matches!(rejects(Channel::Datagram, &cut), Rejected::Malformed(_)));
    let object = id(1, 1);
    net.command(1, ObjectCommand::Create { object, kind: 9, values: ship("x").values() });
    net.run(200);
    assert_eq!(net.original(object), None);
}

/// A value longer than a packet would be sent for ever.
#[test]
fn values_that_fit_no_packet_are_refused() {
    let mut net = room(ObjectRoomConfig::default());
    let before = noticed(&net);
    let long = Ship { load: vec![u32::MAX; 200], ..ship("long") };
    let name = id(1, 7);
    net.create(1, 7, &long);
    let mut create = vec![0x51, 4, 7];
    name.0.emit(&mut create);
    create.extend([Ship::KIND as u8, 1 + 2]);
    long.values().iter().for_each(|value| create.extend_from_slice(value));
    let forged = net.room.handle_message(net.now, peer(1), Channel::Reliable, &create);
    assert!(matches!(forged, Err(Rejected::Malformed(_))), "{forged:?}");
    net.run(500);
    assert_eq!((net.original(name), net.copy(1, name), noticed(&net)), (None, None, before));
}
