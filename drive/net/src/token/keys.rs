//! The issuer's keys, in memory, as text and in files.
//!
//! A key file is one line of text, `evenkeel-issuer-key-1:` and the secret in base64url. It is made with mode 0600 and
//! never overwritten: whoever loses the key has to hand out a new public one to every relay.

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

/// What signs tokens. It is not printed by `Debug`.
#[derive(Clone)]
pub struct IssuerKey(SigningKey);

/// What verifies them; its text form is handed to relays.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IssuerId(VerifyingKey);

/// Why a key file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// There is one already.
    #[error("{} exists already and is not overwritten: remove it, or choose another path", path.display())]
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// There is none.
    #[error("there is no key file {}: make one first, or correct the path", path.display())]
    Missing {
        /// Where.
        path: PathBuf,
    },
    /// There is no folder to make one in.
    #[error("the key file {} can't be made, since there is no such folder: make it, or correct the path", path.display())]
    NoFolder {
        /// Where it should have been.
        path: PathBuf,
    },
    /// It is something else.
    #[error("{} is not a key file of Evenkeel: correct the path, or make a new key", path.display())]
    NotAKey {
        /// Where.
        path: PathBuf,
    },
    /// Others can read it.
    #[error("{} can be read by other users: run `chmod 600 {}`", path.display(), path.display())]
    Exposed {
        /// Where.
        path: PathBuf,
    },
    /// The system said no.
    #[error("cannot access the key file {}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

/// A text that is no public key.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this is not an issuer's public key: it has 43 characters of A-Z, a-z, 0-9, hyphen and underscore")]
pub struct NotAnIssuer;

impl IssuerKey {
    /// A new key.
    ///
    /// # Panics
    /// If the system has no randomness, which it needs for every connection too.
    #[must_use]
    pub fn generate() -> Self {
        let mut secret = [0; 32];
        ring::rand::SystemRandom::new().fill(&mut secret).expect("the system gives random bytes");
        Self(SigningKey::from_bytes(&secret))
    }

    /// What relays need of it.
    #[must_use]
    pub fn id(&self) -> IssuerId {
        IssuerId(self.0.verifying_key())
    }

    pub(super) fn signature(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }

    /// Writes a new file that only its owner can read.
    ///
    /// # Errors
    /// [`KeyFileError`] if there is one already or the disk refuses.
    pub fn save(&self, path: &Path) -> Result<(), KeyFileError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let text = format!("{FILE_PREFIX}{}\n", URL_SAFE_NO_PAD.encode(self.0.as_bytes()));
        options
            .open(path)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .map_err(|source| match refused(path, source) {
                KeyFileError::Missing { path } => KeyFileError::NoFolder { path },
                error => error,
            })
    }

    /// Reads a key from its file.
    ///
    /// # Errors
    /// [`KeyFileError`] if it is missing, readable by others, or something else.
    pub fn load(path: &Path) -> Result<Self, KeyFileError> {
        let file = fs::File::open(path).map_err(|source| refused(path, source))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = file.metadata().map_err(|source| refused(path, source))?.permissions().mode();
            if mode & 0o077 != 0 {
                return Err(KeyFileError::Exposed { path: path.to_path_buf() });
            }
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(|source| refused(path, source))?;
        std::str::from_utf8(&bytes)
            .ok()
            .and_then(Self::parse)
            .ok_or_else(|| KeyFileError::NotAKey { path: path.to_path_buf() })
    }

    /// Reads a key file's text.
    #[doc(hidden)]
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let secret = decoded(text.trim_end().strip_prefix(FILE_PREFIX)?)?;
        Some(Self(SigningKey::from_bytes(&secret)))
    }
}

impl fmt::Debug for IssuerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IssuerKey(of {})", self.id())
    }
}

impl IssuerId {
    /// Reads its text form.
    ///
    /// # Errors
    /// [`NotAnIssuer`] if it is something else.
    pub fn parse(text: &str) -> Result<Self, NotAnIssuer> {
        let bytes = decoded(text.trim()).ok_or(NotAnIssuer)?;
        VerifyingKey::from_bytes(&bytes).map(Self).map_err(|_| NotAnIssuer)
    }

    /// Strictly: each message has one signature that passes, so nobody can make a second token out of one.
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

fn decoded(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

fn refused(path: &Path, source: io::Error) -> KeyFileError {
    let path = path.to_path_buf();
    match source.kind() {
        io::ErrorKind::AlreadyExists => KeyFileError::Exists { path },
        io::ErrorKind::NotFound => KeyFileError::Missing { path },
        _ => KeyFileError::Io { path, source },
    }
}
