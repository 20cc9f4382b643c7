//! The contenders: the papers' policies, ours, and the base case with as many vectors.

use evenkeel_dr::PolicyKind;

/// A policy under comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Contender {
    /// A policy by its name.
    Policy(&'static str),
    /// The base case with a threshold coarse enough that it sends as many vectors as the policy of this name, which
    /// should be compared with it.
    Coarser(&'static str),
}

impl Contender {
    pub(crate) const BASE: Self = Self::Policy("base");
    pub(crate) const THIRD: Self = Self::Policy(BASE_THIRD);
    pub(crate) const MATCHED: Self = Self::Policy("base-matched");
    pub(crate) const CHANCE: Self = Self::Policy("probabilistic-1/3");
    pub(crate) const NETGAMES05: Self = Self::Policy("netgames05");
    pub(crate) const CONSISTENT: Self = Self::Policy("netgames05-consistent");
    pub(crate) const SCHEDULING_1: Self = Self::Policy("scheduling-1");
    pub(crate) const SCHEDULING_1_ESTIMATE: Self = Self::Policy("scheduling-1-estimate");
    pub(crate) const SCHEDULING_2: Self = Self::Policy("scheduling-2");
    pub(crate) const SCHEDULING_2_NEWEST: Self = Self::Policy("scheduling-2-newest");
    pub(crate) const PROBABILISTIC_PA: Self = Self::Policy("probabilistic-budget:pa");
    pub(crate) const PROBABILISTIC_PI: Self = Self::Policy("probabilistic-budget:pi");
    pub(crate) const PROBABILISTIC_PT: Self = Self::Policy("probabilistic-budget:pt");
    pub(crate) const PROBABILISTIC_THIRDS: Self = Self::Policy(PROBABILISTIC_MIX);
    pub(crate) const PROBABILISTIC_HALVES: Self = Self::Policy("probabilistic-budget:mix=0.5,0.5,0");
    pub(crate) const PROBABILISTIC_ONE: Self = Self::Policy("probabilistic-budget:pa:pick-one");
    pub(crate) const DETERMINISTIC_PA: Self = Self::Policy("deterministic-budget");
    pub(crate) const DETERMINISTIC_PI: Self = Self::Policy("deterministic-budget:pi");
    pub(crate) const DETERMINISTIC_PT: Self = Self::Policy("deterministic-budget:pt");
    pub(crate) const DETERMINISTIC_THIRDS: Self = Self::Policy(DETERMINISTIC_MIX);
    pub(crate) const EVEN: Self = Self::Policy("even");
    /// The counterpart of 1/3 base and of every policy with a budget of a third.
    pub(crate) const COARSER: Self = Self::Coarser(BASE_THIRD);
    pub(crate) const AS_MANY_AS_EVEN: Self = Self::Coarser("even");
    pub(crate) const AS_MANY_AS_SCHEDULING_1: Self = Self::Coarser("scheduling-1");
    pub(crate) const AS_MANY_AS_CONSISTENT: Self = Self::Coarser("netgames05-consistent");

    /// Returns its name in legends and tables.
    pub(crate) fn label(self) -> String {
        match self {
            Self::Policy(name) => {
                let known = NAMES.iter().find(|(policy, _)| *policy == name);
                known.map_or(name, |(_, label)| label).to_owned()
            }
            Self::Coarser(BASE_THIRD) => "base, coarser threshold".to_owned(),
            Self::Coarser("even") => "base-matched (calibrated)".to_owned(),
            Self::Coarser(policy) => format!("base, as many as {policy}"),
        }
    }

    /// Returns the policy to run.
    pub(crate) fn policy(self) -> PolicyKind {
        match self {
            Self::Policy(name) => named(name),
            Self::Coarser(_) => PolicyKind::BASE,
        }
    }
}

/// Parses the name of a policy.
pub(crate) fn named(policy: &str) -> PolicyKind {
    policy.parse().expect("the names are ours")
}

/// The policy that sends every third vector to every receiver.
pub(crate) const BASE_THIRD: &str = "base-1/3";

/// The probabilistic budget with a weight of a third each.
const PROBABILISTIC_MIX: &str =
    "probabilistic-budget:mix=0.3333333333333333,0.3333333333333333,0.3333333333333334";
/// The deterministic budget with a weight of a third each.
const DETERMINISTIC_MIX: &str =
    "deterministic-budget:mix=0.3333333333333333,0.3333333333333333,0.3333333333333334";

/// Labels of policies whose names are not shown as they are.
const NAMES: [(&str, &str); 12] = [
    (BASE_THIRD, "1/3 base"),
    ("probabilistic-1/3", "1/3 probabilistic"),
    ("probabilistic-budget:pa", "probabilistic (PA)"),
    ("probabilistic-budget:pi", "probabilistic (PI)"),
    ("probabilistic-budget:pt", "probabilistic (PT)"),
    (PROBABILISTIC_MIX, "probabilistic (thirds)"),
    ("probabilistic-budget:mix=0.5,0.5,0", "probabilistic (PA, PI)"),
    ("probabilistic-budget:pa:pick-one", "probabilistic (one)"),
    ("deterministic-budget", "deterministic (PA)"),
    ("deterministic-budget:pi", "deterministic (PI)"),
    ("deterministic-budget:pt", "deterministic (PT)"),
    (DETERMINISTIC_MIX, "deterministic (thirds)"),
];
