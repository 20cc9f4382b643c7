//! The page's switch between policies, and the budget that all of them share.

use evenkeel_dr::{Budget, PolicyKind};
use evenkeel_serve::POLICY;
use serde::{Deserialize, Serialize};

/// The share of the receivers that a trigger reaches on average: the base policy sends every third vector.
const BUDGET_SHARE: f64 = 1.0 / 3.0;

/// A position of the page's switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicyChoice {
    /// The baseline: every third vector to everybody.
    Base,
    /// The papers' best policy.
    Papers,
    /// The policy of a relay's rooms by default.
    Even,
}

impl PolicyChoice {
    /// All positions, in the page's order.
    pub const ALL: [Self; 3] = [Self::Base, Self::Papers, Self::Even];

    /// The policy of this position.
    #[must_use]
    pub fn policy(self) -> PolicyKind {
        let name = match self {
            Self::Base => "base-1/3",
            Self::Papers => "deterministic-budget",
            Self::Even => POLICY,
        };
        name.parse().expect("the names are those of policies")
    }

    /// The position with the policy of this name, if there is one.
    #[must_use]
    pub fn from_policy_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.policy().to_string() == name)
    }

    /// The page's label.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Base => "without us",
            Self::Papers => "the papers' best",
            Self::Even => "even",
        }
    }
}

/// The budget under every choice, so that policies are compared at the same cost.
pub(crate) fn budget() -> Budget {
    Budget::of_receivers(BUDGET_SHARE).expect("the share lies between 0 and 1")
}

/// The most that a policy lets a player's error grow, as a multiple of its error under the baseline.
pub(crate) fn error_cap(policy: &str) -> Option<f64> {
    match policy.parse() {
        Ok(PolicyKind::Even(even)) => even.kappa(),
        _ => None,
    }
}
