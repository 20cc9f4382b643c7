//! The certificate that a relay serves, and its renewal.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_net::certificate::{Certificate, CertificateError, CertificateHash, Rotation};
use evenkeel_net::token::unix_seconds;
use evenkeel_net::transport::ListenerHandle;

use crate::config::{CertificateConfig, RelayConfig};
use crate::game::ServedRoom;
use crate::pages::PagesCertificate;
use crate::server::StartError;
use crate::state::RelayState;

/// How often the certificate is checked for renewal.
const RENEWAL_PERIOD: Duration = Duration::from_secs(600);

/// The served certificate.
pub(crate) enum ServedCertificate {
    /// The relay's own, rotated in time.
    Own(Box<Rotation>),
    /// One from files, read again when they change.
    Files {
        files: CertificateConfig,
        certificate: Box<Certificate>,
        /// The copy that pages are served with.
        pages: Arc<PagesCertificate>,
    },
}

impl ServedCertificate {
    /// Loads the configured certificate, or resumes or creates the relay's own.
    pub(crate) fn load(config: &RelayConfig) -> Result<Self, CertificateError> {
        let now = unix_seconds();
        let Some(files) = config.certificate.clone() else {
            let rotation = match &config.keep_certificate {
                Some(path) => Rotation::resume(Vec::new(), path.clone(), now)?,
                None => Rotation::start(Vec::new(), now)?,
            };
            return Ok(Self::Own(Box::new(rotation)));
        };
        let certificate = Box::new(Certificate::from_pem_files(&files.chain, &files.key, now)?);
        let pages = PagesCertificate::new(&certificate);
        Ok(Self::Files { files, certificate, pages })
    }

    /// Returns the certificate to serve.
    pub(crate) fn current(&self) -> &Certificate {
        match self {
            Self::Own(rotation) => rotation.current(),
            Self::Files { certificate, .. } => certificate,
        }
    }

    /// Returns the certificate of the pages; `None` for the relay's own, which browsers do not accept for pages.
    pub(crate) fn pages(&self) -> Option<Arc<PagesCertificate>> {
        match self {
            Self::Own(_) => None,
            Self::Files { pages, .. } => Some(pages.clone()),
        }
    }

    /// Returns the hashes that clients may pin; none for a certificate from files.
    pub(crate) fn hashes(&self) -> Vec<CertificateHash> {
        match self {
            Self::Own(rotation) => rotation.hashes(),
            Self::Files { .. } => Vec::new(),
        }
    }

    /// Rotates the relay's own certificate when due, or reads a changed one from its files.
    fn renew(&mut self, listener: &ListenerHandle) -> Result<(), StartError> {
        let now = unix_seconds();
        match self {
            Self::Own(rotation) => {
                if rotation.rotate_if_due(now)? {
                    listener.serve(rotation.current())?;
                }
            }
            Self::Files { files, certificate, pages } => {
                let read = Certificate::from_pem_files(&files.chain, &files.key, now)?;
                if read.hash() != certificate.hash() {
                    listener.serve(&read)?;
                    pages.set(&read);
                    **certificate = read;
                }
            }
        }
        Ok(())
    }
}

/// Renews the served certificate periodically.
pub(crate) async fn renew_certificates<R: ServedRoom>(relay: Arc<RelayState<R>>) {
    loop {
        tokio::time::sleep(RENEWAL_PERIOD).await;
        if let Err(error) = relay.certificate().renew(&relay.listener) {
            tracing::error!("the certificate could not be renewed; the former one stays: {error}");
        }
    }
}
