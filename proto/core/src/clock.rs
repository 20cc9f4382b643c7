//! From a node's own clock to the session's.

use crate::time::{LocalTime, SessionTime};

/// What a machine needs of the session's clock.
pub trait SessionClock {
    /// The session's time at a reading of the local clock; `None` before the first fix.
    fn session(&self, now: LocalTime) -> Option<SessionTime>;
    /// The reading of the local clock at a session time; `None` before the first fix.
    fn local(&self, at: SessionTime) -> Option<LocalTime>;
}

/// The papers' assumption: every node's clock already shows the session's time (NTP, GPS, or a simulator).
#[derive(Clone, Copy, Debug, Default)]
pub struct Synchronized;

impl SessionClock for Synchronized {
    #[inline]
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        Some(SessionTime::from_nanos(now.as_nanos()))
    }

    #[inline]
    fn local(&self, at: SessionTime) -> Option<LocalTime> {
        Some(LocalTime::from_nanos(at.as_nanos()))
    }
}
