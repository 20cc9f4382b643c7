//! A closed table of named timers: a machine lists its reasons to wake in an enum and keeps one deadline for each.

use crate::time::LocalTime;

/// One deadline for each of `N` named timers; a timer is any `Copy` type that turns into its index.
#[derive(Clone, Debug)]
pub struct Timers<const N: usize> {
    deadlines: [Option<LocalTime>; N],
}

impl<const N: usize> Default for Timers<N> {
    fn default() -> Self {
        Self { deadlines: [None; N] }
    }
}

impl<const N: usize> Timers<N> {
    /// Sets or clears a timer.
    pub fn set(&mut self, timer: impl Into<usize>, deadline: Option<LocalTime>) {
        self.deadlines[timer.into()] = deadline;
    }

    /// Whether the timer is due; if so, clears it.
    pub fn expire(&mut self, timer: impl Into<usize>, now: LocalTime) -> bool {
        let deadline = &mut self.deadlines[timer.into()];
        let due = deadline.is_some_and(|at| at <= now);
        if due {
            *deadline = None;
        }
        due
    }

    /// The earliest deadline.
    #[must_use]
    pub fn next(&self) -> Option<LocalTime> {
        self.deadlines.iter().flatten().min().copied()
    }
}
