//! The settings of Sync-MS experiments: players, their paths, and how often they act.
//!
//! The paper's "exponential" delays with a mean of 30 ms and a variance of 2 cannot be exponential, whose variance is the
//! square of the mean. They are read as shifted exponential, and as gamma; everything is run under both.

use evenkeel_core::Span;
use evenkeel_link::{ClockFaults, DelayLaw, Jitter, LinkFaults, Loss, Reorder};

use super::lying::SmcLie;

/// The distribution of the delays of one path, given by mean and variance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum PathLaw {
    /// A constant plus an exponential part: the long tail.
    ShiftedExponential,
    /// A gamma distribution: the short tail.
    Gamma,
    /// Exponential with the mean alone.
    Exponential,
}

impl PathLaw {
    /// The two readings of the paper.
    pub(crate) const READINGS: [Self; 2] = [Self::ShiftedExponential, Self::Gamma];

    /// Its name in figures and claims.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ShiftedExponential => "shifted exponential",
            Self::Gamma => "gamma",
            Self::Exponential => "exponential",
        }
    }

    fn delay(self, mean: Span, sd: Span) -> DelayLaw {
        match self {
            Self::ShiftedExponential => {
                DelayLaw { base: mean - sd, jitter: Jitter::Exponential { mean: sd } }
            }
            Self::Gamma => DelayLaw { base: mean, jitter: Jitter::Gamma { sd } },
            Self::Exponential => DelayLaw { base: Span::ZERO, jitter: Jitter::Exponential { mean } },
        }
    }
}

/// What a player does besides playing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum PlayerRole {
    /// Nothing.
    #[default]
    Honest,
    /// Its client is modified.
    Lies(SmcLie),
    /// It joins late or leaves early.
    Visits {
        /// When it joins.
        joins: Span,
        /// When it leaves.
        leaves: Span,
    },
    /// It does not act for a while, but its machine goes on.
    Rests {
        /// From when on.
        from: Span,
        /// Until when.
        until: Span,
    },
    /// Nothing of it arrives for a while, as if its machine was suspended.
    Freezes {
        /// From when on.
        from: Span,
        /// Until when.
        until: Span,
    },
}

/// A player and its path, which is alike in both directions.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SyncPlayer {
    /// The mean delay.
    pub(crate) mean: Span,
    /// The standard deviation of the delay.
    pub(crate) sd: Span,
    /// Its own clock.
    pub(crate) clock: ClockFaults,
    pub(crate) role: PlayerRole,
}

/// Everything about an experiment except the service.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SyncSetting {
    pub(crate) players: Vec<SyncPlayer>,
    pub(crate) law: PathLaw,
    /// The share of datagrams that is lost, each way.
    pub(crate) loss: f64,
    /// The share of datagrams that takes longer, and by how much.
    pub(crate) spikes: Option<Reorder>,
    /// Whether clocks follow the server's; otherwise each shows session time, as far as it is right.
    pub(crate) follows: bool,
    /// For how long players act.
    pub(crate) duration: Span,
    /// From when on their actions count.
    pub(crate) settled: Span,
}

/// The time between two updates.
pub(crate) const UPDATE_PERIOD: Span = Span::from_millis(40);
/// The time between two actions of a player: mean and standard deviation, in milliseconds.
pub(crate) const GAP_MS: (f64, f64) = (18.0, 1.0);
/// At the start nothing is known, and at the end nothing follows.
pub(crate) const UNCOUNTED: (Span, Span) = (Span::from_millis(400), Span::from_millis(200));
/// Mean and variance of the paper's ten paths (table 1).
const PAPER: [(f64, f64); 10] = [
    (4.0, 0.8),
    (6.0, 0.8),
    (8.0, 1.0),
    (10.0, 1.0),
    (11.0, 1.0),
    (15.0, 1.0),
    (20.0, 1.0),
    (25.0, 2.0),
    (28.0, 2.0),
    (30.0, 2.0),
];
/// Most players in the server's network, as footnote 2 describes without numbers.
const LAN: [(f64, f64); 10] = [
    (4.0, 0.8),
    (4.0, 0.8),
    (4.0, 0.8),
    (4.0, 0.8),
    (4.0, 0.8),
    (4.0, 0.8),
    (4.0, 0.8),
    (4.0, 0.8),
    (10.0, 1.0),
    (15.0, 1.0),
];

impl SyncPlayer {
    fn new((mean_ms, variance): (f64, f64)) -> Self {
        Self {
            mean: Span::from_millis_f64(mean_ms),
            sd: Span::from_millis_f64(variance.sqrt()),
            clock: ClockFaults::default(),
            role: PlayerRole::default(),
        }
    }
}

impl SyncSetting {
    /// The paper's experiment.
    pub(crate) fn paper(law: PathLaw) -> Self {
        Self::of(law, PAPER.map(SyncPlayer::new).to_vec())
    }

    /// Most players in the server's network.
    pub(crate) fn lan(law: PathLaw) -> Self {
        Self::of(law, LAN.map(SyncPlayer::new).to_vec())
    }

    /// This many players between the paper's nearest and farthest.
    pub(crate) fn many(law: PathLaw, count: u32) -> Self {
        let player = |index: u32| {
            let part = f64::from(index) / f64::from(count.max(2) - 1);
            let ((near, steady), (far, unsteady)) = (PAPER[0], PAPER[9]);
            SyncPlayer::new((near + part * (far - near), steady + part * (unsteady - steady)))
        };
        Self::of(law, (0..count).map(player).collect())
    }

    fn of(law: PathLaw, players: Vec<SyncPlayer>) -> Self {
        let duration = Span::from_secs(80);
        Self { players, law, loss: 0.0, spikes: None, follows: false, duration, settled: UNCOUNTED.0 }
    }

    /// The faults of a player's path, in each direction.
    pub(crate) fn faults(&self, player: usize) -> LinkFaults {
        let SyncPlayer { mean, sd, .. } = self.players[player];
        let loss = if self.loss > 0.0 { Loss::Independent { probability: self.loss } } else { Loss::None };
        LinkFaults { delay: self.law.delay(mean, sd), loss, reorder: self.spikes, ..LinkFaults::default() }
    }
}
