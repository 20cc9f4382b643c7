//! What players use: a relay with rooms behind one listener, and a client in a few calls.
//!
//! - [`RelayServer`]: a player shows its token and enters the token's room under the token's name. The name is its
//!   identity: whoever comes again under it, from whatever address, is the same player and replaces its former connection.
//!   Rooms hold a [`Game`]'s machines, any [`DrRoom`](evenkeel_dr::DrRoom); an HTTP API and metrics tell how they do.
//! - [`client`]: a player in a room. [`dial`]: its way to the relay, and back when the connection breaks.

pub mod client;
mod config;
pub mod dial;
mod game;
mod http;
mod metrics;
mod pages;
mod report;
mod rooms;
mod server;
mod welcome;

pub use client::{Client, ClientConfig, ClientError};
pub use config::{CertificateConfig, ConfigError, POLICY, PORT, PagesConfig, RelayConfig, RoomConfig};
pub use dial::{Dial, Status, Target};
pub use game::{Game, MakeRoom, RECORDED, ServedRoom, room_seed};
pub use http::HttpError;
#[doc(hidden)]
pub use http::{asked, may_change, refuse};
pub use report::{PlayerReport, RoomReport};
pub use server::{RelayServer, StartError};
pub use welcome::{RELAY, Welcome};
