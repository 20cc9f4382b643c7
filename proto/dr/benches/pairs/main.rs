//! The cost of a pair (one entity at one receiver) under `even`: time per pair and tick, time per settled
//! acknowledgment, and memory. Times are measured for an owner that runs alone, and for one in a room with its
//! receivers.
//!
//! Run with `cargo bench -p evenkeel-dr --bench pairs`. With the arguments `count ticks 0.09` or
//! `count acknowledgments 0.09` it runs a smaller room at that threshold and prints how many of them were measured, which
//! `cargo xtask instructions` runs under valgrind. With `bytes` it only measures memory.

// A benchmark reads the clock and prints.
#![allow(clippy::disallowed_types, clippy::disallowed_macros, missing_docs)]

mod bytes;
mod plain;
mod recording;
mod room;

use std::time::Duration;

use recording::Recording;
use room::{Figures, Room, even};

const ENTITIES: usize = 1_000;
const RECEIVERS: usize = 100;
/// Ticks that are measured, and ticks of warming up.
const TICKS: usize = 250;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["count", "ticks", distance] => {
            println!("{}", counted(distance, |room, figures| pairs(room) * figures.ticks));
        }
        ["count", "acknowledgments", distance] => {
            println!("{}", counted(distance, |_, figures| figures.settled))
        }
        ["bytes"] => report_bytes(),
        ["count", ..] => panic!("usage: count ticks|acknowledgments THRESHOLD"),
        _ => report(),
    }
}

/// Runs a smaller room, to count instructions after all introductions.
fn counted(distance: &str, units: impl Fn(&(usize, usize), &Figures) -> u64) -> u64 {
    let size = (200, RECEIVERS);
    let distance = distance.parse().expect("a threshold in units");
    let mut room = Room::new(size.0, size.1, even(), distance);
    (0..100).for_each(|_| room.step());
    units(&size, &room.measure(50))
}

fn pairs(room: &(usize, usize)) -> u64 {
    (room.0 * room.1) as u64
}

fn each(took: Duration, count: u64) -> f64 {
    took.as_nanos() as f64 / count.max(1) as f64
}

fn report() {
    for distance in [1.0, 0.09] {
        println!("{ENTITIES} entities x {RECEIVERS} receivers, 50 Hz, even, threshold {distance}:");
        println!("the owner alone, messages in cache as after a socket's read:");
        report_figures(&Recording::new(ENTITIES, RECEIVERS, distance, 2 * TICKS).play(TICKS));
        println!("the owner in a room with all receivers on the same core:");
        let mut room = Room::new(ENTITIES, RECEIVERS, even(), distance);
        (0..TICKS).for_each(|_| room.step());
        report_figures(&room.measure(TICKS));
    }
    println!("a straightforward implementation:");
    println!("  {:8.1} ns per pair and tick", plain::nanos_per_tick(200, RECEIVERS, 1.0));
    report_bytes();
}

fn report_figures(figures: &Figures) {
    let ticks = pairs(&(ENTITIES, RECEIVERS)) * figures.ticks;
    let seconds = figures.ticks as f64 / 50.0;
    println!(
        "  {:.1} triggers per entity and second, {:.0} vectors per second",
        figures.triggers as f64 / seconds / ENTITIES as f64,
        figures.settled as f64 / seconds
    );
    println!("  {:8.1} ns per pair and tick", each(figures.observing, ticks));
    println!("  {:8.1} ns per vector transmitted", each(figures.transmitting, figures.settled));
    println!("  {:8.1} ns per acknowledgment settled", each(figures.settling, figures.settled));
    let busy = figures.observing + figures.transmitting + figures.settling;
    println!("  {:8.1} % of a core in total", 100.0 * busy.as_secs_f64() / seconds);
}

fn report_bytes() {
    println!("bytes per pair, on average and for each additional pair with another {RECEIVERS} receivers:");
    for in_flight in [0, 5, 10, 20] {
        let (held, added) = bytes::per_pair(ENTITIES, RECEIVERS, in_flight);
        println!("  {held:8.1} {added:8.1} with {in_flight} in flight");
    }
}
