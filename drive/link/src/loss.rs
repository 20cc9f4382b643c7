//! Packet loss.
//!
//! Bursts follow Gilbert and Elliott's model in continuous time: the link alternates between a good and a bad
//! state for exponential times, drawn in order from its own seed. In the usual packet-by-packet form a sender
//! with more traffic makes the state change more often, and two policies under one seed would meet different
//! bursts. Here the state depends on seed and time alone.

use evenkeel_core::{Draws, Seed, Span};

use crate::error::{LinkFaultError, at_least, probability};
use crate::time::TrueTime;

/// How packets are lost.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub enum Loss {
    /// No loss.
    #[default]
    None,
    /// Independent losses.
    Independent {
        /// The probability of a loss.
        probability: f64,
    },
    /// Losses in bursts.
    GilbertElliott {
        /// Mean duration of the good state, at least [`Loss::STRETCH_MIN`].
        good_mean: Span,
        /// Mean duration of the bad state, at least [`Loss::STRETCH_MIN`].
        bad_mean: Span,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
}

impl Loss {
    /// The shortest mean duration of a state. Every state costs a draw, even without traffic, so their number
    /// must be bounded.
    pub const STRETCH_MIN: Span = Span::from_nanos(1_000);

    /// Checks the options.
    ///
    /// # Errors
    /// [`LinkFaultError`] names the first invalid field.
    pub fn validate(&self) -> Result<(), LinkFaultError> {
        match *self {
            Self::None => Ok(()),
            Self::Independent { probability: p } => probability("loss.probability", p),
            Self::GilbertElliott { good_mean, bad_mean, loss_good, loss_bad } => {
                at_least("loss.good_mean", good_mean, Self::STRETCH_MIN)?;
                at_least("loss.bad_mean", bad_mean, Self::STRETCH_MIN)?;
                probability("loss.loss_good", loss_good)?;
                probability("loss.loss_bad", loss_bad)
            }
        }
    }

    /// Returns the long-run share of lost packets.
    #[must_use]
    pub fn rate(&self) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Independent { probability } => probability,
            Self::GilbertElliott { good_mean, bad_mean, loss_good, loss_bad } => {
                let bad = bad_share(good_mean, bad_mean);
                loss_good * (1.0 - bad) + loss_bad * bad
            }
        }
    }
}

fn bad_share(good_mean: Span, bad_mean: Span) -> f64 {
    let (good, bad) = (good_mean.as_nanos() as f64, bad_mean.as_nanos() as f64);
    bad / (good + bad)
}

/// The good or bad state of a link. A clone looks ahead without moving the original.
#[derive(Clone, Debug)]
pub(crate) struct BurstState {
    law: Loss,
    bad: bool,
    until: TrueTime,
    draws: Draws,
}

impl BurstState {
    /// Starts at true time zero, with the state drawn from the long-run distribution.
    pub(crate) fn new(law: Loss, seed: Seed) -> Self {
        let mut state = Self { law, bad: false, until: TrueTime::MAX, draws: seed.draws() };
        if let Loss::GilbertElliott { good_mean, bad_mean, .. } = law {
            state.bad = state.draws.chance(bad_share(good_mean, bad_mean));
            state.until = TrueTime::default() + state.draw(good_mean, bad_mean);
        }
        state
    }

    /// Returns whether a packet that is sent at `at` is lost, by the first of these draws. Times must not
    /// decrease.
    #[inline]
    pub(crate) fn is_lost(&mut self, at: TrueTime, draws: &mut Draws) -> bool {
        !matches!(self.law, Loss::None) && draws.unit() < self.loss_at(at)
    }

    fn loss_at(&mut self, at: TrueTime) -> f64 {
        match self.law {
            Loss::None => 0.0,
            Loss::Independent { probability } => probability,
            Loss::GilbertElliott { good_mean, bad_mean, loss_good, loss_bad } => {
                while self.until <= at {
                    self.bad = !self.bad;
                    let stretch = self.draw(good_mean, bad_mean);
                    self.until += stretch;
                }
                if self.bad { loss_bad } else { loss_good }
            }
        }
    }

    fn draw(&mut self, good_mean: Span, bad_mean: Span) -> Span {
        let mean = if self.bad { bad_mean } else { good_mean };
        let nanos = self.draws.exponential(mean.as_nanos() as f64).round() as i64;
        // At least a nanosecond, so that the loop over states always terminates.
        Span::from_nanos(nanos.max(1))
    }
}
