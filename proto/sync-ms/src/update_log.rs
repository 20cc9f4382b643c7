//! The last updates to a player, to which its actions refer.

use std::collections::VecDeque;

use evenkeel_core::{SessionTime, Span};

/// Updates that are remembered. An action that refers to an earlier one counts as if it referred to none.
const UPDATES_MAX: usize = 2_048;

/// An update that has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Logged {
    pub(crate) stamp: SessionTime,
    /// How long after the stamp everybody shows it; zero without Sync-out.
    pub(crate) hold: Span,
    /// Whether it is sent again if it is lost, so that it may take longer than others.
    pub(crate) reliable: bool,
}

/// A ring of updates with consecutive numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct UpdateLog {
    updates: VecDeque<Logged>,
    next: u32,
}

impl UpdateLog {
    /// Adds an update. Returns its number.
    pub(crate) fn push(&mut self, update: Logged) -> u32 {
        if self.updates.len() == UPDATES_MAX {
            self.updates.pop_front();
        }
        self.updates.push_back(update);
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        id
    }

    /// An update by its number, unless it is too old or has never been sent.
    pub(crate) fn get(&self, id: u32) -> Option<Logged> {
        let back = self.next.wrapping_sub(id) as usize;
        let index = self.updates.len().checked_sub(back)?;
        self.updates.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_the_last_updates_by_their_numbers() {
        let mut log = UpdateLog::default();
        let update = |n: u32| Logged {
            stamp: SessionTime::from_nanos(i64::from(n)),
            hold: Span::ZERO,
            reliable: false,
        };
        for n in 0..3_000 {
            assert_eq!(log.push(update(n)), n);
        }
        assert_eq!((log.get(2_999), log.get(952)), (Some(update(2_999)), Some(update(952))));
        assert_eq!([951, 3_000, u32::MAX].map(|id| log.get(id)), [None; 3]);
    }
}
