//! A deterministic discrete-event simulator for [endpoints](evenkeel_core::Endpoint): nodes with clocks,
//! connected by links with faults.
//!
//! A [`World`] drives real protocol machines like any other driver. It gives them the simulated time, carries
//! their messages over [links](evenkeel_link::Link), and can [record](World::record) every call. It reads no
//! clock and draws all random numbers from its seed, so a run is a function of seed and calls, byte for byte
//! the same on every platform.
//!
//! After each call on a node, the world puts everything that the node transmits on its links, passes the
//! node's events to the [`Observer`], and schedules its timeout. Simultaneous events happen in the order of
//! their causes.
//!
//! # Example
//!
//! Two nodes greet each other over links of 30 ms and 50 ms:
//! ```
//! use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Seed, Span};
//! use evenkeel_link::{ClockFaults, LinkFaults, TrueTime};
//! use evenkeel_sim::{NodeId, World};
//!
//! /// Sends its name to every peer that joins, and reports the names it receives.
//! struct Greeter { name: u8, joined: Option<PeerId>, received: Option<u8> }
//!
//! impl Endpoint for Greeter {
//!     type Command = ();
//!     type Event = u8;
//!     fn handle_command(&mut self, _: LocalTime, (): ()) {}
//!     fn handle_message(
//!         &mut self,
//!         _: LocalTime,
//!         _: PeerId,
//!         _: Channel,
//!         bytes: &[u8],
//!     ) -> Result<(), Rejected> {
//!         self.received = bytes.first().copied();
//!         Ok(())
//!     }
//!     fn handle_peer(&mut self, _: LocalTime, change: PeerChange) {
//!         self.joined = Some(change.peer());
//!     }
//!     fn handle_timeout(&mut self, _: LocalTime) {}
//!     fn poll_transmit(&mut self, _: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
//!         bytes.clear();
//!         bytes.push(self.name);
//!         self.joined.take().map(|peer| (peer, Channel::Datagram))
//!     }
//!     fn poll_event(&mut self) -> Option<u8> { self.received.take() }
//!     fn poll_timeout(&self) -> Option<LocalTime> { None }
//! }
//!
//! let greeter = |name| Greeter { name, joined: None, received: None };
//! let mut world = World::new(Seed::new(1));
//! let anna = world.add_node(greeter(b'a'), ClockFaults::default());
//! let bert = world.add_node(greeter(b'b'), ClockFaults::default());
//! let delay = |millis| LinkFaults::constant(Span::from_millis(millis));
//! world.connect(anna, bert, delay(30), delay(50));
//! world.join(anna, bert, 1200);
//!
//! let mut received = Vec::new();
//! let mut note = |at: TrueTime, node: NodeId, name: u8| received.push((at.as_nanos() / 1_000_000, node, name));
//! world.run_until(TrueTime::from_nanos(1_000_000_000), &mut note);
//! assert_eq!(received, [(30, bert, b'a'), (50, anna, b'b')]);
//! ```

mod crank;
mod network;
mod node;
mod observer;
mod packets;
mod queue;
mod recording;
mod world;

pub use network::{LinkCounters, MessageLabel};
pub use node::NodeId;
pub use observer::Observer;
pub use world::World;
