//! Who is at the other end.

/// A peer as its driver knows it: a session, not an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PeerId(pub u32);

/// A peer came or went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerChange {
    /// The peer can be reached from now on.
    Joined {
        /// Who.
        peer: PeerId,
        /// The largest datagram that reaches it, in bytes.
        datagram_max: usize,
    },
    /// The peer is gone; nothing of what is under way to it will arrive.
    Left {
        /// Who.
        peer: PeerId,
    },
}

impl PeerChange {
    /// The peer that it is about.
    #[must_use]
    pub const fn peer(self) -> PeerId {
        match self {
            Self::Joined { peer, .. } | Self::Left { peer } => peer,
        }
    }
}
