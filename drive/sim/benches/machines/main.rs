//! How fast the simulator runs the real machines, in events per second and core.
//!
//! `cargo bench -p evenkeel-sim --bench machines`. An event is an arrival, a timeout or a command. With the
//! arguments `count 3` a shorter run with three receivers prints its number of events; `cargo xtask
//! instructions` runs that under valgrind.

// A benchmark prints.
#![allow(clippy::disallowed_macros, missing_docs)]

mod run;

use divan::Bencher;
use divan::counter::ItemsCount;
use evenkeel_dr::DrPeer;
use run::{Kinds, let_time_pass, motion, stage};

const SECONDS: u64 = 300;
const SECONDS_COUNTED: u64 = 30;

const KINDS: Kinds<DrPeer> = Kinds { peer: |peer| *peer, relay: None, command: |command| command };

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["count", receivers] => {
            let receivers = receivers.parse().expect("a number of receivers");
            let mut world = stage(&KINDS, receivers, "base");
            println!("{}", let_time_pass(&mut world, &KINDS, &motion(SECONDS_COUNTED)));
        }
        _ => divan::main(),
    }
}

#[divan::bench(args = [3, 30, 100])]
fn receivers(bencher: Bencher<'_, '_>, receivers: u32) {
    let motion = motion(SECONDS);
    let run = || let_time_pass(&mut stage(&KINDS, receivers, "base"), &KINDS, &motion);
    bencher.counter(ItemsCount::new(run())).bench(run);
}
