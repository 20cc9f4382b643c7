//! A closed table of named timers: a machine lists its reasons to wake in an enum and keeps one deadline for each.
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

/// One deadline for each of `N` named timers, in one kind of time.
#[derive(Clone, Debug)]
pub struct Timers<T, const N: usize> {
    deadlines: [Option<T>; N],
}

impl<T: Copy, const N: usize> Default for Timers<T, N> {
    fn default() -> Self {
        Self { deadlines: [None; N] }
    }
}

impl<T: Copy + Ord, const N: usize> Timers<T, N> {
    /// Sets or clears a timer.
    #[inline]
    pub fn set(&mut self, timer: impl Into<usize>, deadline: Option<T>) {
        self.deadlines[timer.into()] = deadline;
    }

    /// Whether the timer is due; if so, clears it.
    pub fn expire(&mut self, timer: impl Into<usize>, now: T) -> bool {
        let deadline = &mut self.deadlines[timer.into()];
        let due = deadline.is_some_and(|at| at <= now);
        if due {
            *deadline = None;
        }
        due
    }

    /// The earliest deadline.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Option<T> {
        self.deadlines.iter().copied().fold(None, earlier)
    }
}

/// The earlier of two deadlines, each of which may not be set.
#[inline]
#[must_use]
pub fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
