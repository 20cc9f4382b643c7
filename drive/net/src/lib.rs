//! Real sockets for any [`Endpoint`](evenkeel_core::Endpoint).
//!
//! - [`transport`]: WebTransport over QUIC, one listener for native clients and browsers, and a client.
//! - [`crank`]: the driver loop, a thread of its own that turns many machines and keeps their deadlines precisely.
//! - [`emulate`]: the simulator's links on real sockets.
//! - [`record`]: every call and every transmitted byte, to be replayed.
//! - [`token`], [`certificate`]: who may come in, and how clients know whom they talk to.
//!
//! Nothing of these knows what the machines do. On top of them is what players use:
//!
//! - [`relay`]: rooms behind a listener, their API and metrics.
//! - [`client`]: a player in a few calls; [`dial`]: the way to the relay, and back to it.

pub mod certificate;
pub mod client;
pub mod clock;
pub mod crank;
pub mod dial;
pub mod emulate;
pub mod record;
pub mod relay;
pub mod token;
pub mod transport;
mod welcome;

pub use client::{Client, ClientConfig, ClientError};
pub use clock::LocalClock;
pub use crank::{Allowance, Attachment, Crank, CrankError, CrankHandle, NodeId};
pub use dial::{Dial, Status, Target};
pub use emulate::Emulation;
pub use record::{Recording, RecordingError, RecordingStatus};
pub use relay::{RelayConfig, RelayServer};
pub use welcome::{RELAY, Welcome};

/// A number from the system's randomness.
pub(crate) fn random() -> u64 {
    use ring::rand::SecureRandom;
    let mut bytes = [0; 8];
    ring::rand::SystemRandom::new().fill(&mut bytes).expect("the system gives random bytes");
    u64::from_le_bytes(bytes)
}
