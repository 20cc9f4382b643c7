//! The foundation of every Evenkeel protocol: the machine interface, time, clocks and wire primitives.
//!
//! Evenkeel protocols do no I/O. A protocol is an [`Endpoint`]: a state machine that is given the time and the
//! messages that arrive, and yields the messages to send. A driver (the simulator, real sockets, a game engine)
//! supplies the rest. Nothing in this crate reads a clock, opens a socket, spawns a thread or logs, so a machine's
//! behaviour is a function of its calls.
//!
//! A driver follows one rule: after every call that takes `now`, drain [`Endpoint::poll_transmit`] and
//! [`Endpoint::poll_event`], then sleep until [`Endpoint::poll_timeout`] or the next arrival.
//!
//! # Example
//!
//! A machine that echoes every message, and the calls of its driver:
//!
//! ```
//! use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected};
//!
//! #[derive(Default)]
//! struct Echo {
//!     outbox: Vec<(PeerId, Channel, Vec<u8>)>,
//! }
//!
//! impl Endpoint for Echo {
//!     type Command = ();
//!     type Event = ();
//!
//!     fn handle_command(&mut self, _: LocalTime, (): ()) {}
//!     fn handle_message(
//!         &mut self,
//!         _now: LocalTime,
//!         from: PeerId,
//!         channel: Channel,
//!         bytes: &[u8],
//!     ) -> Result<(), Rejected> {
//!         self.outbox.push((from, channel, bytes.to_vec()));
//!         Ok(())
//!     }
//!     fn handle_peer(&mut self, _: LocalTime, _: PeerChange) {}
//!     fn handle_timeout(&mut self, _: LocalTime) {}
//!     fn poll_transmit(&mut self, _: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
//!         let (to, channel, message) = self.outbox.pop()?;
//!         *bytes = message;
//!         Some((to, channel))
//!     }
//!     fn poll_event(&mut self) -> Option<()> { None }
//!     fn poll_timeout(&self) -> Option<LocalTime> { None }
//! }
//!
//! let (mut echo, now, mut bytes) = (Echo::default(), LocalTime::from_nanos(0), Vec::new());
//! echo.handle_message(now, PeerId(1), Channel::Datagram, b"hello")?;
//! assert_eq!(echo.poll_transmit(now, &mut bytes), Some((PeerId(1), Channel::Datagram)));
//! assert_eq!(bytes, b"hello");
//! assert_eq!(echo.poll_transmit(now, &mut bytes), None);
//! # Ok::<(), Rejected>(())
//! ```
//!
//! # Where to look
//!
//! - [`endpoint`]: the machine interface; [`delegate_endpoint!`] for machines that wrap others.
//! - [`time`]: [`LocalTime`], [`SessionTime`] and [`Span`], kinds of time that cannot be mixed up.
//! - [`clock`]: session clocks, from none at all to a certified offset or a median among peers.
//! - [`wire`]: parsing and emitting messages; [`timers`] and [`backoff`]: deadlines.
//! - [`draws`]: seeded random numbers, the same on every platform.
//! - [`transcript`]: recording a session and replaying it byte for byte; [`contract`]: a hostile test of a machine.

pub mod backoff;
pub mod clock;
pub mod contract;
pub mod delay;
mod delegate;
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
