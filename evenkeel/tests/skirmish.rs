//! The example game over real sockets, with three players, one of them far away behind a lossy link.

#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/skirmish.rs"]
mod skirmish;

use std::time::{Duration, Instant};

use evenkeel::link::{Link, LinkFaults, Loss};
use evenkeel::{Emulation, ObjectId, Seed, Span, Vec3};
use skirmish::{Player, RANGE};

const NEAR: (Span, f64) = (Span::from_millis(5), 0.0);
const FAR: (Span, f64) = (Span::from_millis(120), 0.1);

fn emulated((delay, loss): (Span, f64)) -> Emulation {
    let faults = LinkFaults { loss: Loss::Independent { probability: loss }, ..LinkFaults::constant(delay) };
    let link = |seed| Link::new(faults.clone(), Seed::new(seed));
    Emulation { outgoing: link(1), incoming: link(2) }
}

/// Lets the players play until a condition holds.
fn until(what: &str, players: &mut [Player], mut is_so: impl FnMut(&[Player]) -> bool) {
    let start = Instant::now();
    while !is_so(players) {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        players.iter_mut().for_each(|player| player.tick(0.02).expect("not too much at once"));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn sees(player: &Player, ship: ObjectId) -> Option<skirmish::Ship> {
    player.ships().into_iter().find(|(id, ..)| *id == ship).map(|(_, ship, _)| ship)
}

#[test]
fn three_players_skirmish() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (relay, key) = runtime.block_on(skirmish::serve()).expect("the relay starts");
    let join = |name: &str, link, x| {
        let mut config = skirmish::player(&relay, &key, name).expect("settings");
        config.emulation = Some(Box::new(move || emulated(link)));
        Player::join(config, name, Vec3::xy(x, 0.0)).expect("admitted")
    };
    let mut players = vec![join("ada", NEAR, 0.0), join("bo", NEAR, 10.0)];
    let ships = [players[0].ship, players[1].ship];
    until("both see each other, with the server's health", &mut players, |players| {
        let full = |seen: Option<skirmish::Ship>| seen.is_some_and(|ship| ship.health == 100);
        full(sees(&players[0], ships[1])) && full(sees(&players[1], ships[0]))
    });

    // Four hits destroy a ship. Every shot arrives once.
    for _ in 0..4 {
        players[0].fire(ships[1]).expect("sent");
    }
    until("the fourth hit scores", &mut players, |players| {
        sees(&players[1], ships[0]).is_some_and(|ship| ship.score == 1)
            && sees(&players[0], ships[1]).is_some_and(|ship| ship.health == 100)
    });
    until("all hits are told", &mut players, |players| players[1].hits.len() == 4);

    // Somebody joins late, from far away: gets everything in sight, and what is said from now on, in order.
    players.push(join("cy", FAR, 20.0));
    let far = players[2].ship;
    until("the late joiner sees both, and they see it", &mut players, |players| {
        sees(&players[2], ships[0]).is_some_and(|ship| ship.name == "ada" && ship.score == 1)
            && sees(&players[2], ships[1]).is_some()
            && sees(&players[0], far).is_some()
    });
    assert!(players[2].client.world().all::<skirmish::Rock>().next().is_some(), "the server's rock");
    for number in 0..20 {
        players[2].say(&format!("word {number}")).expect("sent");
        players[2].fire(ships[0]).expect("sent");
    }
    until("every word arrives in order, whatever was lost", &mut players, |players| {
        let heard = players[0].chat.iter().filter(|text| text.starts_with("word"));
        heard.count() == 20
    });
    let words: Vec<String> = (0..20).map(|number| format!("word {number}")).collect();
    let heard: Vec<&String> = players[0].chat.iter().filter(|text| text.starts_with("word")).collect();
    assert_eq!(heard, words.iter().collect::<Vec<_>>());
    until("every shot hits once", &mut players, |players| {
        players[0].hits.iter().filter(|hit| hit.ship == ships[0]).count() == 20
    });

    // Out of sight, a ship is gone; what it does there is nobody's to know. A shot does not reach it.
    players[1].motion.position = Vec3::xy(10.0 * RANGE, 0.0);
    until("it is out of sight", &mut players, |players| sees(&players[0], ships[1]).is_none());
    assert!(players[0].client.world().object(ships[1]).is_none());
    players[1].motion.position = Vec3::xy(5.0, 5.0);
    until("it is back", &mut players, |players| sees(&players[2], ships[1]).is_some());

    // Who leaves takes its ship along.
    drop(players.remove(1));
    until("its ship is gone", &mut players, |players| sees(&players[0], ships[1]).is_none());
    drop(players);
    runtime.block_on(relay.stop());
}
