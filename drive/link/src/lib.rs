//! What networks and clocks do to packets and time: seeded, pure, and the same on every machine.
//!
//! A [`Link`] decides the [`Fate`] of each packet on one direction of one connection; a [`NodeClock`] turns
//! true time into what a node's own clock shows. Neither reads a clock nor sends anything: the simulator asks
//! them, and so do emulated links on real sockets, so both see the same faults.
//!
//! The law of common random numbers: the fate of a datagram is a function of the link's seed, its sending
//! time and its rank among the packets of that very instant. What else was sent does not matter, so two
//! policies that are compared under one seed meet the same jitter and the same loss bursts. The one exception
//! is a [`RateLimit`], which depends on traffic by nature.
//!
//! Options ([`LinkFaults`], [`ClockFaults`]) are plain public fields. Numbers that come from a person go
//! through `validate` first; [`Link::new`] and [`NodeClock::new`] panic on options that do not pass it.
//!
//! ```
//! use evenkeel_core::{Seed, Span};
//! use evenkeel_link::{DelayLaw, Fate, Jitter, Link, LinkFaults, Loss, TrueTime};
//!
//! let jitter = Jitter::Uniform { half_width: Span::from_millis(5) };
//! let faults = LinkFaults {
//!     delay: DelayLaw { base: Span::from_millis(40), jitter },
//!     loss: Loss::Independent { probability: 0.01 },
//!     ..LinkFaults::default()
//! };
//! faults.validate()?;
//! let mut link = Link::new(faults, Seed::new(7));
//! let now = TrueTime::from_nanos(1_000_000);
//! if let Fate::Once(arrival) = link.fate(now, 100) {
//!     assert!((arrival - now - Span::from_millis(40)).abs() <= Span::from_millis(5));
//! }
//! # Ok::<(), evenkeel_link::LinkFaultError>(())
//! ```

pub mod clock;
pub mod delay;
pub mod error;
pub mod faults;
pub mod link;
pub mod loss;
pub mod rate;
pub mod time;

pub use clock::{ClockFaults, ClockStep, NodeClock};
pub use delay::{DelayLaw, DelayStep, Jitter};
pub use error::LinkFaultError;
pub use faults::{LinkFaults, Reorder};
pub use link::{Fate, Link};
pub use loss::Loss;
pub use rate::RateLimit;
pub use time::TrueTime;
