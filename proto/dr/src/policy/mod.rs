//! Fairness policies: which DR vector each receiver is sent, and when.
//!
//! At each trigger, and at times of its choice, a policy sees a [`Review`] and fills a [`SendPlan`]; the
//! [`Sender`](crate::sender::Sender) sends and holds vectors and keeps the ledger. A policy sees no bytes, no clock and no
//! global randomness.
//!
//! # Your own
//!
//! This policy sends each vector to the receiver that will have suffered most by the time it arrives, and every fifth to
//! all of them, so that none is forgotten:
//!
//! ```
//! use evenkeel_dr::ledger::Flight;
//! use evenkeel_dr::policy::{FairnessPolicy, Pair, Review, SendPlan};
//! use evenkeel_dr::{DrConfig, DrPeer, PolicyKind};
//!
//! struct WorstFirst;
//!
//! impl FairnessPolicy for WorstFirst {
//!     fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
//!         // The pairs of the entity that triggered: it, at each of its receivers.
//!         let suffered = |pair: &Pair<'_>| pair.accumulated_at(review.now() + pair.delay(), Flight::Estimated);
//!         let worst = review.pairs().max_by(|a, b| suffered(a).total_cmp(&suffered(b)));
//!         for pair in review.pairs() {
//!             let is_worst = worst.is_some_and(|worst| worst.receiver() == pair.receiver());
//!             if is_worst || pair.trigger() % 5 == 0 {
//!                 plan.send(&pair, review.now());
//!             }
//!         }
//!     }
//! }
//!
//! let policy = PolicyKind::own("worst-first", || Box::new(WorstFirst));
//! let owner = DrPeer::new(&DrConfig { policy, ..DrConfig::default() });
//! # let _ = owner;
//! ```
//!
//! A policy keeps its state per pair in a [`PairColumn`]. This one sends each receiver every third vector, in its own rhythm:
//!
//! ```
//! use evenkeel_dr::policy::{ClosedPairs, FairnessPolicy, PairColumn, Review, SendPlan};
//! use evenkeel_dr::{DrConfig, DrPeer, PolicyKind};
//!
//! #[derive(Default)]
//! struct EveryThird {
//!     skipped: PairColumn<u8>,
//! }
//!
//! impl FairnessPolicy for EveryThird {
//!     fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
//!         for exported in review.entities() {
//!             // Both columns are by the places of the receivers.
//!             let skipped = self.skipped.of(&exported);
//!             for (place, (state, skipped)) in (0..).zip(exported.pair_states().iter().zip(skipped)) {
//!                 if state.is_open() {
//!                     *skipped = (*skipped + 1) % 3;
//!                     if *skipped == 0 {
//!                         plan.send_to(&exported, place, review.now());
//!                     }
//!                 }
//!             }
//!         }
//!     }
//!
//!     fn on_closed(&mut self, closed: &ClosedPairs) {
//!         self.skipped.close(closed);
//!     }
//! }
//!
//! let policy = PolicyKind::own("every-third", || Box::<EveryThird>::default());
//! let owner = DrPeer::new(&DrConfig { policy, ..DrConfig::default() });
//! # let _ = owner;
//! ```
//!
//! [`FairnessPolicy::on_settled`] reports the fate of each dispatch, [`FairnessPolicy::review_at`] requests reviews between
//! triggers, and [`FairnessPolicy::watches`] for one at every observation. The policies of this module are examples: [`base`] is
//! the smallest, [`even`] uses everything.

pub mod base;
pub mod base_matched;
mod column;
pub mod consistent;
pub mod deterministic_budget;
pub mod even;
pub mod frequency;
mod kind;
pub mod netgames05;
mod plan;
pub mod probabilistic_budget;
mod review;
pub mod scheduling;
mod weight;

pub use column::PairColumn;
pub use kind::{OwnPolicy, PolicyKind, UnknownPolicy};
pub use plan::SendPlan;
pub use review::{Exported, HOLD_MAX, Occasion, Pair, Review};
pub use weight::PairWeight;
pub(crate) use weight::PairWeights;

use evenkeel_core::{PeerId, SessionTime};

pub use crate::ledger::{ClosedPairs, Kinematics, Settlement};

/// Decides which DR vector each receiver is sent, and when.
pub trait FairnessPolicy: Send {
    /// Plans the dispatches for the pairs of the review. A pair that the plan does not name is sent nothing; at a
    /// trigger, a vector still held for it is dropped.
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan);

    /// Whether to plan also when an owner observes its entity without making a vector, and immediately when taking over from
    /// another policy.
    fn watches(&self) -> bool {
        false
    }

    /// Whether the policy uses [`Pair::instantaneous`]. If not, the history that it needs is not kept.
    fn asks_instantaneous(&self) -> bool {
        true
    }

    /// When to plan next without a trigger; `None`: only at triggers.
    fn review_at(&self) -> Option<SessionTime> {
        None
    }

    /// A receiver's accumulated error with the entities of an owner under 1/m base, if the policy estimates it, from an
    /// arbitrary origin.
    fn without(&self, owner: Option<PeerId>, receiver: PeerId) -> Option<f64> {
        let _ = (owner, receiver);
        None
    }

    /// Whether to call [`on_settled`](Self::on_settled), once for every vector at every receiver.
    fn wants_settlements(&self) -> bool {
        true
    }

    /// Called when the fate of an earlier dispatch becomes known.
    fn on_settled(&mut self, settlement: &Settlement) {
        let _ = settlement;
    }

    /// Called when pairs close, because an entity ends or a receiver leaves. A policy passes this on to each of its
    /// [`PairColumn`]s.
    fn on_closed(&mut self, closed: &ClosedPairs) {
        let _ = closed;
    }
}
