//! Evenkeel in [Bevy](https://bevy.org): where everybody is, accurately and fairly.
//!
//! - [`EvenkeelPlugin`] (feature `client`, default): a player in a relay's room. Give an entity [`Owned`] and [`Motion`], and
//!   everybody else has a [`Copy`] of it with the [`Motion`] that it has now. The connection is a state, what happens is
//!   messages.
//! - [`FairReplicon`] (feature `replicon`): our fairness in an app on `bevy_replicon`, by its priorities.
//!
//! `docs/bevy.md` in the repository walks through both, with figures.

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "replicon")]
mod replicon;

#[cfg(feature = "client")]
pub use client::{Connection, Copy, CopyOf, EvenkeelPlugin, EvenkeelSystems, Motion, Owned, Room, RoomEvent};
#[cfg(feature = "replicon")]
pub use replicon::{FairReplicon, FairSystems, Fairness};

// The README's program is compiled as a test.
#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../README.md")]
mod readme {}
