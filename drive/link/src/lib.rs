//! Seeded models of network and clock faults, pure and bit for bit the same on every platform.
//!
//! A [`Link`] decides the [`Fate`] of each packet in one direction of a connection: its delay, loss,
//! duplication, reordering, and queueing under a rate limit. A [`NodeClock`] turns true time into what a
//! node's own clock shows. Neither reads a clock or sends anything. The simulator and the link emulation on
//! real sockets both use them and so produce the same faults.
//!
//! The fates of datagrams are common random numbers: each is a function of the link's seed, the sending time,
//! and the rank among the packets of that instant. Other traffic does not matter, so two policies compared
//! under one seed meet the same jitter and the same loss bursts. The only exception is a [`RateLimit`], which
//! depends on traffic by nature.
//!
//! The options, [`LinkFaults`] and [`ClockFaults`], are structs with public fields. Call `validate` on
//! options that a person wrote: [`Link::new`] and [`NodeClock::new`] panic if they are invalid.
//!
//! # Example
//!
//! A link with 40 ms of delay, jitter and loss:
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
pub mod trace;

pub use clock::{ClockFaults, ClockStep, NodeClock};
pub use delay::{DelayLaw, DelayStep, Jitter};
pub use error::LinkFaultError;
pub use faults::{LinkFaults, Reorder};
pub use link::{Fate, Link};
pub use loss::Loss;
pub use rate::RateLimit;
pub use time::TrueTime;
pub use trace::TraceError;
