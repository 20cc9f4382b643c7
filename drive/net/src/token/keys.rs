//! The issuer's keys in memory, as text and in files.
//!
//! A key file is one line: `evenkeel-issuer-key-1:` and the secret in base64url. It is created with mode 0600 and never
//! overwritten, because a lost key means handing a new public key to every relay.

use std::fmt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use ring::rand::SecureRandom;

use crate::key_file::{self, KeyFileError};

const FILE_PREFIX: &str = "evenkeel-issuer-key-1:";

/// The key that signs tokens. `Debug` does not print the secret.
#[derive(Clone)]
pub struct IssuerKey(SigningKey);

/// The public key that verifies tokens; relays are configured with its text form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IssuerId(VerifyingKey);

/// A text that is not an issuer's public key.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this is not an issuer's public key: it has 43 characters of A-Z, a-z, 0-9, hyphen and underscore")]
pub struct InvalidIssuer;

impl IssuerKey {
    /// Generates a key.
    ///
    /// # Panics
    /// If the system provides no randomness.
    #[must_use]
    pub fn generate() -> Self {
        let mut secret = [0; 32];
        ring::rand::SystemRandom::new().fill(&mut secret).expect("the system gives random bytes");
        Self(SigningKey::from_bytes(&secret))
    }

    /// Returns the public key, which relays need.
    #[must_use]
    pub fn id(&self) -> IssuerId {
        IssuerId(self.0.verifying_key())
    }

    pub(super) fn signature(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }

    /// Writes the key to a new file that only its owner can read.
    ///
    /// # Errors
    /// [`KeyFileError`] if the file exists or cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), KeyFileError> {
        key_file::save(path, FILE_PREFIX, self.0.as_bytes())
    }

    /// Reads a key from its file.
    ///
    /// # Errors
    /// [`KeyFileError`] if the file is missing, readable by others, or not a key file.
    pub fn load(path: &Path) -> Result<Self, KeyFileError> {
        key_file::load(path, FILE_PREFIX).map(|secret| Self(SigningKey::from_bytes(&secret)))
    }

    /// Parses the text of a key file.
    #[doc(hidden)]
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        key_file::parse(text, FILE_PREFIX).map(|secret| Self(SigningKey::from_bytes(&secret)))
    }
}

impl fmt::Debug for IssuerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IssuerKey(of {})", self.id())
    }
}

impl IssuerId {
    /// Parses the text form of a public key.
    ///
    /// # Errors
    /// [`InvalidIssuer`] if it is not one.
    pub fn parse(text: &str) -> Result<Self, InvalidIssuer> {
        let bytes = key_file::decode(text.trim()).ok_or(InvalidIssuer)?;
        VerifyingKey::from_bytes(&bytes).map(Self).map_err(|_| InvalidIssuer)
    }

    /// Checks a signature strictly: a message has only one valid signature, so a token cannot be altered into another.
    pub(super) fn has_signed(&self, bytes: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(bytes, &Signature::from_bytes(signature)).is_ok()
    }
}

impl fmt::Display for IssuerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0.as_bytes()))
    }
}

impl fmt::Debug for IssuerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IssuerId({self})")
    }
}
