//! What can be wrong with fault options. Every error names the field, so that a scenario file's reader can be
//! told where to look.

use evenkeel_core::Span;

/// Why options of a link or a clock make no sense.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum LinkFaultError {
    /// Not a probability.
    #[error("{field} must be a probability from 0 to 1, not {value}")]
    Probability {
        /// Which field.
        field: &'static str,
        /// What it holds.
        value: f64,
    },
    /// A number outside of what the field can mean.
    #[error("{field} is out of its range: {value}")]
    Number {
        /// Which field.
        field: &'static str,
        /// What it holds.
        value: f64,
    },
    /// A length of time that is too short for the field, most often a negative one.
    #[error("{field} must be at least {min:?}, not {span:?}")]
    TooShort {
        /// Which field.
        field: &'static str,
        /// What it holds.
        span: Span,
        /// The shortest it may hold.
        min: Span,
    },
    /// Entries that do not follow each other in time.
    #[error("{field}: entry {index} is not later than the one before it")]
    Order {
        /// Which field.
        field: &'static str,
        /// Which entry, counted from 0.
        index: usize,
    },
    /// A list without entries that needs at least one.
    #[error("{field} must not be empty")]
    Empty {
        /// Which field.
        field: &'static str,
    },
}

pub(crate) fn probability(field: &'static str, value: f64) -> Result<(), LinkFaultError> {
    // NaN is in no range.
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(LinkFaultError::Probability { field, value }) }
}

pub(crate) fn at_least(field: &'static str, span: Span, min: Span) -> Result<(), LinkFaultError> {
    if span >= min { Ok(()) } else { Err(LinkFaultError::TooShort { field, span, min }) }
}

pub(crate) fn not_negative(field: &'static str, span: Span) -> Result<(), LinkFaultError> {
    at_least(field, span, Span::ZERO)
}

pub(crate) fn ascending<T: PartialOrd>(
    field: &'static str,
    times: impl Iterator<Item = T>,
) -> Result<(), LinkFaultError> {
    let mut before = None;
    for (index, at) in times.enumerate() {
        if before.is_some_and(|before| before >= at) {
            return Err(LinkFaultError::Order { field, index });
        }
        before = Some(at);
    }
    Ok(())
}
