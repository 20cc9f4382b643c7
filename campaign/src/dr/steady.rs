//! Long games in which nobody comes or goes and nothing is lost, and `even` has to make everybody equal: errors must not spread.

use evenkeel_core::Draws;
use evenkeel_dr::{Budget, Compensation, Content, DrConfig, Limits, Placement, Threshold};
use evenkeel_sim::NodeId;

use super::DrGame;
use crate::fault::Fault;
use crate::game::{Game, Invariant, Machine, STEADY_TICKS, Violation};
use crate::stage::peer;

/// The largest standard deviation of the errors of an owner's receivers, in parts of their mean. Of 646 owners none had more than
/// 0.10, 1 % more than 0.064, and half more than 0.013.
const SPREAD_MAX: f64 = 0.25;
/// The part of a receiver's delay by which less may be compensated than it claims, if the policy is to serve it.
const CUT_MAX: f64 = 0.02;

/// Whether a game is long enough for errors to even out.
pub(super) const fn is_steady(game: &Game) -> bool {
    matches!(game.machine, Machine::DrRelay) && game.ticks >= STEADY_TICKS
}

/// The settings of a steady game: `even` redistributes between a third and half of the messages.
pub(super) fn settings(game: &Game, drawn: &DrConfig, draws: &mut Draws) -> DrConfig {
    let policy = if game.faults.has(Fault::PlantedUneven) { "base" } else { "even" };
    DrConfig {
        threshold: Threshold { distance: draws.uniform(0.05, 0.5), ..Threshold::default() },
        kind: Content::default(),
        placement: Placement::Global,
        policy: policy.parse().expect("a policy of ours"),
        budget: Budget::of_receivers(draws.uniform(0.3, 0.5)).expect("it is in range"),
        compensation: Some(Compensation::default()),
        limits: Limits { own_names: true, ..Limits::default() },
        ..*drawn
    }
}

/// The standard deviation over the mean.
fn spread(errors: &[f64]) -> f64 {
    let count = errors.len().max(1) as f64;
    let mean = errors.iter().sum::<f64>() / count;
    let variance = errors.iter().map(|error| (error - mean) * (error - mean)).sum::<f64>() / count;
    if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
}

impl DrGame {
    /// The receivers of an owner have suffered about the same error: those whom the policy can serve.
    pub(super) fn check_spread(&self) -> Result<(), Violation> {
        let Some(relay) = self.relay.filter(|_| is_steady(&self.game)) else { return Ok(()) };
        let Some(now) = self.stage.session(relay) else { return Ok(()) };
        let served: Vec<NodeId> =
            self.players.iter().copied().filter(|player| self.is_served(relay, *player)).collect();
        for owner in &self.players {
            let error = |receiver: &NodeId| -> f64 {
                let entities = self.entities(*owner);
                entities.map(|entity| self.truth.error(*receiver, relay, (*owner, entity), now)).sum()
            };
            let errors: Vec<f64> = served.iter().filter(|player| *player != owner).map(error).collect();
            let spread = spread(&errors);
            if spread > SPREAD_MAX {
                let what = format!("the errors of {owner:?}'s receivers spread by {spread:.3}: {errors:.3?}");
                return Err(Violation::new(Invariant::Spread, what));
            }
        }
        Ok(())
    }

    /// Whether a receiver's delay is compensated as it claims: ways there and back that differ by far are taken for a lie.
    fn is_served(&self, relay: NodeId, receiver: NodeId) -> bool {
        let delay = self.stage.machine(relay).ledger().and_then(|ledger| ledger.delay(peer(receiver)));
        delay.is_some_and(|(compensated, claimed)| {
            compensated.as_secs_f64() >= (1.0 - CUT_MAX) * claimed.as_secs_f64()
        })
    }
}
