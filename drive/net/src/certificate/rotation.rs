//! One self-signed certificate after the other, without a moment at which a pinned hash is not the right one.
//!
//! Clients learn the hashes some time before they connect (a page was loaded, a lobby was asked). So the next
//! certificate's hash is published two days before it is served, and the former one's as long as it is valid.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Certificate, CertificateError, CertificateHash};

/// How long before the end of the current certificate the next one is made and its hash published.
const ANNOUNCED_BEFORE_SECONDS: u64 = 4 * 86_400;
/// How long before the end of the current certificate the next one is served.
const SERVED_BEFORE_SECONDS: u64 = 2 * 86_400;
/// A file with the certificates that are kept is far shorter.
const KEPT_BYTES_MAX: u64 = 64 * 1_024;

/// The certificates of a relay that signs them itself: the one that is served, the one before and the one to come.
#[derive(Debug)]
pub struct Rotation {
    names: Vec<String>,
    current: Certificate,
    next: Option<Certificate>,
    former: Option<Certificate>,
    /// Where the current one and the next are kept, so that whoever pinned one of them finds it again after a restart.
    path: Option<PathBuf>,
}

impl Rotation {
    /// Begins with a fresh certificate for localhost and these names.
    ///
    /// # Errors
    /// [`CertificateError::Unusable`] if a name is none.
    pub fn start(names: Vec<String>, now: u64) -> Result<Self, CertificateError> {
        let current = Certificate::self_signed(&names, now)?;
        Ok(Self { names, current, next: None, former: None, path: None })
    }

    /// Goes on with the certificates that are kept in a file, as if there had been no restart; if all of them are over, or
    /// there is no such file, it begins with a fresh one, which is kept there. Without a disk to keep it on it goes on all
    /// the same. Nothing but certificates of our own is ever overwritten.
    ///
    /// # Errors
    /// [`CertificateError::Unusable`] if a name is none, [`CertificateError::NotOwn`] if the file holds something else,
    /// [`CertificateError::Unreadable`] if nobody knows what it holds.
    pub fn resume(names: Vec<String>, path: PathBuf, now: u64) -> Result<Self, CertificateError> {
        let mut good = kept(&path)?.into_iter().filter(|kept| now < kept.validity().not_after);
        if let Some(current) = good.next() {
            let mut resumed = Self { names, current, next: good.next(), former: None, path: Some(path) };
            resumed.turn(now)?;
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
        // Weeks may have passed since the file was looked at.
        let saved = kept(path)
            .map_err(|error| error.to_string())
            .and_then(|_| save(path, &text).map_err(|error| error.to_string()));
        if let Err(words) = saved {
            tracing::warn!("the certificate could not be kept in {}: {words}", path.display());
        }
    }

    /// The certificate to serve.
    #[must_use]
    pub const fn current(&self) -> &Certificate {
        &self.current
    }

    /// Every hash that clients should pin, the served one first.
    #[must_use]
    pub fn hashes(&self) -> Vec<CertificateHash> {
        [Some(&self.current), self.next.as_ref(), self.former.as_ref()]
            .into_iter()
            .flatten()
            .map(Certificate::hash)
            .collect()
    }

    /// Makes the next certificate or switches to it, if it is time. `true`: [`current`](Self::current) has changed, and
    /// the listener should serve it. Call it every hour or so.
    ///
    /// # Errors
    /// [`CertificateError`] if a certificate can't be made; the current one stays.
    pub fn turn(&mut self, now: u64) -> Result<bool, CertificateError> {
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

/// The certificates of our own that a file holds; none if there is no such file.
fn kept(path: &Path) -> Result<Vec<Certificate>, CertificateError> {
    let read = || -> io::Result<Option<Vec<Certificate>>> {
        // What is no plain file might never end, or never begin.
        if !fs::metadata(path)?.is_file() {
            return Ok(None);
        }
        let mut text = Vec::new();
        fs::File::open(path)?.take(KEPT_BYTES_MAX).read_to_end(&mut text)?;
        Ok(Certificate::own(&text))
    };
    match read() {
        Ok(own) => own.ok_or_else(|| CertificateError::NotOwn { path: path.to_path_buf() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(CertificateError::Unreadable { path: path.to_path_buf(), source }),
    }
}

/// Writes a file that only its owner can read, wholly or not at all.
fn save(path: &Path, text: &str) -> io::Result<()> {
    // A name that nobody has: what is there already is not ours to overwrite, and may be open to others.
    let unique = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{unique:x}.new"));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&fresh)?;
    // It must be on the disk before it has its name: half of one would not be taken for our own.
    let saved = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&fresh, path));
    if saved.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    saved
}
