//! What a session clock shows: never a guess, never backwards, and never minutes of slewing.
//!
//! Small corrections are slewed. A larger one forward is a jump. After a larger one backward there is no
//! session time until the estimate has caught up with the latest time shown, however long that takes.
//! [`Output::restart`] lifts this for a new connection.

use std::collections::VecDeque;

use super::ClockEvent;
use super::band::Band;
use super::slewed::Slewed;
use crate::time::{LocalTime, SessionTime, Span};

/// The largest correction that is slewed, which takes ten seconds at the full rate.
pub const SLEW_MAX: Span = Span::from_millis(5);
/// Limit on undelivered events; beyond it, the oldest are dropped.
const EVENTS_MAX: usize = 32;
/// Rounding error of nanosecond arithmetic and of reading two clocks.
const ROUNDING: Span = Span::from_nanos(4);

/// The session time that is shown to the application.
#[derive(Clone, Debug, Default)]
pub(super) struct Output {
    line: Option<Slewed>,
    /// The current bounds of the offset.
    band: Option<Band>,
    /// The earliest time that may be shown next, once something was shown.
    floor: Option<SessionTime>,
    /// Whether the band is good enough to be shown.
    is_steady: bool,
    events: VecDeque<ClockEvent>,
}

impl Output {
    pub(super) fn session(&self, now: LocalTime) -> Option<SessionTime> {
        self.line.map(|line| line.session(now))
    }

    pub(super) fn local(&self, at: SessionTime) -> Option<LocalTime> {
        self.line.map(|line| line.local(at))
    }

    /// Returns the earliest and latest possible session time, or `None` while none is shown.
    pub(super) fn interval(&self, now: LocalTime) -> Option<(SessionTime, SessionTime)> {
        self.line?;
        let band = self.band?;
        Some((shifted(now, band.low(now) - ROUNDING), shifted(now, band.high(now) + ROUNDING)))
    }

    /// Returns how far the shown time may be from the truth.
    pub(super) fn error_max(&self, now: LocalTime) -> Option<Span> {
        let shown = self.session(now)?;
        let (low, high) = self.interval(now)?;
        Some((high - shown).max(shown - low))
    }

    /// Returns the estimate, shown or not.
    pub(super) fn estimate(&self, now: LocalTime) -> Option<SessionTime> {
        self.band.map(|band| shifted(now, band.best(now)))
    }

    /// Takes a band that is good enough to be shown.
    pub(super) fn steer(&mut self, now: LocalTime, band: Band) {
        self.band = Some(band);
        self.is_steady = true;
        let target = shifted(now, band.best(now));
        let Some(line) = &mut self.line else { return self.advance(now) };
        let correction = target - line.session(now);
        if correction.abs() <= SLEW_MAX {
            line.aim(now, target, band.best_ppb);
        } else if correction > Span::ZERO {
            *line = Slewed::start(now, target, band.best_ppb);
            self.push_event(ClockEvent::Stepped { by: correction });
        } else {
            self.hide(now);
        }
    }

    /// Takes a band that is not good enough to be shown; the shown time continues unchanged.
    pub(super) fn doubt(&mut self, band: Band) {
        self.band = Some(band);
        self.is_steady = false;
    }

    /// Shows the estimate once it is good enough and has caught up. Call at [`wake`](Self::wake).
    pub(super) fn advance(&mut self, now: LocalTime) {
        let (None, true, Some(band)) = (self.line, self.is_steady, self.band) else { return };
        let target = shifted(now, band.best(now));
        if self.floor.is_some_and(|floor| target < floor) {
            return;
        }
        self.line = Some(Slewed::start(now, target, band.best_ppb));
        self.push_event(ClockEvent::Fixed { error_max: band.error_max(now) });
    }

    /// Returns when the estimate catches up with the floor, if that is what it waits for.
    pub(super) fn wake(&self) -> Option<LocalTime> {
        let (None, true, Some(band), Some(floor)) = (self.line, self.is_steady, self.band, self.floor) else {
            return None;
        };
        let best = Slewed::start(band.at, shifted(band.at, band.best(band.at)), band.best_ppb);
        Some(best.local(floor))
    }

    /// Hides the session time and drops the band.
    pub(super) fn lose(&mut self, now: LocalTime) {
        self.hide(now);
        self.band = None;
        self.is_steady = false;
    }

    /// Starts a new connection, which may show earlier times than the last one.
    pub(super) fn restart(&mut self, now: LocalTime) {
        self.lose(now);
        self.floor = None;
    }

    pub(super) fn poll_event(&mut self) -> Option<ClockEvent> {
        self.events.pop_front()
    }

    fn hide(&mut self, now: LocalTime) {
        if let Some(line) = self.line.take() {
            self.floor = Some(line.session(now));
            self.push_event(ClockEvent::Lost);
        }
    }

    fn push_event(&mut self, event: ClockEvent) {
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}

fn shifted(now: LocalTime, offset: Span) -> SessionTime {
    SessionTime::from_nanos(now.as_nanos()) + offset
}
