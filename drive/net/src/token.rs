//! Session tokens: who may enter which room, until when, signed by an issuer.
//!
//! The issuer (a lobby, an operator at a terminal) holds an Ed25519 [`IssuerKey`]; a relay needs only its [`IssuerId`],
//! so a relay that is broken into cannot let anybody in elsewhere. A token is bytes in base64url without padding, so
//! that it fits into a URL's query: `"EK1"`, the claims, and the signature over both. There is one form for each token:
//! whatever bit is changed, the token is refused.
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

pub use keys::{IssuerId, IssuerKey, KeyFileError, NotAnIssuer};

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use evenkeel_core::{Malformed, Reader, Wire};
use ring::rand::SecureRandom;

/// The longest token that is looked at, in characters.
pub const TOKEN_CHARS_MAX: usize = 512;
/// The longest name of a room or a player, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// How far the clocks of issuer and relay may differ before a token counts as issued in the future, in seconds.
pub const SKEW_SECONDS_MAX: u64 = 60;

const MAGIC: &[u8; 3] = b"EK1";
const SIGNATURE_BYTES: usize = 64;

/// The name of a room or of a player: 1 to 64 bytes of `[A-Za-z0-9._-]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(String);

/// Why a text is no name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a name has 1 to 64 characters of A-Z, a-z, 0-9, dot, underscore and hyphen")]
pub struct NotAName;

impl Name {
    /// Checks a name.
    ///
    /// # Errors
    /// [`NotAName`] if it is empty, too long, or has other characters.
    pub fn new(name: &str) -> Result<Self, NotAName> {
        let fits = (1..=NAME_BYTES_MAX).contains(&name.len());
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if fits && is_plain { Ok(Self(name.to_owned())) } else { Err(NotAName) }
    }

    /// Its text.
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

/// What a token says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claims {
    /// The room that may be entered.
    pub room: Name,
    /// By whom.
    pub name: Name,
    /// When it was issued, in seconds since 1970.
    pub issued_at: u64,
    /// Until when it is good, in seconds since 1970.
    pub expires_at: u64,
    /// Tells this token from every other one.
    pub id: [u8; 16],
    /// How many players may come in with it, each on a seat of its own: for bots. With one, the name is the player's;
    /// with more, the players are NAME-1, NAME-2, and so on.
    pub seats: u16,
}

impl Claims {
    /// Claims that are good from now on for so many seconds, with a random id.
    ///
    /// # Panics
    /// If the system has no randomness, which it needs for every connection too.
    #[must_use]
    pub fn issue(room: Name, name: Name, now: u64, seconds: u64) -> Self {
        let mut id = [0; 16];
        ring::rand::SystemRandom::new().fill(&mut id).expect("the system gives random bytes");
        Self { room, name, issued_at: now, expires_at: now.saturating_add(seconds), id, seats: 1 }
    }

    /// The name of the player on a seat, counted from 1; without a seat it is the only one.
    ///
    /// # Errors
    /// [`TokenRefused::NoSuchSeat`] if the token has no such seat.
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

/// Why a token was refused, in words that can be shown to the player.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenRefused {
    /// No token came at all.
    #[error("there is no token: add one to the address as ?token=...")]
    Missing,
    /// It can't be read.
    #[error("this is not a token: copy the whole of it, nothing before or behind")]
    NotAToken,
    /// The signature does not fit.
    #[error("the token was changed, or signed by another key than the one trusted here")]
    OtherKey,
    /// It is over.
    #[error("the token expired {} ago: ask for a new one", spelled(*.seconds))]
    Expired {
        /// Since when, in seconds.
        seconds: u64,
    },
    /// It begins in the future.
    #[error("the token is good only in {}: check the clocks of issuer and relay", spelled(*.seconds))]
    NotYet {
        /// In how many seconds.
        seconds: u64,
    },
    /// It has no such seat.
    #[error("the token has {}", seated(*.seats))]
    NoSuchSeat {
        /// How many it has.
        seats: u16,
    },
    /// It is for somewhere else.
    #[error("the token is for the room {room}, not for this one")]
    OtherRoom {
        /// The room that it is for.
        room: Name,
    },
}

/// Seconds as people say them.
fn spelled(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// Seats, and how to take one.
fn seated(seats: u16) -> String {
    match seats {
        1 => "1 seat: connect with ?seat=1, or without".to_owned(),
        _ => format!("{seats} seats: connect with ?seat=1 to ?seat={seats}"),
    }
}

impl IssuerKey {
    /// The token that says this.
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
    /// What a token says, if this issuer signed it and it is good at this time (seconds since 1970).
    ///
    /// # Errors
    /// [`TokenRefused`] says why not.
    pub fn verify(&self, token: &str, now: u64) -> Result<Claims, TokenRefused> {
        if token.is_empty() {
            return Err(TokenRefused::Missing);
        }
        if token.len() > TOKEN_CHARS_MAX {
            return Err(TokenRefused::NotAToken);
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| TokenRefused::NotAToken)?;
        let (signed, signature) =
            bytes.split_last_chunk::<SIGNATURE_BYTES>().ok_or(TokenRefused::NotAToken)?;
        let body = signed.strip_prefix(MAGIC).ok_or(TokenRefused::NotAToken)?;
        if !self.has_signed(signed, signature) {
            return Err(TokenRefused::OtherKey);
        }
        let mut reader = Reader::new(body);
        let claims: Claims = reader.read().map_err(|_| TokenRefused::NotAToken)?;
        reader.finish().map_err(|_| TokenRefused::NotAToken)?;
        if claims.expires_at <= now {
            return Err(TokenRefused::Expired { seconds: now - claims.expires_at });
        }
        if claims.issued_at > now.saturating_add(SKEW_SECONDS_MAX) {
            return Err(TokenRefused::NotYet { seconds: claims.issued_at - now });
        }
        Ok(claims)
    }

    /// As [`verify`](Self::verify), for the room that somebody asks for; with none, for the token's own.
    ///
    /// # Errors
    /// [`TokenRefused`] says why not.
    pub fn verify_for(&self, room: Option<&str>, token: &str, now: u64) -> Result<Claims, TokenRefused> {
        let claims = self.verify(token, now)?;
        if room.is_some_and(|room| room != claims.room.as_str()) {
            return Err(TokenRefused::OtherRoom { room: claims.room });
        }
        Ok(claims)
    }
}

/// Seconds since 1970, for issuing and verifying.
#[must_use]
pub fn unix_seconds() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
