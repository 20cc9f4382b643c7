//! What a session clock shows of an estimate: no guess, never backwards, and no slewing for minutes.
//!
//! An estimate that moved by little is slewed to. One that moved by more is jumped to if it lies ahead; if it lies
//! behind, there is no session time until the estimate has caught up with what was shown last. That holds however far
//! behind it lies: within one connection a time is never shown twice, and an application that does not want to wait
//! connects anew, on which [`Output::restart`] forgets what was shown.

use std::collections::VecDeque;

use super::ClockEvent;
use super::band::Band;
use super::slewed::Slewed;
use crate::time::{LocalTime, SessionTime, Span};

/// The most that is slewed: ten seconds at full rate.
pub const SLEW_MAX: Span = Span::from_millis(5);
/// The most events that wait for somebody to ask; of more, the oldest are dropped.
const EVENTS_MAX: usize = 32;
/// What rounding to whole nanoseconds, here and in reading two clocks, may hide.
const ROUNDING: Span = Span::from_nanos(4);

/// The session's time as it is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Output {
    line: Option<Slewed>,
    /// What is known of the offset.
    band: Option<Band>,
    /// The least that may be shown, after something was.
    floor: Option<SessionTime>,
    /// Whether the band is good enough to show it, as soon as the floor allows.
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

    /// What the session's time may be, from and to; `None` while none is shown.
    pub(super) fn interval(&self, now: LocalTime) -> Option<(SessionTime, SessionTime)> {
        self.line?;
        let band = self.band?;
        Some((shifted(now, band.low(now) - ROUNDING), shifted(now, band.high(now) + ROUNDING)))
    }

    /// How far what is shown may be from the truth.
    pub(super) fn error_max(&self, now: LocalTime) -> Option<Span> {
        let shown = self.session(now)?;
        let (low, high) = self.interval(now)?;
        Some((high - shown).max(shown - low))
    }

    /// The estimate, whether it is shown or not.
    pub(super) fn estimate(&self, now: LocalTime) -> Option<SessionTime> {
        self.band.map(|band| shifted(now, band.best(now)))
    }

    /// A new band that is good enough to be shown.
    pub(super) fn steer(&mut self, now: LocalTime, band: Band) {
        self.band = Some(band);
        self.is_steady = true;
        let target = shifted(now, band.best(now));
        let Some(line) = &mut self.line else { return self.advance(now) };
        let lacking = target - line.session(now);
        if lacking.abs() <= SLEW_MAX {
            line.aim(now, target, band.best_ppb);
        } else if lacking > Span::ZERO {
            *line = Slewed::start(now, target, band.best_ppb);
            self.say(ClockEvent::Stepped { by: lacking });
        } else {
            self.hide(now);
        }
    }

    /// A new band that is not good enough to follow it: what is shown goes on as it was.
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
        self.say(ClockEvent::Fixed { error_max: band.error_max(now) });
    }

    /// When the estimate catches up with what was shown, if that is waited for.
    pub(super) fn wake(&self) -> Option<LocalTime> {
        let (None, true, Some(band), Some(floor)) = (self.line, self.is_steady, self.band, self.floor) else {
            return None;
        };
        let best = Slewed::start(band.at, shifted(band.at, band.best(band.at)), band.best_ppb);
        Some(best.local(floor))
    }

    /// Shows nothing any more, and knows nothing.
    pub(super) fn lose(&mut self, now: LocalTime) {
        self.hide(now);
        self.band = None;
        self.is_steady = false;
    }

    /// Begins a new connection: what was shown before does not bind it.
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
            self.say(ClockEvent::Lost);
        }
    }

    fn say(&mut self, event: ClockEvent) {
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}

fn shifted(now: LocalTime, offset: Span) -> SessionTime {
    SessionTime::from_nanos(now.as_nanos()) + offset
}
