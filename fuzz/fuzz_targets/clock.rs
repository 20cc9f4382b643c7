//! Clocks and the network between them, driven by the input.

#![no_main]

use evenkeel_fuzz::clocks::Clocks;
use evenkeel_fuzz::feed::Feed;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut feed = Feed::new(bytes);
    Clocks::new(&mut feed).run(&mut feed);
});
