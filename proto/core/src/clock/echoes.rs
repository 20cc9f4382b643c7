//! Echoes that wait for a datagram to carry them: at most one per peer, for its newest probe.

use std::collections::{BTreeMap, VecDeque};

use super::frame::ClockFrame;
use crate::peer::{PeerChange, PeerId};
use crate::time::{LocalTime, SessionTime, Span};

/// How long an echo waits for other traffic before it gets a datagram of its own. The echo reports the wait,
/// so waiting costs no accuracy.
const HOLD_MAX: Span = Span::from_millis(5);
/// Limit on the peers that get answers; later ones get none.
const PEERS_MAX: usize = 4_096;

/// The pending echoes of all joined peers.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingEchoes {
    /// One entry per joined peer.
    peers: BTreeMap<PeerId, PeerEcho>,
    /// Deadlines in ascending order; each peer has at most one.
    deadlines: VecDeque<(LocalTime, PeerId)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct PeerEcho {
    /// The newest probe: its identifier and its arrival.
    pending: Option<(LocalTime, LocalTime)>,
    has_deadline: bool,
}

impl PendingEchoes {
    pub(super) fn handle_peer(&mut self, change: PeerChange) {
        let peer = change.peer();
        if self.peers.remove(&peer).is_some_and(|echo| echo.has_deadline) {
            self.deadlines.retain(|(_, waiting)| *waiting != peer);
        }
        if matches!(change, PeerChange::Joined { .. }) && self.peers.len() < PEERS_MAX {
            self.peers.insert(peer, PeerEcho::default());
        }
    }

    /// Notes a probe. Probes of peers that have not joined are ignored.
    pub(super) fn handle_probe(&mut self, now: LocalTime, from: PeerId, probe: LocalTime) {
        let Some(echo) = self.peers.get_mut(&from) else { return };
        echo.pending = Some((probe, now));
        if !echo.has_deadline {
            echo.has_deadline = true;
            self.deadlines.push_back((now + HOLD_MAX, from));
        }
    }

    /// Returns a peer whose echo has waited long enough. Each is returned once.
    pub(super) fn poll_due(&mut self, now: LocalTime) -> Option<PeerId> {
        while self.deadlines.front().is_some_and(|(due, _)| *due <= now) {
            let (_, peer) = self.deadlines.pop_front()?;
            let echo = self.peers.get_mut(&peer)?;
            echo.has_deadline = false;
            // The echo may have left with another datagram.
            if echo.pending.is_some() {
                return Some(peer);
            }
        }
        None
    }

    /// Returns the echo to put into a datagram that leaves for this peer now.
    pub(super) fn poll_frame(&mut self, now: LocalTime, to: PeerId) -> Option<ClockFrame> {
        let (probe, arrived) = self.peers.get_mut(&to)?.pending.take()?;
        let held = (now - arrived).max(Span::ZERO);
        Some(ClockFrame::Echo { probe, arrived: SessionTime::from_nanos(arrived.as_nanos()), held })
    }

    /// Returns when to call [`poll_due`](Self::poll_due) again.
    pub(super) fn next(&self) -> Option<LocalTime> {
        self.deadlines.front().map(|(due, _)| *due)
    }
}
