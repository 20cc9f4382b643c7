//! The rooms of a relay and the players in them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use evenkeel_core::{PeerId, Seed};
use evenkeel_dr::relay::limits::PLAYERS_MAX;
use evenkeel_dr::{Budget, PolicyKind};
use evenkeel_game::GameConfig;

use crate::budget_watch::BudgetWatch;
use crate::config::RelayConfig;
use crate::cranks::thread_of;
use crate::report::PlayerReport;
use evenkeel_net::crank::{NodeId, PeerCounters};
use evenkeel_net::token::Name;
use evenkeel_net::transport::{CloseCode, CloseReason};

/// A player's connection to its room.
#[derive(Debug)]
pub(crate) struct Presence {
    /// Also identifies the connection: each attachment has its own counters.
    counters: Arc<PeerCounters>,
    since: Instant,
    /// When the player joined, as a sequence number.
    joined_at: u64,
}

/// A player's slot in a room. It outlives the connection, so that a returning player gets the same number.
#[derive(Debug)]
struct Slot {
    name: Name,
    presence: Option<Presence>,
    /// Reservations that are neither confirmed nor cancelled. They hold the slot even if the present connection ends.
    reservations: usize,
    /// When a player last took or left it, as a sequence number.
    changed_at: u64,
}

impl Slot {
    const fn is_taken(&self) -> bool {
        self.presence.is_some() || self.reservations > 0
    }
}

/// A room.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) node: NodeId,
    pub(crate) config: GameConfig,
    slots: BTreeMap<PeerId, Slot>,
    players_max: usize,
    pub(crate) watch: BudgetWatch,
    /// When it was created or a player last left, as a sequence number.
    changed_at: u64,
}

impl Room {
    pub(crate) const fn players_max(&self) -> usize {
        self.players_max
    }

    fn is_empty(&self) -> bool {
        !self.slots.values().any(Slot::is_taken)
    }

    /// Reserves a slot for a player: its former one, the lowest unused one, or the one that has been free for longest.
    fn reserve(&mut self, name: &Name, now: u64) -> Option<PeerId> {
        let known = self.slots.iter().find(|(_, slot)| slot.name == *name).map(|(peer, _)| *peer);
        let taken = self.slots.values().filter(|slot| slot.is_taken() && slot.name != *name);
        if taken.count() >= self.players_max {
            return None;
        }
        let unused = || (1..PLAYERS_MAX).map(PeerId).find(|peer| !self.slots.contains_key(peer));
        let oldest_free = || {
            let free = self.slots.iter().filter(|(_, slot)| !slot.is_taken());
            free.min_by_key(|(_, slot)| slot.changed_at).map(|(peer, _)| *peer)
        };
        let peer = known.or_else(unused).or_else(oldest_free)?;
        match self.slots.get_mut(&peer).filter(|slot| slot.name == *name) {
            Some(slot) => slot.reservations += 1,
            None => {
                let slot = Slot { name: name.clone(), presence: None, reservations: 1, changed_at: now };
                self.slots.insert(peer, slot);
            }
        }
        Some(peer)
    }

    /// Returns the present players.
    pub(crate) fn players(&self) -> impl Iterator<Item = (PeerId, &Name, &Presence)> {
        self.slots.iter().filter_map(|(peer, slot)| Some((*peer, &slot.name, slot.presence.as_ref()?)))
    }

    /// Finds a present player by name.
    pub(crate) fn find_player(&self, name: &str) -> Option<PeerId> {
        self.players().find(|(_, player, _)| player.as_str() == name).map(|(peer, ..)| peer)
    }

    /// Returns the present players in joining order, with the part of their reports that the machine does not know.
    pub(crate) fn player_reports(&self) -> Vec<(PeerId, PlayerReport)> {
        let mut players: Vec<_> = self.players().collect();
        players.sort_by_key(|(_, _, presence)| presence.joined_at);
        let report = |(peer, name, presence): &(PeerId, &Name, &Presence)| {
            let counts = presence.counters.read();
            let report = PlayerReport {
                name: name.to_string(),
                player: peer.0,
                present_s: presence.since.elapsed().as_secs_f64(),
                rejected: counts.rejected.iter().sum(),
                dropped: counts.over_allowance + counts.queue_full,
                reliable_sent: counts.reliable_out,
                reliable_received: counts.reliable_in,
                ..PlayerReport::default()
            };
            (*peer, report)
        };
        players.iter().map(report).collect()
    }
}

/// All rooms of a relay.
#[derive(Debug)]
pub(crate) struct Rooms {
    config: RelayConfig,
    seed: Seed,
    rooms: BTreeMap<Name, Room>,
    /// Rooms created so far on each thread; numbers their nodes.
    created: Vec<u32>,
    /// The latest sequence number of a change.
    sequence: u64,
}

/// A slot reserved for a connecting player, until [`Rooms::confirm`] or [`Rooms::cancel`].
#[derive(Debug)]
pub(crate) struct Reservation {
    pub(crate) node: NodeId,
    pub(crate) peer: PeerId,
    pub(crate) config: GameConfig,
    /// Whether the room is new and needs a machine.
    pub(crate) is_new: bool,
    /// The node of an empty room that was closed to make space.
    pub(crate) closed: Option<NodeId>,
}

impl Rooms {
    /// No rooms yet; future ones are spread over so many threads.
    pub(crate) fn new(config: RelayConfig, seed: Seed, threads: usize) -> Self {
        Self { config, seed, rooms: BTreeMap::new(), created: vec![0; threads], sequence: 0 }
    }

    /// Returns the thread with the fewest players; among several, the one with the fewest rooms.
    fn idlest_thread(&self) -> usize {
        let threads = self.created.len();
        let mut loads = vec![(0, 0); threads];
        for room in self.rooms.values() {
            let (players, rooms) = &mut loads[thread_of(room.node, threads)];
            *players += room.slots.values().filter(|slot| slot.is_taken()).count();
            *rooms += 1;
        }
        (0..threads).min_by_key(|thread| loads[*thread]).unwrap_or(0)
    }

    /// Numbers a new room's node, and thereby chooses its thread.
    fn next_node(&mut self) -> NodeId {
        let (thread, threads) = (self.idlest_thread(), self.created.len());
        let created = &mut self.created[thread];
        *created += 1;
        NodeId((*created - 1) * threads as u32 + thread as u32)
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Creates a room. If the relay is full, closes the room that has been empty for longest and returns its node.
    fn create(&mut self, room: &Name) -> Result<Option<NodeId>, CloseReason> {
        let settings = self.config.room(room).ok_or_else(|| {
            CloseReason::new(CloseCode::NotFound, format!("there is no room {room} on this relay"))
        })?;
        let settings = settings.clone();
        let mut closed = None;
        if self.rooms.len() >= self.config.rooms_max {
            let empty = self.rooms.iter().filter(|(_, room)| room.is_empty());
            let oldest = empty.min_by_key(|(_, room)| room.changed_at).map(|(name, _)| name.clone());
            let oldest = oldest.ok_or_else(|| {
                CloseReason::new(CloseCode::Full, "the relay has reached its limit of rooms: try again later")
            })?;
            closed = self.rooms.remove(&oldest).map(|room| room.node);
        }
        let node = self.next_node();
        let config = settings.machines(self.seed.child(u64::from(node.0)));
        let players_max = settings.players_max;
        let changed_at = self.next_sequence();
        let (slots, watch) = (BTreeMap::new(), BudgetWatch::default());
        self.rooms.insert(room.clone(), Room { node, config, slots, players_max, watch, changed_at });
        Ok(closed)
    }

    /// Reserves a slot for a player, creating the room if there is none.
    ///
    /// # Errors
    /// The reason to refuse the player.
    pub(crate) fn reserve(&mut self, room: &Name, name: &Name) -> Result<Reservation, CloseReason> {
        let is_new = !self.rooms.contains_key(room);
        let closed = if is_new { self.create(room)? } else { None };
        let now = self.next_sequence();
        let entered = self.rooms.get_mut(room).expect("the room exists or was just created");
        let peer = entered.reserve(name, now).ok_or_else(|| {
            CloseReason::new(CloseCode::Full, format!("the room {room} is full: try again later"))
        })?;
        Ok(Reservation { node: entered.node, peer, config: entered.config.clone(), is_new, closed })
    }

    fn slot(&mut self, node: NodeId, peer: PeerId) -> Option<&mut Slot> {
        self.rooms.values_mut().find(|room| room.node == node)?.slots.get_mut(&peer)
    }

    /// Marks the player of a reservation as present. Its counters replace those of a former connection.
    pub(crate) fn confirm(&mut self, reservation: Reservation, counters: Arc<PeerCounters>) {
        let now = self.next_sequence();
        if let Some(slot) = self.slot(reservation.node, reservation.peer) {
            slot.reservations -= 1;
            // A player that replaces its own connection keeps its position in the joining order.
            let joined_at = slot.presence.as_ref().map_or(now, |presence| presence.joined_at);
            slot.presence = Some(Presence { counters, since: Instant::now(), joined_at });
        }
    }

    /// Releases the slot of a player that did not connect.
    pub(crate) fn cancel(&mut self, reservation: Reservation) {
        let now = self.next_sequence();
        if let Some(slot) = self.slot(reservation.node, reservation.peer) {
            slot.reservations -= 1;
            slot.changed_at = now;
        }
    }

    /// Marks the player as absent, unless another connection has replaced the one with these counters.
    pub(crate) fn leave(&mut self, node: NodeId, peer: PeerId, counters: &Arc<PeerCounters>) {
        let now = self.next_sequence();
        let Some(room) = self.rooms.values_mut().find(|room| room.node == node) else { return };
        room.changed_at = now;
        let is_current = |slot: &&mut Slot| {
            slot.presence.as_ref().is_some_and(|presence| Arc::ptr_eq(&presence.counters, counters))
        };
        if let Some(slot) = room.slots.get_mut(&peer).filter(is_current) {
            (slot.presence, slot.changed_at) = (None, now);
        }
    }

    /// Removes the room of a node whose machine is gone. The next player creates it again.
    pub(crate) fn remove(&mut self, node: NodeId) {
        self.rooms.retain(|_, room| room.node != node);
    }

    /// Notes a room's new policy.
    pub(crate) fn set_policy(&mut self, room: &Name, policy: PolicyKind, budget: Budget) {
        if let Some(room) = self.rooms.get_mut(room) {
            (room.config.dr.policy, room.config.dr.budget) = (policy, budget);
        }
    }

    pub(crate) fn get(&self, room: &Name) -> Option<&Room> {
        self.rooms.get(room)
    }

    pub(crate) fn get_mut(&mut self, room: &Name) -> Option<&mut Room> {
        self.rooms.get_mut(room)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Name, &Room)> {
        self.rooms.iter()
    }
}

#[cfg(test)]
mod tests;
