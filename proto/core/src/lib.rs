//! What every Evenkeel protocol is made of.
//!
//! A protocol is a value that is told the time, told what arrived, and asked what to send: an [`Endpoint`].
//! A driver (the simulator, real sockets, a game engine) turns its crank. Nothing in here reads a clock, opens a
//! socket, spawns a thread or logs.
//!
//! The law of the crank: after every call that mutates an endpoint, drain [`Endpoint::poll_transmit`] and
//! [`Endpoint::poll_event`], then sleep until [`Endpoint::poll_timeout`] or the next arrival.
//!
//! ```
//! use evenkeel_core::{LocalTime, Span};
//!
//! let start = LocalTime::from_nanos(0);
//! let later = start + Span::from_millis(20);
//! assert_eq!((later - start).as_secs_f64(), 0.02);
//! ```

pub mod backoff;
pub mod clock;
pub mod contract;
pub mod delay;
pub mod draws;
pub mod endpoint;
pub mod keyed;
pub mod peer;
pub mod scratch;
pub mod stats;
pub mod time;
pub mod timers;
pub mod transcript;
pub mod vec3;
pub mod wire;

pub use backoff::Backoff;
pub use clock::{
    ClockEvent, ClockFrame, FollowerClock, MedianClock, ServerClock, SessionClock, Synchronized,
};
pub use delay::DelayEstimate;
pub use draws::{Draws, Seed};
pub use endpoint::{Channel, Endpoint, Rejected};
pub use keyed::{HalfHashed, Key};
pub use peer::{PeerChange, PeerId};
pub use scratch::Scratch;
pub use time::{LocalTime, SessionTime, Span};
pub use timers::{Deadline, Timers, earlier};
pub use vec3::Vec3;
pub use wire::{Malformed, Reader, Varint, Wire};
