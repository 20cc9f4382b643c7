//! Bounds on any policy for given exported paths: each receiver's floor, and the clairvoyant optimum, which knows the
//! future.
//!
//! They are computed for constant delays without loss, by dynamic programming over the vectors that the owner generates:
//! each is sent to a receiver at once or never. A receiver's *floor* is its error if every vector is sent to it. For a
//! total number of sends, the *least mean* is the least mean error of the receivers, and the *equal* bound is the least
//! error that all of them can have alike.
//!
//! The trade-off of sends and error is relaxed to its lower convex hull, which keeps the bounds valid. Held vectors and
//! vectors generated between triggers are not modelled. With varying delays the bounds do not hold, as an overtaking
//! vector arrives sooner than the mean delay.

mod frontier;
mod path;

pub use frontier::{Frontier, FrontierPoint};
pub use path::{ExportedPath, SHOWN_MAX};

use evenkeel_core::{SessionTime, Span};

/// The bounds for one exported path at constant delays.
#[derive(Clone, PartialEq, Debug)]
pub struct Bounds {
    /// Each receiver's error if it is sent every vector.
    pub floors: Vec<f64>,
    /// The least mean error.
    pub least_mean: f64,
    /// The least error that all receivers can have alike.
    pub equal: f64,
}

/// Computes the bounds for receivers at these delays and `sends` vectors sent in total. Errors count from the first arrival
/// up to `until`.
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

/// The least error that every receiver can attain and for which the sends suffice, by bisection.
fn equal(receivers: &mut [Frontier], sends: f64) -> f64 {
    let needed = |receivers: &mut [Frontier], error: f64| -> f64 {
        receivers.iter_mut().map(|receiver| receiver.sends_for(error)).sum()
    };
    let mut low = receivers.iter_mut().map(Frontier::least).fold(0.0, f64::max);
    if needed(receivers, low) <= sends {
        return low;
    }
    let mut high = receivers.iter_mut().map(Frontier::error_with_fewest).fold(low, f64::max);
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
