//! Bounds on what any policy can do with one exported path: each receiver's floor, and what somebody could do who knew
//! the future.
//!
//! They are computed at constant delays without loss, by dynamic programming over the vectors that the owner makes: a
//! receiver is sent a vector when it is made, or never. A receiver's *floor* is its error if it is sent every one. With
//! a number of sends for all of them together, the *least mean* is the least that their mean error can be, and the
//! *equal* bound the least error that all of them can have alike.
//!
//! Of the sends, error trade-off the lower convex hull counts, so that between two of its corners one may mix: a bound
//! stays a bound. Held vectors and vectors made between triggers are not in it, and it bounds nothing where delays vary:
//! a newer vector that overtakes an older one arrives sooner than the mean.

mod frontier;
mod path;

pub use frontier::{Frontier, FrontierPoint};
pub use path::{ExportedPath, SHOWN_MAX};

use evenkeel_core::{SessionTime, Span};

/// What nobody can beat at constant delays.
#[derive(Clone, PartialEq, Debug)]
pub struct Bounds {
    /// Each receiver's error if it is sent every vector.
    pub floors: Vec<f64>,
    /// The least mean error.
    pub least_mean: f64,
    /// The least error that everybody can have.
    pub equal: f64,
}

/// The bounds for receivers at these delays, who are sent so many vectors of these paths together, errors counted from
/// the first arrival up to `until`.
#[must_use]
pub fn bounds(paths: &[ExportedPath], delays: &[Span], sends: f64, until: SessionTime) -> Bounds {
    let mut receivers: Vec<Frontier> =
        delays.iter().map(|delay| Frontier::new(paths, *delay, until)).collect();
    let floors: Vec<f64> = receivers.iter().map(Frontier::floor).collect();
    let equal = equal(&mut receivers, sends);
    let mut together = Frontier::together(receivers);
    let least_mean = together.error_with(sends) / delays.len().max(1) as f64;
    Bounds { floors, least_mean, equal }
}

/// The least error that all can have alike: so large that everybody can have it, and that the sends suffice.
fn equal(receivers: &mut [Frontier], sends: f64) -> f64 {
    let needed = |receivers: &mut [Frontier], error: f64| -> f64 {
        receivers.iter_mut().map(|receiver| receiver.sends_for(error)).sum()
    };
    let mut low = receivers.iter_mut().map(Frontier::least).fold(0.0, f64::max);
    if needed(receivers, low) <= sends {
        return low;
    }
    let mut high = receivers.iter_mut().map(Frontier::unsent).fold(low, f64::max);
    while high - low > 1e-6 * high {
        let middle = 0.5 * (low + high);
        if needed(receivers, middle) <= sends {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}
