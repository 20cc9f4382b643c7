//! The relay that players use: rooms, each a [`DrRelay`], behind one listener.
//!
//! A player shows its token and is let into the token's room under the token's name. That name is its identity: whoever
//! comes again under it, from whatever address, is the same player and replaces its former connection.

mod config;
mod http;
mod metrics;
mod pages;
mod rooms;
mod server;

pub use config::{CertificateConfig, ConfigError, PORT, PagesConfig, RelayConfig, RoomConfig};
pub use http::HttpError;
#[doc(hidden)]
pub use http::may_change;
pub use rooms::{PlayerReport, RoomReport};
pub use server::{RECORDED, RelayServer, StartError};

use evenkeel_core::clock::ServerClock;
use evenkeel_dr::DrRelay;

/// The machine of a room.
pub type RoomMachine = DrRelay<ServerClock>;
