//! When the owner makes a new DR vector.

use evenkeel_core::{SessionTime, Span};

use crate::vector::{DrVector, MotionState};

/// The two limits of dead reckoning. Deviation: BZFlag compares per axis; here it is the true distance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Threshold {
    /// The real path may leave the exported path by at most this distance.
    pub distance: f64,
    /// A new vector is made after this time in any case; `None`: never for its age.
    pub time: Option<Span>,
}

impl Default for Threshold {
    /// What the papers ran with: 0.09 units, and a heartbeat each second.
    fn default() -> Self {
        Self { distance: 0.09, time: Some(Span::from_secs(1)) }
    }
}

impl Threshold {
    /// The same in numbers that can be told to others. An infinite distance, or one that is not a number, is larger than any
    /// other; the sign does not count, as it never did. A time of zero is the shortest there is.
    #[must_use]
    pub fn sane(self) -> Self {
        let shortest = Span::from_nanos(1);
        Self { distance: self.distance.abs().min(f64::MAX), time: self.time.map(|time| time.max(shortest)) }
    }

    /// Whether a new vector is due: the real path strayed from the exported one, or the vector grew too old.
    #[must_use]
    pub fn strayed(&self, real: &MotionState, exported: &DrVector, now: SessionTime) -> bool {
        now >= self.expires(exported)
            || (real.position - exported.project(now)).length_squared() > self.distance * self.distance
    }

    /// The time at which a vector grows too old; the end of time if it never does.
    #[must_use]
    pub fn expires(&self, exported: &DrVector) -> SessionTime {
        self.time.map_or(SessionTime::MAX, |time| exported.generated + time)
    }
}
