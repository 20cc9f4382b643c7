//! The peers of this one, in seats that do not change while they take part.

use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{LocalTime, PeerId};

use crate::config::PEERS_MAX;
use crate::control::Known;
use crate::crypto::{PublicKey, Verifier};
use crate::tempo::Choice;

/// The number of a peer's place in the tables of this peer.
pub(crate) type Seat = usize;

/// This peer's own seat.
pub(crate) const OWN: Seat = PEERS_MAX - 1;

/// Rosters kept of each peer, and own ones: updates that go by an older one may still be on the way.
const ROSTERS_MAX: usize = 4;

/// The most bytes of state changes that a peer can have saved up to be sent.
pub(crate) const CREDIT_MAX: usize = 1 << 18;

/// How far a peer has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// It has not yet proved that it holds its key.
    Greeting,
    /// It takes part.
    Present,
    /// It took part, but has not been heard for too long.
    Silent,
}

/// A connected peer.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) peer: PeerId,
    pub(crate) datagram_max: usize,
    /// The number that it has to sign.
    pub(crate) challenge: u64,
    pub(crate) stage: Stage,
    /// What it claims to be until it is present, and is from then on.
    pub(crate) key: Option<(PublicKey, Verifier)>,
    /// When it was last heard.
    pub(crate) heard: LocalTime,
    /// The slot of the first update since it is present.
    pub(crate) since: Option<u64>,
    /// The rosters that it wants votes by, in seats; `None` for peers that are not known here.
    pub(crate) rosters: VecDeque<(u8, Vec<PublicKey>)>,
    /// The newest of them, resolved to seats.
    pub(crate) hears: Vec<Option<Seat>>,
    /// Whether this peer sends updates to it.
    pub(crate) is_reached: bool,
    /// Whether it sends updates to this peer.
    pub(crate) is_reaching: bool,
    pub(crate) wish: Choice,
    /// When the next clock probe may leave.
    pub(crate) probe_at: LocalTime,
    /// When it was last told what it lacked.
    pub(crate) answered_at: LocalTime,
    /// What it said to know, and was sent since, while it lacks more; and how many bytes it may still be sent.
    pub(crate) owed: Option<Vec<Known>>,
    pub(crate) credit: usize,
    /// Signed statements that it may still send in this slot: checking them takes time.
    pub(crate) allowance: u32,
}

impl Member {
    fn new(peer: PeerId, datagram_max: usize, challenge: u64, now: LocalTime) -> Self {
        Self {
            peer,
            datagram_max,
            challenge,
            stage: Stage::Greeting,
            key: None,
            heard: now,
            since: None,
            rosters: VecDeque::new(),
            hears: Vec::new(),
            is_reached: true,
            is_reaching: true,
            wish: Choice::STAY,
            probe_at: LocalTime::MIN,
            answered_at: LocalTime::MIN,
            owed: None,
            credit: CREDIT_MAX,
            allowance: 64,
        }
    }

    pub(crate) fn is_present(&self) -> bool {
        self.stage == Stage::Present
    }

    /// Its key, once it has proved to hold it.
    pub(crate) fn proved(&self) -> Option<&(PublicKey, Verifier)> {
        self.key.as_ref().filter(|_| self.stage != Stage::Greeting)
    }

    pub(crate) fn hears(&self, seat: Seat) -> bool {
        self.hears.contains(&Some(seat))
    }
}

/// All connected peers.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    own: PublicKey,
    seats: Vec<Option<Member>>,
    by_peer: BTreeMap<PeerId, Seat>,
    /// This peer's rosters, newest last: the seats that it hears, itself included.
    rosters: VecDeque<(u8, Vec<Seat>)>,
}

impl Members {
    pub(crate) fn new(own: PublicKey) -> Self {
        Self { own, seats: Vec::new(), by_peer: BTreeMap::new(), rosters: VecDeque::from([(0, vec![OWN])]) }
    }

    /// Adds a connection; `None` if there are too many.
    pub(crate) fn add(
        &mut self,
        peer: PeerId,
        datagram_max: usize,
        challenge: u64,
        now: LocalTime,
    ) -> Option<Seat> {
        let free = self.seats.iter().position(Option::is_none);
        let seat = free.unwrap_or_else(|| {
            self.seats.push(None);
            self.seats.len() - 1
        });
        if seat >= OWN {
            self.seats.truncate(OWN);
            return None;
        }
        self.seats[seat] = Some(Member::new(peer, datagram_max, challenge, now));
        self.by_peer.insert(peer, seat);
        Some(seat)
    }

    pub(crate) fn remove(&mut self, seat: Seat) -> Option<Member> {
        let member = self.seats.get_mut(seat)?.take()?;
        self.by_peer.remove(&member.peer);
        self.resolve();
        Some(member)
    }

    pub(crate) fn seat_of(&self, peer: PeerId) -> Option<Seat> {
        self.by_peer.get(&peer).copied()
    }

    /// The seat of whoever proved to hold this key.
    pub(crate) fn seat_by_key(&self, key: &PublicKey) -> Option<Seat> {
        if *key == self.own {
            return Some(OWN);
        }
        self.iter()
            .find(|(_, member)| member.proved().is_some_and(|(proved, _)| proved == key))
            .map(|(seat, _)| seat)
    }

    pub(crate) fn get(&self, seat: Seat) -> Option<&Member> {
        self.seats.get(seat)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, seat: Seat) -> Option<&mut Member> {
        self.seats.get_mut(seat)?.as_mut()
    }

    /// All connections, in the order of their seats.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Seat, &Member)> {
        self.seats.iter().enumerate().filter_map(|(seat, member)| Some((seat, member.as_ref()?)))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (Seat, &mut Member)> {
        self.seats.iter_mut().enumerate().filter_map(|(seat, member)| Some((seat, member.as_mut()?)))
    }

    /// Those that take part.
    pub(crate) fn present(&self) -> impl Iterator<Item = (Seat, &Member)> {
        self.iter().filter(|(_, member)| member.is_present())
    }

    /// Those that proved their keys, heard or not.
    pub(crate) fn proved_peers(&self) -> Vec<PeerId> {
        self.iter().filter(|(_, member)| member.proved().is_some()).map(|(_, member)| member.peer).collect()
    }

    /// This peer's newest roster.
    pub(crate) fn roster(&self) -> (u8, &[Seat]) {
        self.rosters.back().map_or((0, &[]), |(version, seats)| (*version, seats))
    }

    pub(crate) fn roster_by(&self, version: u8) -> Option<&[Seat]> {
        self.rosters.iter().find(|(other, _)| *other == version).map(|(_, seats)| seats.as_slice())
    }

    /// The keys of this peer's newest roster.
    pub(crate) fn roster_keys(&self) -> Vec<PublicKey> {
        let key = |seat: &Seat| match self.get(*seat) {
            Some(member) => member.proved().map_or(self.own, |(key, _)| *key),
            None => self.own,
        };
        self.roster().1.iter().map(key).collect()
    }

    /// Makes a new roster if other peers are heard than before. Returns whether it did.
    pub(crate) fn renew_roster(&mut self) -> bool {
        let heard = self.present().filter(|(_, member)| member.is_reaching).map(|(seat, _)| seat);
        let seats: Vec<Seat> = heard.chain([OWN]).collect();
        let (version, last) = self.roster();
        if last == seats {
            return false;
        }
        self.rosters.push_back((version.wrapping_add(1), seats));
        if self.rosters.len() > ROSTERS_MAX {
            self.rosters.pop_front();
        }
        self.resolve();
        true
    }

    /// Forgets the rosters that name a seat, which somebody else may get.
    pub(crate) fn forget_rosters_of(&mut self, seat: Seat) {
        for (_, seats) in &mut self.rosters {
            // Nobody has this seat.
            seats.iter_mut().filter(|other| **other == seat).for_each(|other| *other = PEERS_MAX);
        }
    }

    /// Takes the roster by which a peer wants votes.
    pub(crate) fn take_roster(&mut self, seat: Seat, version: u8, keys: Vec<PublicKey>) {
        let Some(member) = self.get_mut(seat) else { return };
        member.rosters.push_back((version, keys));
        if member.rosters.len() > 1 {
            member.rosters.pop_front();
        }
        self.resolve();
    }

    /// Looks the keys of all rosters up again.
    fn resolve(&mut self) {
        let mut by_key: BTreeMap<PublicKey, Seat> =
            self.iter().filter_map(|(seat, member)| member.proved().map(|(key, _)| (*key, seat))).collect();
        by_key.insert(self.own, OWN);
        for member in self.seats.iter_mut().flatten() {
            let newest = member.rosters.back().map_or(&[][..], |(_, keys)| keys);
            member.hears = newest.iter().map(|key| by_key.get(key).copied()).collect();
        }
    }
}
