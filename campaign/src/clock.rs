//! The clocks that machines in games may have.

use evenkeel_core::clock::Hull;
use evenkeel_core::{
    ClockEvent, ClockFrame, FollowerClock, LocalTime, MedianClock, PeerChange, PeerId, ServerClock,
    SessionClock, SessionTime, Span, Synchronized,
};

/// Any clock.
#[derive(Clone, Debug)]
pub(crate) enum AnyClock {
    Synchronized(Synchronized),
    Server(ServerClock),
    Follower(Box<FollowerClock<Hull>>),
    Median(Box<MedianClock>),
}

impl AnyClock {
    pub(crate) fn server() -> Self {
        Self::Server(ServerClock::default())
    }

    pub(crate) fn follower(server: PeerId) -> Self {
        Self::Follower(Box::new(FollowerClock::new(server)))
    }

    pub(crate) fn median() -> Self {
        Self::Median(Box::default())
    }
}

macro_rules! each_clock {
    ($self:expr, $clock:ident => $call:expr) => {
        match $self {
            AnyClock::Synchronized($clock) => $call,
            AnyClock::Server($clock) => $call,
            AnyClock::Follower($clock) => $call,
            AnyClock::Median($clock) => $call,
        }
    };
}

impl SessionClock for AnyClock {
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        each_clock!(self, clock => clock.session(now))
    }

    fn local(&self, at: SessionTime) -> Option<LocalTime> {
        each_clock!(self, clock => clock.local(at))
    }

    fn error_max(&self, now: LocalTime) -> Option<Span> {
        each_clock!(self, clock => clock.error_max(now))
    }

    fn interval(&self, now: LocalTime) -> Option<(SessionTime, SessionTime)> {
        each_clock!(self, clock => clock.interval(now))
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        each_clock!(self, clock => clock.handle_peer(now, change));
    }

    fn handle_frame(&mut self, now: LocalTime, from: PeerId, frame: &ClockFrame) {
        each_clock!(self, clock => clock.handle_frame(now, from, frame));
    }

    fn poll_due(&mut self, now: LocalTime) -> Option<PeerId> {
        each_clock!(self, clock => clock.poll_due(now))
    }

    fn poll_frame(&mut self, now: LocalTime, to: PeerId) -> Option<ClockFrame> {
        each_clock!(self, clock => clock.poll_frame(now, to))
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        each_clock!(self, clock => clock.poll_timeout())
    }

    fn poll_event(&mut self) -> Option<ClockEvent> {
        each_clock!(self, clock => clock.poll_event())
    }
}
