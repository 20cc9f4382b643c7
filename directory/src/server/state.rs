//! What a directory keeps: relays until they expire, names until their tokens do, and how often each address has asked.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use evenkeel_net::certificate::CertificateHash;
use evenkeel_net::token::{Claims, IssuerId, IssuerKey, Name, unix_seconds};

use super::config::DirectoryConfig;
use super::limits::RateLimit;
use super::names::{NameRefused, Names};
use crate::model::{Joining, LIFETIME, Listing, Registration, RelayListing, Ticket};

/// The longest address of a relay.
const ADDRESS_CHARS_MAX: usize = 260;
/// The most certificates of a relay.
const HASHES_MAX: usize = 8;

/// A refusal: HTTP's status and the reason in words.
pub(crate) type Refusal = (u16, String);

#[derive(Debug)]
struct Relay {
    listing: RelayListing,
    from: IpAddr,
    expires: Instant,
}

/// What is behind one lock.
#[derive(Debug)]
struct Book {
    relays: BTreeMap<Name, Relay>,
    names: Names,
    joins: RateLimit,
    requests: RateLimit,
}

/// What a directory's connections share.
pub(crate) struct DirectoryState {
    pub(crate) config: DirectoryConfig,
    key: IssuerKey,
    book: Mutex<Book>,
}

fn refuse<T>(status: u16, reason: impl Into<String>) -> Result<T, Refusal> {
    Err((status, reason.into()))
}

impl DirectoryState {
    pub(crate) fn new(config: DirectoryConfig, key: IssuerKey) -> Self {
        let book = Book {
            relays: BTreeMap::new(),
            names: Names::default(),
            joins: RateLimit::new(config.joins_per_minute),
            requests: RateLimit::new(config.requests_per_minute),
        };
        Self { config, key, book: Mutex::new(book) }
    }

    pub(crate) fn issuer(&self) -> IssuerId {
        self.key.id()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        book.relays.retain(|_, relay| relay.expires > now);
        book
    }

    /// Whether an address may ask now.
    pub(crate) fn may_ask(&self, from: IpAddr) -> bool {
        self.book().requests.take(from, Instant::now())
    }

    /// Checks that a caller may register relays.
    pub(crate) fn authorize(&self, from: IpAddr, secret: Option<&str>) -> Result<(), Refusal> {
        if let Some(expected) = &self.config.secret {
            return match secret {
                Some(secret) if is_same(secret, expected) => Ok(()),
                Some(_) => refuse(403, "the secret is not this directory's: correct `secret` in [directory]"),
                None => refuse(401, "this directory wants a secret from relays: set `secret` in [directory]"),
            };
        }
        let from = from.to_canonical();
        let is_near = from.is_loopback() || (self.config.lan && is_private(from));
        if is_near {
            return Ok(());
        }
        refuse(
            403,
            "relays elsewhere need a secret: set `secret` in the directory's settings and in the relay's",
        )
    }

    /// Lists a relay, or renews it.
    pub(crate) fn register(&self, from: IpAddr, registration: Registration) -> Result<(), Refusal> {
        let name = Name::new(&registration.name).or_else(|error| refuse(400, format!("name: {error}")))?;
        if registration.issuer != self.issuer().to_string() {
            let advice =
                format!("issuer: the relay trusts another key: set `issuer = \"{}\"`", self.issuer());
            return refuse(409, advice);
        }
        let address = players_address(&registration.address, from)?;
        let are_hashes = registration.certificate.iter().all(|hash| CertificateHash::parse(hash).is_ok());
        if registration.certificate.len() > HASHES_MAX || !are_hashes {
            return refuse(400, format!("certificate: expected at most {HASHES_MAX} SHA-256 hashes"));
        }
        if registration.rooms.len() > self.config.rooms_max {
            return refuse(400, format!("rooms: at most {} are listed", self.config.rooms_max));
        }
        if let Some(room) = registration.rooms.iter().find(|room| Name::new(&room.name).is_err()) {
            return refuse(400, format!("rooms: {:?} is not a room's name", room.name));
        }
        let mut book = self.book();
        match book.relays.get(&name) {
            Some(known) if known.from != from && known.listing.address != address => {
                return refuse(409, format!("name: another relay is called {name}: choose another name"));
            }
            None if book.relays.len() >= self.config.relays_max => {
                return refuse(
                    503,
                    format!("the directory is full: it lists {} relays", self.config.relays_max),
                );
            }
            _ => {}
        }
        let Registration { certificate, open, rooms, .. } = registration;
        let expires_in_s = LIFETIME.as_secs();
        let listing =
            RelayListing { name: name.to_string(), address, certificate, open, rooms, expires_in_s };
        book.relays.insert(name, Relay { listing, from, expires: Instant::now() + LIFETIME });
        Ok(())
    }

    /// Takes a relay off the list.
    pub(crate) fn leave(&self, from: IpAddr, relay: &str) -> Result<(), Refusal> {
        let mut book = self.book();
        let Some((name, known)) = book.relays.iter().find(|(name, _)| name.as_str() == relay) else {
            return refuse(404, format!("there is no relay {relay}"));
        };
        if known.from != from {
            return refuse(403, format!("the relay {relay} registered from another address"));
        }
        let name = name.clone();
        book.relays.remove(&name);
        Ok(())
    }

    /// Lists all relays.
    pub(crate) fn list(&self) -> Listing {
        let (book, now) = (self.book(), Instant::now());
        let relays = book.relays.values().map(|relay| RelayListing {
            expires_in_s: relay.expires.saturating_duration_since(now).as_secs(),
            ..relay.listing.clone()
        });
        Listing { relays: relays.collect() }
    }

    /// Hands out a token.
    pub(crate) fn join(
        &self,
        from: IpAddr,
        relay: &str,
        room: &str,
        joining: &Joining,
    ) -> Result<Ticket, Refusal> {
        let mut book = self.book();
        if !book.joins.take(from, Instant::now()) {
            return refuse(429, "too many tokens for one address: wait a minute");
        }
        let name = Name::new(&joining.name).or_else(|error| refuse(400, format!("name: {error}")))?;
        let room = Name::new(room).or_else(|error| refuse(400, format!("room: {error}")))?;
        let known = Name::new(relay).ok().and_then(|relay| book.relays.get(&relay));
        let Some(listing) = known.map(|relay| relay.listing.clone()) else {
            return refuse(404, format!("there is no relay {relay}: /api/relays lists all"));
        };
        match listing.rooms.iter().find(|listed| listed.name == room.as_str()) {
            Some(listed) if listed.players >= listed.players_max => {
                return refuse(409, format!("the room {room} is full: try again later, or choose another"));
            }
            None if !listing.open => {
                return refuse(404, format!("there is no room {room} at {relay}: /api/relays lists all"));
            }
            _ => {}
        }
        let now = unix_seconds();
        let claims = Claims::issue(room.clone(), name.clone(), now, self.config.token_minutes * 60);
        let former = joining.token.as_deref().and_then(|token| self.issuer().verify(token, now).ok());
        let is_holder = former.is_some_and(|former| former.room == room && former.name == name);
        let expires_at = claims.expires_at;
        match book.names.take(&room, &name, is_holder, now, expires_at, self.config.names_max) {
            Ok(()) => {}
            Err(NameRefused::Taken(seconds)) => {
                let minutes = seconds.div_ceil(60);
                let reason =
                    format!("the name {name} is taken in {room} for up to {minutes} min: choose another");
                return refuse(409, reason);
            }
            Err(NameRefused::Full) => return refuse(503, "too many names are taken: try again later"),
        }
        Ok(Ticket {
            url: format!("https://{}/{room}", listing.address),
            token: self.key.sign(&claims),
            certificate: listing.certificate,
            name: name.to_string(),
            expires_at,
        })
    }
}

/// Where players connect: the relay's own words, or for `:port` the address that it called from.
fn players_address(address: &str, from: IpAddr) -> Result<String, Refusal> {
    let wrong = || {
        (400, "address: expected HOST:PORT, or :PORT for the address that the relay calls from".to_owned())
    };
    if address.len() > ADDRESS_CHARS_MAX {
        return Err(wrong());
    }
    let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
    let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(wrong)?;
    if host.is_empty() {
        return Ok(SocketAddr::new(from.to_canonical(), port).to_string());
    }
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    let fits = host.bytes().all(is_host) && url::Url::parse(&format!("https://{host}:{port}/")).is_ok();
    if fits { Ok(format!("{host}:{port}")) } else { Err(wrong()) }
}

/// Whether an address belongs to a private network.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_private() || address.is_link_local(),
        IpAddr::V6(address) => address.is_unique_local() || address.is_unicast_link_local(),
    }
}

/// Compares secrets in a time that tells nothing about where they differ.
fn is_same(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differences == 0
}
