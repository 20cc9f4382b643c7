//! Kinds of time that cannot be mixed up.
//!
//! [`LocalTime`] is one node's monotonic clock, [`SessionTime`] the time that a session agreed on and the only one on
//! the wire. (A third kind, true time, can be named only by the drivers.) All are integer nanoseconds, so adding and
//! comparing them is exact; arithmetic saturates, because some of these numbers come from strangers.

use core::fmt;
use core::ops::{Add, AddAssign, Neg, Sub};

/// A signed length of time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(i64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span there is, about 292 years.
    pub const MAX: Self = Self(i64::MAX);

    /// A span of so many nanoseconds.
    #[must_use]
    #[inline]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A span of so many milliseconds.
    #[must_use]
    #[inline]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of so many whole seconds.
    #[must_use]
    #[inline]
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// The span nearest to so many seconds; NaN is zero and what does not fit is the nearest that does.
    #[must_use]
    #[inline]
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9).round() as i64)
    }

    /// The span nearest to so many milliseconds; NaN is zero and what does not fit is the nearest that does.
    #[must_use]
    #[inline]
    pub fn from_millis_f64(millis: f64) -> Self {
        Self((millis * 1e6).round() as i64)
    }

    /// The number of nanoseconds.
    #[must_use]
    #[inline]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The number of seconds, correctly rounded for spans below 104 days.
    #[must_use]
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The number of milliseconds.
    #[must_use]
    #[inline]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// So many times this span.
    #[must_use]
    #[inline]
    pub const fn times(self, factor: i64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// The n-th part of this span, towards zero; `parts` must not be 0.
    #[must_use]
    #[inline]
    pub const fn part(self, parts: i64) -> Self {
        Self(self.0 / parts)
    }

    /// How long it is, whatever its sign.
    #[must_use]
    #[inline]
    pub const fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }
}

/// A sum, or the nearest number to it that there is. Nearly every sum is one, and to ask is cheaper than to be prepared: times are added
/// everywhere.
#[doc(hidden)]
#[must_use]
#[inline]
pub const fn plus(one: i64, other: i64) -> i64 {
    match one.checked_add(other) {
        Some(sum) => sum,
        None => nearest(one),
    }
}

/// The same of a difference.
#[doc(hidden)]
#[must_use]
#[inline]
pub const fn minus(one: i64, other: i64) -> i64 {
    match one.checked_sub(other) {
        Some(difference) => difference,
        None => nearest(one),
    }
}

/// What is nearest to a sum, or to a difference, that is beyond all numbers on the side of its first one.
#[cold]
#[inline(never)]
const fn nearest(first: i64) -> i64 {
    if first < 0 { i64::MIN } else { i64::MAX }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(plus(self.0, other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(minus(self.0, other.0))
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

/// Makes a point-in-time type: a kind of time that adds and subtracts spans and nothing else.
#[macro_export]
macro_rules! point_in_time {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(i64);

        impl $name {
            /// The earliest time there is.
            pub const MIN: Self = Self(i64::MIN);
            /// The latest time there is; used as "never".
            pub const MAX: Self = Self(i64::MAX);

            /// The time so many nanoseconds after this kind's origin.
            #[must_use]
            #[inline]
            pub const fn from_nanos(nanos: i64) -> Self {
                Self(nanos)
            }

            /// Nanoseconds since this kind's origin.
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
                Self($crate::time::plus(self.0, span.as_nanos()))
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
                Self($crate::time::minus(self.0, span.as_nanos()))
            }
        }

        impl core::ops::Sub for $name {
            type Output = $crate::time::Span;
            #[inline]
            fn sub(self, other: Self) -> $crate::time::Span {
                $crate::time::Span::from_nanos($crate::time::minus(self.0, other.0))
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
    /// A time that the whole session agreed on; the only kind that travels.
    SessionTime
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
