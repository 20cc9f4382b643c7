//! TLS in which both sides show the same raw public key.

use std::sync::Arc;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::{default_provider, sign::any_eddsa_type};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme,
};

use super::key::SharedKey;

const ALPN: &[u8] = b"evenkeel-tunnel/1";

/// PKCS #8 of an Ed25519 key (RFC 8410) up to its 32 bytes.
const PKCS8_PREFIX: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// The name that clients ask for. Nobody looks at it: the key says who the other side is.
pub(super) const SERVER_NAME: &str = "evenkeel";

fn certified(key: &SharedKey) -> Result<CertifiedKey, Error> {
    let pkcs8 = [&PKCS8_PREFIX[..], key.seed()].concat();
    let signing = any_eddsa_type(&PrivatePkcs8KeyDer::from(pkcs8))?;
    let public =
        signing.public_key().ok_or_else(|| Error::General("the key has no public part".to_owned()))?;
    Ok(CertifiedKey::new(vec![CertificateDer::from(public.to_vec())], signing))
}

pub(super) fn server(key: &SharedKey) -> Result<QuicServerConfig, Error> {
    let (certified, provider) = (Arc::new(certified(key)?), Arc::new(default_provider()));
    let verifier = SameKeyVerifier::new(&certified, &provider);
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified)));
    config.alpn_protocols = vec![ALPN.to_vec()];
    QuicServerConfig::try_from(config).map_err(|error| Error::General(error.to_string()))
}

pub(super) fn client(key: &SharedKey) -> Result<QuicClientConfig, Error> {
    let (certified, provider) = (Arc::new(certified(key)?), Arc::new(default_provider()));
    let verifier = SameKeyVerifier::new(&certified, &provider);
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(certified)));
    config.alpn_protocols = vec![ALPN.to_vec()];
    QuicClientConfig::try_from(config).map_err(|error| Error::General(error.to_string()))
}

/// Accepts one public key. The handshake proves that the other side has its private part.
#[derive(Debug)]
struct SameKeyVerifier {
    public: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl SameKeyVerifier {
    fn new(certified: &CertifiedKey, provider: &Arc<CryptoProvider>) -> Self {
        Self { public: certified.cert[0].clone(), provider: provider.clone() }
    }

    fn check(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        let is_same = shown.as_ref() == self.public.as_ref();
        is_same.then_some(()).ok_or(CertificateError::ApplicationVerificationFailure.into())
    }

    fn check_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        let public = SubjectPublicKeyInfoDer::from(shown.as_ref());
        verify_tls13_signature_with_raw_key(message, &public, signature, algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn no_tls12() -> Error {
    Error::General("TLS 1.2 is not offered".to_owned())
}

impl ServerCertVerifier for SameKeyVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for SameKeyVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
