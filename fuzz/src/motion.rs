//! The contract of recorded motion.

use evenkeel_core::Vec3;
use evenkeel_games::{Cursor, Sample};

/// Seconds since the recording began: within short recordings, between rows, and after many repetitions.
const SECONDS: [f64; 9] = [0.0, 1e-9, 0.5, 1.0, 1.999, 2.0, 60.0, 86_400.0, 1e9];

/// Checks that all samples are finite.
///
/// # Panics
/// If one is not.
pub fn check_cursor(cursor: &mut Cursor) {
    // The last one goes back.
    for seconds in SECONDS.into_iter().chain([0.25]) {
        if let Some(sample) = cursor.sample(seconds) {
            check_sample(seconds, &sample);
        }
    }
}

fn check_sample(seconds: f64, sample: &Sample) {
    let is_finite = |v: Vec3| v.x.is_finite() && v.y.is_finite() && v.z.is_finite();
    let state = &sample.state;
    let vectors = [state.position, state.velocity, state.acceleration];
    assert!(
        vectors.into_iter().all(is_finite) && state.turn_rate.is_finite(),
        "at {seconds} s the state is {state:?}"
    );
}
