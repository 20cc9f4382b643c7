//! The clock of a peer that follows a server: it probes, bounds the offset, and shows the server's time.
//!
//! The first exchanges are made in a burst; [`EXCHANGES_MIN`] of them give a session time. After a break (a
//! stepped clock) the session time continues as before until the next burst is complete.
//!
//! Small corrections, up to [`SLEW_MAX`](super::SLEW_MAX), are slewed. A larger one forward is a jump. After
//! a larger one backward there is no session time until the estimate has caught up with the latest time
//! shown, however long that takes: within a connection, time never repeats. An application that does not want
//! to wait reconnects.

use super::delays::Delays;
use super::exchange::{Observed, OffsetEstimator};
use super::frame::ClockFrame;
use super::hull::{Hull, WINDOW};
use super::output::Output;
use super::probes::Probes;
use super::{ClockEvent, SessionClock};
use crate::peer::{PeerChange, PeerId};
use crate::time::{LocalTime, SessionTime, Span};

/// Number of exchanges before there is a session time. More take longer; fewer need larger corrections later.
pub const EXCHANGES_MIN: u32 = 8;

/// Follows the clock of one server, which runs a [`ServerClock`](super::ServerClock).
#[derive(Clone, Debug)]
pub struct FollowerClock<E = Hull> {
    server: PeerId,
    /// Present while the server is connected.
    connection: Option<ServerConnection<E>>,
    output: Output,
    /// The latest `now` of any call.
    now: LocalTime,
    breaks: u64,
    ignored: u64,
}

#[derive(Clone, Debug)]
struct ServerConnection<E> {
    probes: Probes,
    estimator: E,
    /// Exchanges since the beginning or the last break.
    exchanges: u32,
    /// When the last exchange was completed.
    last_echo: Option<LocalTime>,
    delays: Delays,
}

impl<E: OffsetEstimator> ServerConnection<E> {
    fn new(now: LocalTime) -> Self {
        Self {
            probes: Probes::new(now),
            estimator: E::default(),
            exchanges: 0,
            last_echo: None,
            delays: Delays::default(),
        }
    }
}

impl<E: OffsetEstimator> FollowerClock<E> {
    /// Makes a clock that follows this peer. It has no session time until the peer has joined and answered.
    #[must_use]
    pub fn new(server: PeerId) -> Self {
        let output = Output::default();
        Self { server, connection: None, output, now: LocalTime::MIN, breaks: 0, ignored: 0 }
    }

    /// Returns the estimate without slewing, even if it is not yet good enough to be shown.
    #[must_use]
    pub fn estimate(&self, now: LocalTime) -> Option<SessionTime> {
        self.output.estimate(now)
    }

    /// Returns the delays of the connection, or `None` while there is none.
    #[must_use]
    pub fn delays(&self) -> Option<&Delays> {
        self.connection.as_ref().map(|connection| &connection.delays)
    }

    /// Returns how often exchanges contradicted earlier ones.
    #[must_use]
    pub const fn breaks(&self) -> u64 {
        self.breaks
    }

    /// Returns the number of rejected echoes: without an outstanding probe, or with impossible times.
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
                connection.probes.start_burst(now);
                connection.delays.forget_ways();
            }
        }
        // The first answer of a server that was silent may come when the burst is used up.
        if connection.last_echo.replace(now).is_none() {
            connection.probes.start_burst(now);
        }
        if connection.exchanges < EXCHANGES_MIN {
            return self.output.doubt(band);
        }
        if connection.exchanges == EXCHANGES_MIN {
            connection.probes.end_burst();
        }
        connection.delays.sample(&exchange, &band);
        self.output.steer(now, band);
    }

    /// Updates the current time and handles a server that was silent for a whole window.
    fn advance(&mut self, now: LocalTime) -> LocalTime {
        self.now = self.now.max(now);
        if self.silent_at().is_some_and(|at| at <= self.now) {
            self.restart();
            self.output.lose(self.now);
        }
        self.output.advance(self.now);
        self.now
    }

    /// Starts over with a server that is still connected. Outstanding probes may still be answered.
    fn restart(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        connection.estimator = E::default();
        connection.exchanges = 0;
        connection.last_echo = None;
        connection.delays = Delays::default();
    }

    fn silent_at(&self) -> Option<LocalTime> {
        Some(self.connection.as_ref()?.last_echo? + WINDOW)
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
            PeerChange::Joined { .. } => Some(ServerConnection::new(now)),
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
