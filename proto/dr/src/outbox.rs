//! What is ready to leave, per peer. Frames for one peer share datagrams as long as they fit.

use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{Channel, PeerId};

use crate::message::VERSION;

/// Full datagrams that wait for one peer; when there are more, the oldest is dropped, as a network would.
pub const DATAGRAMS_MAX: usize = 64;
/// Reliable messages that wait for one peer; with more it counts as stalled: nothing more is queued for it until it joins
/// again, because a reliable channel with a gap would be a lie.
pub const RELIABLE_MAX: usize = 8192;

#[derive(Clone, Debug)]
struct Queue {
    datagram_max: usize,
    /// The datagram being filled; empty or a version byte and frames.
    datagram: Vec<u8>,
    full: VecDeque<Vec<u8>>,
    reliable: VecDeque<Vec<u8>>,
    listed: bool,
    stalled: bool,
}

/// The queues of all peers.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    queues: BTreeMap<PeerId, Queue>,
    /// Peers with something to send, in the order in which they came to have it.
    ready: VecDeque<PeerId>,
    frame: Vec<u8>,
    stalled: Vec<PeerId>,
}

impl Outbox {
    /// A peer comes, or comes back: what waited for it before is void.
    pub fn join(&mut self, peer: PeerId, datagram_max: usize) {
        let listed = self.queues.get(&peer).is_some_and(|queue| queue.listed);
        let queue = Queue {
            datagram_max,
            datagram: Vec::new(),
            full: VecDeque::new(),
            reliable: VecDeque::new(),
            listed,
            stalled: false,
        };
        self.queues.insert(peer, queue);
    }

    /// A peer goes.
    pub fn leave(&mut self, peer: PeerId) {
        self.queues.remove(&peer);
        self.stalled.retain(|stalled| *stalled != peer);
        self.ready.retain(|ready| *ready != peer);
    }

    /// Whether the peer is here.
    #[must_use]
    pub fn has(&self, peer: PeerId) -> bool {
        self.queues.contains_key(&peer)
    }

    /// The largest datagram that reaches a peer.
    #[must_use]
    pub fn datagram_max(&self, peer: PeerId) -> usize {
        self.queues.get(&peer).map_or(0, |queue| queue.datagram_max)
    }

    /// Puts a frame into the next datagram for a peer.
    pub fn datagram(&mut self, peer: PeerId, emit: impl FnOnce(&mut Vec<u8>)) {
        let Some(queue) = self.queues.get_mut(&peer) else { return };
        self.frame.clear();
        emit(&mut self.frame);
        if 1 + self.frame.len() > queue.datagram_max {
            return; // It could never be sent; the ledger sees it as lost.
        }
        if !queue.datagram.is_empty() && queue.datagram.len() + self.frame.len() > queue.datagram_max {
            if queue.full.len() == DATAGRAMS_MAX {
                queue.full.pop_front();
            }
            queue.full.push_back(core::mem::take(&mut queue.datagram));
        }
        if queue.datagram.is_empty() {
            queue.datagram.push(VERSION);
        }
        queue.datagram.extend_from_slice(&self.frame);
        if !core::mem::replace(&mut queue.listed, true) {
            self.ready.push_back(peer);
        }
    }

    /// Puts a frame on the reliable channel to a peer.
    pub fn reliable(&mut self, peer: PeerId, emit: impl FnOnce(&mut Vec<u8>)) {
        let Some(queue) = self.queues.get_mut(&peer) else { return };
        if queue.stalled || queue.reliable.len() == RELIABLE_MAX {
            if !core::mem::replace(&mut queue.stalled, true) {
                self.stalled.push(peer);
            }
            return;
        }
        let mut message = vec![VERSION];
        emit(&mut message);
        queue.reliable.push_back(message);
        if !core::mem::replace(&mut queue.listed, true) {
            self.ready.push_back(peer);
        }
    }

    /// The next message; its bytes replace those in `bytes`.
    pub fn poll(&mut self, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        bytes.clear();
        while let Some(&peer) = self.ready.front() {
            let queue = self.queues.get_mut(&peer).expect("a peer that is ready is here");
            if let Some(message) = queue.reliable.pop_front() {
                *bytes = message;
                return Some((peer, Channel::Reliable));
            }
            if let Some(datagram) = queue.full.pop_front() {
                *bytes = datagram;
                return Some((peer, Channel::Datagram));
            }
            queue.listed = false;
            self.ready.pop_front();
            if !queue.datagram.is_empty() {
                // Hands the buffer over and keeps the caller's for the next datagram.
                core::mem::swap(bytes, &mut queue.datagram);
                return Some((peer, Channel::Datagram));
            }
        }
        None
    }

    /// A peer that stalled since the last time that this was asked.
    pub fn poll_stalled(&mut self) -> Option<PeerId> {
        self.stalled.pop()
    }
}
