//! Tickets: what one peer gives another so that it can join, as a string to send to friends.
//!
//! Layout: version (1), session (16 bytes), then the host's [`PeerAddress`]; all in base64url after a prefix.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use evenkeel_core::{Malformed, Reader, Wire};

use crate::address::PeerAddress;

const PREFIX: &str = "evenkeel-";
const VERSION: u8 = 1;
/// The longest ticket, in characters.
const TICKET_CHARS_MAX: usize = 4_096;

/// Identifies a session. Whoever knows it may join.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub [u8; 16]);

impl SessionId {
    /// Draws a new one.
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&evenkeel_net::random().to_le_bytes());
        bytes[8..].copy_from_slice(&evenkeel_net::random().to_le_bytes());
        Self(bytes)
    }
}

/// It is a secret, so only its beginning is shown.
impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({:02x}{:02x}..)", self.0[0], self.0[1])
    }
}

/// Where and what to join.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// The session.
    pub session: SessionId,
    /// A peer that is in it.
    pub host: PeerAddress,
}

/// Why a text is not a ticket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TicketError {
    /// It does not look like one.
    #[error("this is not a ticket: copy all of it, from \"{PREFIX}\" to its end")]
    NotATicket,
    /// Something is missing or wrong.
    #[error("the ticket is damaged ({0}): copy all of it again")]
    Damaged(Malformed),
    /// It is of another version.
    #[error("the ticket is of another version: update the older program")]
    OtherVersion,
    /// It has no address.
    #[error("the ticket holds no address at which its host can be reached: ask for a new one")]
    NoAddress,
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.session.0);
        self.host.emit(&mut bytes);
        write!(f, "{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl FromStr for Ticket {
    type Err = TicketError;

    fn from_str(text: &str) -> Result<Self, TicketError> {
        let text = text.trim();
        let encoded = text.strip_prefix(PREFIX).filter(|_| text.len() <= TICKET_CHARS_MAX);
        let bytes = URL_SAFE_NO_PAD
            .decode(encoded.ok_or(TicketError::NotATicket)?)
            .map_err(|_| TicketError::Damaged(Malformed::Field))?;
        match bytes.split_first() {
            Some((&VERSION, rest)) => parse(&mut Reader::new(rest)),
            Some(_) => Err(TicketError::OtherVersion),
            None => Err(TicketError::Damaged(Malformed::Truncated)),
        }
    }
}

fn parse(reader: &mut Reader<'_>) -> Result<Ticket, TicketError> {
    let session = SessionId(*reader.take_array().map_err(TicketError::Damaged)?);
    let host = PeerAddress::parse(reader).map_err(TicketError::Damaged)?;
    reader.finish().map_err(TicketError::Damaged)?;
    if !host.is_reachable() {
        return Err(TicketError::NoAddress);
    }
    Ok(Ticket { session, host })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;

    fn ticket() -> Ticket {
        let addresses = ["192.0.2.7:4711".parse().unwrap(), "[2001:db8::1]:9".parse().unwrap()];
        let host = PeerAddress::new(Identity::from_secret(&[7; 32]).key(), &addresses);
        Ticket { session: SessionId([3; 16]), host }
    }

    #[test]
    fn a_ticket_survives_being_copied() {
        let text = ticket().to_string();
        assert!(text.len() < 130, "{} characters", text.len());
        assert_eq!(format!("  {text}\n").parse(), Ok(ticket()));
    }

    #[test]
    fn an_own_relay_is_in_the_ticket() {
        let mut ticket = ticket();
        let url: iroh::RelayUrl = "https://relay.example.org".parse().unwrap();
        ticket.host.0 = ticket.host.0.with_relay_url(url);
        assert_eq!(ticket.to_string().parse(), Ok(ticket));
    }

    #[test]
    fn damage_is_reported_and_never_panics() {
        let text = ticket().to_string();
        assert_eq!("evenkeel.example.org".parse::<Ticket>(), Err(TicketError::NotATicket));
        for len in 0..text.len() {
            assert!(text[..len].parse::<Ticket>().is_err(), "{len} characters");
        }
        for at in PREFIX.len()..text.len() {
            let mut damaged = text.clone().into_bytes();
            damaged[at] = if damaged[at] == b'A' { b'B' } else { b'A' };
            // What still parses is another ticket, not this one.
            assert_ne!(String::from_utf8(damaged).unwrap().parse(), Ok(ticket()), "at {at}");
        }
        let nowhere = Ticket { host: PeerAddress::new(ticket().host.key(), &[]), ..ticket() };
        assert_eq!(nowhere.to_string().parse::<Ticket>(), Err(TicketError::NoAddress));
    }
}
