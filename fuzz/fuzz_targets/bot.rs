//! A relay and bots, whose settings come from a recording that may be damaged, as in `evenkeel replay`.

#![no_main]

use evenkeel_core::{PeerId, Seed, ServerClock, Wire};
use evenkeel_dr::{EntityId, Topology};
use evenkeel_fuzz::feed::Feed;
use evenkeel_fuzz::forge::damage;
use evenkeel_fuzz::node::{AnyClock, Node};
use evenkeel_fuzz::settings::config;
use evenkeel_fuzz::wire::check_wire;
use evenkeel_fuzz::world::World;
use evenkeel_games::{BotConfig, Driver};
use libfuzzer_sys::fuzz_target;

const RELAY: usize = 0;

fuzz_target!(|bytes: &[u8]| {
    let mut feed = Feed::new(bytes);
    let relay = PeerId(RELAY as u32);
    let room = config(Topology::Relay(relay), &mut feed);
    let settings = BotConfig {
        dr: room,
        entity: EntityId(feed.small()),
        driver: feed.pick(&[Driver::Random, Driver::Linear, Driver::Circular]),
        seed: Seed::new(u64::from(feed.byte())),
        tick: feed.span(),
    };
    let mut recorded = Vec::new();
    settings.emit(&mut recorded);
    assert_eq!(check_wire(&recorded), Some((settings, recorded.len())));
    for _ in 0..feed.below(4) {
        damage(&mut recorded, &mut feed);
    }
    let Some((settings, _)) = check_wire::<BotConfig>(&recorded) else { return };
    let build = |node| match node {
        RELAY => Node::relay(&room, AnyClock::Server(ServerClock::default())),
        _ => Node::bot(&settings, AnyClock::follower(relay)),
    };
    World::new(3, &mut feed, build).run(&mut feed);
});
