//! The page's switch: the policy by which positions are sent, the order in which actions are served, and the budget that
//! all positions share.

use evenkeel_dr::{Budget, PolicyKind};
use evenkeel_sync_ms::Order;
use serde::{Deserialize, Serialize};

/// The share of the receivers that a trigger reaches on average.
const BUDGET_SHARE: f64 = 1.0 / 8.0;

/// `even` as in a relay's rooms but for `keep`: the bots are ours and tell the truth, and the farthest is far indeed.
const EVEN: &str = "even:kappa=3";

/// A position of the page's switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicyChoice {
    /// What a game would do by itself: the same to everybody, within the budget; actions as they arrive, updates shown as
    /// they arrive.
    Base,
    /// The papers' best: their best policy, Sync-out, and the order that they recommend.
    Papers,
    /// Our own policy, Sync-out, and the order of reactions.
    Even,
}

impl PolicyChoice {
    /// All positions, in the page's order.
    pub const ALL: [Self; 3] = [Self::Base, Self::Papers, Self::Even];

    /// The policy of this position.
    #[must_use]
    pub fn policy(self) -> PolicyKind {
        let name = match self {
            Self::Base => "base-matched",
            Self::Papers => "deterministic-budget",
            Self::Even => EVEN,
        };
        name.parse().expect("the names are those of policies")
    }

    /// The order in which actions are served in this position.
    #[must_use]
    pub const fn order(self) -> Order {
        match self {
            Self::Base => Order::None,
            Self::Papers => Order::SelectWait,
            Self::Even => Order::Reaction,
        }
    }

    /// Whether everybody sees updates at the same time.
    #[must_use]
    pub const fn is_sync_out(self) -> bool {
        !matches!(self, Self::Base)
    }

    /// The position of a room with this policy, this order of actions, and Sync-out or not, if there is one.
    #[must_use]
    pub fn of_room(policy: &str, order: &str, sync_out: bool) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| {
            choice.policy().to_string() == policy
                && choice.order().to_string() == order
                && choice.is_sync_out() == sync_out
        })
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
///
/// # Panics
/// Never: the share is valid.
#[must_use]
pub fn budget() -> Budget {
    Budget::of_receivers(BUDGET_SHARE).expect("the share lies between 0 and 1")
}

/// The most that a policy lets a player's error grow, as a multiple of its error under the baseline.
pub(crate) fn error_cap(policy: &str) -> Option<f64> {
    match policy.parse() {
        Ok(PolicyKind::Even(even)) => even.kappa(),
        _ => None,
    }
}
