//! What one player may use up of a room and of the others: objects, messages that wait, news of owners, reviews.

use evenkeel_core::{Channel, Endpoint, PeerChange, PeerId, Span, Varint, Vec3, Wire};
use evenkeel_objects::{
    Call, Delivery, GameMessage, ObjectCommand, ObjectEvent, ObjectId, ObjectRoomConfig, ObjectRoomEvent,
    Owner, Quotas, Target,
};

use crate::net::{Net, Note, Ship, id, note, peer};

const VICTIM: usize = 0;
const VILLAIN: usize = 1;
const WITNESS: usize = 2;

fn ship() -> Ship {
    Ship { name: "ship".into(), colour: 1, health: 0, load: Vec::new() }
}

/// A room of three players, each with a ship.
fn room(config: ObjectRoomConfig) -> Net {
    let mut net = Net::new(config, 3, 1);
    net.run(200);
    for seat in 0..3 {
        let object = net.create(seat, 0, &ship());
        net.run(150);
        net.room.place(object, Vec3::xy(seat as f64, 0.0));
    }
    net.run(300);
    net.assert_settled();
    net
}

fn with_quotas(quotas: Quotas) -> ObjectRoomConfig {
    ObjectRoomConfig { quotas, ..ObjectRoomConfig::default() }
}

fn made_by(net: &Net, seat: usize) -> usize {
    net.room.objects().filter(|view| view.object.creator() == peer(seat)).count()
}

fn give(net: &mut Net, seat: usize, object: ObjectId, to: Owner) {
    net.command(seat, ObjectCommand::Give { object, to });
}

#[test]
fn gifts_count_against_who_made_them() {
    let quotas = Quotas { objects: 20, ..Quotas::default() };
    let remember = Span::from_secs(2);
    let mut net = room(ObjectRoomConfig { remember, ..with_quotas(quotas) });
    for local in 1..120 {
        let object = net.create(VILLAIN, local, &ship());
        net.run(100);
        let to = if local % 2 == 0 { Owner::Server } else { Owner::Player(peer(VICTIM)) };
        give(&mut net, VILLAIN, object, to);
        net.run(50);
    }
    assert_eq!(made_by(&net, VILLAIN), 20);
    assert!(net.room.refusals(peer(VILLAIN)).objects >= 90);
    // The victim's own quota is untouched.
    for local in 1..20 {
        net.create(VICTIM, local, &ship());
    }
    net.run(300);
    assert_eq!((made_by(&net, VICTIM), net.room.refusals(peer(VICTIM)).objects), (20, 0));
    // Nothing of it outlives the villain.
    net.leave(VILLAIN);
    net.run(3_000);
    assert_eq!(made_by(&net, VILLAIN), 0);
    net.assert_settled();
}

#[test]
fn what_the_game_takes_over_counts_against_nobody() {
    let quotas = Quotas { objects: 2, ..Quotas::default() };
    let remember = Span::from_secs(1);
    let mut net = room(ObjectRoomConfig { remember, ..with_quotas(quotas) });
    let flag = net.create(VICTIM, 1, &ship());
    net.run(200);
    assert!(net.room.give(flag, Owner::Server));
    let next = net.create(VICTIM, 2, &ship());
    net.run(200);
    assert!(net.original(next).is_some(), "its place is free again");
    net.leave(VICTIM);
    net.run(2_000);
    assert_eq!((net.original(flag).map(|(owner, _)| owner), made_by(&net, VICTIM)), (Some(Owner::Server), 1));
}

/// Hands the room ordered messages to a player that a forged machine sends.
fn forge(net: &mut Net, from: usize, to: usize, numbers: core::ops::Range<u64>) {
    for number in numbers {
        let mut bytes = vec![0x51, 10, 0];
        Varint(number).emit(&mut bytes);
        bytes.push(2);
        Varint(u64::from(peer(to).0)).emit(&mut bytes);
        let note = note(number as u32).to_bytes();
        bytes.extend([0, note.len() as u8]);
        bytes.extend(note);
        net.room.handle_message(net.now, peer(from), Channel::Reliable, &bytes).expect("well formed");
    }
}

fn server_says(net: &mut Net, to: usize, number: u32) {
    let (delivery, bytes) = (Delivery::ReliableOrdered, note(number).to_bytes());
    net.room.call(Call { delivery, party: Target::Player(peer(to)), kind: Note::KIND, bytes });
}

fn has_stalled(net: &Net) -> bool {
    net.events.iter().any(|event| matches!(event, ObjectRoomEvent::Stalled { .. }))
}

#[test]
fn floods_from_one_player_never_end_anothers_session() {
    let mut net = room(ObjectRoomConfig::default());
    forge(&mut net, VILLAIN, VICTIM, 0..6_000);
    net.call(WITNESS, Target::Player(peer(VICTIM)), Delivery::ReliableOrdered, &note(70_001));
    net.run(40);
    server_says(&mut net, VICTIM, 70_002);
    net.run(1_000);
    assert!(!has_stalled(&net), "nobody is put out");
    assert!(net.room.refusals(peer(VILLAIN)).calls > 1_000);
    let heard = net.notes(VICTIM, Delivery::ReliableOrdered);
    assert!(heard.contains(&70_001) && heard.contains(&70_002));
}

#[test]
fn floods_to_an_absent_player_do_not_end_its_session() {
    let mut net = room(ObjectRoomConfig::default());
    net.leave(VICTIM);
    forge(&mut net, VILLAIN, VICTIM, 0..6_000);
    server_says(&mut net, VICTIM, 70_002);
    net.run(100);
    net.join(VICTIM);
    net.run(500);
    let resumed = |event: &ObjectEvent| matches!(event, ObjectEvent::Ready { resumed: true, .. });
    assert_eq!(net.seats[VICTIM].events.iter().filter(|event| resumed(event)).count(), 1);
    assert!(net.notes(VICTIM, Delivery::ReliableOrdered).contains(&70_002));
}

#[test]
fn the_servers_own_messages_end_a_session_that_does_not_take_them() {
    let mut net = room(ObjectRoomConfig::default());
    (0..5_000).for_each(|number| server_says(&mut net, VICTIM, number));
    net.run(20);
    let stalled = ObjectRoomEvent::Stalled { player: peer(VICTIM) };
    assert!(net.events.contains(&stalled), "a reliable message is never left out in silence");
}

/// How many of its messages a player was told are lost.
fn unheard(net: &Net, seat: usize) -> u64 {
    let count = |event: &ObjectEvent| match event {
        ObjectEvent::Unheard { count, .. } => *count,
        _ => 0,
    };
    net.seats[seat].events.iter().map(count).sum()
}

#[test]
fn who_says_too_much_is_told_what_was_not_delivered() {
    let mut net = room(with_quotas(Quotas { deliveries_per_second: 10.0, ..Quotas::default() }));
    for number in 0..300 {
        net.call(WITNESS, Target::Room, Delivery::ReliableOrdered, &note(number));
        net.call(WITNESS, Target::Room, Delivery::Unreliable, &note(number));
        net.run(5);
    }
    net.run(1_000);
    let heard = net.notes(VICTIM, Delivery::ReliableOrdered);
    assert!(heard.len() < 50, "{}", heard.len());
    assert_eq!(heard.len() as u64 + unheard(&net, WITNESS), 300, "each arrives, or its sender is told");
    let frames =
        net.seats[WITNESS].events.iter().filter(|event| matches!(event, ObjectEvent::Unheard { .. }));
    assert!(frames.count() <= 30, "told at the pace of reviews");
}

#[test]
fn messages_before_a_greeting_arrive_or_their_sender_is_told() {
    let mut net = room(ObjectRoomConfig::default());
    net.add();
    let late = net.seats.len() - 1;
    let joined = |peer| PeerChange::Joined { peer, datagram_max: 1_200 };
    net.room.handle_peer(net.now, joined(peer(late)));
    for number in 0..1_000 {
        net.call(WITNESS, Target::Player(peer(late)), Delivery::ReliableOrdered, &note(number));
    }
    net.run(300);
    net.seats[late].machine.handle_peer(net.now, joined(PeerId(0)));
    net.seats[late].is_here = true;
    net.run(1_000);
    let heard = net.notes(late, Delivery::ReliableOrdered);
    assert!(heard.len() > 100);
    assert_eq!(heard.len() as u64 + unheard(&net, WITNESS), 1_000);
    assert!(!has_stalled(&net));
}

#[test]
fn passing_an_object_to_and_fro_is_charged_for_everybody_who_is_told() {
    let mut net = room(with_quotas(Quotas { deliveries_per_second: 30.0, ..Quotas::default() }));
    let (ball, colluders) = (id(VILLAIN, 0), [VILLAIN, WITNESS]);
    for round in 0..1_000 {
        let (from, to) = (colluders[round % 2], colluders[1 - round % 2]);
        for (from, to) in [(from, to), (to, from)] {
            let mut bytes = vec![0x51, 8];
            ball.0.emit(&mut bytes);
            bytes.push(1 + peer(to).0 as u8);
            net.room.handle_message(net.now, peer(from), Channel::Reliable, &bytes).expect("well formed");
        }
        net.run(5);
    }
    let owned = net.seats[VICTIM].events.iter().filter(|event| matches!(event, ObjectEvent::Owned { .. }));
    // Each colluder has 30 a second and twice that at once, and three players are told.
    let owned = owned.count();
    assert!((20..=2 * (60 + 5 * 30) / 3 + 10).contains(&owned), "{owned}");
    net.run(500);
    net.assert_settled();
}

/// How often the game is asked while a player creates and destroys this many objects a second.
fn asked(births: i64) -> u64 {
    let mut net = room(ObjectRoomConfig { asks_game: true, ..ObjectRoomConfig::default() });
    for _ in 0..200 {
        net.room.create_object(&ship(), Some(Vec3::ZERO)).expect("there is room");
    }
    net.run(500);
    let before = net.asked;
    for step in 0..2_000i64 {
        if births > 0 && step % (200 / births) == 0 {
            let local = 1 + (step / (200 / births)) as u32;
            if local > 2 {
                net.command(VILLAIN, ObjectCommand::Destroy { object: id(VILLAIN, local - 2) });
            }
            net.create(VILLAIN, local, &ship());
        }
        net.step();
    }
    assert_eq!(net.room.refusals(peer(VILLAIN)).total(), 0);
    net.asked - before
}

#[test]
fn new_objects_cost_no_review_of_the_others() {
    let (quiet, busy) = (asked(0), asked(25));
    assert!(busy < quiet + quiet / 10, "{busy} questions with new objects, {quiet} without");
}
