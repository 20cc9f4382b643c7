//! What the application asks of a machine, and what it learns.

use evenkeel_core::{ClockEvent, PeerId, SessionTime, Span};

use crate::crypto::PublicKey;
use crate::proof::Proof;

/// What the application asks of a peer's machine. The baselines take the same commands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NeoCommand {
    /// Sets the move of the next slot, which later slots repeat until there is another: where the player is now. Longer
    /// moves than [`MOVE_LEN_MAX`](crate::MOVE_LEN_MAX) are counted and ignored.
    Submit(Vec<u8>),
    /// Sends a state change that no peer may miss: a stone eaten. At most [`STATE_LEN_MAX`](crate::STATE_LEN_MAX) bytes.
    ChangeState(Vec<u8>),
    /// Sends a message to one peer, reliably and in order, but only while it is connected: what a newcomer has to know. At
    /// most [`STATE_LEN_MAX`](crate::STATE_LEN_MAX) bytes.
    Tell {
        /// Its connection.
        to: PeerId,
        /// The message.
        bytes: Vec<u8>,
    },
    /// Sets the peers that see this one, if the session [has areas](crate::NeoConfig::has_areas). State changes reach all.
    Interest(Vec<PeerId>),
    /// Says good-bye to all peers, and sends nothing more.
    Leave,
}

/// A move that was played out. All times are the session's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlayedMove {
    /// Who made it.
    pub from: PeerId,
    /// Its slot, from the session's beginning.
    pub slot: u64,
    /// The beginning of its slot, when it was committed to (or sent, by a protocol without commitments).
    pub made: SessionTime,
    /// When the update left that reveals it, by the schedule.
    pub revealed: SessionTime,
    /// When the first update that reveals it arrived.
    pub arrived: SessionTime,
    /// When it was played out: now.
    pub played: SessionTime,
    /// Whether its commitment arrived here before the deadline.
    pub is_in_time: bool,
    /// The votes for it, and of how many peers.
    pub votes: (u32, u32),
    /// The move.
    pub bytes: Vec<u8>,
}

impl PlayedMove {
    /// From the update that reveals the move to its play-out: the thesis' playout delay.
    #[must_use]
    pub fn playout(&self) -> Span {
        self.played - self.revealed
    }

    /// From the commitment to the play-out: how old the move is when it is shown.
    #[must_use]
    pub fn age(&self) -> Span {
        self.played - self.made
    }

    /// How long the move waited at this peer.
    #[must_use]
    pub fn waiting(&self) -> Span {
        self.played - self.arrived
    }
}

/// Why a move was not used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum UnusedReason {
    /// Too few peers received its commitment in time.
    TooFewVotes,
    /// It is not what its sender had committed to.
    BadHash,
    /// It never arrived, or too late.
    NeverArrived,
    /// The commitment to it never arrived, so there is nothing to check it against.
    PredecessorMissing,
    /// This peer did not process it in time, because its clock jumped or it was not run.
    NotProcessed,
}

impl UnusedReason {
    /// All reasons, in the order of the thesis' table 4.
    pub const ALL: [Self; 5] =
        [Self::TooFewVotes, Self::BadHash, Self::NeverArrived, Self::PredecessorMissing, Self::NotProcessed];

    /// A short name for tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooFewVotes => "too few votes",
            Self::BadHash => "bad hash",
            Self::NeverArrived => "never arrived",
            Self::PredecessorMissing => "predecessor missing",
            Self::NotProcessed => "not processed",
        }
    }
}

/// Why a peer no longer takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Departure {
    /// It said good-bye.
    Left,
    /// Its connection ended.
    Disconnected,
    /// It was silent for too long. It is back as soon as it is heard.
    Silent,
    /// It was proved to have cheated.
    Evicted,
}

/// What a peer's machine reports.
#[derive(Clone, PartialEq, Debug)]
pub enum NeoEvent {
    /// This peer committed to a move: slot, its beginning, and the round it belongs to.
    Committed {
        /// The slot.
        slot: u64,
        /// The round.
        round: u64,
        /// The beginning of the slot.
        at: SessionTime,
    },
    /// Another peer's move is valid: show it.
    Played(PlayedMove),
    /// Another peer's move will not be used.
    Unused {
        /// Who made it.
        from: PeerId,
        /// Its slot.
        slot: u64,
        /// Why.
        reason: UnusedReason,
        /// The beginning of its slot.
        made: SessionTime,
        /// When it arrived, if it did.
        arrived: Option<SessionTime>,
        /// The votes for it, and of how many peers.
        votes: (u32, u32),
    },
    /// A state change, once for each, in the order of its author's. Of own ones, those that this peer made before it was
    /// restarted. Concurrent ones of several authors come in different orders at different peers: what conflicts, decide by
    /// `slot`, then `author`.
    StateChanged {
        /// Who made it.
        author: PublicKey,
        /// The author's connection, if there is one now.
        from: Option<PeerId>,
        /// The slot in which it was made.
        slot: u64,
        /// The change.
        bytes: Vec<u8>,
    },
    /// An own state change is on its way; decide conflicts with others' by `slot`, then key.
    StateSent {
        /// The slot in which it was made.
        slot: u64,
        /// The change.
        bytes: Vec<u8>,
    },
    /// A message that a peer sent to this one alone.
    Told {
        /// Its connection.
        from: PeerId,
        /// The message.
        bytes: Vec<u8>,
    },
    /// A peer takes part from now on: it has proved that it holds its key.
    Joined {
        /// Its connection.
        peer: PeerId,
        /// Its key.
        key: PublicKey,
    },
    /// A peer no longer takes part.
    Left {
        /// Its connection.
        peer: PeerId,
        /// Its key.
        key: PublicKey,
        /// Why.
        why: Departure,
    },
    /// A peer signed two conflicting statements. A `Left` follows if it took part; the driver should disconnect it.
    Evicted {
        /// Its connection, if there is one.
        peer: Option<PeerId>,
        /// Its key.
        key: PublicKey,
        /// The proof, which anyone can check.
        proof: Box<Proof>,
    },
    /// Round length or depth change by vote.
    TempoChanged {
        /// The first slot of the new tempo.
        slot: u64,
        /// The length of a round from then on.
        round: Span,
        /// The moves per round from then on.
        depth: u32,
    },
    /// The session time changed. Without one, no rounds are played.
    Clock(ClockEvent),
}
