//! An enum over follower clocks with each filter, as a dead-reckoning world has one type of player.

use evenkeel_core::clock::Hull;
use evenkeel_core::{
    ClockEvent, ClockFrame, FollowerClock, LocalTime, PeerChange, PeerId, SessionClock, SessionTime, Span,
};

use super::filters::{Averaging, Filter, LeastRoundTrip, Simpson};

/// A clock that follows a server with one of the filters.
#[derive(Debug)]
pub enum LabClock {
    /// With [`Averaging`].
    Averaging(FollowerClock<Averaging>),
    /// With [`Simpson`].
    Simpson(FollowerClock<Simpson>),
    /// With [`LeastRoundTrip`].
    LeastRoundTrip(FollowerClock<LeastRoundTrip>),
    /// With [`Hull`].
    Hull(FollowerClock<Hull>),
}

impl LabClock {
    /// Creates a clock that follows `server` with this filter.
    #[must_use]
    pub fn new(filter: Filter, server: PeerId) -> Self {
        match filter {
            Filter::Averaging => Self::Averaging(FollowerClock::new(server)),
            Filter::Simpson => Self::Simpson(FollowerClock::new(server)),
            Filter::LeastRoundTrip => Self::LeastRoundTrip(FollowerClock::new(server)),
            Filter::Hull => Self::Hull(FollowerClock::new(server)),
        }
    }
}

macro_rules! each {
    ($self:expr, $clock:ident => $call:expr) => {
        match $self {
            LabClock::Averaging($clock) => $call,
            LabClock::Simpson($clock) => $call,
            LabClock::LeastRoundTrip($clock) => $call,
            LabClock::Hull($clock) => $call,
        }
    };
}

impl SessionClock for LabClock {
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        each!(self, clock => clock.session(now))
    }

    fn local(&self, at: SessionTime) -> Option<LocalTime> {
        each!(self, clock => clock.local(at))
    }

    fn error_max(&self, now: LocalTime) -> Option<Span> {
        each!(self, clock => clock.error_max(now))
    }

    fn interval(&self, now: LocalTime) -> Option<(SessionTime, SessionTime)> {
        each!(self, clock => clock.interval(now))
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        each!(self, clock => clock.handle_peer(now, change));
    }

    fn handle_frame(&mut self, now: LocalTime, from: PeerId, frame: &ClockFrame) {
        each!(self, clock => clock.handle_frame(now, from, frame));
    }

    fn poll_due(&mut self, now: LocalTime) -> Option<PeerId> {
        each!(self, clock => clock.poll_due(now))
    }

    fn poll_frame(&mut self, now: LocalTime, to: PeerId) -> Option<ClockFrame> {
        each!(self, clock => clock.poll_frame(now, to))
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        each!(self, clock => clock.poll_timeout())
    }

    fn poll_event(&mut self) -> Option<ClockEvent> {
        each!(self, clock => clock.poll_event())
    }
}
