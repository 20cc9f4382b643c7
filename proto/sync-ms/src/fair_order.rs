//! The paper's measures of fairness (section 6.1.2): how many steps an action was served ahead of its place in the fair
//! order, and how many behind it.

use std::collections::VecDeque;

use evenkeel_core::{PeerId, SessionTime};

/// How far an action was served from its fair place. It can be both ahead of some actions and behind others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Steps {
    /// Actions before it in fair order that were served after it.
    pub ahead: u32,
    /// Actions after it in fair order that were served before it.
    pub behind: u32,
}

/// The steps of actions that were served in this order, each given by its place in the fair order.
#[must_use]
pub fn steps<P: Ord + Copy>(served: &[P]) -> Vec<Steps> {
    let mut sorted: Vec<P> = served.to_vec();
    sorted.sort_unstable();
    let places: Vec<usize> =
        served.iter().map(|place| sorted.partition_point(|other| other < place)).collect();
    let behind = counts_before(places.iter().map(|place| sorted.len() - place - 1), sorted.len());
    let mut ahead = counts_before(places.iter().rev().copied(), sorted.len());
    ahead.reverse();
    behind.into_iter().zip(ahead).map(|(behind, ahead)| Steps { ahead, behind }).collect()
}

/// For each rank, how many smaller ones precede it: a Fenwick tree.
fn counts_before(ranks: impl Iterator<Item = usize>, len: usize) -> Vec<u32> {
    let mut tree = vec![0_u32; len + 1];
    ranks
        .map(|rank| {
            let (mut below, mut count) = (rank, 0);
            while below > 0 {
                count += tree[below];
                below &= below - 1;
            }
            let mut node = rank + 1;
            while node <= len {
                tree[node] += 1;
                node += node & node.wrapping_neg();
            }
            count
        })
        .collect()
}

/// Served actions that are remembered. More than that many actions are never between an action and its fair place, unless
/// nothing is ordered at all.
const SERVED_MAX: usize = 1_024;

#[derive(Clone, Copy, Debug)]
struct Served {
    virtual_at: SessionTime,
    /// The latest of all up to this one.
    latest: SessionTime,
    from: PeerId,
    is_ahead: bool,
}

/// Measures ahead and behind while actions are served.
#[derive(Clone, Debug, Default)]
pub struct FairnessMeter {
    served: VecDeque<Served>,
}

impl FairnessMeter {
    /// Adds the next action that is served. Returns how many were served before it although they are later in fair order,
    /// and calls `on_ahead` with the player of each of them that is seen to be ahead for the first time.
    pub fn serve(&mut self, from: PeerId, virtual_at: SessionTime, mut on_ahead: impl FnMut(PeerId)) -> u32 {
        let mut behind = 0;
        for earlier in self.served.iter_mut().rev() {
            if earlier.latest <= virtual_at {
                break;
            }
            if earlier.virtual_at > virtual_at {
                behind += 1;
                if !core::mem::replace(&mut earlier.is_ahead, true) {
                    on_ahead(earlier.from);
                }
            }
        }
        if self.served.len() == SERVED_MAX {
            self.served.pop_front();
        }
        let latest = self.served.back().map_or(virtual_at, |last| last.latest.max(virtual_at));
        self.served.push_back(Served { virtual_at, latest, from, is_ahead: false });
        behind
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn steps_and_the_meter_are_the_papers_definitions(
            fair in Just((0..60_u32).collect::<Vec<_>>()).prop_shuffle(), len in 1..60_usize,
        ) {
            let fair = &fair[..len];
            let (mut meter, mut ahead) = (FairnessMeter::default(), Vec::new());
            for (place, own) in fair.iter().enumerate() {
                let behind = fair[..place].iter().filter(|before| *before > own).count() as u32;
                let passed = fair[place..].iter().filter(|after| *after < own).count() as u32;
                prop_assert_eq!(steps(fair)[place], Steps { ahead: passed, behind });
                let at = SessionTime::from_nanos(i64::from(*own));
                prop_assert_eq!(meter.serve(PeerId(*own), at, |peer| ahead.push(peer.0)), behind);
            }
            ahead.sort_unstable();
            let mut expected: Vec<u32> =
                fair.iter().zip(steps(fair)).filter(|(_, steps)| steps.ahead > 0).map(|(own, _)| *own).collect();
            expected.sort_unstable();
            prop_assert_eq!(ahead, expected);
        }
    }

    /// Table 3 of the paper: actions served as number 14 to 28, by their places in the fair order.
    const FAIR: [u32; 15] = [16, 18, 19, 15, 20, 17, 22, 23, 14, 24, 25, 26, 27, 28, 21];
    const AHEAD: [u32; 15] = [2, 3, 3, 1, 2, 1, 2, 2, 0, 1, 1, 1, 1, 1, 0];
    const BEHIND: [u32; 15] = [0, 0, 0, 3, 0, 3, 0, 0, 8, 0, 0, 0, 0, 0, 7];

    #[test]
    fn table_3_of_the_paper() {
        let steps = steps(&FAIR);
        assert_eq!(steps.iter().map(|steps| steps.ahead).collect::<Vec<_>>(), AHEAD);
        assert_eq!(steps.iter().map(|steps| steps.behind).collect::<Vec<_>>(), BEHIND);
    }

    #[test]
    fn the_meter_agrees_while_actions_are_served() {
        let (mut meter, mut ahead) = (FairnessMeter::default(), Vec::new());
        for (fair, behind) in FAIR.into_iter().zip(BEHIND) {
            let at = SessionTime::from_nanos(i64::from(fair));
            assert_eq!(meter.serve(PeerId(fair), at, |peer| ahead.push(peer.0)), behind);
        }
        ahead.sort_unstable();
        let expected: Vec<u32> =
            FAIR.into_iter().zip(AHEAD).filter(|(_, ahead)| *ahead > 0).map(|(fair, _)| fair).collect();
        assert_eq!(ahead, {
            let mut sorted = expected;
            sorted.sort_unstable();
            sorted
        });
    }
}
