//! What a pause costs: of the relay, of a player, of a clock. Errors that players saw are booked, no others, and once everybody is
//! back the errors grow as before.

#[path = "support/room.rs"]
mod room;

use evenkeel_core::Span;
use evenkeel_dr::PolicyKind;

use room::{Room, millis};

const PLAYERS: u32 = 6;
/// How long a silent connection lasts.
const IDLE: Span = Span::from_secs(5);

fn policies() -> [PolicyKind; 3] {
    ["base", "base-1/3", "even:kappa=3,keep=0.9"].map(|name| name.parse().expect("a policy of ours"))
}

/// A room in which everybody has played for eight seconds.
fn played(policy: PolicyKind) -> Room {
    let mut room = Room::new(policy, PLAYERS);
    (1..=PLAYERS).for_each(|player| room.join(player));
    room.run_for(Span::from_secs(8));
    room
}

/// Checks what has been settled against what was shown.
#[track_caller]
fn agrees(room: &Room, what: &str) {
    for player in 1..=PLAYERS {
        let (booked, shown) = (room.booked(player), room.shown(player));
        let off = (booked - shown).abs();
        assert!(off <= 0.05 * shown + 0.5, "{what}: player {player} saw {shown}, booked is {booked}");
    }
}

/// The error of the one who has most.
fn worst(room: &Room) -> f64 {
    (1..=PLAYERS).map(|player| room.booked(player)).fold(0.0, f64::max)
}

/// The error of the one who has most, and its growth in the next five seconds.
fn most(room: &mut Room) -> (f64, f64) {
    let before = worst(room);
    room.run_for(Span::from_secs(5));
    (before, worst(room) - before)
}

#[test]
fn a_relay_that_pauses_until_all_connections_are_lost_books_no_large_error() {
    for policy in policies() {
        let mut room = played(policy);
        let (usual, _) = most(&mut room);
        room.relay_pauses(true);
        room.run_for(IDLE);
        (1..=PLAYERS).for_each(|player| room.player_loses(player));
        room.run_for(Span::from_secs(5));
        room.relay_pauses(false);
        (1..=PLAYERS).for_each(|player| room.relay_loses(player));
        room.run_for(millis(30));
        (1..=PLAYERS).for_each(|player| room.join(player));
        room.run_for(Span::from_secs(3));
        agrees(&room, &format!("{policy}"));
        let (after, growth) = most(&mut room);
        assert!(after < usual + 1.0, "{policy}: {after} three seconds after the pause, before {usual}");
        assert!(growth < usual, "{policy}: {growth} in the next five seconds, before {usual} in thirteen");
    }
}

#[test]
fn what_is_shown_while_a_relay_pauses_shortly_is_booked() {
    for policy in policies() {
        let mut room = played(policy);
        let (usual, _) = most(&mut room);
        room.relay_pauses(true);
        room.run_for(Span::from_secs(3));
        room.relay_pauses(false);
        room.run_for(Span::from_secs(3));
        agrees(&room, &format!("{policy}"));
        let (after, growth) = most(&mut room);
        assert!(after > 3.0 * usual, "{policy}: {after}, three seconds of wrong tanks");
        assert!(growth < usual, "{policy}: {growth} in the next five seconds, before {usual} in thirteen");
    }
}

#[test]
fn a_player_that_sleeps_costs_the_others_no_large_error() {
    // Some clocks stand still during a laptop's sleep, others show it afterwards.
    for step in [Span::ZERO, Span::from_secs(300)] {
        for policy in policies() {
            let mut room = played(policy);
            let (usual, _) = most(&mut room);
            room.player_sleeps(1, true);
            room.run_for(IDLE);
            room.relay_loses(1);
            room.run_for(Span::from_secs(5));
            room.step_clock(1, step);
            room.player_sleeps(1, false);
            room.player_loses(1);
            let before = worst(&room);
            room.run_for(millis(30));
            room.join(1);
            room.run_for(Span::from_secs(3));
            agrees(&room, &format!("{policy}, {step:?}"));
            let (after, growth) = most(&mut room);
            assert!(
                after < before + usual,
                "{policy}: {after} three seconds after the sleep, {before} before"
            );
            assert!(growth < usual, "{policy}: {growth} in five seconds, before {usual} in thirteen");
        }
    }
}

#[test]
fn a_relay_that_is_always_late_books_what_is_shown() {
    for policy in policies() {
        let mut room = played(policy);
        for _ in 0..50 {
            room.relay_pauses(true);
            room.run_for(millis(180));
            room.relay_pauses(false);
            room.run_for(millis(20));
        }
        room.run_for(Span::from_secs(2));
        agrees(&room, &format!("{policy}"));
    }
}
