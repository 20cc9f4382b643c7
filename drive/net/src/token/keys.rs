//! The issuer's keys in memory, as text and in files.
//!
//! A key file is one line: `evenkeel-issuer-key-1:` and the secret in base64url. It is created with mode 0600 and never
//! overwritten, because a lost key means handing a new public key to every relay.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use ring::rand::SecureRandom;

const FILE_PREFIX: &str = "evenkeel-issuer-key-1:";
const FILE_BYTES_MAX: u64 = 256;

/// The key that signs tokens. `Debug` does not print the secret.
#[derive(Clone)]
pub struct IssuerKey(SigningKey);

/// The public key that verifies tokens; relays are configured with its text form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IssuerId(VerifyingKey);

/// Why a key file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file already exists.
    #[error("{} already exists and is not overwritten: remove it, or choose another path", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file does not exist.
    #[error("there is no key file {}: make one first, or correct the path", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The folder for a new file does not exist.
    #[error("cannot create the key file {}: there is no such folder; create it, or correct the path", path.display())]
    NoFolder {
        /// The file to create.
        path: PathBuf,
    },
    /// It is not a key file.
    #[error("{} is not an Evenkeel key file: correct the path, or make a new key", path.display())]
    NotAKey {
        /// The file.
        path: PathBuf,
    },
    /// Other users can read it.
    #[error("{} can be read by other users: run `chmod 600 {}`", path.display(), path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// Reading or writing failed.
    #[error("cannot access the key file {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

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
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let text = format!("{FILE_PREFIX}{}\n", URL_SAFE_NO_PAD.encode(self.0.as_bytes()));
        options
            .open(path)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .map_err(|source| match file_error(path, source) {
                KeyFileError::Missing { path } => KeyFileError::NoFolder { path },
                error => error,
            })
    }

    /// Reads a key from its file.
    ///
    /// # Errors
    /// [`KeyFileError`] if the file is missing, readable by others, or not a key file.
    pub fn load(path: &Path) -> Result<Self, KeyFileError> {
        let file = fs::File::open(path).map_err(|source| file_error(path, source))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = file.metadata().map_err(|source| file_error(path, source))?.permissions().mode();
            if mode & 0o077 != 0 {
                return Err(KeyFileError::Exposed { path: path.to_path_buf() });
            }
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(|source| file_error(path, source))?;
        std::str::from_utf8(&bytes)
            .ok()
            .and_then(Self::parse)
            .ok_or_else(|| KeyFileError::NotAKey { path: path.to_path_buf() })
    }

    /// Parses the text of a key file.
    #[doc(hidden)]
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let secret = decode_key(text.trim_end().strip_prefix(FILE_PREFIX)?)?;
        Some(Self(SigningKey::from_bytes(&secret)))
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
        let bytes = decode_key(text.trim()).ok_or(InvalidIssuer)?;
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

fn decode_key(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

fn file_error(path: &Path, source: io::Error) -> KeyFileError {
    let path = path.to_path_buf();
    match source.kind() {
        io::ErrorKind::AlreadyExists => KeyFileError::Exists { path },
        io::ErrorKind::NotFound => KeyFileError::Missing { path },
        _ => KeyFileError::Io { path, source },
    }
}
