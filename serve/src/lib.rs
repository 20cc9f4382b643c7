//! What a game server and its players use: a relay with rooms behind one listener, and a client.
//!
//! - [`RelayServer`]: the relay. A player's token admits it to a room under a name. The name is the player's identity: a
//!   new connection under it, from whatever address, replaces the old one. Rooms run the machines of a [`Game`], any
//!   [`DrRoom`](evenkeel_dr::DrRoom). An HTTP API and metrics report on them.
//! - [`client`]: a player in a room. [`dial`]: its connection to the relay, which reconnects by itself.

mod admission;
pub mod client;
mod config;
pub mod dial;
mod game;
mod http;
mod metrics;
mod pages;
mod report;
mod rooms;
mod served_certificate;
mod server;
mod state;
mod welcome;

pub use client::{Client, ClientConfig, ClientError};
pub use config::{CertificateConfig, ConfigError, POLICY, PORT, PagesConfig, RelayConfig, RoomConfig};
pub use dial::{Dial, Status, Target};
pub use game::{Game, MakeRoom, RELAY_RECORDING, ServedRoom, room_seed};
pub use http::HttpError;
#[doc(hidden)]
pub use http::{authorize_change, authorized_body, error_response};
pub use report::{PlayerReport, RoomReport};
pub use server::{RelayServer, StartError};
pub use welcome::{RELAY, Welcome};
