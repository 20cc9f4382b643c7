//! NEO: cheat-proof rounds among peers without a server (GauthierDickey et al., NOSSDAV 2004; Simonsen, 2006), and the
//! protocols it descends from.
//!
//! Time is cut into rounds, and rounds into slots. In each slot a peer commits to a move, so that nobody can wait for the
//! others' moves before making its own. It opens the commitment when the deadline for commitments has passed. Peers vote
//! for the commitments that they received in time, and a move counts if enough did. State changes, which must not be lost,
//! travel on the reliable channel.
//!
//! [`NeoPeer`] is a machine without I/O. [`NeoConfig::thesis`] has the rules of the thesis, [`NeoConfig::new`] ours, which
//! also sign commitments and echo them, so that whoever tells two peers two stories is [proved](Proof) to have done so.
//! [`baseline`] has the ancestors: bucket synchronization, local lag, three kinds of lockstep, and client-server.
//!
//! ```
//! use evenkeel_core::{Endpoint, LocalTime, PeerChange, PeerId, Synchronized};
//! use evenkeel_neo::{Identity, NeoCommand, NeoConfig, NeoEvent, NeoPeer, Session};
//!
//! let config = NeoConfig::new(Session([7; 16]));
//! let peer = |secret| NeoPeer::with_clock(&config, Identity::from_secret([secret; 32]), Synchronized);
//! let mut peers = [peer(1), peer(2), peer(3)];
//! let at = |millis: i64| LocalTime::from_nanos(millis * 1_000_000);
//! for here in 0..3 {
//!     for there in (0..3).filter(|there| *there != here) {
//!         let joined = PeerChange::Joined { peer: PeerId(there as u32), datagram_max: 1_200 };
//!         peers[here].handle_peer(at(0), joined);
//!     }
//!     peers[here].handle_command(at(0), NeoCommand::Submit(vec![here as u8]));
//! }
//!
//! // A network without delays, for two seconds.
//! let mut played = 0;
//! let mut bytes = Vec::new();
//! for now in (0..2_000).map(at) {
//!     for here in 0..3 {
//!         peers[here].handle_timeout(now);
//!         while let Some((to, channel)) = peers[here].poll_transmit(now, &mut bytes) {
//!             peers[to.0 as usize].handle_message(now, PeerId(here as u32), channel, &bytes)?;
//!         }
//!         while let Some(event) = peers[here].poll_event() {
//!             if let NeoEvent::Played(made) = event {
//!                 assert_eq!(made.bytes, [made.from.0 as u8]);
//!                 played += 1;
//!             }
//!         }
//!     }
//! }
//! assert!(played > 30, "{played} moves were played");
//! # Ok::<(), evenkeel_core::Rejected>(())
//! ```

pub mod baseline;
mod book;
pub mod cheat;
mod command;
mod config;
mod control;
mod crypto;
mod members;
mod message;
mod outbox;
mod peer;
mod proof;
mod stats;
mod streams;
mod tempo;

pub use baseline::{Baseline, BaselinePeer};
pub use cheat::{Cheat, CheatingPeer};
pub use command::{Departure, NeoCommand, NeoEvent, PlayedMove, UnusedReason};
pub use config::{
    Adaptation, DEPTH_MAX, Deadline, MOVE_LEN_MAX, NeoConfig, NeoConfigError, PEERS_MAX, Processing, Quorum,
    STATE_LEN_MAX,
};
pub use crypto::{Commitment, Identity, PublicKey, Session, SignatureBytes};
pub use message::VERSION;
pub use peer::NeoPeer;
pub use proof::{Proof, Signed, Statement};
pub use stats::NeoStats;
