//! Any bytes parse as the beginning of a reliable stream, which is written byte for byte, or are rejected. A player copes
//! with any welcome message.

#![no_main]

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use evenkeel_core::{Seed, ServerClock};
use evenkeel_dr::{Content, DrConfig, Threshold, Topology};
use evenkeel_fuzz::feed::Feed;
use evenkeel_fuzz::node::{AnyClock, Node};
use evenkeel_fuzz::wire::check_wire;
use evenkeel_fuzz::world::World;
use evenkeel_net::transport::{RELIABLE_BYTES_MAX, stream};
use evenkeel_serve::client::player_config;
use evenkeel_serve::{RELAY, Welcome};
use libfuzzer_sys::fuzz_target;

/// Runs a future that reads from memory and so is always ready.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits for bytes that it has"),
    }
}

/// Checks that all messages up to the end are written byte for byte as they were read.
fn check_messages(bytes: &[u8]) {
    let mut rest = bytes;
    let mut again = Vec::new();
    while let Ok(message) = now(stream::read_message(&mut rest)) {
        assert!(message.len() <= RELIABLE_BYTES_MAX, "{} bytes", message.len());
        stream::emit_message(&message, &mut again);
    }
    assert!(bytes.starts_with(&again), "messages are written differently than they were read");
}

/// Runs a relay and a player with this welcome message.
fn play(welcome: &Welcome, feed: &mut Feed<'_>) {
    let relay = DrConfig { topology: Topology::Relay(RELAY), ..DrConfig::default() };
    let player = player_config(welcome, Threshold::default(), Content::default());
    let player = DrConfig { seed: Seed::new(0), ..player };
    let build = |node| match node {
        0 => Node::relay(&relay, AnyClock::Server(ServerClock::default())),
        _ => Node::peer(&player, AnyClock::follower(RELAY)),
    };
    World::new(2, feed, build).run(feed);
}

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let mut rest = bytes;
    match which % 3 {
        0 => {
            if now(stream::read_preamble(&mut rest)).is_ok() {
                check_messages(rest);
            }
        }
        1 => {
            let Ok(greeting) = now(stream::read_greeting(&mut rest)) else { return };
            let read = bytes.len() - rest.len();
            assert_eq!(
                stream::emit_greeting(&greeting),
                bytes[..read],
                "a greeting is written differently than it was read"
            );
            check_wire::<Welcome>(&greeting);
            check_messages(rest);
        }
        _ => {
            if let Some((welcome, len)) = check_wire::<Welcome>(bytes) {
                play(&welcome, &mut Feed::new(&bytes[len..]));
            }
        }
    }
});
