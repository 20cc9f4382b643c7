//! What travels as JSON between directory, relays and players.

use std::time::Duration;

use evenkeel_net::certificate::CertificateHash;
use evenkeel_serve::ClientConfig;
use serde::{Deserialize, Serialize};

/// How long a relay stays listed unless it registers again. Relays do so three times as often.
pub const LIFETIME: Duration = Duration::from_secs(30);

/// A relay tells the directory about itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Registration {
    /// The relay's name, unique in the directory.
    pub name: String,
    /// Where players connect, as `host:port`. Without a host (`:7878`), the directory takes the address that it is called
    /// from.
    pub address: String,
    /// The SHA-256 hashes of its certificates, if it signs them itself.
    #[serde(default)]
    pub certificate: Vec<String>,
    /// The public key whose tokens it accepts.
    pub issuer: String,
    /// Whether a token for a new room creates the room.
    #[serde(default)]
    pub open: bool,
    /// Its rooms.
    #[serde(default)]
    pub rooms: Vec<RoomListing>,
}

/// A room of a relay.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RoomListing {
    /// Its name.
    pub name: String,
    /// Players in it.
    pub players: usize,
    /// The most players.
    pub players_max: usize,
}

/// The directory's answer to a registration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Registered {
    /// When the relay is forgotten unless it registers again, in seconds from now.
    pub expires_in_s: u64,
}

/// A relay in the list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RelayListing {
    /// Its name.
    pub name: String,
    /// Where players connect, as `host:port`.
    pub address: String,
    /// The SHA-256 hashes of its certificates, if it signs them itself.
    pub certificate: Vec<String>,
    /// Whether joining a new room creates it.
    pub open: bool,
    /// Its rooms.
    pub rooms: Vec<RoomListing>,
    /// When it is forgotten unless it registers again, in seconds from now.
    pub expires_in_s: u64,
}

/// All relays.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Listing {
    /// By name.
    pub relays: Vec<RelayListing>,
}

/// A player asks for a token.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Joining {
    /// The name to play under.
    pub name: String,
    /// A former token for the same room and name, to have it again before the name is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// What a player needs to enter a room.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ticket {
    /// The room's address.
    pub url: String,
    /// The token that admits the player.
    pub token: String,
    /// The hashes to pin, if the relay signs its certificates itself.
    pub certificate: Vec<String>,
    /// The name to play under.
    pub name: String,
    /// When the token expires, in Unix seconds. Nobody else can have the name until then.
    pub expires_at: u64,
}

impl Ticket {
    /// Returns the settings of a [`Client`](evenkeel_serve::Client) that enters the room.
    #[must_use]
    pub fn client_config(&self) -> ClientConfig {
        let hashes: Vec<CertificateHash> =
            self.certificate.iter().filter_map(|hash| CertificateHash::parse(hash).ok()).collect();
        if hashes.is_empty() {
            return ClientConfig::new(&self.url, &self.token);
        }
        ClientConfig::pinned(&self.url, &self.token, &hashes)
    }
}
