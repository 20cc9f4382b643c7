//! Files that hold a secret of 32 bytes: one line with a prefix that tells what it is for, and the secret in base64url. They
//! are created with mode 0600 and never overwritten.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

const FILE_BYTES_MAX: u64 = 256;

/// Why a key file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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

/// Writes a secret to a new file that only its owner can read.
pub fn save(path: &Path, prefix: &str, secret: &[u8; 32]) -> Result<(), KeyFileError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let text = format!("{prefix}{}\n", URL_SAFE_NO_PAD.encode(secret));
    options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .map_err(|source| match file_error(path, source) {
            KeyFileError::Missing { path } => KeyFileError::NoFolder { path },
            error => error,
        })
}

/// Reads a secret from its file.
pub fn load(path: &Path, prefix: &str) -> Result<[u8; 32], KeyFileError> {
    let metadata = fs::metadata(path).map_err(|source| file_error(path, source))?;
    // Not opened, because that may block.
    if !metadata.is_file() {
        return Err(KeyFileError::NotAKey { path: path.to_path_buf() });
    }
    let file = File::open(path).map_err(|source| file_error(path, source))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(KeyFileError::Exposed { path: path.to_path_buf() });
        }
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(|source| file_error(path, source))?;
    std::str::from_utf8(&bytes)
        .ok()
        .and_then(|text| parse(text, prefix))
        .ok_or_else(|| KeyFileError::NotAKey { path: path.to_path_buf() })
}

/// Writes a secret to a file unless another process does so first. Whoever reads the file meanwhile sees all of it or none.
pub fn save_if_missing(path: &Path, prefix: &str, secret: &[u8; 32]) -> Result<(), KeyFileError> {
    let unfinished = path.with_extension(format!("{:016x}.new", crate::random()));
    save(&unfinished, prefix, secret)?;
    let linked = fs::hard_link(&unfinished, path);
    let _ = fs::remove_file(&unfinished);
    match linked {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => Err(file_error(path, source)),
        _ => Ok(()),
    }
}

/// Parses the text of a key file.
pub(crate) fn parse(text: &str, prefix: &str) -> Option<[u8; 32]> {
    decode(text.trim_end().strip_prefix(prefix)?)
}

/// Decodes 32 bytes in base64url.
pub(crate) fn decode(text: &str) -> Option<[u8; 32]> {
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
