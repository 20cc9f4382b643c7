//! How players find rooms.
//!
//! - [`DirectoryClient`]: asks a directory over HTTP: which relays and rooms there are, and for a token to join one.
//! - [`lan`]: finds directories and relays on the local network by mDNS, and announces them there.
//! - [`ping()`]: measures the round trip to a relay without a token. Any QUIC server answers.
//! - [`Directory`]: the directory itself (feature `server`). It holds the issuer's key and nothing else that matters: what it
//!   lists expires unless relays repeat it, so a restart loses nothing for long.
//! - [`Announcer`]: registers a relay, and keeps it registered (feature `server`).
//!
//! A directory and its relays share one issuer: relays are configured with the directory's public key, and so accept the
//! tokens that it hands out. Game traffic never passes the directory.

#[cfg(feature = "server")]
mod announcer;
mod client;
mod http;
pub mod lan;
mod model;
mod ping;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "server")]
pub use announcer::{Announcer, describe};
pub use client::{DirectoryClient, DirectoryError};
pub use model::{Joining, LIFETIME, Listing, Registered, Registration, RelayListing, RoomListing, Ticket};
pub use ping::{Ping, ping};
#[cfg(feature = "server")]
pub use server::{Directory, DirectoryConfig, StartError};

/// The port that a directory listens on by default.
pub const PORT: u16 = 7900;

// The program in the documentation is compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/directory.md")]
mod docs {}
