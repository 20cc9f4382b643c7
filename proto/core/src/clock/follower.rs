//! The clock of a peer that follows one server: it asks, bounds the offset, and shows the server's time.
//!
//! The first exchanges are made in a burst; after [`FIXING`] of them there is a session time. When the estimator breaks
//! (a step of a clock), what is shown goes on for as long as the next burst takes.
//!
//! An estimate that moved by at most [`SLEW_MAX`](super::SLEW_MAX) is slewed to. One that moved by more is jumped to if
//! it lies ahead. If it lies behind, there is no session time until the estimate has caught up with what was shown last,
//! however far that is: within one connection a time is never shown twice. An application that does not want to wait
//! connects anew.

use super::delays::Delays;
use super::exchange::{Observed, OffsetEstimator};
use super::frame::ClockFrame;
use super::hull::{Hull, WINDOW};
use super::output::Output;
use super::probes::Probes;
use super::{ClockEvent, SessionClock};
use crate::peer::{PeerChange, PeerId};
use crate::time::{LocalTime, SessionTime, Span};

/// So many exchanges make a session time. More would take longer, fewer would have to be corrected by more.
pub const FIXING: u32 = 8;

/// Follows the clock of one server, which runs a [`ServerClock`](super::ServerClock).
#[derive(Clone, Debug)]
pub struct FollowerClock<E = Hull> {
    server: PeerId,
    /// While the server is here.
    connection: Option<Connection<E>>,
    output: Output,
    /// The latest time it was told.
    now: LocalTime,
    breaks: u64,
    ignored: u64,
}

#[derive(Clone, Debug)]
struct Connection<E> {
    probes: Probes,
    estimator: E,
    /// Exchanges since the beginning or the last break.
    exchanges: u32,
    /// When the last exchange was complete.
    heard: Option<LocalTime>,
    delays: Delays,
}

impl<E: OffsetEstimator> Connection<E> {
    fn new(now: LocalTime) -> Self {
        Self {
            probes: Probes::new(now),
            estimator: E::default(),
            exchanges: 0,
            heard: None,
            delays: Delays::default(),
        }
    }
}

impl<E: OffsetEstimator> FollowerClock<E> {
    /// A clock that follows this peer. It has no session time before that peer joined and answered.
    #[must_use]
    pub fn new(server: PeerId) -> Self {
        let output = Output::default();
        Self { server, connection: None, output, now: LocalTime::MIN, breaks: 0, ignored: 0 }
    }

    /// The estimate itself, before slewing, and also before it is good enough to be shown.
    #[must_use]
    pub fn estimate(&self, now: LocalTime) -> Option<SessionTime> {
        self.output.estimate(now)
    }

    /// The delays of the connection; `None` while there is none.
    #[must_use]
    pub fn delays(&self) -> Option<&Delays> {
        self.connection.as_ref().map(|connection| &connection.delays)
    }

    /// How often exchanges contradicted each other.
    #[must_use]
    pub const fn breaks(&self) -> u64 {
        self.breaks
    }

    /// Echoes that were not taken: of no probe that was sent or a second time, or with times that cannot be.
    #[must_use]
    pub fn ignored(&self) -> u64 {
        self.ignored + self.connection.as_ref().map_or(0, |connection| connection.probes.ignored)
    }

    fn handle_echo(&mut self, now: LocalTime, echo: &ClockFrame) {
        let Some(connection) = &mut self.connection else { return };
        let Some(exchange) = connection.probes.complete(echo, now) else { return };
        let observed = connection.estimator.observe(&exchange);
        let Some(band) = connection.estimator.band() else { return };
        match observed {
            Observed::Ignored => return,
            Observed::Taken => connection.exchanges = connection.exchanges.saturating_add(1),
            Observed::Broke => {
                self.breaks += 1;
                connection.exchanges = 0;
                connection.probes.hurry(now);
                connection.delays.forget_ways();
            }
        }
        // The first answer of a server that was silent may come when no burst is left.
        if connection.heard.replace(now).is_none() {
            connection.probes.hurry(now);
        }
        if connection.exchanges < FIXING {
            return self.output.doubt(band);
        }
        if connection.exchanges == FIXING {
            connection.probes.relax();
        }
        connection.delays.sample(&exchange, &band);
        self.output.steer(now, band);
    }

    /// Takes note of the time, and of a server that has been silent for the whole window.
    fn advance(&mut self, now: LocalTime) -> LocalTime {
        self.now = self.now.max(now);
        if self.silent_at().is_some_and(|at| at <= self.now) {
            self.restart();
            self.output.lose(self.now);
        }
        self.output.advance(self.now);
        self.now
    }

    /// Starts anew with a server that is still here. What is outstanding may still be answered, but not by a burst.
    fn restart(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        connection.estimator = E::default();
        connection.exchanges = 0;
        connection.heard = None;
        connection.delays = Delays::default();
    }

    fn silent_at(&self) -> Option<LocalTime> {
        Some(self.connection.as_ref()?.heard? + WINDOW)
    }
}

impl<E: OffsetEstimator> SessionClock for FollowerClock<E> {
    #[inline]
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        self.output.session(now)
    }

    #[inline]
    fn local(&self, at: SessionTime) -> Option<LocalTime> {
        self.output.local(at)
    }

    fn error_max(&self, now: LocalTime) -> Option<Span> {
        self.output.error_max(now)
    }

    fn interval(&self, now: LocalTime) -> Option<(SessionTime, SessionTime)> {
        self.output.interval(now)
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        let now = self.advance(now);
        if change.peer() != self.server {
            return;
        }
        self.output.restart(now);
        self.ignored = self.ignored();
        self.connection = match change {
            PeerChange::Joined { .. } => Some(Connection::new(now)),
            PeerChange::Left { .. } => None,
        };
    }

    fn handle_frame(&mut self, now: LocalTime, from: PeerId, frame: &ClockFrame) {
        let now = self.advance(now);
        if from == self.server && matches!(frame, ClockFrame::Echo { .. }) {
            self.handle_echo(now, frame);
        }
    }

    fn poll_due(&mut self, now: LocalTime) -> Option<PeerId> {
        let now = self.advance(now);
        let connection = self.connection.as_mut()?;
        connection.probes.poll_due(now).then_some(self.server)
    }

    fn poll_frame(&mut self, now: LocalTime, to: PeerId) -> Option<ClockFrame> {
        let now = self.advance(now);
        let connection = self.connection.as_mut().filter(|_| to == self.server)?;
        connection.probes.poll_frame(now)
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let connection = self.connection.as_ref()?;
        let others = [self.silent_at(), self.output.wake()];
        Some(others.into_iter().flatten().fold(connection.probes.next(), LocalTime::min))
    }

    fn poll_event(&mut self) -> Option<ClockEvent> {
        self.output.poll_event()
    }
}
