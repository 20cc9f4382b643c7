//! The five guarantees, each on a network that loses a third of the datagrams.

use evenkeel_core::Vec3;
use evenkeel_objects::{Area, Call, Delivery, ObjectEvent, ObjectRoomConfig, ObjectRoomEvent, Target};

use crate::net::{Faults, Net, Note, Ship, note, peer};
use evenkeel_objects::GameMessage;

fn lossy(players: usize, seed: u64) -> Net {
    let mut net = Net::new(ObjectRoomConfig::default(), players, seed);
    net.faults = Faults::BAD;
    net.run(400);
    net
}

fn say(delivery: Delivery) -> Net {
    let mut net = lossy(2, 7);
    for number in 0..200 {
        net.call(0, Target::Room, delivery, &note(number));
        net.run(20);
    }
    net.run(3_000);
    net
}

#[test]
fn reliable_ordered_messages_arrive_once_in_order() {
    let heard = say(Delivery::ReliableOrdered).notes(1, Delivery::ReliableOrdered);
    assert_eq!(heard, (0..200).collect::<Vec<_>>());
}

#[test]
fn reliable_unordered_messages_arrive_once_and_wait_for_no_other() {
    let heard = say(Delivery::ReliableUnordered).notes(1, Delivery::ReliableUnordered);
    assert!(!heard.is_sorted(), "with these losses, some overtake others");
    let mut sorted = heard;
    sorted.sort_unstable();
    assert_eq!(sorted, (0..200).collect::<Vec<_>>());
}

#[test]
fn unreliable_messages_may_be_lost() {
    let heard = say(Delivery::Unreliable).notes(1, Delivery::Unreliable).len();
    assert!((40..200).contains(&heard), "{heard} of 200 after two lossy hops");
}

#[test]
fn most_recent_messages_end_with_the_newest_and_never_go_back() {
    let heard = say(Delivery::MostRecent).notes(1, Delivery::MostRecent);
    assert!(heard.is_sorted() && heard.last() == Some(&199), "{heard:?}");
}

#[test]
fn quickest_messages_arrive_once_and_sooner_than_others() {
    let delay = |delivery| {
        let mut net = lossy(2, 11);
        let mut waited = 0;
        for number in 0..60 {
            net.call(0, Target::Room, delivery, &note(number));
            for step in 0.. {
                net.step();
                assert!(step < 2_000, "{number} does not arrive");
                if net.notes(1, delivery).contains(&number) {
                    waited += step;
                    break;
                }
            }
        }
        net.run(1_000);
        assert_eq!(net.notes(1, delivery).len(), 60, "each once");
        waited
    };
    let (quickest, unordered) = (delay(Delivery::Quickest), delay(Delivery::ReliableUnordered));
    assert!(quickest < unordered, "{quickest} against {unordered} steps");
}

#[test]
fn messages_reach_the_server_one_player_or_those_who_see_an_object() {
    let mut net = lossy(3, 3);
    net.call(0, Target::Server, Delivery::ReliableOrdered, &note(1));
    net.call(0, Target::Player(peer(2)), Delivery::ReliableOrdered, &note(2));
    net.run(2_000);
    let heard = |event: &ObjectRoomEvent| matches!(event, ObjectRoomEvent::Call { from, bytes, .. } if *from == peer(0) && Note::from_bytes(bytes).expect("a note").number == 1);
    assert_eq!(net.events.iter().filter(|event| heard(event)).count(), 1);
    assert_eq!(
        (net.notes(1, Delivery::ReliableOrdered), net.notes(2, Delivery::ReliableOrdered)),
        (vec![], vec![2])
    );
}

#[test]
fn messages_said_while_disconnected_arrive_afterwards() {
    let mut net = lossy(2, 5);
    net.leave(1);
    for number in 0..3 {
        net.call(0, Target::Room, Delivery::ReliableOrdered, &note(number));
        net.call(1, Target::Room, Delivery::Quickest, &note(10 + number));
        net.run(500);
    }
    net.join(1);
    net.run(2_000);
    assert_eq!(net.notes(1, Delivery::ReliableOrdered), [0, 1, 2]);
    let mut quick = net.notes(0, Delivery::Quickest);
    quick.sort_unstable();
    assert_eq!(quick, [10, 11, 12]);
    let ready = |event: &&ObjectEvent| matches!(event, ObjectEvent::Ready { resumed: true, lost: 0, .. });
    assert_eq!(net.seats[1].events.iter().filter(ready).count(), 1);
}

#[test]
fn long_messages_arrive() {
    let mut net = lossy(2, 9);
    let text = "x".repeat(400);
    for delivery in [Delivery::ReliableOrdered, Delivery::ReliableUnordered] {
        net.call(0, Target::Room, delivery, &Note { number: 1, text: text.clone() });
    }
    net.run(2_000);
    assert_eq!(net.notes(1, Delivery::ReliableOrdered), [1]);
    assert_eq!(net.notes(1, Delivery::ReliableUnordered), [1]);
}

#[test]
fn messages_to_a_scope_reach_those_who_see_the_object_and_nobody_else() {
    let area = Area::Radius { enter: 10.0, leave: 12.0 };
    let mut net = Net::new(ObjectRoomConfig { area, ..ObjectRoomConfig::default() }, 4, 3);
    net.run(200);
    let ships = [0.0, 5.0, -5.0, 100.0].map(|x| {
        let seat = net.seats.iter().position(|seat| seat.machine.objects().next().is_none()).expect("one");
        let ship = Ship { name: "ship".into(), colour: 1, health: 0, load: Vec::new() };
        let object = net.create(seat, 0, &ship);
        net.run(100);
        net.room.place(object, Vec3::xy(x, 0.0));
        object
    });
    net.run(300);
    for (number, delivery) in Delivery::ALL.into_iter().enumerate() {
        let number = number as u32;
        // By its owner, and by the server.
        net.call(0, Target::Scope(ships[0]), delivery, &note(number));
        let (party, bytes) = (Target::Scope(ships[0]), note(10 + number).to_bytes());
        net.room.call(Call { delivery, party, kind: Note::KIND, bytes });
        net.run(200);
        let heard = |seat| {
            let mut notes = net.notes(seat, delivery);
            notes.sort_unstable();
            notes
        };
        assert_eq!(heard(0), [10 + number], "{delivery:?}: the owner sees it, but does not hear itself");
        for seat in [1, 2] {
            assert_eq!(heard(seat), [number, 10 + number], "{delivery:?} at player {seat}");
        }
        assert!(heard(3).is_empty(), "{delivery:?}: too far away");
    }
}
