//! The test machine keeps the contract of every endpoint.

mod pinger;

use evenkeel_core::contract::check;
use evenkeel_core::{Channel, LocalTime, PeerId, Span};
use pinger::{Command, Pinger};

#[test]
fn the_pinger_survives_the_hostile_schedule() {
    for seed in 0..20 {
        check(
            seed,
            2_000,
            3,
            |_| Pinger::default(),
            |_, draws| match draws.below(4) {
                0 => Command::Wake(
                    LocalTime::from_nanos(draws.below(60_000_000_000) as i64),
                    Span::from_nanos(draws.below(1_000_000_000) as i64),
                ),
                1 => Command::Ping(PeerId(draws.below(3) as u32), Channel::Reliable, draws.bits()),
                _ => Command::Ping(PeerId(draws.below(3) as u32), Channel::Datagram, draws.bits()),
            },
        );
    }
}
