//! The certificate of a listener: either self-signed and pinned by its hash, or a real one from files.
//!
//! Browsers accept a self-signed certificate if the page names its SHA-256 hash and it is an ECDSA P-256 certificate valid
//! for at most 14 days. So a relay without a domain signs its own for 13 days ([`Certificate::self_signed`]), and a
//! [`Rotation`] replaces it in time. A relay with a domain reads PEM files ([`Certificate::from_pem_files`]) and reads them
//! again when they are renewed.

mod rotation;
mod validity;

pub use rotation::Rotation;
pub use validity::Validity;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::SignatureScheme;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use crate::files::{TEXT_BYTES_MAX, read_regular};

/// Validity of a self-signed certificate. Browsers allow 14 days; one is left for wrong clocks.
pub const SELF_SIGNED_SECONDS: u64 = 13 * 86_400;
/// How much of that lies in the past at creation, for clients with slow clocks.
const BACKDATED_SECONDS: u64 = 3_600;
/// A certificate valid for longer was not signed by a relay.
const OWN_SECONDS_MAX: u64 = 14 * 86_400;

/// The SHA-256 hash of a certificate in DER form, by which clients pin it. As text: 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CertificateHash([u8; 32]);

/// A text that is not a certificate hash.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a certificate hash has 64 hexadecimal digits")]
pub struct InvalidHash;

impl CertificateHash {
    /// Hashes a certificate in DER form.
    #[must_use]
    pub fn of(der: &[u8]) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, der);
        Self(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }

    /// Returns its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses its text form. Colons and upper case are accepted.
    ///
    /// # Errors
    /// [`InvalidHash`] if it is not a hash.
    pub fn parse(text: &str) -> Result<Self, InvalidHash> {
        let digits: Vec<u8> =
            text.bytes().filter(|byte| *byte != b':').take(65).map(hex_digit).collect::<Result<_, _>>()?;
        let bytes: Vec<u8> =
            digits.chunks(2).map(|pair| pair.iter().fold(0, |acc, d| acc * 16 + d)).collect();
        if digits.len() != 64 {
            return Err(InvalidHash);
        }
        bytes.try_into().map(Self).map_err(|_| InvalidHash)
    }
}

fn hex_digit(byte: u8) -> Result<u8, InvalidHash> {
    char::from(byte).to_digit(16).map(|digit| digit as u8).ok_or(InvalidHash)
}

impl fmt::Display for CertificateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for CertificateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CertificateHash({self})")
    }
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}; correct the path or its permissions", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file lacks what it should contain.
    #[error("{} contains no {wanted} in PEM form: is it the right file?", path.display())]
    NotPem {
        /// The file.
        path: PathBuf,
        /// What it should contain.
        wanted: &'static str,
    },
    /// The certificate and the key do not belong together.
    #[error("the key in {} is not the key of the certificate in {}", key.display(), chain.display())]
    Mismatch {
        /// The certificate's file.
        chain: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
    /// It has expired.
    #[error("the certificate in {} has expired: renew it", path.display())]
    Expired {
        /// The certificate's file.
        path: PathBuf,
    },
    /// The file for the relay's own certificates contains something else.
    #[error(
        "{} contains something else than the relay's own certificates and is left unchanged: name another file to keep \
         them in (keep_certificate), or move this one away",
        path.display()
    )]
    ForeignFile {
        /// The file.
        path: PathBuf,
    },
    /// It does not work.
    #[error("the certificate cannot be used: {0}")]
    Unusable(String),
}

/// A certificate chain with its key.
#[derive(Clone)]
pub struct Certificate {
    certified: Arc<CertifiedKey>,
    hash: CertificateHash,
    validity: Validity,
    /// Certificate and key in PEM form, if self-signed.
    pem: Option<Arc<str>>,
}

impl Certificate {
    /// Creates a certificate for localhost, 127.0.0.1, ::1 and these names, valid for 13 days from `now` (Unix seconds).
    ///
    /// # Errors
    /// [`CertificateError::Unusable`] if a name is invalid.
    pub fn self_signed(names: &[String], now: u64) -> Result<Self, CertificateError> {
        let unusable = |error: rcgen::Error| CertificateError::Unusable(error.to_string());
        let mut all: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        all.extend(
            names.iter().filter(|name| !["localhost", "127.0.0.1", "::1"].contains(&name.as_str())).cloned(),
        );
        let mut params = rcgen::CertificateParams::new(all).map_err(unusable)?;
        let not_before = now.saturating_sub(BACKDATED_SECONDS);
        params.not_before = date(not_before)?;
        params.not_after = date(not_before + SELF_SIGNED_SECONDS)?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, "Evenkeel relay");
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(unusable)?;
        let certificate = params.self_signed(&key).map_err(unusable)?;
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let pem = to_pem_with_key(certificate.der(), &key.serialize_der());
        Self::from_der(vec![certificate.der().clone()], der)
            .map(|made| Self { pem: Some(pem.into()), ..made })
            .map_err(|error| CertificateError::Unusable(error.to_string()))
    }

    /// Parses a text of self-signed certificates, each followed by its key as [`to_pem_with_key`] writes them. Returns `None` if it
    /// contains anything else, or a certificate that a relay would not sign.
    fn parse_own(text: &[u8]) -> Option<Vec<Self>> {
        let certificates = CertificateDer::pem_slice_iter(text).filter_map(Result::ok);
        let keys = PrivatePkcs8KeyDer::pem_slice_iter(text).filter_map(Result::ok);
        let own = |(certificate, key): (CertificateDer<'static>, PrivatePkcs8KeyDer<'static>)| {
            let pem = to_pem_with_key(&certificate, key.secret_pkcs8_der());
            let read = Self::from_der(vec![certificate], PrivateKeyDer::Pkcs8(key)).ok()?;
            read.is_pinnable().then_some(Self { pem: Some(pem.into()), ..read })
        };
        let own: Vec<Self> = certificates.zip(keys).map(own).collect::<Option<_>>()?;
        let written: String = own.iter().filter_map(|own| own.pem.as_deref()).collect();
        (written.as_bytes() == text).then_some(own)
    }

    /// Whether browsers accept it by its hash: ECDSA P-256 and valid for a short time.
    fn is_pinnable(&self) -> bool {
        let Validity { not_before, not_after } = self.validity;
        let scheme = self.certified.key.choose_scheme(&[SignatureScheme::ECDSA_NISTP256_SHA256]);
        scheme.is_some() && not_after.saturating_sub(not_before) <= OWN_SECONDS_MAX
    }

    /// Reads a chain and its key from PEM files.
    ///
    /// # Errors
    /// [`CertificateError`] if a file is missing or wrong, they do not match, or the certificate expired before `now`
    /// (Unix seconds).
    pub fn from_pem_files(chain: &Path, key: &Path, now: u64) -> Result<Self, CertificateError> {
        let read = |path: &Path| {
            let unreadable = |source| CertificateError::Unreadable { path: path.to_path_buf(), source };
            read_regular(path, TEXT_BYTES_MAX).map_err(unreadable)
        };
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&read(chain)?)
            .collect::<Result<_, _>>()
            .map_err(|error| pem_error(chain, "certificate", error))?;
        if certificates.is_empty() {
            return Err(CertificateError::NotPem { path: chain.to_path_buf(), wanted: "certificate" });
        }
        let secret = PrivateKeyDer::from_pem_slice(&read(key)?)
            .map_err(|error| pem_error(key, "private key", error))?;
        let certificate = Self::from_der(certificates, secret).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                CertificateError::Mismatch { chain: chain.to_path_buf(), key: key.to_path_buf() }
            }
            other => CertificateError::Unusable(other.to_string()),
        })?;
        if certificate.validity.not_after <= now {
            return Err(CertificateError::Expired { path: chain.to_path_buf() });
        }
        Ok(certificate)
    }

    fn from_der(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, rustls::Error> {
        let hash = CertificateHash::of(&chain[0]);
        let validity = Validity::of(&chain[0])
            .ok_or_else(|| rustls::Error::General("its dates can't be read".to_owned()))?;
        let certified = CertifiedKey::from_der(chain, key, &rustls::crypto::ring::default_provider())?;
        Ok(Self { certified: Arc::new(certified), hash, validity, pem: None })
    }

    /// Returns the hash by which clients pin it.
    #[must_use]
    pub const fn hash(&self) -> CertificateHash {
        self.hash
    }

    /// Returns its validity period.
    #[must_use]
    pub const fn validity(&self) -> Validity {
        self.validity
    }

    /// Returns the certificate and key for rustls.
    #[must_use]
    pub fn certified(&self) -> Arc<CertifiedKey> {
        self.certified.clone()
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({}, {:?})", self.hash, self.validity)
    }
}

/// Returns a certificate and its key in PEM form.
fn to_pem_with_key(certificate: &[u8], key: &[u8]) -> String {
    pem("CERTIFICATE", certificate) + &pem("PRIVATE KEY", key)
}

/// Encodes bytes in PEM form.
fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: String = text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line) + "\n").collect();
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}

fn date(unix_seconds: u64) -> Result<time::OffsetDateTime, CertificateError> {
    i64::try_from(unix_seconds)
        .ok()
        .and_then(|seconds| time::OffsetDateTime::from_unix_timestamp(seconds).ok())
        .ok_or_else(|| {
            CertificateError::Unusable("the system's clock shows no valid date: set it".to_owned())
        })
}

fn pem_error(path: &Path, wanted: &'static str, error: PemError) -> CertificateError {
    let path = path.to_path_buf();
    match error {
        PemError::Io(source) => CertificateError::Unreadable { path, source },
        _ => CertificateError::NotPem { path, wanted },
    }
}

#[cfg(test)]
mod tests;
