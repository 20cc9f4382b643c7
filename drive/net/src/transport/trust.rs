//! How a client decides whether to trust a relay's certificate.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::certificate::CertificateHash;

/// Which certificates a client trusts.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Certificates with one of these hashes, whatever their issuer and names; for relays without a domain.
    Pinned(Vec<CertificateHash>),
    /// For a relay on this machine, the hashes that it publishes over HTTP on the port it listens on; for other relays,
    /// [`System`](Self::System).
    Local,
    /// Certificates that the system trusts. The platform's verifier is used instead of a built-in list, because only the
    /// system knows an operator's own authority and revoked ones.
    System,
}

/// The certificate that failed the pin check, if any.
pub(super) type ShownHash = Arc<OnceLock<CertificateHash>>;

impl Trust {
    /// Returns the TLS configuration, and where a certificate that fails the pin check is noted.
    pub(super) fn config(&self) -> Result<(ClientConfig, ShownHash), Error> {
        let seen = ShownHash::default();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])?;
        let mut config = match self {
            Self::Pinned(hashes) => {
                let pins = PinVerifier { hashes: hashes.clone(), seen: seen.clone(), provider };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(pins)).with_no_client_auth()
            }
            Self::System | Self::Local => builder.with_platform_verifier()?.with_no_client_auth(),
        };
        config.alpn_protocols = vec![web_transport_quinn::ALPN.as_bytes().to_vec()];
        Ok((config, seen))
    }
}

/// Trusts certificates by their hash. The handshake still proves that the other side has the key.
#[derive(Debug)]
struct PinVerifier {
    hashes: Vec<CertificateHash>,
    seen: ShownHash,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinVerifier {
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
