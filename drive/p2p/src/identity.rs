//! A peer's key pair: it authenticates its connections, and a protocol may sign with it.

use std::fmt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use evenkeel_core::PeerId;
use evenkeel_net::key_file::{self, KeyFileError};
use iroh::{PublicKey, SecretKey};

/// The first words of a key file.
const PREFIX: &str = "evenkeel-peer-key-1 ";

/// A peer's Ed25519 key pair.
#[derive(Clone)]
pub struct Identity(pub(crate) SecretKey);

impl Identity {
    /// Draws a new key pair.
    #[must_use]
    pub fn generate() -> Self {
        Self(SecretKey::generate())
    }

    /// The key pair with this secret.
    #[must_use]
    pub fn from_secret(secret: &[u8; 32]) -> Self {
        Self(SecretKey::from_bytes(secret))
    }

    /// Loads the key pair from its file, which is created if it is missing. So a restarted peer is the same one.
    ///
    /// # Errors
    /// [`KeyFileError`] says what to do.
    pub fn load_or_create(path: &Path) -> Result<Self, KeyFileError> {
        if !path.exists() {
            key_file::save_if_missing(path, PREFIX, &Self::generate().secret())?;
        }
        Ok(Self::from_secret(&key_file::load(path, PREFIX)?))
    }

    /// Returns the secret, to sign with.
    #[must_use]
    pub fn secret(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// Returns the public key.
    #[must_use]
    pub fn key(&self) -> PeerKey {
        PeerKey(self.0.public())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.key())
    }
}

/// A peer's public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerKey(pub(crate) PublicKey);

impl PeerKey {
    /// The key with these bytes; `None` if they are not one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        PublicKey::from_bytes(bytes).ok().map(Self)
    }

    /// Returns its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Returns the number that every peer gives to the peer with this key: the key's first four bytes. A peer whose number
    /// is taken by another key is refused.
    #[must_use]
    pub fn peer_id(&self) -> PeerId {
        let [a, b, c, d, ..] = *self.as_bytes();
        PeerId(u32::from_le_bytes([a, b, c, d]))
    }
}

/// The first characters of the key in base64url, for people.
impl fmt::Display for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(&self.as_bytes()[..6]))
    }
}

impl fmt::Debug for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerKey({self})")
    }
}
