//! The secret that both sides of a tunnel share.
//!
//! A key file is one line: `evenkeel-shared-key-1:` and the secret in base64url.

use std::fmt;
use std::fs;
use std::path::Path;

use ring::hmac;
use ring::rand::SecureRandom;

use crate::key_file::{self, KeyFileError};

const FILE_PREFIX: &str = "evenkeel-shared-key-1:";

/// A secret that both sides of a tunnel share. `Debug` does not print it.
#[derive(Clone)]
pub struct SharedKey([u8; 32]);

impl SharedKey {
    /// Generates a key.
    ///
    /// # Panics
    /// If the system provides no randomness.
    #[must_use]
    pub fn generate() -> Self {
        let mut secret = [0; 32];
        ring::rand::SystemRandom::new().fill(&mut secret).expect("the system gives random bytes");
        Self(secret)
    }

    /// Writes the key to a new file that only its owner can read.
    ///
    /// # Errors
    /// [`KeyFileError`] if the file exists or cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), KeyFileError> {
        key_file::save(path, FILE_PREFIX, &self.0)
    }

    /// Reads a key from its file.
    ///
    /// # Errors
    /// [`KeyFileError`] if the file is missing, readable by others, or not a key file.
    pub fn load(path: &Path) -> Result<Self, KeyFileError> {
        key_file::load(path, FILE_PREFIX).map(Self)
    }

    /// Reads the key from its file, or makes one if there is none. Processes that do so at the same time get the same key.
    ///
    /// # Errors
    /// [`KeyFileError`] if the file cannot be read or written, or is not a key file.
    pub fn load_or_make(path: &Path) -> Result<Self, KeyFileError> {
        match Self::load(path) {
            Err(KeyFileError::Missing { .. }) => {}
            known => return known,
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)
                .map_err(|source| KeyFileError::Io { path: path.to_path_buf(), source })?;
        }
        key_file::save_if_missing(path, FILE_PREFIX, &Self::generate().0)?;
        Self::load(path)
    }

    /// The seed of the key pair by which both sides know each other.
    pub(super) const fn seed(&self) -> &[u8; 32] {
        &self.0
    }

    /// A key for another purpose.
    pub(super) fn derive(&self, purpose: &str) -> hmac::Key {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&secret, purpose.as_bytes()).as_ref())
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey")
    }
}
