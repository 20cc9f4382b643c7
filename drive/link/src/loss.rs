//! Which packets never arrive.
//!
//! Bursts follow Gilbert and Elliott's model, but in continuous time: the link is good or bad for exponential
//! stretches of time, drawn in order from the link's own seed. In the usual packet-by-packet form, a sender
//! who sends more makes the channel change its state more often, so two policies under one seed would see
//! different bursts; here the state is a function of seed and time alone.

use evenkeel_core::{Draws, Seed, Span};

use crate::error::{LinkFaultError, at_least, probability};
use crate::time::TrueTime;

/// How packets are lost.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Loss {
    /// They are not.
    #[default]
    None,
    /// Each on its own.
    Independent {
        /// How likely.
        probability: f64,
    },
    /// In bursts.
    GilbertElliott {
        /// Mean length of a good stretch, at least [`Loss::STRETCH_MIN`].
        good_mean: Span,
        /// Mean length of a bad stretch, at least [`Loss::STRETCH_MIN`].
        bad_mean: Span,
        /// How likely a packet that is sent in a good stretch is lost.
        loss_good: f64,
        /// How likely a packet that is sent in a bad stretch is lost.
        loss_bad: f64,
    },
}

impl Loss {
    /// The shortest mean length of a stretch. Stretches cost a draw each even if nothing is sent in them, so
    /// they must not be arbitrarily many.
    pub const STRETCH_MIN: Span = Span::from_nanos(1_000);

    /// Checks that the options make sense.
    ///
    /// # Errors
    /// [`LinkFaultError`] names the first field that does not.
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

    /// The share of packets that is lost in the long run.
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

/// Where a link is among its good and bad stretches. A clone of it can look ahead without moving the
/// original.
#[derive(Clone, Debug)]
pub(crate) struct Stretches {
    law: Loss,
    bad: bool,
    until: TrueTime,
    draws: Draws,
}

impl Stretches {
    /// The stretches of this seed; the first begins at true time zero, in the state that the long run has.
    pub(crate) fn new(law: Loss, seed: Seed) -> Self {
        let mut stretches = Self { law, bad: false, until: TrueTime::MAX, draws: seed.draws() };
        if let Loss::GilbertElliott { good_mean, bad_mean, .. } = law {
            stretches.bad = stretches.draws.chance(bad_share(good_mean, bad_mean));
            stretches.until = TrueTime::default() + stretches.draw(good_mean, bad_mean);
        }
        stretches
    }

    /// Whether a packet that is sent at `at` is lost, by the first of these draws. Times must not decrease.
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
        // At least a nanosecond, so that the search for a time always gets there.
        Span::from_nanos(nanos.max(1))
    }
}
