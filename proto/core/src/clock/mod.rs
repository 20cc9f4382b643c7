//! From a node's own clock to the session's.
//!
//! A clock is told when datagrams leave and what clock frames arrive, and puts its own frames into datagrams that leave
//! anyway: so it needs no traffic of its own while there is other traffic, and its stamps are those of the datagram.
//!
//! - [`Synchronized`]: the clocks agree already.
//! - [`ServerClock`] and [`FollowerClock`]: the server's time is the session's; who follows it bounds the offset by the
//!   two-sided [`Hull`] and shows it without ever running backwards.
//! - [`MedianClock`]: among peers, the median of all clocks.
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
//! // A constant asymmetry cannot be seen, so nothing better than half of the round trip can be promised.
//! assert!(follower.error_max(now).unwrap() >= way);
//! ```

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
