//! Real sockets for any [`Endpoint`](evenkeel_core::Endpoint).
//!
//! - [`transport`]: WebTransport over QUIC, one listener for native clients and browsers, and a client.
//! - [`crank`]: the driver loop, a thread of its own that turns many machines and keeps their deadlines precisely.
//! - [`emulate`]: the simulator's links on real sockets.
//! - [`record`]: every call and every transmitted byte, to be replayed.
//! - [`token`], [`certificate`]: who may come in, and how clients know whom they talk to.
//!
//! Nothing in here knows what the machines do.

pub mod certificate;
pub mod clock;
pub mod crank;
pub mod emulate;
pub mod record;
pub mod token;
pub mod transport;

pub use clock::LocalClock;
pub use crank::{Allowance, Attachment, Crank, CrankError, CrankHandle, NodeId};
pub use emulate::Emulation;
pub use record::{Recording, RecordingError, RecordingStatus};
