//! An unmodified game behind a pair of proxies: what arrives, where, and in which order.

mod support;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use evenkeel_sync_ms::Order;
use support::{Pair, Player, delays, echo, metric, soon};
use tokio::time::sleep;

#[tokio::test(flavor = "multi_thread")]
async fn datagrams_of_every_size_arrive_unchanged_both_ways() {
    let pair = Pair::start().await;
    echo(&pair.game);
    let player = pair.player().await;
    for len in [1, 0, 100, 1_100, 1_101, 1_400, 5_000, 20_000, 65_507] {
        let sent: Vec<u8> = (0..len).map(|at: u32| ((at * 7) >> 3) as u8).collect();
        player.send(&sent).await;
        let back = player.receive().await;
        assert!(back == sent, "{len} bytes became {}", back.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_game_sees_each_player_at_an_address_of_its_own() {
    let pair = Pair::start().await;
    let seen = echo(&pair.game);
    let players = [pair.player().await, pair.player().await, pair.player().await];
    for round in 0..5_u8 {
        for (number, player) in (0_u8..).zip(&players) {
            player.send(&[number, round]).await;
            assert_eq!(player.receive().await, [number, round], "another player's answer");
        }
    }
    let seen = seen.lock().expect("no panic").clone();
    assert_eq!(seen.values().copied().collect::<Vec<_>>(), [5, 5, 5], "{seen:?}");
    let report = pair.server.report().await;
    let told: BTreeSet<String> = report.players.iter().map(|player| player.game_address.clone()).collect();
    assert_eq!(told, seen.keys().map(ToString::to_string).collect());
}

/// What the near and the far player's game does: it answers an update after its player's reaction.
async fn duel(player: &Player, reaction: Duration, name: u8) {
    loop {
        if player.receive().await == b"now" {
            sleep(reaction).await;
            return player.send(&[name]).await;
        }
    }
}

/// Two players, 5 and 60 ms away, see the same moment; the far one reacts faster by 15 ms. Returns how often it is served
/// first, in ten duels.
async fn won_by_the_far_one(order: Order, out: bool) -> usize {
    let set = |config: &mut evenkeel_proxy::ServerConfig| (config.order, config.out) = (order, out);
    let pair = Pair::with(set, |config| config.link = delays(&[5.0, 60.0])).await;
    let (near, far) = (pair.player().await, pair.player().await);
    let (mut buffer, mut addresses) = ([0; 16], Vec::new());
    for player in [&near, &far] {
        player.send(b"hello").await;
        addresses.push(soon(pair.game.recv_from(&mut buffer)).await.expect("a player").1);
    }
    // The service gets to know the paths.
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(3) {
        for address in &addresses {
            pair.game.send_to(b"tick", address).await.expect("sent");
        }
        for player in [&near, &far] {
            while player.receive_within(Duration::from_millis(1)).await.is_some() {}
            player.send(b"still here").await;
        }
        sleep(Duration::from_millis(20)).await;
    }
    while pair.game.try_recv_from(&mut buffer).is_ok() {}
    sleep(Duration::from_millis(300)).await;
    while pair.game.try_recv_from(&mut buffer).is_ok() {}
    let mut won = 0;
    for _ in 0..10 {
        for address in &addresses {
            pair.game.send_to(b"now", address).await.expect("sent");
        }
        let react = |player, millis, name| duel(player, Duration::from_millis(millis), name);
        let referee = async {
            let (_, first) = pair.game.recv_from(&mut buffer).await.expect("the first shot");
            let (_, second) = pair.game.recv_from(&mut buffer).await.expect("the second shot");
            assert_ne!(first, second);
            first
        };
        let duel = async { tokio::join!(react(&near, 60, 1), react(&far, 45, 2), referee) };
        won += usize::from(soon(duel).await.2 == addresses[1]);
    }
    won
}

#[tokio::test(flavor = "multi_thread")]
async fn the_faster_reaction_is_served_first_although_it_arrives_later() {
    assert_eq!(won_by_the_far_one(Order::Reaction, false).await, 10, "by reaction");
    assert_eq!(won_by_the_far_one(Order::None, false).await, 0, "by arrival");
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_sees_an_update_at_the_same_time() {
    let pair = Pair::with(|_| {}, |config| config.link = delays(&[5.0, 60.0])).await;
    let players = [pair.player().await, pair.player().await];
    let (mut buffer, mut addresses) = ([0; 16], Vec::new());
    for player in &players {
        player.send(b"hello").await;
        addresses.push(soon(pair.game.recv_from(&mut buffer)).await.expect("a player").1);
    }
    let mut spreads = Vec::new();
    for round in 0..200_u32 {
        let sent = Instant::now();
        for address in &addresses {
            pair.game.send_to(&round.to_le_bytes(), address).await.expect("sent");
        }
        let shown = async |player: &Player| {
            while player.receive().await != round.to_le_bytes() {}
            sent.elapsed()
        };
        let (near, far) = tokio::join!(shown(&players[0]), shown(&players[1]));
        if round >= 100 {
            assert!(near >= Duration::from_millis(55), "shown to the near one after {near:?}");
            spreads.push(near.abs_diff(far));
        }
        for player in &players {
            player.send(b"input").await;
        }
        sleep(Duration::from_millis(5)).await;
    }
    spreads.sort_unstable();
    assert!(spreads[50] < Duration::from_millis(2), "{spreads:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn players_that_are_idle_lose_their_seats() {
    let pair = Pair::with(|_| {}, |config| config.idle_s = 1.0).await;
    echo(&pair.game);
    let (stays, goes) = (pair.player().await, pair.player().await);
    for player in [&stays, &goes] {
        player.send(b"hello").await;
        player.receive().await;
    }
    assert_eq!(metric(&pair.server.metrics().await, "evenkeel_players"), 2.0);
    for _ in 0..30 {
        stays.send(b"input").await;
        sleep(Duration::from_millis(100)).await;
    }
    let report = pair.server.report().await;
    assert_eq!(report.players.len(), 1, "{report:?}");
    let client = pair.client.report().await;
    assert_eq!(client.players.len(), 1);
    assert_eq!((report.totals.players, client.totals.players), (2, 2), "who has left counts all the same");
    assert!(report.totals.actions > report.players[0].actions, "{report:?}");
    assert_eq!(client.totals.actions, client.players[0].actions + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_the_limit_newcomers_find_no_place_and_the_others_play_on() {
    let pair = Pair::with(|_| {}, |config| config.players_max = 2).await;
    echo(&pair.game);
    let players = [pair.player().await, pair.player().await];
    for player in &players {
        player.send(b"hello").await;
        player.receive().await;
    }
    let late = pair.player().await;
    late.send(b"hello").await;
    assert_eq!(late.receive_within(Duration::from_millis(300)).await, None);
    assert_eq!(metric(&pair.client.metrics().await, "evenkeel_proxy_no_place_total"), 1.0);
    for player in &players {
        player.send(b"still here").await;
        assert_eq!(player.receive().await, b"still here");
    }
}
