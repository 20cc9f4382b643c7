//! What may go wrong in a game.

use core::fmt;

/// One kind of fault. What it does in a game follows from the game's seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Datagrams are lost.
    Loss,
    /// Datagrams are lost in bursts.
    Bursts,
    /// Datagrams arrive twice.
    Duplicates,
    /// Datagrams overtake others.
    Reordering,
    /// Delays vary from packet to packet.
    Jitter,
    /// Delays change for good.
    DelaySteps,
    /// Clocks differ and run at different rates.
    Clocks,
    /// Clocks jump.
    ClockSteps,
    /// A player, or the relay, is cut off for a while.
    Partitions,
    /// A process stands still for a while, like a stopped or starved one.
    Pauses,
    /// A process ends; another takes its place.
    Crashes,
    /// Players leave and join again.
    Leaves,
    /// A player lies about what arrived when.
    Liar,
    /// A player sends damaged messages.
    Garbage,
    /// The policy, or the order of actions, is switched.
    Switches,
    /// Entities end and begin again.
    Lives,
    /// Datagrams are tiny, and quotas are tight.
    TinyLimits,
    /// Planted, to show that a rule can fail: a message counts twice.
    PlantedDouble,
    /// Planted: a message never arrives.
    PlantedLoss,
    /// Planted: the ledger is wrong.
    PlantedError,
    /// Planted: the sender takes its budget for four times as much.
    PlantedExcess,
    /// Planted: the policy does not even out errors.
    PlantedUneven,
}

impl Fault {
    /// All kinds that are not planted.
    pub const ALL: [Self; 17] = [
        Self::Loss,
        Self::Bursts,
        Self::Duplicates,
        Self::Reordering,
        Self::Jitter,
        Self::DelaySteps,
        Self::Clocks,
        Self::ClockSteps,
        Self::Partitions,
        Self::Pauses,
        Self::Crashes,
        Self::Leaves,
        Self::Liar,
        Self::Garbage,
        Self::Switches,
        Self::Lives,
        Self::TinyLimits,
    ];
}

/// A set of faults.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults(u32);

impl Faults {
    /// The set of these faults.
    #[must_use]
    pub fn of(faults: &[Fault]) -> Self {
        Self(faults.iter().fold(0, |set, fault| set | 1 << *fault as u32))
    }

    /// Whether the set has a fault.
    #[must_use]
    pub const fn has(self, fault: Fault) -> bool {
        self.0 >> fault as u32 & 1 == 1
    }

    /// Whether the set has one of these faults.
    #[must_use]
    pub fn has_any(self, faults: &[Fault]) -> bool {
        self.0 & Self::of(faults).0 != 0
    }

    /// The set without a fault.
    #[must_use]
    pub const fn without(self, fault: Fault) -> Self {
        Self(self.0 & !(1 << fault as u32))
    }

    /// The faults of the set.
    pub fn iter(self) -> impl Iterator<Item = Fault> {
        Fault::ALL.into_iter().filter(move |fault| self.has(*fault))
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_it_was_made_of() {
        let set = Faults::of(&[Fault::Loss, Fault::TinyLimits]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [Fault::Loss, Fault::TinyLimits]);
        assert_eq!(set.without(Fault::Loss), Faults::of(&[Fault::TinyLimits]));
        assert!(Fault::ALL.into_iter().enumerate().all(|(place, fault)| fault as usize == place));
    }
}
