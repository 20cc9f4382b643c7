//! Who is in a session, as far as this peer knows, and how that is told to others.
//!
//! A hello holds the sender's own address and the application's hello. A greeting holds the application's greeting and the
//! addresses of other members, as many as fit, from a random one on. Every greeting adds to what a newcomer knows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evenkeel_core::{Malformed, Reader, Wire};
use evenkeel_net::crank::PeerCounters;
use evenkeel_net::transport::Connection;

use crate::address::PeerAddress;
use crate::identity::PeerKey;

/// Members of a session that a peer remembers; others are refused.
pub const MEMBERS_MAX: usize = 64;
/// The longest hello or greeting of the application, in bytes.
pub(crate) const HELLO_BYTES_MAX: usize = 64;
/// What fits into a greeting beside the application's.
const LIST_BYTES_MAX: usize = 3_900;

/// Pause before the first new attempt; it doubles with each failure.
const RETRY_MIN: Duration = Duration::from_millis(200);
const RETRY_MAX: Duration = Duration::from_secs(5);
/// Attempts in a row after which a member is forgotten: about half a minute.
const FAILURES_MAX: u32 = 10;
/// A connection that was open for so long was none that failed.
const STABLE_AFTER: Duration = Duration::from_secs(5);

/// An open connection to a member.
pub(crate) struct Link {
    pub(crate) connection: Connection,
    /// The attachment's counters, which also identify it.
    pub(crate) counters: Arc<PeerCounters>,
    pub(crate) opened: Instant,
}

/// What is known of a member.
pub(crate) struct Member {
    pub(crate) address: PeerAddress,
    pub(crate) hello: Vec<u8>,
    pub(crate) link: Option<Link>,
    /// Whether a task tries to connect.
    pub(crate) is_dialled: bool,
    /// Connections that could not be opened, or broke soon, since the last one that was stable.
    pub(crate) failures: u32,
}

impl Member {
    pub(crate) const fn new(address: PeerAddress) -> Self {
        Self { address, hello: Vec::new(), link: None, is_dialled: false, failures: 0 }
    }

    /// Notes that a connection ended that had been open for so long. Who accepts and hangs up at once is called ever more
    /// rarely, like who does not answer.
    pub(crate) fn note_ended(&mut self, open: Duration) {
        self.failures = if open < STABLE_AFTER { self.failures + 1 } else { 0 };
    }

    /// How long to wait before the next attempt; `None` to give up.
    pub(crate) fn pause(&self) -> Option<Duration> {
        let pause = RETRY_MIN * 2_u32.pow(self.failures.min(FAILURES_MAX));
        (self.failures < FAILURES_MAX).then(|| pause.min(RETRY_MAX))
    }
}

/// The members by their keys.
pub(crate) type Directory = BTreeMap<PeerKey, Member>;

/// Whether a key may enter: there is room, and nobody else has its number.
pub(crate) fn has_room(directory: &Directory, own: PeerKey, key: PeerKey) -> bool {
    let others = directory.keys().copied().chain([own]).filter(|other| *other != key);
    let mut count = 0;
    for other in others {
        if other.peer_id() == key.peer_id() {
            return false;
        }
        count += 1;
    }
    count < MEMBERS_MAX
}

/// What a peer says when it connects.
pub(crate) fn emit_hello(own: &PeerAddress, hello: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    own.emit(&mut bytes);
    bytes.extend_from_slice(hello);
    bytes
}

/// Reads a hello. The address must be the sender's.
pub(crate) fn parse_hello(bytes: &[u8], sender: PeerKey) -> Result<(PeerAddress, Vec<u8>), Malformed> {
    let mut reader = Reader::new(bytes);
    let address = PeerAddress::parse(&mut reader)?;
    if address.key() != sender || reader.remaining() > HELLO_BYTES_MAX {
        return Err(Malformed::Field);
    }
    Ok((address, reader.rest().to_vec()))
}

/// What a peer answers, with the members from this one on.
pub(crate) fn emit_greeting(directory: &Directory, hello: &[u8], first: u64) -> Vec<u8> {
    let mut bytes = vec![hello.len() as u8];
    bytes.extend_from_slice(hello);
    let connected: Vec<_> = directory.values().filter(|member| member.link.is_some()).collect();
    let first = usize::try_from(first % (connected.len().max(1) as u64)).unwrap_or(0);
    for member in connected[first..].iter().chain(&connected[..first]) {
        let len = bytes.len();
        member.address.emit(&mut bytes);
        if bytes.len() > LIST_BYTES_MAX {
            bytes.truncate(len);
            break;
        }
    }
    bytes
}

/// Reads a greeting.
pub(crate) fn parse_greeting(bytes: &[u8]) -> Result<(Vec<u8>, Vec<PeerAddress>), Malformed> {
    let mut reader = Reader::new(bytes);
    let len = usize::from(reader.take_array::<1>()?[0]);
    if len > HELLO_BYTES_MAX {
        return Err(Malformed::Field);
    }
    let hello = reader.take(len)?.to_vec();
    let mut addresses = Vec::new();
    while !reader.is_empty() {
        if addresses.len() >= MEMBERS_MAX {
            return Err(Malformed::Field);
        }
        addresses.push(PeerAddress::parse(&mut reader)?);
    }
    Ok((hello, addresses))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;

    fn address(number: u8) -> PeerAddress {
        let key = Identity::from_secret(&[number; 32]).key();
        PeerAddress::new(key, &["192.0.2.1:1".parse().unwrap(), "[2001:db8::1]:2".parse().unwrap()])
    }

    #[test]
    fn who_hangs_up_at_once_is_called_ever_more_rarely() {
        let mut member = Member::new(address(1));
        let mut pauses = Vec::new();
        for _ in 0..20 {
            member.note_ended(Duration::from_millis(50));
            pauses.extend(member.pause());
        }
        assert_eq!(pauses.len(), 9, "then it is forgotten");
        assert!(pauses.is_sorted() && pauses[0] > RETRY_MIN && pauses[8] == RETRY_MAX);
        member.note_ended(STABLE_AFTER);
        assert_eq!(member.pause(), Some(RETRY_MIN));
    }

    #[test]
    fn hellos_and_greetings_round_trip_and_damage_never_panics() {
        let hello = emit_hello(&address(1), b"Ada");
        assert_eq!(parse_hello(&hello, address(1).key()), Ok((address(1), b"Ada".to_vec())));
        assert!(parse_hello(&hello, address(2).key()).is_err(), "somebody else's address");
        let greeting = [&[3][..], b"Bob", &emit_hello(&address(3), b"")].concat();
        assert_eq!(parse_greeting(&greeting), Ok((b"Bob".to_vec(), vec![address(3)])));
        for len in 0..greeting.len() {
            let _ = parse_greeting(&greeting[..len]);
            let _ = parse_hello(&greeting[..len], address(3).key());
        }
    }

    #[test]
    fn members_are_bounded_and_their_numbers_unique() {
        let own = address(0).key();
        let mut directory = Directory::new();
        for number in 1..=200 {
            let member = address(number);
            if has_room(&directory, own, member.key()) {
                directory.insert(member.key(), Member::new(member));
            }
        }
        assert_eq!(directory.len(), MEMBERS_MAX - 1);
        assert!(has_room(&directory, own, *directory.keys().next().unwrap()), "who is in stays in");
    }
}
