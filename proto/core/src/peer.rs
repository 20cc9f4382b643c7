//! Peers: the other ends of a machine's connections.

/// A peer as its driver knows it: a connection, not an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PeerId(pub u32);

/// A change in who is connected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerChange {
    /// The peer can be reached from now on.
    Joined {
        /// The peer that joined.
        peer: PeerId,
        /// The largest datagram that reaches it, in bytes.
        datagram_max: usize,
    },
    /// The peer is gone. Nothing in flight to it will arrive.
    Left {
        /// The peer that left.
        peer: PeerId,
    },
}

impl PeerChange {
    /// Returns the peer that joined or left.
    #[must_use]
    pub const fn peer(self) -> PeerId {
        match self {
            Self::Joined { peer, .. } | Self::Left { peer } => peer,
        }
    }
}
