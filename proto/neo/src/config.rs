//! The settings of a session. All peers of a session must use the same; the thesis' rules and ours differ by settings only.

use evenkeel_core::Span;

use crate::crypto::Session;

/// The longest move, in bytes. A datagram holds several.
pub const MOVE_LEN_MAX: usize = 256;
/// The longest state change, in bytes.
pub const STATE_LEN_MAX: usize = 1_024;
/// The most peers of a session, this one included.
pub const PEERS_MAX: usize = 64;
/// The most moves in a round.
pub const DEPTH_MAX: u32 = 20;

/// By when a move's commitment must have arrived to be voted for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deadline {
    /// One slot (round length / depth) after the move: the thesis.
    Slot,
    /// A whole round after the move.
    Round,
}

/// When a move is played out or given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Processing {
    /// When the round ends or all moves of its slot are in: the thesis.
    RoundEnd,
    /// As soon as the move is in and enough peers voted for it.
    Quorum,
}

/// How many votes make a move valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quorum {
    /// At least this share of all peers, in percent, the sender's own vote counted: the thesis, with 50.
    ShareOfAll(u8),
    /// More than half of the peers other than the sender.
    MajorityOfOthers,
}

/// The range within which peers vote for round length and depth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Adaptation {
    /// The shortest round.
    pub round_min: Span,
    /// The longest round.
    pub round_max: Span,
    /// The greatest depth.
    pub depth_max: u32,
    /// The number of rounds between votes.
    pub every_rounds: u32,
}

/// The settings of a session.
#[derive(Clone, PartialEq, Debug)]
pub struct NeoConfig {
    /// Names the session. Signatures and commitments are bound to it.
    pub session: Session,
    /// The length of a round at the beginning.
    pub round: Span,
    /// The moves per round at the beginning: a slot is `round / depth`.
    pub depth: u32,
    /// By when commitments must arrive.
    pub deadline: Deadline,
    /// When a move is played out.
    pub processing: Processing,
    /// How many votes make a move valid.
    pub quorum: Quorum,
    /// Whether votes say which commitment they are for, and updates are signed, so that equivocation is proved.
    pub is_accountable: bool,
    /// Whether a move is used whose opening came after the deadline of the update that brought it.
    pub uses_late: bool,
    /// How many later updates repeat a move's opening.
    pub repeats: u32,
    /// How long after its deadline a move may still be played out. Ignored under [`Processing::RoundEnd`].
    pub patience: Span,
    /// How long a peer may be silent before it no longer counts.
    pub silence: Span,
    /// Whether votes change round length and depth.
    pub adaptation: Option<Adaptation>,
    /// Whether peers only exchange updates with those in their [area of interest](crate::NeoCommand::Interest). Then votes
    /// count of those peers that hear the sender; otherwise of all.
    pub has_areas: bool,
}

impl NeoConfig {
    /// Ours, which reaches 50 peers: votes at once, moves played at the quorum, third-party votes required, signatures.
    #[must_use]
    pub fn new(session: Session) -> Self {
        Self {
            session,
            round: Span::from_millis(200),
            depth: 4,
            deadline: Deadline::Round,
            processing: Processing::Quorum,
            quorum: Quorum::MajorityOfOthers,
            is_accountable: true,
            uses_late: true,
            repeats: 1,
            patience: Span::from_millis(300),
            silence: Span::from_secs(2),
            adaptation: None,
            has_areas: false,
        }
    }

    /// The thesis' protocol: a move opened by the next update, votes in the next round, half of all votes, nothing signed.
    #[must_use]
    pub fn thesis(session: Session) -> Self {
        Self {
            round: Span::from_millis(250),
            depth: 2,
            deadline: Deadline::Slot,
            processing: Processing::RoundEnd,
            quorum: Quorum::ShareOfAll(50),
            is_accountable: false,
            uses_late: false,
            repeats: 0,
            ..Self::new(session)
        }
    }

    /// The thesis' protocol that accepts at the quorum of the others: its author's proposed improvement.
    #[must_use]
    pub fn thesis_at_quorum(session: Session) -> Self {
        Self {
            processing: Processing::Quorum,
            quorum: Quorum::MajorityOfOthers,
            patience: Span::from_millis(500),
            ..Self::thesis(session)
        }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// [`NeoConfigError`] names the setting that is out of range, and its range.
    pub fn validate(&self) -> Result<(), NeoConfigError> {
        let in_range = |name, value: Span, low, high| {
            let is_fine = Span::from_millis(low) <= value && value <= Span::from_millis(high);
            if is_fine { Ok(()) } else { Err(NeoConfigError::Span { name, value, low, high }) }
        };
        in_range("round", self.round, 10, 10_000)?;
        in_range("patience", self.patience, 0, 10_000)?;
        in_range("silence", self.silence, 100, 600_000)?;
        if !(1..=DEPTH_MAX).contains(&self.depth) {
            return Err(NeoConfigError::Count { name: "depth", value: self.depth, high: DEPTH_MAX });
        }
        if self.repeats > 3 {
            return Err(NeoConfigError::Count { name: "repeats", value: self.repeats, high: 3 });
        }
        if let Some(range) = &self.adaptation {
            in_range("round_min", range.round_min, 10, 10_000)?;
            in_range("round_max", range.round_max, range.round_min.as_nanos() / 1_000_000, 10_000)?;
            if !(1..=DEPTH_MAX).contains(&range.depth_max) {
                return Err(NeoConfigError::Count {
                    name: "depth_max",
                    value: range.depth_max,
                    high: DEPTH_MAX,
                });
            }
            if !(4..=1_000).contains(&range.every_rounds) {
                return Err(NeoConfigError::Count {
                    name: "every_rounds",
                    value: range.every_rounds,
                    high: 1_000,
                });
            }
        }
        Ok(())
    }
}

impl Default for NeoConfig {
    fn default() -> Self {
        Self::new(Session::default())
    }
}

/// A setting that is out of range.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum NeoConfigError {
    /// A span of time.
    #[error("{name} is {value:?}, but must be from {low} to {high} ms")]
    Span {
        /// The setting.
        name: &'static str,
        /// What it was set to.
        value: Span,
        /// The least, in milliseconds.
        low: i64,
        /// The most, in milliseconds.
        high: i64,
    },
    /// A number.
    #[error("{name} is {value}, but must be at most {high}, and not too small (see its documentation)")]
    Count {
        /// The setting.
        name: &'static str,
        /// What it was set to.
        value: u32,
        /// The most.
        high: u32,
    },
}
