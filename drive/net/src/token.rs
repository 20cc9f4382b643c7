//! Session tokens: signed permission to enter a room until a given time.
//!
//! The issuer (a lobby, an operator at a terminal) holds an Ed25519 [`IssuerKey`]. A relay needs only its [`IssuerId`], so
//! a compromised relay cannot issue tokens. A token is `"EK1"`, the claims and the signature over both, in base64url
//! without padding so that it fits into a URL's query. The encoding is strict: a token with any bit changed is refused.
//!
//! ```
//! use evenkeel_net::token::{Claims, IssuerKey, Name};
//!
//! let key = IssuerKey::generate();
//! let claims = Claims::issue(Name::new("arena-1")?, Name::new("ada")?, 1_000, 3_600);
//! let token = key.sign(&claims);
//! let seen = key.id().verify(&token, 1_500)?;
//! assert_eq!(seen.name.as_str(), "ada");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod keys;

pub use crate::key_file::KeyFileError;
pub use keys::{InvalidIssuer, IssuerId, IssuerKey};

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use evenkeel_core::{Malformed, Reader, Wire};
use ring::rand::SecureRandom;

/// The longest token that is parsed, in characters.
pub const TOKEN_CHARS_MAX: usize = 512;
/// The longest name of a room or a player, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// How far the clocks of issuer and relay may differ before a token counts as not yet valid, in seconds.
pub const SKEW_SECONDS_MAX: u64 = 60;

const MAGIC: &[u8; 3] = b"EK1";
const SIGNATURE_BYTES: usize = 64;

/// The name of a room or a player: 1 to 64 bytes of `[A-Za-z0-9._-]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(String);

/// A text that is not a valid name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a name has 1 to 64 characters of A-Z, a-z, 0-9, dot, underscore and hyphen")]
pub struct InvalidName;

impl Name {
    /// Parses a name.
    ///
    /// # Errors
    /// [`InvalidName`] if it is empty, too long, or has other characters.
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        let fits = (1..=NAME_BYTES_MAX).contains(&name.len());
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if fits && is_plain { Ok(Self(name.to_owned())) } else { Err(InvalidName) }
    }

    /// Returns its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Wire for Name {
    fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.0.len() as u8);
        bytes.extend_from_slice(self.0.as_bytes());
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let len = reader.read::<u8>()?;
        let text = std::str::from_utf8(reader.take(usize::from(len))?).map_err(|_| Malformed::Field)?;
        Self::new(text).map_err(|_| Malformed::Field)
    }
}

/// The contents of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claims {
    /// The room it admits to.
    pub room: Name,
    /// The name of the player, or of the group of players.
    pub name: Name,
    /// When it was issued, in Unix seconds.
    pub issued_at: u64,
    /// When it expires, in Unix seconds.
    pub expires_at: u64,
    /// A random number that identifies the token.
    pub id: [u8; 16],
    /// How many players it admits, each on a seat of its own, for bots. With one seat, the name is the player's; with more,
    /// the players are NAME-1, NAME-2, and so on.
    pub seats: u16,
}

impl Claims {
    /// Creates claims that are valid for this many seconds from `now`, with one seat and a random id.
    ///
    /// # Panics
    /// If the system provides no randomness.
    #[must_use]
    pub fn issue(room: Name, name: Name, now: u64, seconds: u64) -> Self {
        let mut id = [0; 16];
        ring::rand::SystemRandom::new().fill(&mut id).expect("the system gives random bytes");
        Self { room, name, issued_at: now, expires_at: now.saturating_add(seconds), id, seats: 1 }
    }

    /// Returns the name of the player on a seat, counted from 1. A token with one seat needs no seat number.
    ///
    /// # Errors
    /// [`TokenRefused::NoSuchSeat`] if the token does not have this seat.
    pub fn player(&self, seat: Option<&str>) -> Result<Name, TokenRefused> {
        let none = TokenRefused::NoSuchSeat { seats: self.seats };
        match (self.seats, seat) {
            (1, None | Some("1")) => Ok(self.name.clone()),
            (1, _) | (_, None) => Err(none),
            (seats, Some(seat)) => {
                let seat = seat.parse::<u16>().ok().filter(|seat| (1..=seats).contains(seat));
                let name = seat.map(|seat| format!("{}-{seat}", self.name)).ok_or(none.clone())?;
                Name::new(&name).map_err(|_| none)
            }
        }
    }
}

impl Wire for Claims {
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.room.emit(bytes);
        self.name.emit(bytes);
        self.issued_at.emit(bytes);
        self.expires_at.emit(bytes);
        bytes.extend_from_slice(&self.id);
        self.seats.emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (room, name) = (reader.read()?, reader.read()?);
        let (issued_at, expires_at) = (reader.read()?, reader.read()?);
        let id = reader.take(16)?.try_into().map_err(|_| Malformed::Truncated)?;
        Ok(Self { room, name, issued_at, expires_at, id, seats: reader.read()? })
    }
}

/// Why a token was refused, worded for the player.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenRefused {
    /// No token was given.
    #[error("there is no token: add one to the address as ?token=...")]
    Missing,
    /// It cannot be parsed.
    #[error("this is not a token: copy all of it and nothing else")]
    Malformed,
    /// The signature is not the trusted issuer's.
    #[error("the token was changed, or signed by another key than the relay trusts")]
    WrongKey,
    /// It has expired.
    #[error("the token expired {} ago: ask for a new one", human_duration(*.seconds))]
    Expired {
        /// How long ago, in seconds.
        seconds: u64,
    },
    /// It is not valid yet.
    #[error("the token becomes valid in {}: check the clocks of issuer and relay", human_duration(*.seconds))]
    NotYetValid {
        /// In how many seconds it will be.
        seconds: u64,
    },
    /// It does not have this seat.
    #[error("the token has {}", seat_advice(*.seats))]
    NoSuchSeat {
        /// The number of seats it has.
        seats: u16,
    },
    /// It is for another room.
    #[error("the token is for the room {room}, not for this one")]
    WrongRoom {
        /// The room that it is for.
        room: Name,
    },
}

/// Formats a duration in its largest unit.
fn human_duration(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// Tells the number of seats and how to choose one.
fn seat_advice(seats: u16) -> String {
    match seats {
        1 => "1 seat: connect with ?seat=1, or without".to_owned(),
        _ => format!("{seats} seats: connect with ?seat=1 to ?seat={seats}"),
    }
}

impl IssuerKey {
    /// Signs claims. Returns the token.
    #[must_use]
    pub fn sign(&self, claims: &Claims) -> String {
        let mut bytes = MAGIC.to_vec();
        claims.emit(&mut bytes);
        let signature = self.signature(&bytes);
        bytes.extend_from_slice(&signature);
        URL_SAFE_NO_PAD.encode(bytes)
    }
}

impl IssuerId {
    /// Verifies a token at this time (Unix seconds) and returns its claims.
    ///
    /// # Errors
    /// [`TokenRefused`] if it is not valid.
    pub fn verify(&self, token: &str, now: u64) -> Result<Claims, TokenRefused> {
        if token.is_empty() {
            return Err(TokenRefused::Missing);
        }
        if token.len() > TOKEN_CHARS_MAX {
            return Err(TokenRefused::Malformed);
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| TokenRefused::Malformed)?;
        let (signed, signature) =
            bytes.split_last_chunk::<SIGNATURE_BYTES>().ok_or(TokenRefused::Malformed)?;
        let body = signed.strip_prefix(MAGIC).ok_or(TokenRefused::Malformed)?;
        if !self.has_signed(signed, signature) {
            return Err(TokenRefused::WrongKey);
        }
        let mut reader = Reader::new(body);
        let claims: Claims = reader.read().map_err(|_| TokenRefused::Malformed)?;
        reader.finish().map_err(|_| TokenRefused::Malformed)?;
        if claims.expires_at <= now {
            return Err(TokenRefused::Expired { seconds: now - claims.expires_at });
        }
        if claims.issued_at > now.saturating_add(SKEW_SECONDS_MAX) {
            return Err(TokenRefused::NotYetValid { seconds: claims.issued_at - now });
        }
        Ok(claims)
    }

    /// Verifies a token for a room; without a room, for the token's own.
    ///
    /// # Errors
    /// [`TokenRefused`] if it is not valid.
    pub fn verify_for(&self, room: Option<&str>, token: &str, now: u64) -> Result<Claims, TokenRefused> {
        let claims = self.verify(token, now)?;
        if room.is_some_and(|room| room != claims.room.as_str()) {
            return Err(TokenRefused::WrongRoom { room: claims.room });
        }
        Ok(claims)
    }
}

/// Returns the current time in Unix seconds.
#[must_use]
pub fn unix_seconds() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
