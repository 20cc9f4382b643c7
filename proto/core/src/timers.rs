//! A closed table of named timers: a machine lists its reasons to wake in an enum and keeps a deadline for
//! each.
//!
//! ```
//! use evenkeel_core::{LocalTime, Timers};
//!
//! enum Wake { Repeat, Review }
//! impl From<Wake> for usize {
//!     fn from(wake: Wake) -> usize { wake as usize }
//! }
//!
//! let at = LocalTime::from_nanos;
//! let mut timers: Timers<LocalTime, 2> = Timers::default();
//! timers.set(Wake::Repeat, Some(at(20)));
//! timers.set(Wake::Review, Some(at(10)));
//! assert_eq!(timers.next(), Some(at(10)));
//! assert!(timers.expire(Wake::Review, at(10)) && !timers.expire(Wake::Review, at(10)));
//! assert_eq!(timers.next(), Some(at(20)));
//! ```

/// A kind of time that deadlines are in.
pub trait Deadline: Copy + Ord {
    /// The latest time, which never comes.
    const NEVER: Self;
}

/// A deadline for each of `N` named timers.
#[derive(Clone, Debug)]
pub struct Timers<T, const N: usize> {
    deadlines: [T; N],
}

impl<T: Deadline, const N: usize> Default for Timers<T, N> {
    fn default() -> Self {
        Self { deadlines: [T::NEVER; N] }
    }
}

impl<T: Deadline, const N: usize> Timers<T, N> {
    /// Sets or clears a timer.
    #[inline]
    pub fn set(&mut self, timer: impl Into<usize>, deadline: Option<T>) {
        self.deadlines[timer.into()] = deadline.unwrap_or(T::NEVER);
    }

    /// Returns whether a timer is due, and clears it if so.
    #[inline]
    pub fn expire(&mut self, timer: impl Into<usize>, now: T) -> bool {
        let deadline = &mut self.deadlines[timer.into()];
        let due = *deadline <= now && *deadline < T::NEVER;
        if due {
            *deadline = T::NEVER;
        }
        due
    }

    /// Returns the earliest deadline.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Option<T> {
        let next = self.deadlines.iter().fold(T::NEVER, |next, at| next.min(*at));
        (next < T::NEVER).then_some(next)
    }
}

/// Returns the earlier of two optional deadlines.
#[inline]
#[must_use]
pub fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
