//! How long updates are held, steadily.
//!
//! An estimate that rises and falls between two updates moves the moments at which they are shown against their stamps, and
//! with them the fair places of the actions that react to them: who acts just after an update that was held for longer comes
//! before who acted just before it. So the hold rises at once, because a shorter one would show updates late, and falls slowly.

use evenkeel_core::{SessionTime, Span};

const SECOND: i64 = 1_000_000_000;

/// The time for which updates are held.
#[derive(Clone, Copy, Debug)]
pub(super) struct SteadyHold {
    /// How much shorter it becomes in a second at most; without one, as much as the estimates do.
    fall: Option<Span>,
    hold: Span,
    at: SessionTime,
}

impl SteadyHold {
    pub(super) const fn new(fall: Option<Span>) -> Self {
        Self { fall, hold: Span::ZERO, at: SessionTime::MIN }
    }

    /// The hold now, where the estimates ask for at least this one.
    pub(super) fn at(&mut self, now: SessionTime, wanted: Span) -> Span {
        let elapsed = (now - self.at).clamp(Span::ZERO, Span::from_nanos(SECOND));
        let fallen = self.fall.map_or(Span::ZERO, |fall| {
            let by = i128::from(fall.as_nanos()) * i128::from(elapsed.as_nanos()) / i128::from(SECOND);
            self.hold - Span::from_nanos(by as i64)
        });
        (self.hold, self.at) = (wanted.max(fallen), now);
        self.hold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rises_at_once_and_falls_slowly() {
        let (at, millis) = (|millis: i64| SessionTime::from_nanos(millis * 1_000_000), Span::from_millis);
        let mut hold = SteadyHold::new(Some(millis(10)));
        assert_eq!(hold.at(at(0), millis(50)), millis(50));
        assert_eq!(hold.at(at(25), millis(80)), millis(80));
        assert_eq!(hold.at(at(125), millis(20)), millis(79));
        assert_eq!(hold.at(at(1_125), millis(20)), millis(69));
        let mut plain = SteadyHold::new(None);
        assert_eq!(plain.at(at(0), millis(50)), millis(50));
        assert_eq!(plain.at(at(25), millis(20)), millis(20));
    }
}
