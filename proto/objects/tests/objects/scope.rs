//! Areas of interest: what is out of scope costs nothing and leaks nothing, and priorities share a budget.

use evenkeel_core::{LocalTime, Vec3};
use evenkeel_objects::{Area, Interest, ObjectEvent, ObjectId, ObjectRoomConfig, ObjectRoomEvent};

use crate::net::{Board, Net, Ship, peer};

fn ship(name: &str) -> Ship {
    Ship { name: name.into(), colour: 1, health: 0, load: Vec::new() }
}

fn two(area: Area) -> (Net, [ObjectId; 2]) {
    let mut net = Net::new(ObjectRoomConfig { area, ..ObjectRoomConfig::default() }, 2, 1);
    net.run(200);
    let ships = [net.create(0, 0, &ship("ada")), net.create(1, 0, &ship("bo"))];
    net.run(200);
    (net, ships)
}

/// Moves player 1's ship, and returns whether player 0 sees it afterwards.
fn sees(net: &mut Net, ships: [ObjectId; 2], x: f64) -> bool {
    net.room.place(ships[0], Vec3::ZERO);
    net.room.place(ships[1], Vec3::xy(x, 0.0));
    net.run(400);
    net.assert_settled();
    net.copy(0, ships[1]).is_some()
}

#[test]
fn objects_enter_and_leave_a_radius_with_some_slack() {
    let (mut net, ships) = two(Area::Radius { enter: 10.0, leave: 12.0 });
    let seen = [30.0, 11.0, 9.0, 11.0, 13.0, 11.0].map(|x| sees(&mut net, ships, x));
    assert_eq!(seen, [false, false, true, true, false, false]);
    let entered = ObjectRoomEvent::Entered { player: peer(0), object: ships[1] };
    let exited = ObjectRoomEvent::Exited { player: peer(0), object: ships[1] };
    let count = |wanted| net.events.iter().filter(|event| **event == wanted).count();
    assert_eq!((count(entered), count(exited)), (1, 1));
}

#[test]
fn grid_shows_neighbouring_cells() {
    let (mut net, ships) = two(Area::Grid { cell: 10.0, reach: 1 });
    let seen = [25.0, 19.0, -9.0, -11.0].map(|x| sees(&mut net, ships, x));
    assert_eq!(seen, [false, true, true, false]);
}

#[test]
fn what_is_out_of_scope_costs_nothing_and_is_not_known_to_exist() {
    let (mut net, ships) = two(Area::Radius { enter: 10.0, leave: 12.0 });
    assert!(!sees(&mut net, ships, 500.0));
    let (events, bytes) = (net.seats[0].events.len(), net.room.bytes_sent());
    for number in 0..50u8 {
        net.set(1, ships[1], 1, vec![number].into());
        net.run(50);
    }
    let about = |event: &ObjectEvent| format!("{event:?}").contains(&format!("{:?}", ships[1]));
    assert!(!net.seats[0].events.iter().any(about), "nobody told player 0 of the other ship");
    assert_eq!(net.seats[0].events.len(), events);
    // Acknowledgments to the ship's owner are all that left.
    let spent = net.room.bytes_sent() - bytes;
    assert!(spent < 50 * 20, "{spent} bytes");
}

#[test]
fn games_own_function_decides() {
    let (mut net, ships) = two(Area::Everywhere);
    assert!(sees(&mut net, ships, 500.0));
    let now: LocalTime = net.now;
    net.room.review(now, &mut |viewer, view| {
        if viewer == peer(0) && view.object == ships[1] { Interest::Hidden } else { Interest::ByArea }
    });
    net.run(60);
    assert!(net.copy(0, ships[1]).is_none());
}

#[test]
fn what_matters_more_is_fresher_under_a_budget() {
    let config = ObjectRoomConfig { bits_per_second: Some(24_000.0), ..ObjectRoomConfig::default() };
    let mut net = Net::new(config, 1, 1);
    net.run(200);
    let board = || Board { scores: vec![0; 8], title: "t".repeat(40) };
    let boards: Vec<ObjectId> =
        (0..200).map(|_| net.room.create_object(&board(), None).expect("room")).collect();
    net.run(20_000);
    let weight = |object: ObjectId| if object == boards[7] { 50.0 } else { 1.0 };
    let before = net.room.bytes_sent();
    let seen = net.seats[0].events.len();
    for number in 0..400u32 {
        for object in &boards {
            net.room.update(*object, |board: &mut Board| board.scores = vec![1_000_000 + number; 8]);
        }
        let now = net.now;
        net.room.review(now, &mut |_, view| Interest::Seen(weight(view.object)));
        net.run(25);
    }
    let bits = 8.0 * (net.room.bytes_sent() - before) as f64 / 10.0;
    assert!(bits < 24_000.0 * 1.05, "{bits} bit/s");
    let news = |wanted: ObjectId| {
        let is_it =
            |event: &&ObjectEvent| matches!(event, ObjectEvent::Changed { object, .. } if *object == wanted);
        net.seats[0].events[seen..].iter().filter(is_it).count()
    };
    let (often, seldom) = (news(boards[7]), news(boards[20]));
    assert!(seldom > 0 && often >= 3 * seldom, "{often} against {seldom} times in 10 s");
}

#[test]
fn thousand_objects_and_a_tenth_in_scope() {
    let area = Area::Radius { enter: 20.0, leave: 20.0 };
    let mut net = Net::new(ObjectRoomConfig { area, ..ObjectRoomConfig::default() }, 4, 1);
    net.run(200);
    for seat in 0..4 {
        let mine = net.create(seat, 0, &ship("me"));
        net.run(100);
        net.room.place(mine, Vec3::xy(100.0 + 50.0 * seat as f64, 0.0));
    }
    for number in 0..1_000 {
        net.room.create_object(&ship("other"), Some(Vec3::xy(f64::from(number) * 0.4, 1.0)));
    }
    net.run(3_000);
    net.assert_settled();
    let seen = net.seats[1].machine.objects().count();
    assert!((95..=105).contains(&seen), "{seen} of 1,004");
}
