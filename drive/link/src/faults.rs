//! The fault options of one direction of a connection.

use evenkeel_core::Span;

use crate::delay::{DelayLaw, DelayStep, Jitter};
use crate::error::{LinkFaultError, ascending, not_negative, probability};
use crate::loss::Loss;
use crate::rate::RateLimit;

/// The faults of a link. The default has none: every packet arrives once and immediately.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LinkFaults {
    /// How long packets take.
    pub delay: DelayLaw,
    /// Lasting changes of the base delay, in order of time.
    pub steps: Vec<DelayStep>,
    /// Which packets are lost.
    pub loss: Loss,
    /// The probability that a packet is duplicated. The copy has a delay of its own.
    pub duplicate: f64,
    /// Packets that are held back, if any.
    pub reorder: Option<Reorder>,
    /// The rate limit, if any.
    pub rate: Option<RateLimit>,
}

/// Holds some packets back so that later ones overtake them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reorder {
    /// The share of packets that is held back.
    pub share: f64,
    /// Their additional delay.
    pub extra: Span,
}

impl LinkFaults {
    /// A link with this delay and no other fault.
    #[must_use]
    pub fn constant(delay: Span) -> Self {
        Self { delay: DelayLaw::constant(delay), ..Self::default() }
    }

    /// Checks the options.
    ///
    /// # Errors
    /// [`LinkFaultError`] names the first invalid field.
    pub fn validate(&self) -> Result<(), LinkFaultError> {
        self.delay.validate()?;
        ascending("steps", self.steps.iter().map(|step| step.at))?;
        self.steps.iter().try_for_each(|step| not_negative("steps.delay", step.delay))?;
        self.loss.validate()?;
        probability("duplicate", self.duplicate)?;
        if let Some(reorder) = self.reorder {
            probability("reorder.share", reorder.share)?;
            not_negative("reorder.extra", reorder.extra)?;
        }
        self.rate.map_or(Ok(()), |rate| rate.validate())
    }

    /// Returns whether fates need no draws.
    pub(crate) fn is_deterministic(&self) -> bool {
        matches!(self.delay.jitter, Jitter::Constant)
            && matches!(self.loss, Loss::None)
            && self.duplicate == 0.0
            && self.reorder.is_none()
    }
}
