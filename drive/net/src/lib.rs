//! Real sockets for any [`Endpoint`](evenkeel_core::Endpoint).
//!
//! - [`transport`]: WebTransport over QUIC: a listener for native clients and browsers, and a client; and tunnels between two
//!   programs that share a key.
//! - [`crank`]: the driver loop: a thread that drives many machines and keeps their deadlines precisely.
//! - [`emulate`]: the simulator's links on real sockets.
//! - [`record`]: recordings of every call and every transmitted byte, for replay.
//! - [`stamped`]: UDP datagrams with the time at which the system received them.
//! - [`metrics`]: Prometheus's text format, and what a crank counts.
//! - [`token`], [`certificate`]: how relays authenticate players, and clients authenticate relays.
//!
//! None of these depends on a protocol.
//!
//! ```
//! use std::time::Duration;
//! use evenkeel_net::certificate::Certificate;
//! use evenkeel_net::transport::{CloseCode, Limits, Listener, Trust, connect};
//! use evenkeel_net::token::unix_seconds;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let certificate = Certificate::self_signed(&[], unix_seconds())?;
//! let mut listener = Listener::bind(&["127.0.0.1:0".parse()?], &certificate, Limits::default())?;
//! let url = format!("https://{}/room", listener.local_addresses()[0]);
//! let trust = Trust::Pinned(vec![certificate.hash()]);
//!
//! let relay = async {
//!     let request = listener.accept().await.expect("a client");
//!     assert_eq!(request.path(), "/room");
//!     let connection = request.accept(b"").await.expect("let in");
//!     // Here a relay would attach it: `crank.attach(node, peer, connection)`.
//!     connection.send_reliable(b"welcome".to_vec()).expect("sent");
//!     connection.close_gently(CloseCode::ShuttingDown, Duration::from_secs(1)).await
//! };
//! let client = async {
//!     let connection = connect(&url, None, &trust, Limits::default()).await.expect("connected");
//!     let mut reader = connection.take_reader().expect("the first call");
//!     assert_eq!(reader.next().await.expect("a message"), b"welcome");
//!     connection.closed().await.to_string()
//! };
//! let (_, ended) = tokio::join!(relay, client);
//! assert_eq!(ended, "closed by the other side: the relay is shutting down");
//! # Ok(())
//! # }
//! ```

pub mod certificate;
pub mod clock;
pub mod crank;
pub mod emulate;
pub mod files;
#[doc(hidden)]
pub mod key_file;
pub mod metrics;
pub mod record;
pub mod stamped;
pub mod token;
pub mod transport;

pub use clock::LocalClock;
pub use crank::{Allowance, Attachment, Crank, CrankError, CrankHandle, NodeId};
pub use emulate::Emulation;
pub use record::{Recording, RecordingError, RecordingStatus};

/// Returns a random number from the system.
#[must_use]
pub fn random() -> u64 {
    use ring::rand::SecureRandom;
    let mut bytes = [0; 8];
    ring::rand::SystemRandom::new().fill(&mut bytes).expect("the system gives random bytes");
    u64::from_le_bytes(bytes)
}
