//! Whom a client believes.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::certificate::CertificateHash;

/// Whom a client believes.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Certificates with one of these hashes, whoever signed them and whatever name they bear. What a relay without a
    /// domain is found by.
    Pinned(Vec<CertificateHash>),
    /// A relay on this machine, by the hashes that it publishes there over HTTP, on the port where it also listens for
    /// players; the system's belief for other relays.
    Local,
    /// What the system believes. The platform's verifier is used rather than a list that is built in, since an
    /// operator's own authority and a withdrawn one are known only to the system.
    System,
}

/// The certificate that a pinning client was shown and did not believe.
pub(super) type Seen = Arc<OnceLock<CertificateHash>>;

impl Trust {
    /// The TLS configuration, and where a certificate is noted that is not among the pinned ones.
    pub(super) fn config(&self) -> Result<(ClientConfig, Seen), Error> {
        let seen = Seen::default();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])?;
        let mut config = match self {
            Self::Pinned(hashes) => {
                let pins = Pins { hashes: hashes.clone(), seen: seen.clone(), provider };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(pins)).with_no_client_auth()
            }
            Self::System | Self::Local => builder.with_platform_verifier()?.with_no_client_auth(),
        };
        config.alpn_protocols = vec![web_transport_quinn::ALPN.as_bytes().to_vec()];
        Ok((config, seen))
    }
}

/// Believes a certificate for its hash. The handshake still proves that the other side has its key.
#[derive(Debug)]
struct Pins {
    hashes: Vec<CertificateHash>,
    seen: Seen,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pins {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let hash = CertificateHash::of(end_entity);
        if self.hashes.contains(&hash) {
            return Ok(ServerCertVerified::assertion());
        }
        let _ = self.seen.set(hash);
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
