//! Connections between peers without a server, for any [`Endpoint`](evenkeel_core::Endpoint).
//!
//! - [`PeerNode`]: a socket with a public key, over iroh: QUIC between keys, direct or through holes in firewalls.
//! - [`Ticket`]: what a peer needs to join: session, key and addresses, as a string.
//! - [`Mesh`]: connects a machine to every peer of a session, and again when a connection breaks.
//!
//! A connection is an [`evenkeel_net::transport::Connection`], so the crank that keeps deadlines, emulates links and records
//! is the one that drives relays. None of these depends on a protocol.
//!
//! ```
//! use evenkeel_p2p::{Identity, Network, PeerNode, SessionId};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let session = SessionId::random();
//! let ada = PeerNode::bind(&Identity::generate(), &Network::loopback()).await?;
//! let bob = PeerNode::bind(&Identity::generate(), &Network::loopback()).await?;
//! let accepting = async {
//!     let caller = ada.accept().await.expect("a caller");
//!     assert_eq!(caller.key(), bob.key());
//!     caller.accept(b"hello, Bob").await.expect("connected")
//! };
//! let address = ada.address();
//! let (at_ada, at_bob) = tokio::join!(accepting, bob.connect(&address, session, b"I am Bob"));
//! let at_bob = at_bob?;
//! assert_eq!(at_bob.greeting(), b"hello, Bob");
//! at_ada.send_datagram(b"a move".as_slice().into())?;
//! assert_eq!(at_bob.read_datagram().await?, b"a move".as_slice());
//! # Ok(())
//! # }
//! ```

mod address;
mod carrier;
mod directory;
mod identity;
mod mesh;
mod network;
mod node;
mod ticket;

pub use address::{ADDRESSES_MAX, PeerAddress};
pub use directory::MEMBERS_MAX;
pub use identity::{Identity, PeerKey};
pub use mesh::{LinkStatus, Mesh, MeshConfig, PeerStatus};
pub use network::{Network, NetworkError, Relay};
pub use node::{Caller, ConnectError, PeerNode};
pub use ticket::{SessionId, Ticket, TicketError};
