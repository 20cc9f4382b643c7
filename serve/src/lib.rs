//! What a game server and its players use: a relay with rooms behind one listener, and a client. Games usually depend on
//! the crate `evenkeel` instead, which re-exports this one.
//!
//! - [`RelayServer`]: the relay. A player's token admits it to a room under a name. The name is the player's identity: a
//!   new connection under it, from whatever address, replaces the old one. A [`Game`] adds its own logic to the rooms.
//!   An HTTP API and metrics report on them. Feature `relay`.
//! - [`client`]: a player in a room. [`dial`]: its connection to the relay, which reconnects by itself. Feature `client`;
//!   brings no HTTP server.

#[cfg(feature = "relay")]
mod admission;
#[cfg(feature = "relay")]
mod budget_watch;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "relay")]
mod config;
#[cfg(feature = "relay")]
mod cranks;
#[cfg(feature = "client")]
pub mod dial;
#[cfg(feature = "relay")]
mod game;
#[cfg(feature = "relay")]
mod http;
#[cfg(feature = "relay")]
mod metrics;
#[cfg(feature = "relay")]
mod pages;
#[cfg(feature = "relay")]
mod report;
#[cfg(feature = "relay")]
mod rooms;
#[cfg(feature = "relay")]
mod served_certificate;
#[cfg(feature = "relay")]
mod server;
#[cfg(feature = "relay")]
mod state;
mod welcome;

#[cfg(feature = "client")]
pub use client::{
    Client, ClientConfig, ClientError, ClientEvent, EntityError, MessageError, MissedEvents, RemoteEntity,
    World, WorldObject,
};
#[cfg(feature = "relay")]
pub use config::{
    AnnounceConfig, CertificateConfig, ConfigError, POLICY, PORT, PagesConfig, RelayConfig, RoomConfig,
};
#[cfg(feature = "client")]
pub use dial::{Dial, Status, Target};
#[cfg(feature = "relay")]
#[doc(hidden)]
pub use evenkeel_http::{authorize_change, authorized_body, error_response};
#[cfg(feature = "relay")]
pub use game::{GAME_RECORDING, Game, MakeRoom, Pages, RELAY_RECORDING, ServedRoom, room_seed};
#[cfg(feature = "relay")]
pub use http::HttpError;
#[cfg(feature = "relay")]
pub use report::{PlayerReport, RoomReport, SyncReport};
#[cfg(feature = "relay")]
pub use server::{RelayServer, StartError};
pub use welcome::{RELAY, TICK_MAX, Welcome};
