//! The threshold at which an owner makes a new DR vector.

use evenkeel_core::{SessionTime, Span};

use crate::motion::{DrVector, MotionState};

/// The two limits of dead reckoning.
// Deviation: BZFlag compares each axis, we compare the distance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Threshold {
    /// The largest distance between real and exported path.
    pub distance: f64,
    /// The largest age of a vector, the papers' heartbeat; `None` if age does not matter.
    pub time: Option<Span>,
}

impl Default for Threshold {
    /// The papers' values: 0.09 units, and a heartbeat each second.
    fn default() -> Self {
        Self { distance: 0.09, time: Some(Span::from_secs(1)) }
    }
}

impl Threshold {
    /// The threshold in numbers that can be sent. Infinite and NaN distances become the largest number, negative ones
    /// lose their sign, and times become at least a nanosecond.
    #[must_use]
    pub fn sane(self) -> Self {
        let shortest = Span::from_nanos(1);
        Self { distance: self.distance.abs().min(f64::MAX), time: self.time.map(|time| time.max(shortest)) }
    }

    /// Whether a new vector is due, because the real path has strayed from the exported one or the vector is too old.
    #[must_use]
    pub fn strayed(&self, real: &MotionState, exported: &DrVector, now: SessionTime) -> bool {
        now >= self.expires(exported)
            || (real.position - exported.project(now)).length_squared() > self.distance * self.distance
    }

    /// The time at which a vector is too old; [`SessionTime::MAX`] if that is never.
    #[must_use]
    pub fn expires(&self, exported: &DrVector) -> SessionTime {
        self.time.map_or(SessionTime::MAX, |time| exported.generated + time)
    }
}
