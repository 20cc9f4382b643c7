//! Errors in fault options. Each names its field, so that the author of a scenario file knows where to look.

use evenkeel_core::Span;

/// Why options of a link or a clock are invalid.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkFaultError {
    /// A value that is not a probability.
    #[error("{field} must be a probability from 0 to 1, not {value}")]
    Probability {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f64,
    },
    /// A number out of the field's range.
    #[error("{field} is out of range: {value}")]
    Number {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f64,
    },
    /// A duration that is too short for the field, usually a negative one.
    #[error("{field} must be at least {min:?}, not {span:?}")]
    TooShort {
        /// The field.
        field: &'static str,
        /// Its value.
        span: Span,
        /// The shortest valid duration.
        min: Span,
    },
    /// Entries that are not in order of time.
    #[error("{field}: entry {index} is not later than the one before it")]
    Order {
        /// The field.
        field: &'static str,
        /// The first entry that is not later than the one before it, counted from 0.
        index: usize,
    },
    /// An empty list where at least one entry is needed.
    #[error("{field} must not be empty")]
    Empty {
        /// The field.
        field: &'static str,
    },
}

pub(crate) fn probability(field: &'static str, value: f64) -> Result<(), LinkFaultError> {
    // No range contains NaN.
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
