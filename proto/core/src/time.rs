//! Kinds of time that cannot be mixed up.
//!
//! [`LocalTime`] is one node's monotonic clock. [`SessionTime`] is the time that a session agreed on, and the
//! only kind on the wire. A third kind, true time, exists only in the drivers. All are integer nanoseconds,
//! so sums and comparisons are exact. Arithmetic saturates, because untrusted peers supply some of the
//! numbers.

use core::fmt;
use core::ops::{Add, AddAssign, Neg, Sub};

/// A signed duration in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(i64);

impl Span {
    /// The empty span.
    pub const ZERO: Self = Self(0);
    /// The longest span, about 292 years.
    pub const MAX: Self = Self(i64::MAX);

    /// Makes a span of nanoseconds.
    #[must_use]
    #[inline]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Makes a span of milliseconds.
    #[must_use]
    #[inline]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Makes a span of whole seconds.
    #[must_use]
    #[inline]
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Makes the span nearest to a number of seconds. NaN gives zero, and values out of range saturate.
    #[must_use]
    #[inline]
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9).round() as i64)
    }

    /// Makes the span nearest to a number of milliseconds. NaN gives zero, and values out of range saturate.
    #[must_use]
    #[inline]
    pub fn from_millis_f64(millis: f64) -> Self {
        Self((millis * 1e6).round() as i64)
    }

    /// Returns the number of nanoseconds.
    #[must_use]
    #[inline]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Returns the number of seconds, correctly rounded for spans below 104 days.
    #[must_use]
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the number of milliseconds.
    #[must_use]
    #[inline]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Multiplies the span.
    #[must_use]
    #[inline]
    pub const fn times(self, factor: i64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// Divides the span, rounding towards zero; `parts` must not be 0.
    #[must_use]
    #[inline]
    pub const fn part(self, parts: i64) -> Self {
        Self(self.0 / parts)
    }

    /// Returns the absolute value.
    #[must_use]
    #[inline]
    pub const fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }
}

/// Saturating addition. Sums hardly ever overflow, and testing for that is cheaper than computing the
/// saturated value each time, as `i64::saturating_add` does.
#[doc(hidden)]
#[must_use]
#[inline]
pub const fn add_saturating(one: i64, other: i64) -> i64 {
    match one.checked_add(other) {
        Some(sum) => sum,
        None => saturated(one),
    }
}

/// Saturating subtraction.
#[doc(hidden)]
#[must_use]
#[inline]
pub const fn sub_saturating(one: i64, other: i64) -> i64 {
    match one.checked_sub(other) {
        Some(difference) => difference,
        None => saturated(one),
    }
}

/// The value that an overflowing sum or difference saturates to, given its first operand.
#[cold]
#[inline(never)]
const fn saturated(first: i64) -> i64 {
    if first < 0 { i64::MIN } else { i64::MAX }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(add_saturating(self.0, other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(sub_saturating(self.0, other.0))
    }
}

impl Neg for Span {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl fmt::Debug for Span {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.as_millis_f64())
    }
}

/// Defines a point-in-time type: a kind of time that adds and subtracts [`Span`]s, but no other kind.
#[macro_export]
macro_rules! point_in_time {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(i64);

        impl $name {
            /// The earliest time.
            pub const MIN: Self = Self(i64::MIN);
            /// The latest time; used as "never".
            pub const MAX: Self = Self(i64::MAX);

            /// Makes the time this many nanoseconds after the kind's origin.
            #[must_use]
            #[inline]
            pub const fn from_nanos(nanos: i64) -> Self {
                Self(nanos)
            }

            /// Returns the nanoseconds since the kind's origin.
            #[must_use]
            #[inline]
            pub const fn as_nanos(self) -> i64 {
                self.0
            }
        }

        impl $crate::timers::Deadline for $name {
            const NEVER: Self = Self::MAX;
        }

        impl core::ops::Add<$crate::time::Span> for $name {
            type Output = Self;
            #[inline]
            fn add(self, span: $crate::time::Span) -> Self {
                Self($crate::time::add_saturating(self.0, span.as_nanos()))
            }
        }

        impl core::ops::AddAssign<$crate::time::Span> for $name {
            #[inline]
            fn add_assign(&mut self, span: $crate::time::Span) {
                *self = *self + span;
            }
        }

        impl core::ops::Sub<$crate::time::Span> for $name {
            type Output = Self;
            #[inline]
            fn sub(self, span: $crate::time::Span) -> Self {
                Self($crate::time::sub_saturating(self.0, span.as_nanos()))
            }
        }

        impl core::ops::Sub for $name {
            type Output = $crate::time::Span;
            #[inline]
            fn sub(self, other: Self) -> $crate::time::Span {
                $crate::time::Span::from_nanos($crate::time::sub_saturating(self.0, other.0))
            }
        }

        impl core::fmt::Debug for $name {
            #[inline]
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{}s", self.0 as f64 / 1e9)
            }
        }
    };
}

point_in_time! {
    /// A reading of one node's own monotonic clock.
    LocalTime
}

point_in_time! {
    /// A time on the clock that the whole session shares; the only kind of time on the wire.
    SessionTime
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
