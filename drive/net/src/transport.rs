//! WebTransport over QUIC: one encrypted listener for native clients and browsers.
//!
//! A connection carries datagrams and one bidirectional stream, opened by the client, for reliable messages. On that
//! stream each side first writes `"EVK"` and the version of this layout (1); the relay adds its greeting, preceded by a
//! 16-bit length. Then messages follow, each preceded by its length as a little-endian 32-bit number of at most
//! [`RELIABLE_BYTES_MAX`].
//!
//! The session token travels in the URL's query as `token=...`, the only place that browsers can set. It is not logged here,
//! but `web-transport-quinn` logs whole requests at the level *debug*: append [`LOG_FILTER`] to log filters that would
//! show them.
//!
//! Browsers cannot read the status of a refused request. So a refusal opens the session and closes it at once with a
//! [`CloseReason`], which both kinds of clients can read.

mod carrier;
mod client;
mod connection;
mod handshakes;
mod limits;
mod listener;
mod local_relay;
mod reason;
mod reliable_outbox;
mod request;
mod socket;
#[doc(hidden)]
pub mod stream;
mod trust;
pub mod tunnel;

pub use carrier::{BoxFuture, Carrier, CarrierReader, CarrierWriter};
pub use client::{ConnectError, connect};
pub use connection::{Connection, ReliableReader, SendError};
pub use limits::Limits;
pub use listener::{BindError, Listener, ListenerHandle};
#[doc(hidden)]
pub use local_relay::parse_published_hashes;
pub use reason::{CloseCode, CloseReason, Closed};
pub use reliable_outbox::{QUEUED_BYTES_MAX, QUEUED_MESSAGES_MAX, RELIABLE_BYTES_MAX};
pub use request::{AcceptError, Request};
pub use trust::Trust;

/// The log filter that keeps tokens out of logs.
pub const LOG_FILTER: &str = "web_transport_quinn=info,web_transport_proto=info";

/// The longest greeting, in bytes.
pub const GREETING_BYTES_MAX: usize = 4_096;

/// The first bytes of each side on the reliable stream.
const PREAMBLE: [u8; 4] = *b"EVK\x01";
