//! What waits to leave.

use std::collections::VecDeque;

use evenkeel_core::PeerId;

use crate::control::Control;

/// Datagrams that wait. Beyond, the oldest are dropped: the driver has stalled, and they are stale.
const DATAGRAMS_MAX: usize = 1_024;
/// Reliable messages that wait. Beyond, further ones are dropped: the driver has stalled.
const RELIABLE_MAX: usize = 65_536;

/// A datagram that waits: an update, or a place for clock frames.
#[derive(Clone, Debug)]
pub(crate) struct WaitingDatagram {
    pub(crate) to: PeerId,
    pub(crate) update: Option<Vec<u8>>,
}

/// Messages that wait to leave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    datagrams: VecDeque<WaitingDatagram>,
    reliable: VecDeque<(PeerId, Vec<u8>)>,
}

impl Outbox {
    pub(crate) fn push_update(&mut self, to: PeerId, update: Vec<u8>) {
        self.datagrams.push_back(WaitingDatagram { to, update: Some(update) });
        if self.datagrams.len() > DATAGRAMS_MAX {
            self.datagrams.pop_front();
        }
    }

    /// Asks for a datagram that carries clock frames, unless one is on its way.
    pub(crate) fn push_clock(&mut self, to: PeerId) {
        let is_waiting = self.datagrams.iter().any(|waiting| waiting.to == to);
        if !is_waiting && self.datagrams.len() < DATAGRAMS_MAX {
            self.datagrams.push_back(WaitingDatagram { to, update: None });
        }
    }

    /// Returns whether there was room.
    pub(crate) fn push_reliable(&mut self, to: PeerId, control: &Control) -> bool {
        let has_room = self.reliable.len() < RELIABLE_MAX;
        if has_room {
            self.reliable.push_back((to, control.to_bytes()));
        }
        has_room
    }

    pub(crate) fn pop_reliable(&mut self) -> Option<(PeerId, Vec<u8>)> {
        self.reliable.pop_front()
    }

    pub(crate) fn pop_datagram(&mut self) -> Option<WaitingDatagram> {
        self.datagrams.pop_front()
    }

    /// Drops what waits for a peer that is gone.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        self.datagrams.retain(|waiting| waiting.to != peer);
        self.reliable.retain(|(to, _)| *to != peer);
    }
}
