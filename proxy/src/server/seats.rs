//! The players' seats: each has a socket of its own towards the game, which stays while the player reconnects.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use evenkeel_core::PeerId;
use evenkeel_net::crank::PeerCounters;

use super::Aborting;
use crate::hello::PlayerId;
use crate::report::PlayerReport;

/// A player's place towards the game.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) peer: PeerId,
    /// Where the player comes from.
    pub(crate) from: SocketAddr,
    pub(crate) socket: Arc<UdpSocket>,
    /// The attachment to the crank, while there is one.
    pub(crate) attached: Option<Arc<PeerCounters>>,
    /// Since when there is none.
    pub(crate) away_since: Option<Instant>,
    /// Reads the socket.
    pub(crate) _reader: Aborting,
}

/// All seats.
#[derive(Debug)]
pub(crate) struct Seats {
    seats: BTreeMap<PeerId, Seat>,
    by_player: BTreeMap<PlayerId, PeerId>,
    max: usize,
    /// Players that were given a seat since the start.
    admitted: u64,
}

impl Seats {
    pub(crate) const fn new(max: usize) -> Self {
        Self { seats: BTreeMap::new(), by_player: BTreeMap::new(), max, admitted: 0 }
    }

    pub(crate) fn get(&self, peer: PeerId) -> Option<&Seat> {
        self.seats.get(&peer)
    }

    pub(crate) fn get_mut(&mut self, peer: PeerId) -> Option<&mut Seat> {
        self.seats.get_mut(&peer)
    }

    /// The seat of a player that was here before.
    pub(crate) fn find(&self, player: &PlayerId) -> Option<PeerId> {
        self.by_player.get(player).copied()
    }

    /// The number for a new player: the lowest free one. If all are taken, the player that has been away for the longest
    /// time is forgotten. `None` if all are here.
    pub(crate) fn vacancy(&mut self) -> Option<PeerId> {
        if self.seats.len() >= self.max {
            let away = |seat: &Seat| seat.away_since.map(|since| (since, seat.peer));
            let (_, longest) = self.seats.values().filter_map(away).min()?;
            self.remove(longest);
        }
        (1..).map(PeerId).find(|peer| !self.seats.contains_key(peer))
    }

    /// Players that were given a seat since the start.
    pub(crate) const fn admitted(&self) -> u64 {
        self.admitted
    }

    pub(crate) fn insert(&mut self, player: PlayerId, seat: Seat) {
        self.admitted += 1;
        self.by_player.insert(player, seat.peer);
        self.seats.insert(seat.peer, seat);
    }

    pub(crate) fn remove(&mut self, peer: PeerId) -> Option<Seat> {
        self.by_player.retain(|_, other| *other != peer);
        self.seats.remove(&peer)
    }

    pub(crate) fn clear(&mut self) {
        self.seats.clear();
        self.by_player.clear();
    }

    /// The players that have been away for longer than this.
    pub(crate) fn gone(&self, idle: Duration) -> Vec<PeerId> {
        let is_gone = |seat: &&Seat| seat.away_since.is_some_and(|since| since.elapsed() >= idle);
        self.seats.values().filter(is_gone).map(|seat| seat.peer).collect()
    }

    pub(crate) fn reports(&self) -> Vec<PlayerReport> {
        let report = |seat: &Seat| PlayerReport {
            player: seat.peer.0,
            from: seat.from.to_string(),
            game_address: seat.socket.local_addr().map_or_else(|_| String::new(), |at| at.to_string()),
            standing: "away",
            delay_ms: None,
            round_trip_ms: None,
            added_down_ms: None,
            added_up_ms: 0.0,
            actions: 0,
            late: 0,
            ahead: 0,
            behind: 0,
            clamped: 0,
            updates: 0,
            overflows: 0,
        };
        self.seats.values().map(report).collect()
    }
}
