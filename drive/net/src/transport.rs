//! WebTransport over QUIC: one encrypted listener for native clients and browsers.
//!
//! A connection carries datagrams, and one bidirectional stream that the client opens, for reliable messages both
//! ways. On that stream each side first writes `"EVK"` and the version of this layout (1), the relay also its greeting with
//! a 16-bit length in front, then messages, each with its
//! length in front as a little-endian 32-bit number; [`RELIABLE_BYTES_MAX`] is the longest.
//!
//! The session token travels in the query of the URL as `token=...`, since a browser can set nothing else. It is not
//! logged here, but `web-transport-quinn` logs whole requests at the level *debug*: append [`LOG_FILTER`] to a log
//! filter that would let that through.
//!
//! A browser cannot read the status of a refused request. So a refusal opens the session and closes it at once, with a
//! [`CloseReason`] that both kinds of clients can read.

mod client;
mod connection;
mod handshakes;
mod limits;
mod listener;
mod local;
mod outbox;
mod reason;
mod request;
mod socket;
#[doc(hidden)]
pub mod stream;
mod trust;

pub use client::{ConnectError, connect};
pub use connection::{Connection, ReliableReader, SendError};
pub use limits::Limits;
pub use listener::{BindError, Listener, ListenerHandle};
#[doc(hidden)]
pub use local::published;
pub use outbox::{QUEUED_BYTES_MAX, QUEUED_MESSAGES_MAX, RELIABLE_BYTES_MAX};
pub use reason::{CloseCode, CloseReason, Closed};
pub use request::{AcceptError, Request};
pub use trust::Trust;

/// What a log filter has to say so that no token gets into a log.
pub const LOG_FILTER: &str = "web_transport_quinn=info,web_transport_proto=info";

/// The longest greeting, in bytes.
pub const GREETING_BYTES_MAX: usize = 4_096;

/// What each side writes first on the reliable stream.
const PREAMBLE: [u8; 4] = *b"EVK\x01";
