//! Keys, commitments and hash echoes.
//!
//! Everything hashed or signed begins with a label and the session, so that nothing said in one place is valid in another.

use std::fmt;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use evenkeel_core::{Malformed, Reader, Wire};

/// Names a session: 16 random bytes that its founder drew.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Session(pub [u8; 16]);

/// A peer's public key, which is its identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct PublicKey(pub [u8; 32]);

/// A commitment to a move: its hash with a fresh nonce.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Commitment(pub [u8; 32]);

/// A hash over all state changes of a stream up to one: peers that were told the same have the same. All zeros: not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Chain([u8; 16]);

impl Chain {
    /// That of no changes.
    pub(crate) const START: Self = Self([1; 16]);
}

/// An Ed25519 signature.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SignatureBytes(pub [u8; 64]);

/// A nonce: long enough that nobody tries them all before the move is opened.
pub(crate) type Nonce = [u8; 8];

/// How much of a commitment goes into a hash echo.
const ECHOED: usize = 16;

const COMMITMENT: &[u8] = b"evenkeel-neo commitment";
const ECHO: &[u8] = b"evenkeel-neo echo";
const NONCE: &str = "evenkeel-neo nonce 2026";
const CHAIN: &[u8] = b"evenkeel-neo chain";
const STATEMENT: &[u8] = b"evenkeel-neo statement";

fn short_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        short_hex(&self.0, f)
    }
}

/// The first eight digits, which tell players apart.
impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        short_hex(&self.0, f)
    }
}

impl fmt::Debug for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        short_hex(&self.0, f)
    }
}

impl fmt::Debug for SignatureBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        short_hex(&self.0, f)
    }
}

macro_rules! wire_bytes {
    ($($name:ident),*) => {$(
        impl Wire for $name {
            fn emit(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.0);
            }
            fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
                reader.take_array().map(|bytes| Self(*bytes))
            }
        }
    )*};
}

wire_bytes!(Session, PublicKey, Commitment, SignatureBytes, Chain);

/// A peer's secret: it signs, and draws the nonces of commitments.
#[derive(Clone)]
pub struct Identity {
    signing: SigningKey,
    nonces: [u8; 32],
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.key())
    }
}

impl Identity {
    /// The identity of 32 secret random bytes. The same bytes give the same identity, in any session.
    #[must_use]
    pub fn from_secret(secret: [u8; 32]) -> Self {
        Self { signing: SigningKey::from_bytes(&secret), nonces: blake3::derive_key(NONCE, &secret) }
    }

    /// Its public key.
    #[must_use]
    pub fn key(&self) -> PublicKey {
        PublicKey(self.signing.verifying_key().to_bytes())
    }

    /// The nonce of a commitment: nobody else can guess it, and no two slots share one.
    pub(crate) fn nonce(&self, session: Session, slot: u64) -> Nonce {
        let mut hasher = blake3::Hasher::new_keyed(&self.nonces);
        hasher.update(&session.0).update(&slot.to_le_bytes());
        let mut nonce = Nonce::default();
        nonce.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        nonce
    }

    /// Signs a statement of a session.
    pub(crate) fn sign(&self, session: Session, content: &[u8]) -> SignatureBytes {
        SignatureBytes(self.signing.sign(&labelled(session, content)).to_bytes())
    }
}

fn labelled(session: Session, content: &[u8]) -> Vec<u8> {
    [STATEMENT, &session.0, content].concat()
}

/// A public key that was found to be one, for checking signatures.
#[derive(Clone, Debug)]
pub(crate) struct Verifier(VerifyingKey);

impl Verifier {
    /// `None` if the key is none, or one that anybody could sign for.
    pub(crate) fn new(key: &PublicKey) -> Option<Self> {
        VerifyingKey::from_bytes(&key.0).ok().filter(|key| !key.is_weak()).map(Self)
    }

    pub(crate) fn is_signed(&self, session: Session, content: &[u8], signature: &SignatureBytes) -> bool {
        let signature = Signature::from_bytes(&signature.0);
        self.0.verify_strict(&labelled(session, content), &signature).is_ok()
    }
}

/// The commitment to a move, bound to session, slot and sender.
pub(crate) fn commit(
    session: Session,
    slot: u64,
    sender: &PublicKey,
    nonce: &Nonce,
    bytes: &[u8],
) -> Commitment {
    let mut hasher = blake3::Hasher::new();
    hasher.update(COMMITMENT).update(&session.0).update(&slot.to_le_bytes()).update(&sender.0);
    hasher.update(nonce).update(bytes);
    Commitment(*hasher.finalize().as_bytes())
}

/// The chain with one more state change, given as the bytes of its statement.
pub(crate) fn link(chain: Chain, statement: &[u8]) -> Chain {
    let mut hasher = blake3::Hasher::new();
    hasher.update(CHAIN).update(&chain.0).update(statement);
    let mut linked = Chain::default();
    linked.0.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    linked
}

/// The echo of commitments that a peer received for a slot. It is keyed by the commitment of the update that carries it,
/// which nobody could know when making those: two sets of commitments have the same echo by chance only.
pub(crate) fn echo<'a>(key: &Commitment, slot: u64, received: impl Iterator<Item = &'a Commitment>) -> u16 {
    let mut bytes = [0u8; 32 + 8 + 24];
    bytes[..32].copy_from_slice(&key.0);
    bytes[32..40].copy_from_slice(&slot.to_le_bytes());
    bytes[40..40 + ECHO.len()].copy_from_slice(ECHO);
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes);
    for commitment in received {
        hasher.update(&commitment.0[..ECHOED]);
    }
    let hash = hasher.finalize();
    u16::from_le_bytes([hash.as_bytes()[0], hash.as_bytes()[1]])
}
