//! What waits until the session clock is fixed: peers to be introduced, and reliable messages, which cannot be read before.

use std::collections::VecDeque;

use evenkeel_core::PeerId;

/// Bytes of reliable messages that wait for one peer; a peer that sends more counts as stalled.
pub const PENDING_BYTES_MAX: usize = 1 << 20;
/// What a waiting message costs beside its bytes.
const MESSAGE_COST: usize = 32;

/// Peers and messages that wait for a session time.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    peers: Vec<PeerId>,
    messages: VecDeque<(PeerId, Vec<u8>)>,
}

impl Pending {
    /// Whether nothing waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty() && self.messages.is_empty()
    }

    /// A peer joined while there was no session time.
    pub fn join(&mut self, peer: PeerId) {
        self.peers.push(peer);
    }

    /// Forgets a peer and its messages.
    pub fn leave(&mut self, peer: PeerId) {
        self.peers.retain(|waiting| *waiting != peer);
        self.messages.retain(|(from, _)| *from != peer);
    }

    /// Keeps a reliable message. Returns false if its peer has too many waiting.
    #[must_use]
    pub fn keep(&mut self, from: PeerId, message: &[u8]) -> bool {
        let own = self.messages.iter().filter(|(peer, _)| *peer == from);
        let waiting: usize = own.map(|(_, message)| MESSAGE_COST + message.len()).sum();
        let fits = waiting + message.len() <= PENDING_BYTES_MAX;
        if fits {
            self.messages.push_back((from, message.to_vec()));
        }
        fits
    }

    /// The peers that waited, in the order in which they joined.
    pub fn take_peers(&mut self) -> Vec<PeerId> {
        core::mem::take(&mut self.peers)
    }

    /// The oldest message that waits.
    pub fn next_message(&mut self) -> Option<(PeerId, Vec<u8>)> {
        self.messages.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_sends_too_much_is_told_from_the_others() {
        let mut pending = Pending::default();
        let half = vec![0; PENDING_BYTES_MAX / 2];
        assert!(pending.keep(PeerId(1), &half));
        assert!(!pending.keep(PeerId(1), &half), "each message costs something beside its bytes");
        assert!(pending.keep(PeerId(2), &half));
        pending.leave(PeerId(1));
        assert!(pending.keep(PeerId(1), &half));
        assert_eq!(pending.next_message().map(|(from, _)| from), Some(PeerId(2)));
    }

    #[test]
    fn peers_and_messages_keep_their_order() {
        let mut pending = Pending::default();
        for peer in [3, 1, 2] {
            pending.join(PeerId(peer));
            assert!(pending.keep(PeerId(peer), b"hello"));
        }
        pending.leave(PeerId(1));
        assert_eq!(pending.take_peers(), [PeerId(3), PeerId(2)]);
        assert_eq!(pending.next_message().map(|(from, _)| from), Some(PeerId(3)));
        assert_eq!(pending.next_message().map(|(from, _)| from), Some(PeerId(2)));
        assert!(pending.is_empty());
    }
}
