//! Clock nodes keep the endpoint contract under hostile messages and flapping peers.

use evenkeel_core::clock::Hull;
use evenkeel_core::contract::check;
use evenkeel_core::{FollowerClock, PeerId};
use evenkeel_lab::clock::node::ClockNode;

#[test]
fn server_and_followers_survive_the_hostile_schedule() {
    for seed in 0..30 {
        let build = |node| match node {
            0 => ClockNode::<Hull>::Server(Box::default()),
            _ => ClockNode::Follower(Box::new(FollowerClock::new(PeerId(0)))),
        };
        check(seed, 3_000, 3, build, |_, _| ());
    }
}

#[test]
fn peers_without_a_server_survive_the_hostile_schedule() {
    for seed in 0..30 {
        check(seed, 3_000, 4, |_| ClockNode::<Hull>::Peer(Box::default()), |_, _| ());
    }
}
