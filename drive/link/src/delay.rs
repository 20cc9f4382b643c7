//! Packet delays.
//!
//! A [`DelayLaw`] is a base delay, for the wire, and a [`Jitter`], for the queues. Each packet draws its own
//! delay, so jitter wider than the gap between packets reorders them, as on a path with several queues. No
//! packet arrives before it was sent: negative delays become zero.

use evenkeel_core::{Draws, Span};

use crate::error::{LinkFaultError, ascending, not_negative};
use crate::time::TrueTime;

/// The distribution of delays. The default delivers every packet immediately.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DelayLaw {
    /// The one-way delay without jitter.
    pub base: Span,
    /// The deviation from the base.
    pub jitter: Jitter,
}

/// How the delays of packets differ from the base delay.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub enum Jitter {
    /// No deviation.
    #[default]
    Constant,
    /// Uniform around the base.
    Uniform {
        /// The largest deviation.
        half_width: Span,
    },
    /// Normal around the base.
    Normal {
        /// The standard deviation.
        sd: Span,
    },
    /// A log-normal delay in addition to the base.
    LogNormal {
        /// The median of the addition.
        median: Span,
        /// The standard deviation of its logarithm.
        sigma: f64,
    },
    /// An exponential delay in addition to the base.
    Exponential {
        /// The mean of the addition.
        mean: Span,
    },
    /// A gamma distribution of the whole delay, with the base as its mean; always zero if the base is zero.
    Gamma {
        /// The standard deviation.
        sd: Span,
    },
    /// Rows of (time since the start of the run, delay in addition to the base); each holds until the next.
    /// The trace repeats with the time of the last row as its period, so the last delay holds before the time
    /// of the first row. A last time of zero requires a single row, which always holds.
    Trace(Vec<(Span, Span)>),
}

/// A lasting change of the base delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayStep {
    /// When the change takes effect.
    pub at: TrueTime,
    /// The base delay from then on.
    pub delay: Span,
}

impl DelayLaw {
    /// A law by which every packet takes exactly this long.
    #[must_use]
    pub const fn constant(base: Span) -> Self {
        Self { base, jitter: Jitter::Constant }
    }

    /// Returns the mean delay, before negative delays become zero.
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

    /// Checks the options.
    ///
    /// # Errors
    /// [`LinkFaultError`] names the first invalid field.
    pub fn validate(&self) -> Result<(), LinkFaultError> {
        not_negative("delay", self.base)?;
        self.jitter.validate()
    }
}

impl Jitter {
    /// Checks the options.
    ///
    /// # Errors
    /// [`LinkFaultError`] names the first invalid field.
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

    /// Draws the delay of a packet that is sent at `now` over a link with this base delay.
    #[inline]
    pub(crate) fn delay(&self, base: Span, now: TrueTime, draws: &mut Draws) -> Span {
        let delay = match self {
            Self::Constant => base,
            Self::Uniform { half_width } => {
                // Integer arithmetic: exact at any size, and no rounding in the path of every packet.
                let half = half_width.as_nanos() as u64;
                base + Span::from_nanos(draws.below(2 * half + 1).wrapping_sub(half) as i64)
            }
            _ => self.delay_by_law(base, now, draws),
        };
        delay.max(Span::ZERO)
    }

    /// Not inlined, to keep the logarithms out of the fast path.
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
    let next = rows.partition_point(|(at, _)| *at <= phase);
    if next == 0 { last } else { rows[next - 1].1 }
}

/// Weights each row by how long it holds; the last one holds from the start of the period to the first row.
fn traced_mean(rows: &[(Span, Span)]) -> Span {
    let (period, last) = rows[rows.len() - 1];
    if period == Span::ZERO {
        return last;
    }
    let weighed = |delay: Span, lasts: Span| delay.as_nanos() as f64 * lasts.as_nanos() as f64;
    let between: f64 = rows.windows(2).map(|pair| weighed(pair[0].1, pair[1].0 - pair[0].0)).sum();
    nanos((between + weighed(last, rows[0].0)) / period.as_nanos() as f64)
}
