//! The options of one direction of one connection.

use evenkeel_core::Span;

use crate::delay::{DelayLaw, DelayStep, Jitter};
use crate::error::{LinkFaultError, ascending, not_negative, probability};
use crate::loss::Loss;
use crate::rate::RateLimit;

/// What is wrong with a link. By default nothing is: every packet arrives once and at once.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LinkFaults {
    /// How long packets are under way.
    pub delay: DelayLaw,
    /// Lasting changes of the base delay, in order of time.
    pub steps: Vec<DelayStep>,
    /// Which packets never arrive.
    pub loss: Loss,
    /// The probability that a packet arrives twice, the second time with a delay of its own.
    pub duplicate: f64,
    /// Packets that are held back, if any.
    pub reorder: Option<Reorder>,
    /// How fast the link takes bytes, if that is limited.
    pub rate: Option<RateLimit>,
}

/// Some packets are held back so that later ones overtake them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reorder {
    /// Which share of them.
    pub share: f64,
    /// How much longer they take.
    pub extra: Span,
}

impl LinkFaults {
    /// A link with this delay and no other fault.
    #[must_use]
    pub fn constant(delay: Span) -> Self {
        Self { delay: DelayLaw::constant(delay), ..Self::default() }
    }

    /// Checks that the options make sense.
    ///
    /// # Errors
    /// [`LinkFaultError`] names the first field that does not.
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

    /// Whether the fate of a packet needs no draw.
    pub(crate) fn is_certain(&self) -> bool {
        matches!(self.delay.jitter, Jitter::Constant)
            && matches!(self.loss, Loss::None)
            && self.duplicate == 0.0
            && self.reorder.is_none()
    }
}
