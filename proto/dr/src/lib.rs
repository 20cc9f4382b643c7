//! Accurate, fair dead reckoning.
//!
//! Owners export their entities' motion as time-stamped [`DrVector`]s. Receivers place them by the session clock, so
//! after a vector has arrived, exported and placed path are identical. What remains is the *export error* until it
//! arrives, which grows with distance. The sender keeps a [`ledger`] of that error for each receiver, and a [fairness
//! policy](policy) decides who is sent which vector, and when.
//!
//! Sources: Aggarwal, Banavar, Mukherjee, Rangarajan, "Fairness in Dead-Reckoning based Distributed Multi-Player
//! Games" (NetGames 2005), and Banavar's thesis (2005), chapters 2 and 3.
//!
//! # The way of one DR vector
//!
//! The folders of this crate, from the owner to the receiver and back:
//!
//! | folder | step |
//! | --- | --- |
//! | [`motion`] | A game reports the state of its entity ([`DrPeer::observe`]). A [`DrVector`] describes the path from there. |
//! | [`owner`] | If the entity has strayed from its exported path ([`Threshold::strayed`]), the owner makes a new vector. |
//! | [`relay`] | In the relay topology, an uplink carries every vector to the [`DrRelay`]. |
//! | [`ledger`] | The vector joins the [exported path](ledger::exported_path). |
//! | [`policy`] | At this trigger, the policy plans who is sent the vector, and when ([`FairnessPolicy::plan`]). |
//! | [`sender`] | The sender transmits or holds it, and opens a dispatch in the ledger. |
//! | [`message`] | The vector travels as a [`VectorFrame`](message::VectorFrame). |
//! | [`receiver`] | The receiver places it ([`Placement`]), logs the arrival and acknowledges it. |
//! | [`sender`] | The sender takes the receiver's reports in order and confirms them. |
//! | [`ledger`] | The ledger settles the receiver's error up to that arrival, and tells the policy ([`FairnessPolicy::on_settled`]). |
//!
//! The sender is part of the machine that runs the policy: each owner ([`Topology::Direct`]) or the relay
//! ([`Topology::Relay`]). [`DrPeer`] and [`DrRelay`] are the machines that put the folders together. They do no I/O:
//! a driver hands them messages and the time, and sends what they transmit.
//!
//! # Example
//!
//! An owner and a receiver that are 100 ms apart:
//!
//! ```
//! use evenkeel_core::{Endpoint, LocalTime, PeerChange, PeerId, SessionTime, Span, Vec3};
//! use evenkeel_dr::{DrConfig, DrPeer, EntityId, MotionState};
//!
//! const TANK: EntityId = EntityId(7);
//! const DELAY: Span = Span::from_millis(100);
//! let ids = [PeerId(0), PeerId(1)];
//! let mut peers = ids.map(|_| DrPeer::new(&DrConfig::default()));
//! let mut now = LocalTime::default();
//! peers[0].handle_peer(now, PeerChange::Joined { peer: ids[1], datagram_max: 1200 });
//! peers[1].handle_peer(now, PeerChange::Joined { peer: ids[0], datagram_max: 1200 });
//!
//! let (mut position, mut bytes, mut in_flight) = (Vec3::ZERO, Vec::new(), Vec::new());
//! for tick in 0..200 {
//!     now += Span::from_millis(20);
//!     // The game: a tank that goes east, then north.
//!     let velocity = if tick < 100 { Vec3::xy(10.0, 0.0) } else { Vec3::xy(0.0, 10.0) };
//!     position = position + velocity * 0.02;
//!     peers[0].observe(now, TANK, MotionState { position, velocity, ..MotionState::default() });
//!     // The driver: a network with a delay.
//!     for from in 0..2 {
//!         peers[from].handle_timeout(now);
//!         while let Some((_, channel)) = peers[from].poll_transmit(now, &mut bytes) {
//!             in_flight.push((now + DELAY, from, channel, bytes.clone()));
//!         }
//!     }
//!     while in_flight.first().is_some_and(|(at, ..)| *at <= now) {
//!         let (_, from, channel, bytes) = in_flight.remove(0);
//!         peers[1 - from].handle_message(now, ids[from], channel, &bytes).expect("a valid message");
//!     }
//! }
//!
//! // Long after the turn, the tank is placed exactly where it is exported.
//! assert_eq!(peers[1].position(now, ids[0], TANK), peers[0].exported(now, TANK));
//! // For about 100 ms it was not, and the owner's ledger knows that error.
//! let ledger = peers[0].ledger().expect("the owner runs the policy");
//! let error = ledger.accumulated(ids[1], SessionTime::from_nanos(now.as_nanos()));
//! assert!(error > 0.0);
//! ```

pub mod command;
pub mod config;
pub mod ledger;
pub mod message;
pub mod motion;
pub mod owner;
mod peer;
pub mod policy;
mod prefetch;
pub mod receiver;
pub mod relay;
pub mod sender;

pub use command::{DrCommand, DrEvent, RelayCommand};
pub use config::{BadBudget, Budget, DrConfig, SecondLimit, Topology};
pub use ledger::Compensation;
pub use motion::{Content, Divergence, DrSeq, DrVector, EntityId, MotionKind, MotionState, export_error};
pub use owner::Threshold;
pub use peer::DrPeer;
pub use policy::{FairnessPolicy, PairWeight, PolicyKind};
pub use receiver::Placement;
pub use relay::{DrRelay, DrRoom, Limits, MotionSpace, RoomEntity};
