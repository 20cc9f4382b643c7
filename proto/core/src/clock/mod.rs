//! Session clocks: from a node's own clock to the time of the session.
//!
//! A clock learns which datagrams leave and which clock frames arrive, and adds its frames to datagrams that
//! leave anyway. So it sends nothing of its own while there is other traffic, and its stamps are those of the
//! datagrams.
//!
//! - [`Synchronized`]: the nodes' clocks agree already.
//! - [`ServerClock`] and [`FollowerClock`]: the server's time is the session's. A follower bounds the offset
//!   with the two-sided [`Hull`] and shows a time that never runs backwards.
//! - [`MedianClock`]: the median of all clocks, for peers without a server.
//! - [`MirroredClock`]: a copy of another clock, for a machine beside the one that exchanges frames.
//!
//! ```
//! use evenkeel_core::clock::{FollowerClock, Hull, ServerClock, SessionClock};
//! use evenkeel_core::{LocalTime, PeerChange, PeerId, SessionTime, Span};
//!
//! let (here, there) = (PeerId(1), PeerId(2));
//! let joined = |peer| PeerChange::Joined { peer, datagram_max: 1_200 };
//! let mut server = ServerClock::default();
//! let mut follower = FollowerClock::<Hull>::new(there);
//! let mut now = LocalTime::from_nanos(0);
//! server.handle_peer(now, joined(here));
//! follower.handle_peer(now, joined(there));
//!
//! // The server's clock is an hour ahead, and each way takes 10 ms.
//! let (ahead, way) = (Span::from_secs(3_600), Span::from_millis(10));
//! for _ in 0..8 {
//!     assert_eq!(follower.session(now), None);
//!     let probe = follower.poll_frame(now, there).expect("a probe is due");
//!     server.handle_frame(now + ahead + way, here, &probe);
//!     let echo = server.poll_frame(now + ahead + way, here).expect("it answers");
//!     now += way + way;
//!     follower.handle_frame(now, there, &echo);
//! }
//! let hour = SessionTime::from_nanos(now.as_nanos()) + ahead;
//! assert!((follower.session(now).unwrap() - hour).abs() < Span::from_nanos(10));
//! // A constant asymmetry cannot be measured, so half of the round trip is the best bound.
//! assert!(follower.error_max(now).unwrap() >= way);
//! ```

pub mod band;
mod chain;
pub mod delays;
mod echoes;
pub mod exchange;
pub mod follower;
pub mod frame;
pub mod hull;
pub mod median;
pub mod mirrored;
mod output;
mod probes;
pub mod server;
mod slewed;
mod step;

pub use band::Band;
pub use delays::{Delays, OneWay};
pub use exchange::{Exchange, Observed, OffsetEstimator};
pub use follower::FollowerClock;
pub use frame::ClockFrame;
pub use hull::Hull;
pub use median::MedianClock;
pub use mirrored::MirroredClock;
pub use output::SLEW_MAX;
pub use probes::{BURST_INTERVAL, PROBE_INTERVAL};
pub use server::ServerClock;
pub use slewed::SLEW_PPB_MAX;

use crate::peer::{PeerChange, PeerId};
use crate::time::{LocalTime, SessionTime, Span};

/// What a machine needs of a session clock. A clock that exchanges nothing needs only the first two methods.
pub trait SessionClock {
    /// Returns the session time at a reading of the local clock, or `None` while there is none.
    fn session(&self, now: LocalTime) -> Option<SessionTime>;
    /// Returns the reading of the local clock at a session time, or `None` while there is no session time.
    fn local(&self, at: SessionTime) -> Option<LocalTime>;

    /// Bounds the error of [`session`](Self::session): half of the certified interval plus what is still to
    /// be slewed. `None` while there is no session time.
    fn error_max(&self, _now: LocalTime) -> Option<Span> {
        Some(Span::ZERO)
    }

    /// Returns the earliest and latest possible session time, or `None` while there is no session time.
    fn interval(&self, now: LocalTime) -> Option<(SessionTime, SessionTime)> {
        let (shown, error_max) = (self.session(now)?, self.error_max(now)?);
        Some((shown - error_max, shown + error_max))
    }

    /// Handles a peer that joined or left.
    fn handle_peer(&mut self, _now: LocalTime, _change: PeerChange) {}

    /// Handles a clock frame; `now` is the arrival time of its datagram.
    fn handle_frame(&mut self, _now: LocalTime, _from: PeerId, _frame: &ClockFrame) {}

    /// Returns a peer that needs a frame even if no datagram leaves for it. Call until `None`; each is
    /// returned once.
    fn poll_due(&mut self, _now: LocalTime) -> Option<PeerId> {
        None
    }

    /// Returns a frame to put into a datagram that leaves for this peer now. Call until `None`.
    fn poll_frame(&mut self, _now: LocalTime, _to: PeerId) -> Option<ClockFrame> {
        None
    }

    /// Returns whether the clock still looks for the offset to this peer, so that its frames should not be held back.
    fn is_urgent(&self, _to: PeerId) -> bool {
        false
    }

    /// Returns when to call [`poll_due`](Self::poll_due) again at the latest.
    fn poll_timeout(&self) -> Option<LocalTime> {
        None
    }

    /// Returns the next event for the application. Call until `None`.
    fn poll_event(&mut self) -> Option<ClockEvent> {
        None
    }
}

/// A change of the session time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockEvent {
    /// There is a session time from now on.
    Fixed {
        /// Half of the certified interval.
        error_max: Span,
    },
    /// The session time jumped forward.
    Stepped {
        /// The size of the jump.
        by: Span,
    },
    /// There is no session time until the next `Fixed`: the relation of the clocks changed, or the connection
    /// is gone.
    Lost,
}

/// A clock that assumes synchronized nodes, as the papers do (by NTP, GPS or a simulator).
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
