//! Probes that wait for a datagram to carry their echo: at most one for each peer, the newest.

use std::collections::{BTreeMap, VecDeque};

use super::frame::ClockFrame;
use crate::peer::{PeerChange, PeerId};
use crate::time::{LocalTime, SessionTime, Span};

/// An echo waits so long for other traffic; then a datagram leaves for it. The wait is told, so it costs no accuracy.
const HOLD_MAX: Span = Span::from_millis(5);
/// The most peers that are answered; later ones are not.
const PEERS_MAX: usize = 4_096;

/// The unanswered probes of all joined peers.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    /// One place for each peer that is here.
    peers: BTreeMap<PeerId, Place>,
    /// Whose echo must leave when, in that order; each peer has at most one turn.
    turns: VecDeque<(LocalTime, PeerId)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The newest probe: its name, and when it arrived.
    pending: Option<(LocalTime, LocalTime)>,
    has_turn: bool,
}

impl Answers {
    pub(super) fn handle_peer(&mut self, change: PeerChange) {
        let peer = change.peer();
        if self.peers.remove(&peer).is_some_and(|place| place.has_turn) {
            self.turns.retain(|(_, waiting)| *waiting != peer);
        }
        if matches!(change, PeerChange::Joined { .. }) && self.peers.len() < PEERS_MAX {
            self.peers.insert(peer, Place::default());
        }
    }

    /// A probe arrived. One of a peer that is not here is not answered.
    pub(super) fn handle_probe(&mut self, now: LocalTime, from: PeerId, probe: LocalTime) {
        let Some(place) = self.peers.get_mut(&from) else { return };
        place.pending = Some((probe, now));
        if !place.has_turn {
            place.has_turn = true;
            self.turns.push_back((now + HOLD_MAX, from));
        }
    }

    /// A peer whose echo has waited long enough. Each is named once.
    pub(super) fn poll_due(&mut self, now: LocalTime) -> Option<PeerId> {
        while self.turns.front().is_some_and(|(due, _)| *due <= now) {
            let (_, peer) = self.turns.pop_front()?;
            let place = self.peers.get_mut(&peer)?;
            place.has_turn = false;
            // It may have left with another datagram.
            if place.pending.is_some() {
                return Some(peer);
            }
        }
        None
    }

    /// The echo for a datagram that leaves for this peer now.
    pub(super) fn poll_frame(&mut self, now: LocalTime, to: PeerId) -> Option<ClockFrame> {
        let (probe, arrived) = self.peers.get_mut(&to)?.pending.take()?;
        let held = (now - arrived).max(Span::ZERO);
        Some(ClockFrame::Echo { probe, arrived: SessionTime::from_nanos(arrived.as_nanos()), held })
    }

    /// When to ask [`poll_due`](Self::poll_due) again.
    pub(super) fn next(&self) -> Option<LocalTime> {
        self.turns.front().map(|(due, _)| *due)
    }
}
