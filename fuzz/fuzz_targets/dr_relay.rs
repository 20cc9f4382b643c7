//! A relay and its players' machines, driven by the input.

#![no_main]

use evenkeel_core::{PeerId, ServerClock, Synchronized};
use evenkeel_dr::Topology;
use evenkeel_fuzz::feed::Feed;
use evenkeel_fuzz::node::{AnyClock, Node};
use evenkeel_fuzz::settings::config;
use evenkeel_fuzz::world::World;
use libfuzzer_sys::fuzz_target;

const RELAY: usize = 0;

fuzz_target!(|bytes: &[u8]| {
    let mut feed = Feed::new(bytes);
    let relay = PeerId(RELAY as u32);
    let config = config(Topology::Relay(relay), &mut feed);
    let is_synchronized = feed.once_in(2);
    let build = |node| match (node, is_synchronized) {
        (RELAY, true) => Node::relay(&config, AnyClock::Synchronized(Synchronized)),
        (RELAY, false) => Node::relay(&config, AnyClock::Server(ServerClock::default())),
        (_, true) => Node::peer(&config, AnyClock::Synchronized(Synchronized)),
        (_, false) => Node::peer(&config, AnyClock::follower(relay)),
    };
    World::new(4, &mut feed, build).run(&mut feed);
});
