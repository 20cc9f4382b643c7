//! When the thesis' rules play moves: as soon as the round that opens them is complete.

use evenkeel_core::Span;

use super::{Net, session};
use crate::config::NeoConfig;

/// The mean wait of moves with rounds of 250 ms, in milliseconds, and the waits that there are.
fn waits(depth: u32, peers: usize) -> (i64, Vec<i64>) {
    let config = NeoConfig { depth, ..NeoConfig::thesis(session()) };
    let mut net = Net::new(&config, peers, 20);
    net.run_until(10_000);
    let all: Vec<i64> = net.played().map(|made| made.waiting().as_nanos() / 1_000_000).collect();
    assert!(all.len() > 20, "{} moves were played", all.len());
    assert_eq!(net.peers.iter().map(|peer| peer.stats().unused_total()).sum::<u64>(), 0);
    let mean = all.iter().sum::<i64>() / all.len() as i64;
    let mut waits = all;
    waits.sort_unstable();
    waits.dedup();
    (mean, waits)
}

#[test]
fn the_update_that_completes_a_round_is_used_itself() {
    // One update a round: each completes its round, and opens the move before.
    for peers in [2, 4] {
        assert_eq!(waits(1, peers), (0, vec![0]), "{peers} peers");
    }
}

#[test]
fn of_two_updates_a_round_the_first_waits_for_the_second() {
    for peers in [2, 4] {
        let (mean, waits) = waits(2, peers);
        assert_eq!(waits, [0, 125], "{peers} peers");
        assert!((60..=65).contains(&mean), "{mean} ms");
    }
}

#[test]
fn with_six_peers_and_one_update_a_round_the_votes_come_with_the_opening() {
    let config = NeoConfig { depth: 1, ..NeoConfig::thesis(session()) };
    let mut net = Net::new(&config, 6, 20);
    net.run_until(10_000);
    let votes_come = Span::from_millis(20);
    assert!(net.played().count() > 200);
    assert!(net.played().all(|made| made.playout() == votes_come && made.votes.0 >= 3));
}
