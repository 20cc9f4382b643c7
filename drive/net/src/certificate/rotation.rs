//! Rotation of self-signed certificates, during which every published hash stays valid.
//!
//! Clients learn the hashes some time before they connect, from a page or a lobby. So the next certificate's hash is
//! published two days before the certificate is served, and the former hash stays published while it is valid.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Certificate, CertificateError, CertificateHash};

/// How long before the current certificate expires the next one is created and its hash published.
const ANNOUNCED_BEFORE_SECONDS: u64 = 4 * 86_400;
/// How long before the current certificate expires the next one is served.
const SERVED_BEFORE_SECONDS: u64 = 2 * 86_400;
/// Bytes read from the file of kept certificates, which is far shorter.
const KEPT_BYTES_MAX: u64 = 64 * 1_024;

/// A relay's self-signed certificates: the current one, its predecessor and its successor.
#[derive(Debug)]
pub struct Rotation {
    names: Vec<String>,
    current: Certificate,
    next: Option<Certificate>,
    former: Option<Certificate>,
    /// Where the current one and the next are kept, so that their hashes survive a restart.
    path: Option<PathBuf>,
}

impl Rotation {
    /// Starts with a new certificate for localhost and these names.
    ///
    /// # Errors
    /// [`CertificateError::Unusable`] if a name is invalid.
    pub fn start(names: Vec<String>, now: u64) -> Result<Self, CertificateError> {
        let current = Certificate::self_signed(&names, now)?;
        Ok(Self { names, current, next: None, former: None, path: None })
    }

    /// Resumes with the certificates kept in a file. If there are none, or all have expired, starts with a new one and keeps
    /// it there. If it cannot be written, the rotation goes on without. Overwrites nothing but self-signed certificates.
    ///
    /// # Errors
    /// [`CertificateError::Unusable`] if a name is invalid, [`CertificateError::ForeignFile`] if the file contains anything else,
    /// [`CertificateError::Unreadable`] if it cannot be read.
    pub fn resume(names: Vec<String>, path: PathBuf, now: u64) -> Result<Self, CertificateError> {
        let mut good = read_kept(&path)?.into_iter().filter(|kept| now < kept.validity().not_after);
        if let Some(current) = good.next() {
            let mut resumed = Self { names, current, next: good.next(), former: None, path: Some(path) };
            resumed.rotate_if_due(now)?;
            return Ok(resumed);
        }
        let fresh = Self { path: Some(path), ..Self::start(names, now)? };
        fresh.keep();
        Ok(fresh)
    }

    fn keep(&self) {
        let Some(path) = &self.path else { return };
        let both = [Some(&self.current), self.next.as_ref()].into_iter().flatten();
        let text: String = both.filter_map(|own| own.pem.as_deref()).collect();
        // The file may have been replaced since it was last read.
        let saved = read_kept(path)
            .map_err(|error| error.to_string())
            .and_then(|_| save(path, &text).map_err(|error| error.to_string()));
        if let Err(message) = saved {
            tracing::warn!("the certificate could not be kept in {}: {message}", path.display());
        }
    }

    /// Returns the certificate to serve.
    #[must_use]
    pub const fn current(&self) -> &Certificate {
        &self.current
    }

    /// Returns every hash that clients should pin, the served one first.
    #[must_use]
    pub fn hashes(&self) -> Vec<CertificateHash> {
        [Some(&self.current), self.next.as_ref(), self.former.as_ref()]
            .into_iter()
            .flatten()
            .map(Certificate::hash)
            .collect()
    }

    /// Creates the next certificate or switches to it when due; call it about every hour. Returns whether
    /// [`current`](Self::current) has changed, so that the listener should serve it.
    ///
    /// # Errors
    /// [`CertificateError`] if a certificate cannot be created; the current one stays.
    pub fn rotate_if_due(&mut self, now: u64) -> Result<bool, CertificateError> {
        let end = self.current.validity().not_after;
        if self.next.is_none() && now + ANNOUNCED_BEFORE_SECONDS >= end {
            self.next = Some(Certificate::self_signed(&self.names, now)?);
            self.keep();
        }
        if self.former.as_ref().is_some_and(|former| former.validity().not_after <= now) {
            self.former = None;
        }
        if now + SERVED_BEFORE_SECONDS < end {
            return Ok(false);
        }
        let Some(next) = self.next.take() else { return Ok(false) };
        let former = std::mem::replace(&mut self.current, next);
        self.former = (former.validity().not_after > now).then_some(former);
        self.keep();
        Ok(true)
    }
}

/// Reads the self-signed certificates in a file; none if there is no such file.
fn read_kept(path: &Path) -> Result<Vec<Certificate>, CertificateError> {
    let read = || -> io::Result<Option<Vec<Certificate>>> {
        // Reading anything but a regular file might block or never end.
        if !fs::metadata(path)?.is_file() {
            return Ok(None);
        }
        let mut text = Vec::new();
        fs::File::open(path)?.take(KEPT_BYTES_MAX).read_to_end(&mut text)?;
        Ok(Certificate::parse_own(&text))
    };
    match read() {
        Ok(own) => own.ok_or_else(|| CertificateError::ForeignFile { path: path.to_path_buf() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(CertificateError::Unreadable { path: path.to_path_buf(), source }),
    }
}

/// Atomically writes a file that only its owner can read.
fn save(path: &Path, text: &str) -> io::Result<()> {
    // A unique name: an existing file is not ours to overwrite and may be readable by others.
    let unique = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{unique:x}.new"));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&fresh)?;
    // Synced before it is renamed: half a file would be rejected as foreign.
    let saved = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&fresh, path));
    if saved.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    saved
}
