//! How long a packet is under way.
//!
//! A [`DelayLaw`] is a base delay, what the wire takes, and a [`Jitter`], what queues do to it. Each packet
//! draws its own delay, so jitter wider than the gap between packets reorders them, as on a real path with
//! several queues. Whatever the law says, no packet arrives before it was sent: negative delays become zero.

use evenkeel_core::{Draws, Span};

use crate::error::{LinkFaultError, ascending, not_negative};
use crate::time::TrueTime;

/// The law that delays are drawn from. By default every packet arrives at once.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DelayLaw {
    /// The one-way delay without jitter.
    pub base: Span,
    /// What is done to it.
    pub jitter: Jitter,
}

/// How the delays of packets differ from the base delay.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Jitter {
    /// Not at all.
    #[default]
    Constant,
    /// Uniform around the base.
    Uniform {
        /// The greatest distance from the base.
        half_width: Span,
    },
    /// Normal around the base.
    Normal {
        /// Standard deviation.
        sd: Span,
    },
    /// A log-normal delay on top of the base.
    LogNormal {
        /// Median of what is added.
        median: Span,
        /// Standard deviation of its logarithm.
        sigma: f64,
    },
    /// An exponential delay on top of the base.
    Exponential {
        /// Mean of what is added.
        mean: Span,
    },
    /// The whole delay is gamma distributed and its mean is the base; with base zero it is always zero.
    Gamma {
        /// Standard deviation.
        sd: Span,
    },
    /// Rows (time since the start of the run, delay on top of the base): each holds until the next. The time
    /// of the last row is the period after which the trace starts over, and before the time of the first row
    /// the delay of the last one holds. If the last time is zero, there is but one row and it always holds.
    Trace(Vec<(Span, Span)>),
}

/// A lasting change of the base delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayStep {
    /// Since when.
    pub at: TrueTime,
    /// The base delay from then on.
    pub delay: Span,
}

impl DelayLaw {
    /// Every packet takes exactly this long.
    #[must_use]
    pub const fn constant(base: Span) -> Self {
        Self { base, jitter: Jitter::Constant }
    }

    /// The mean delay, before negative ones become zero.
    #[must_use]
    pub fn mean(&self) -> Span {
        let added = match &self.jitter {
            Jitter::Constant | Jitter::Uniform { .. } | Jitter::Normal { .. } | Jitter::Gamma { .. } => {
                Span::ZERO
            }
            Jitter::LogNormal { median, sigma } => {
                nanos(median.as_nanos() as f64 * libm::exp(0.5 * sigma * sigma))
            }
            Jitter::Exponential { mean } => *mean,
            Jitter::Trace(rows) => traced_mean(rows),
        };
        self.base + added
    }

    /// Checks that the options make sense.
    ///
    /// # Errors
    /// [`LinkFaultError`] names the first field that does not.
    pub fn validate(&self) -> Result<(), LinkFaultError> {
        not_negative("delay", self.base)?;
        self.jitter.validate()
    }
}

impl Jitter {
    /// Checks that the options make sense.
    ///
    /// # Errors
    /// [`LinkFaultError`] names the first field that does not.
    pub fn validate(&self) -> Result<(), LinkFaultError> {
        match self {
            Self::Constant => Ok(()),
            Self::Uniform { half_width } => not_negative("jitter.half_width", *half_width),
            Self::Normal { sd } | Self::Gamma { sd } => not_negative("jitter.sd", *sd),
            Self::Exponential { mean } => not_negative("jitter.mean", *mean),
            Self::LogNormal { median, sigma } => {
                if !(sigma.is_finite() && *sigma >= 0.0) {
                    return Err(LinkFaultError::Number { field: "jitter.sigma", value: *sigma });
                }
                not_negative("jitter.median", *median)
            }
            Self::Trace(rows) => {
                let (first, _) = rows.first().ok_or(LinkFaultError::Empty { field: "jitter.trace" })?;
                not_negative("jitter.trace", *first)?;
                rows.iter().try_for_each(|(_, delay)| not_negative("jitter.trace", *delay))?;
                ascending("jitter.trace", rows.iter().map(|(at, _)| *at))
            }
        }
    }

    /// The delay of a packet that is sent at `now` over a link with this base delay.
    #[inline]
    pub(crate) fn delay(&self, base: Span, now: TrueTime, draws: &mut Draws) -> Span {
        let delay = match self {
            Self::Constant => base,
            Self::Uniform { half_width } => {
                // In integers: exact at any size, and no rounding on the way of every packet.
                let half = half_width.as_nanos() as u64;
                base + Span::from_nanos(draws.below(2 * half + 1).wrapping_sub(half) as i64)
            }
            _ => self.delay_by_law(base, now, draws),
        };
        delay.max(Span::ZERO)
    }

    /// Apart from the others: logarithms are no small matter.
    #[inline(never)]
    fn delay_by_law(&self, base: Span, now: TrueTime, draws: &mut Draws) -> Span {
        match self {
            Self::Constant | Self::Uniform { .. } => base,
            Self::Normal { sd } => base + nanos(sd.as_nanos() as f64 * draws.normal()),
            Self::LogNormal { median, sigma } => {
                base + nanos(median.as_nanos() as f64 * libm::exp(sigma * draws.normal()))
            }
            Self::Exponential { mean } => base + nanos(draws.exponential(mean.as_nanos() as f64)),
            Self::Gamma { sd } => gamma(base, *sd, draws),
            Self::Trace(rows) => base + traced(rows, now),
        }
    }
}

fn nanos(value: f64) -> Span {
    Span::from_nanos(value.round() as i64)
}

fn gamma(mean: Span, sd: Span, draws: &mut Draws) -> Span {
    if mean <= Span::ZERO || sd == Span::ZERO {
        return mean;
    }
    let (mean, sd) = (mean.as_nanos() as f64, sd.as_nanos() as f64);
    let ratio = mean / sd;
    nanos(draws.gamma(ratio * ratio, sd / ratio))
}

fn traced(rows: &[(Span, Span)], now: TrueTime) -> Span {
    let (period, last) = rows[rows.len() - 1];
    if period == Span::ZERO {
        return last;
    }
    let phase = Span::from_nanos(now.as_nanos().rem_euclid(period.as_nanos()));
    let begun = rows.partition_point(|(at, _)| *at <= phase);
    if begun == 0 { last } else { rows[begun - 1].1 }
}

/// Each row weighs as much as it lasts; the last one holds from the start of the period to the first row.
fn traced_mean(rows: &[(Span, Span)]) -> Span {
    let (period, last) = rows[rows.len() - 1];
    if period == Span::ZERO {
        return last;
    }
    let weighed = |delay: Span, lasts: Span| delay.as_nanos() as f64 * lasts.as_nanos() as f64;
    let between: f64 = rows.windows(2).map(|pair| weighed(pair[0].1, pair[1].0 - pair[0].0)).sum();
    nanos((between + weighed(last, rows[0].0)) / period.as_nanos() as f64)
}
