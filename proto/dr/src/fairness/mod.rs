//! Fairness policies: who is sent which DR vector, and when.
//!
//! A policy decides, a machine acts. At each trigger, and whenever it asked to be asked, a policy sees a [`Review`] and
//! fills a [`SendPlan`]; the [`Sender`](crate::sender::Sender) sends, holds and keeps the books. A policy sees no
//! bytes, no clock and no global randomness.
//!
//! One's own policy takes a few lines:
//!
//! ```
//! use evenkeel_dr::fairness::{FairnessPolicy, Review, SendPlan};
//!
//! /// Sends each vector only to the receiver with the largest accumulated error.
//! struct WorstFirst;
//!
//! impl FairnessPolicy for WorstFirst {
//!     fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
//!         let worst = review.pairs().max_by(|a, b| a.accumulated().total_cmp(&b.accumulated()));
//!         if let Some(pair) = worst {
//!             plan.send(&pair, review.now());
//!         }
//!     }
//! }
//! ```

pub mod base;
pub mod consistent;
pub mod deterministic_budget;
pub mod even;
pub mod frequency;
mod kind;
pub mod netgames05;
pub mod probabilistic_budget;
mod review;
pub mod scheduling;

pub use kind::{PolicyKind, UnknownPolicy};
pub use review::{Exported, HOLD_MAX, Occasion, Pair, PairStates, Review, SendPlan};

use evenkeel_core::SessionTime;

pub use crate::ledger::{Kinematics, Settlement};

/// Decides who is sent which DR vector and when.
pub trait FairnessPolicy: Send {
    /// Plans the dispatches for the pairs of the review. A pair that the plan does not name is sent nothing; at a
    /// trigger, what was still held for it is dropped.
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan);

    /// Whether to be asked also when an owner looked at its entity and made no vector of it.
    fn watches(&self) -> bool {
        false
    }

    /// Whether it asks for [`Pair::instantaneous`]. If not, what that needs is not remembered, and there may be very many pairs.
    fn asks_instantaneous(&self) -> bool {
        true
    }

    /// When to be asked again though nothing triggered; `None`: only at triggers.
    fn review_at(&self) -> Option<SessionTime> {
        None
    }

    /// The fate of an earlier dispatch became known.
    fn on_settled(&mut self, settlement: &Settlement) {
        let _ = settlement;
    }
}
