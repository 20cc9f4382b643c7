//! A room of players' machines that send to each other, driven by the input.

#![no_main]

use evenkeel_core::{PeerId, ServerClock, Synchronized};
use evenkeel_dr::Topology;
use evenkeel_fuzz::feed::Feed;
use evenkeel_fuzz::node::{AnyClock, Node};
use evenkeel_fuzz::settings::config;
use evenkeel_fuzz::world::World;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut feed = Feed::new(bytes);
    let config = config(Topology::Direct, &mut feed);
    let clocks = feed.below(3);
    let build = |node| {
        let clock = match (clocks, node) {
            (0, _) => AnyClock::Synchronized(Synchronized),
            (1, _) => AnyClock::median(),
            (_, 0) => AnyClock::Server(ServerClock::default()),
            _ => AnyClock::follower(PeerId(0)),
        };
        Node::peer(&config, clock)
    };
    World::new(3, &mut feed, build).run(&mut feed);
});
