//! Any bytes parse as a message, which is emitted byte for byte, or are rejected.

#![no_main]

use evenkeel_dr::message::{Frame, frames};
use evenkeel_fuzz::forge::check_roundtrip;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    check_roundtrip(bytes);
    let Ok((_, frames)) = frames(bytes) else { return };
    for frame in frames {
        match frame {
            Frame::Feedback(feedback) => {
                let count = feedback.arrivals().count();
                assert!(feedback.oldest <= feedback.first && count <= 255, "{feedback:?}");
                let known = bytes.len() % (count + 1);
                let new = feedback.arrivals_from(feedback.first.saturating_add(known as u64));
                assert!(new.eq(feedback.arrivals().skip(known)), "{feedback:?}");
            }
            Frame::Vector(frame) | Frame::Introduce(frame, _) => {
                assert!(frame.vector.is_sane() && frame.first <= frame.seq, "{frame:?}");
                assert_eq!(frame.vector.quantized(), frame.vector, "a vector from the wire is quantized");
                let place = frame.vector.project(frame.sent);
                assert!(place.within(f64::MAX), "{frame:?} is at {place:?}");
            }
            _ => {}
        }
    }
});
