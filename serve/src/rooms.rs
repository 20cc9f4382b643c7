//! Who is in which room.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use evenkeel_core::{PeerId, Seed};
use evenkeel_dr::relay::limits::PLAYERS_MAX;
use evenkeel_dr::{Budget, DrConfig, PolicyKind};

use crate::config::RelayConfig;
use crate::report::PlayerReport;
use evenkeel_net::crank::{NodeId, PeerCounters};
use evenkeel_net::token::Name;
use evenkeel_net::transport::{CloseCode, CloseReason};

/// A player that is there.
#[derive(Debug)]
pub(crate) struct Present {
    /// Also what tells this connection of the player from its next one.
    pub(crate) counters: Arc<PeerCounters>,
    pub(crate) since: Instant,
    /// Players are listed in the order of this.
    pub(crate) rank: u64,
}

/// A player's place, which it keeps when it goes.
#[derive(Debug)]
struct Place {
    name: Name,
    present: Option<Present>,
    /// How many connections of it are on their way in. One of them may fail, and whichever is there already go, without
    /// the others losing their place.
    coming: usize,
    /// When it came or went last, by rank.
    touched: u64,
}

impl Place {
    const fn is_taken(&self) -> bool {
        self.present.is_some() || self.coming > 0
    }
}

/// A room.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) node: NodeId,
    pub(crate) config: DrConfig,
    places: BTreeMap<PeerId, Place>,
    players_max: usize,
    touched: u64,
}

impl Room {
    fn is_empty(&self) -> bool {
        !self.places.values().any(Place::is_taken)
    }

    /// The player's number: the one it had, or the lowest that is free, or that of whoever has been gone longest.
    fn place(&mut self, name: &Name, touched: u64) -> Option<PeerId> {
        let known = self.places.iter().find(|(_, place)| place.name == *name).map(|(peer, _)| *peer);
        let taken = self.places.values().filter(|place| place.is_taken() && place.name != *name);
        if taken.count() >= self.players_max {
            return None;
        }
        let free = || (1..PLAYERS_MAX).map(PeerId).find(|peer| !self.places.contains_key(peer));
        let gone = || {
            let gone = self.places.iter().filter(|(_, place)| !place.is_taken());
            gone.min_by_key(|(_, place)| place.touched).map(|(peer, _)| *peer)
        };
        let peer = known.or_else(free).or_else(gone)?;
        match self.places.get_mut(&peer).filter(|place| place.name == *name) {
            Some(place) => place.coming += 1,
            None => {
                let place = Place { name: name.clone(), present: None, coming: 1, touched };
                self.places.insert(peer, place);
            }
        }
        Some(peer)
    }

    pub(crate) fn present(&self) -> impl Iterator<Item = (PeerId, &Name, &Present)> {
        self.places.iter().filter_map(|(peer, place)| Some((*peer, &place.name, place.present.as_ref()?)))
    }

    /// A player who is here, by name.
    pub(crate) fn player(&self, name: &str) -> Option<PeerId> {
        self.present().find(|(_, present, _)| present.as_str() == name).map(|(peer, ..)| peer)
    }

    /// Players in joining order, as the ledger is to be asked about them.
    pub(crate) fn roll(&self) -> Vec<(PeerId, PlayerReport)> {
        let mut present: Vec<_> = self.present().collect();
        present.sort_by_key(|(_, _, present)| present.rank);
        let entry = |(peer, name, present): &(PeerId, &Name, &Present)| {
            let counts = present.counters.read();
            let report = PlayerReport {
                name: name.to_string(),
                player: peer.0,
                present_s: present.since.elapsed().as_secs_f64(),
                rejected: counts.rejected.iter().sum(),
                dropped: counts.over_allowance + counts.queue_full,
                reliable_sent: counts.reliable_out,
                reliable_received: counts.reliable_in,
                ..PlayerReport::default()
            };
            (*peer, report)
        };
        present.iter().map(entry).collect()
    }
}

/// All rooms of a relay.
#[derive(Debug)]
pub(crate) struct Rooms {
    config: RelayConfig,
    seed: Seed,
    rooms: BTreeMap<Name, Room>,
    made: u32,
    ranks: u64,
}

/// A player's way into its room, which ends in [`Rooms::came`] or [`Rooms::did_not_come`].
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) node: NodeId,
    pub(crate) peer: PeerId,
    pub(crate) config: DrConfig,
    /// Whether the room has just been made and is to be given a machine.
    pub(crate) is_new: bool,
    /// An empty room that had to make place, whose machine is to go.
    pub(crate) closed: Option<NodeId>,
}

impl Rooms {
    pub(crate) fn new(config: RelayConfig, seed: Seed) -> Self {
        Self { config, seed, rooms: BTreeMap::new(), made: 0, ranks: 0 }
    }

    fn rank(&mut self) -> u64 {
        self.ranks += 1;
        self.ranks
    }

    /// Makes a room, in place of the one that has been empty longest if there are as many as may be.
    fn make(&mut self, room: &Name) -> Result<Option<NodeId>, CloseReason> {
        let settings = self.config.room(room).ok_or_else(|| {
            CloseReason::new(CloseCode::NotFound, format!("there is no room {room} on this relay"))
        })?;
        let (players_max, node) = (settings.players_max, NodeId(self.made));
        let config = settings.machine(self.seed.child(u64::from(node.0)));
        let mut closed = None;
        if self.rooms.len() >= self.config.rooms_max {
            let empty = self.rooms.iter().filter(|(_, room)| room.is_empty());
            let oldest = empty.min_by_key(|(_, room)| room.touched).map(|(name, _)| name.clone());
            let oldest = oldest.ok_or_else(|| {
                CloseReason::new(CloseCode::Full, "the relay has as many rooms as it may: try again later")
            })?;
            closed = self.rooms.remove(&oldest).map(|room| room.node);
        }
        self.made += 1;
        let touched = self.rank();
        self.rooms.insert(room.clone(), Room { node, config, places: BTreeMap::new(), players_max, touched });
        Ok(closed)
    }

    /// The place of a player in a room, which is made if there is none.
    ///
    /// # Errors
    /// What to tell a player for whom there is no place.
    pub(crate) fn enter(&mut self, room: &Name, name: &Name) -> Result<Entry, CloseReason> {
        let is_new = !self.rooms.contains_key(room);
        let closed = if is_new { self.make(room)? } else { None };
        let touched = self.rank();
        let entered = self.rooms.get_mut(room).expect("it was there a line ago");
        let peer = entered.place(name, touched).ok_or_else(|| {
            CloseReason::new(CloseCode::Full, format!("the room {room} is full: try again later"))
        })?;
        Ok(Entry { node: entered.node, peer, config: entered.config, is_new, closed })
    }

    fn place(&mut self, node: NodeId, peer: PeerId) -> Option<&mut Place> {
        self.rooms.values_mut().find(|room| room.node == node)?.places.get_mut(&peer)
    }

    /// A player is attached, with these counts. What it had before is replaced.
    pub(crate) fn came(&mut self, entry: Entry, counters: Arc<PeerCounters>) {
        let rank = self.rank();
        if let Some(place) = self.place(entry.node, entry.peer) {
            place.coming -= 1;
            // Who comes back while it is still there keeps its place in the order.
            let rank = place.present.as_ref().map_or(rank, |present| present.rank);
            place.present = Some(Present { counters, since: Instant::now(), rank });
        }
    }

    /// A player did not get in after all.
    pub(crate) fn did_not_come(&mut self, entry: Entry) {
        let rank = self.rank();
        if let Some(place) = self.place(entry.node, entry.peer) {
            place.coming -= 1;
            place.touched = rank;
        }
    }

    /// The attachment with these counts is over. Nothing happens if the player's next one has replaced it.
    pub(crate) fn went(&mut self, node: NodeId, peer: PeerId, counters: &Arc<PeerCounters>) {
        let rank = self.rank();
        let Some(room) = self.rooms.values_mut().find(|room| room.node == node) else { return };
        room.touched = rank;
        let is_it = |place: &&mut Place| {
            place.present.as_ref().is_some_and(|present| Arc::ptr_eq(&present.counters, counters))
        };
        if let Some(place) = room.places.get_mut(&peer).filter(is_it) {
            (place.present, place.touched) = (None, rank);
        }
    }

    /// There is no machine of a room any more: the next player makes the room anew.
    pub(crate) fn failed(&mut self, node: NodeId) {
        self.rooms.retain(|_, room| room.node != node);
    }

    /// Another policy is in force in a room.
    pub(crate) fn switched(&mut self, room: &Name, policy: PolicyKind, budget: Budget) {
        if let Some(room) = self.rooms.get_mut(room) {
            (room.config.policy, room.config.budget) = (policy, budget);
        }
    }

    pub(crate) fn get(&self, room: &Name) -> Option<&Room> {
        self.rooms.get(room)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Name, &Room)> {
        self.rooms.iter()
    }
}

#[cfg(test)]
mod tests;
