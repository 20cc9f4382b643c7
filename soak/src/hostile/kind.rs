//! The kinds of attack.

macro_rules! attack_kinds {
    ($($name:ident = $label:literal,)*) => {
        /// A kind of attack.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum AttackKind { $($name,)* }

        impl AttackKind {
            /// Every kind with its label; a kind's number is its index.
            pub(super) const ALL: &[(Self, &str)] = &[$((Self::$name, $label),)*];
        }
    };
}

attack_kinds! {
    Garbage = "strangers: random packets to the port",
    MutatedInitial = "strangers: mutated first packets of handshakes",
    HalfOpen = "strangers: handshakes that end after the first packet",
    BadToken = "strangers: connections without a token or with a bad one",
    NoToken = "strangers: connections without a token, held open",
    Stall = "token holders: connections that stall after the handshake",
    RandomDatagram = "members: random datagrams",
    MutatedDatagram = "members: mutated datagrams of the kinds below",
    ValidVectors = "members: valid vectors, far above the quota",
    FalseVectors = "members: vectors with gaps, old, reordered, dead, teleporting",
    OutOfLimits = "members: vectors too fast, too far, too early, of others",
    FalseReports = "members: acknowledgments late, early, untrue, with gaps",
    Flood = "members: floods far above the allowance",
    RandomReliable = "members: random and mutated reliable messages",
    ShortLives = "members: lives that end and begin in quick succession",
    BrokenStream = "members: oversized and truncated messages, excess streams",
    NeverReads = "members: connections that never read",
}

impl AttackKind {
    /// Whether attackers of this kind own entities that the relay knows.
    pub(super) const fn has_entities(self) -> bool {
        matches!(
            self,
            Self::MutatedDatagram
                | Self::ValidVectors
                | Self::FalseVectors
                | Self::OutOfLimits
                | Self::FalseReports
                | Self::ShortLives
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kinds_number_is_its_index() {
        for (index, (kind, _)) in AttackKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, index);
        }
    }
}
