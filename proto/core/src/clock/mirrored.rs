//! The clock of a machine beside another one that exchanges clock frames for both.
//!
//! Several protocols in one room share a session's time, and only one of them measures it. The machine that holds them
//! copies what that one's clock shows to the others' [`MirroredClock`] before it calls them.

use super::SessionClock;
use crate::time::{LocalTime, SessionTime, Span};

/// Shows the session time of another clock, as of the last copy.
///
/// ```
/// use evenkeel_core::clock::{MirroredClock, SessionClock, Synchronized};
/// use evenkeel_core::{LocalTime, SessionTime};
///
/// let now = LocalTime::from_nanos(5);
/// assert_eq!(MirroredClock::default().session(now), None);
/// let mirrored = MirroredClock::of(&Synchronized, now);
/// assert_eq!(mirrored.session(LocalTime::from_nanos(7)), Some(SessionTime::from_nanos(7)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MirroredClock {
    shown: Option<Reflection>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reflection {
    /// Session time minus local time.
    offset: Span,
    error_max: Span,
}

impl MirroredClock {
    /// A copy of what a clock shows now. Another clock may be slewed, so a copy is exact only at this time.
    #[must_use]
    pub fn of(clock: &impl SessionClock, now: LocalTime) -> Self {
        let reflection = |session: SessionTime| Reflection {
            offset: session - SessionTime::from_nanos(now.as_nanos()),
            error_max: clock.error_max(now).unwrap_or(Span::MAX),
        };
        Self { shown: clock.session(now).map(reflection) }
    }
}

impl SessionClock for MirroredClock {
    #[inline]
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        self.shown.map(|shown| SessionTime::from_nanos(now.as_nanos()) + shown.offset)
    }

    #[inline]
    fn local(&self, at: SessionTime) -> Option<LocalTime> {
        self.shown.map(|shown| LocalTime::from_nanos(at.as_nanos()) - shown.offset)
    }

    fn error_max(&self, _now: LocalTime) -> Option<Span> {
        self.shown.map(|shown| shown.error_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An hour ahead, and fast by a quarter.
    struct Fast;

    impl SessionClock for Fast {
        fn session(&self, now: LocalTime) -> Option<SessionTime> {
            Some(SessionTime::from_nanos(now.as_nanos() / 4 * 5) + Span::from_secs(3_600))
        }

        fn local(&self, _: SessionTime) -> Option<LocalTime> {
            unreachable!("a copy needs only what the clock shows")
        }

        fn error_max(&self, _: LocalTime) -> Option<Span> {
            Some(Span::from_millis(3))
        }
    }

    #[test]
    fn a_copy_is_exact_when_it_is_made_and_goes_on_at_the_local_rate() {
        let now = LocalTime::from_nanos(4_000_000);
        let (mirrored, later) = (MirroredClock::of(&Fast, now), now + Span::from_millis(8));
        assert_eq!(mirrored.session(now), Fast.session(now));
        assert_eq!(mirrored.session(later), Fast.session(now).map(|at| at + Span::from_millis(8)));
        assert_eq!(mirrored.session(later).and_then(|at| mirrored.local(at)), Some(later));
        assert_eq!(mirrored.error_max(later), Some(Span::from_millis(3)));
        assert_eq!(MirroredClock::of(&mirrored, later), mirrored);
        assert_eq!(MirroredClock::of(&MirroredClock::default(), now), MirroredClock::default());
    }
}
