//! From a node's own clock to the session's.
//!
//! A clock is told when datagrams leave and what clock frames arrive, and puts its own frames into datagrams that leave
//! anyway: so it needs no traffic of its own while there is other traffic, and its stamps are those of the datagram.

mod answers;
pub mod band;
mod chain;
pub mod delays;
pub mod exchange;
pub mod follower;
pub mod frame;
pub mod hull;
pub mod median;
mod output;
mod probes;
pub mod server;
mod slewed;
mod sudden;

pub use band::Band;
pub use delays::{Delays, OneWay};
pub use exchange::{Exchange, Observed, OffsetEstimator};
pub use follower::FollowerClock;
pub use frame::ClockFrame;
pub use hull::Hull;
pub use median::MedianClock;
pub use output::SLEW_MAX;
pub use probes::{BURST_INTERVAL, PROBE_INTERVAL};
pub use server::ServerClock;
pub use slewed::SLEW_PPB_MAX;

use crate::peer::{PeerChange, PeerId};
use crate::time::{LocalTime, SessionTime, Span};

/// What a machine needs of the session's clock. A clock that exchanges nothing needs only the first two.
pub trait SessionClock {
    /// The session's time at a reading of the local clock; `None` while there is none.
    fn session(&self, now: LocalTime) -> Option<SessionTime>;
    /// The reading of the local clock at a session time; `None` while there is no session time.
    fn local(&self, at: SessionTime) -> Option<LocalTime>;

    /// How far [`session`](Self::session) may be from the truth: half of the certified interval, and as much more as the
    /// clock has still to slew. `None` while there is no session time.
    fn error_max(&self, _now: LocalTime) -> Option<Span> {
        Some(Span::ZERO)
    }

    /// The certified interval of the session's time: the truth is not before the first and not after the second. `None`
    /// while there is no session time.
    fn interval(&self, now: LocalTime) -> Option<(SessionTime, SessionTime)> {
        let (shown, error_max) = (self.session(now)?, self.error_max(now)?);
        Some((shown - error_max, shown + error_max))
    }

    /// A peer came or went.
    fn handle_peer(&mut self, _now: LocalTime, _change: PeerChange) {}

    /// A frame arrived; `now` is the arrival stamp of its datagram.
    fn handle_frame(&mut self, _now: LocalTime, _from: PeerId, _frame: &ClockFrame) {}

    /// Some peer that a frame is due for though nothing else may leave for it. Call until `None`; each is named once.
    fn poll_due(&mut self, _now: LocalTime) -> Option<PeerId> {
        None
    }

    /// A frame to put into a datagram that leaves for this peer now. Call until `None`.
    fn poll_frame(&mut self, _now: LocalTime, _to: PeerId) -> Option<ClockFrame> {
        None
    }

    /// When to ask [`poll_due`](Self::poll_due) again at the latest.
    fn poll_timeout(&self) -> Option<LocalTime> {
        None
    }

    /// What the application should know. Call until `None`.
    fn poll_event(&mut self) -> Option<ClockEvent> {
        None
    }
}

/// What became of the session's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockEvent {
    /// There is a session time now, true within so much.
    Fixed {
        /// Half of the certified interval.
        error_max: Span,
    },
    /// It jumped forward.
    Stepped {
        /// By so much.
        by: Span,
    },
    /// There is none until it is fixed again: the clocks' relation changed, or the connection is gone.
    Lost,
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
