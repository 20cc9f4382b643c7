//! What must hold after a game of dead reckoning.

use evenkeel_core::SessionTime;
use evenkeel_dr::{DrConfig, EntityId, PolicyKind};
use evenkeel_sim::NodeId;

use super::DrGame;
use crate::fault::Fault;
use crate::game::{Invariant, Played, Violation};
use crate::stage::peer;

/// The relative tolerance of an error; absolute below 1.
const TOLERANCE: f64 = 1e-9;
/// The same where session clocks are steered between an arrival and the look at it.
const CLOCK_TOLERANCE: f64 = 1e-3;
/// How far apart an exported and a placed entity may be that stands still: rounding on the wire.
const APART_MAX: f64 = 0.01;
/// The part of a coordinate by which it may be rounded.
const ROUNDING: f64 = 1e-6;

impl DrGame {
    pub(super) fn check(&mut self) -> Result<Played, Violation> {
        let mut played = Played { calls: self.stage.world.events_handled(), ..Played::default() };
        for owner in self.honest() {
            let sender = self.relay.unwrap_or(owner);
            for receiver in self.honest().into_iter().filter(|receiver| *receiver != owner) {
                for entity in self.entities(owner) {
                    self.check_account(sender, receiver, (owner, entity), &mut played)?;
                }
            }
        }
        self.check_placements(&mut played)?;
        Ok(played)
    }

    /// What stands still is shown where it stands, to everybody.
    pub(super) fn check_placements(&self, played: &mut Played) -> Result<(), Violation> {
        for owner in self.honest() {
            let sender = self.relay.unwrap_or(owner);
            for receiver in self.honest().into_iter().filter(|receiver| *receiver != owner) {
                for entity in self.entities(owner) {
                    self.check_placement(sender, receiver, (owner, entity), played)?;
                }
            }
        }
        Ok(())
    }

    fn honest(&self) -> Vec<NodeId> {
        self.players.iter().copied().filter(|player| self.is_honest(*player)).collect()
    }

    pub(super) fn entities(&self, owner: NodeId) -> impl Iterator<Item = EntityId> + use<> {
        (0..self.game.entities).map(move |number| EntityId::of(owner.into(), number))
    }

    /// The ledger holds what was shown, or counts that it had to estimate.
    fn check_account(
        &self,
        sender: NodeId,
        receiver: NodeId,
        (owner, entity): (NodeId, EntityId),
        played: &mut Played,
    ) -> Result<(), Violation> {
        let fail = |what: String| {
            let DrConfig { kind, placement, policy, budget, tick, .. } = self.config;
            let is_compensated = self.config.compensation.is_some();
            let room = format!(
                "{policy}, {budget}, {kind:?}, {placement:?}, tick {tick:?}, {is_compensated}, {}",
                self.is_synchronized
            );
            let what = format!("{entity:?} of {owner:?} at {receiver:?}: {what} ({room})");
            Err(Violation::new(Invariant::Ledger, what))
        };
        let Some(ledger) = self.stage.machine(sender).ledger() else { return Ok(()) };
        let now = self.stage.session(sender).unwrap_or(SessionTime::MAX);
        let accumulated = ledger.accumulated(peer(receiver), now);
        if !(accumulated.is_finite() && accumulated >= 0.0) {
            return fail(format!("the accumulated error is {accumulated}"));
        }
        let account = ledger.pair(entity, peer(receiver));
        let Some((error, until)) = account.and_then(|account| account.settled()) else { return Ok(()) };
        // A relay does not know vectors that it refuses.
        let is_refused = self.relay.is_some() && self.game.faults.has(Fault::TinyLimits);
        let has_jumped = [owner, sender, receiver].iter().any(|node| self.truth.jumped.contains(node));
        if is_refused || has_jumped || ledger.estimated() > 0 || ledger.moved(peer(receiver)) > 0 {
            played.estimated += 1;
            return Ok(());
        }
        let planted = if self.game.faults.has(Fault::PlantedError) { 0.01 } else { 0.0 };
        let error = error + planted;
        let truth = self.truth.error(receiver, sender, (owner, entity), until);
        let tolerance = if self.is_synchronized { TOLERANCE } else { CLOCK_TOLERANCE };
        if (error - truth).abs() > tolerance * truth.max(1.0) {
            return fail(format!("settled {error} up to {until:?}, but {truth} was shown"));
        }
        played.compared += 1;
        Ok(())
    }

    fn check_placement(
        &self,
        sender: NodeId,
        receiver: NodeId,
        (owner, entity): (NodeId, EntityId),
        played: &mut Played,
    ) -> Result<(), Violation> {
        // A relay may refuse what goes beyond its limits.
        if self.game.faults.has(Fault::TinyLimits) {
            return Ok(());
        }
        let now = |node| self.stage.world.clock(node).local(self.stage.world.now());
        let of = |node| self.stage.machine(node).peer().expect("a player");
        let exported = of(owner).exported(now(owner), entity);
        let placed = of(receiver).position(now(receiver), peer(sender), entity);
        let what = format!("{entity:?} of {owner:?} at {receiver:?}");
        match (exported, placed) {
            (Some(exported), Some(placed)) => {
                let apart = exported.distance(placed);
                played.followed += 1;
                if apart <= APART_MAX + ROUNDING * exported.length_squared().sqrt() {
                    return Ok(());
                }
                let what = format!("{what} is {apart} away from where it stands");
                Err(Violation::new(Invariant::Agreement, what))
            }
            (None, _) => {
                Err(Violation::new(Invariant::Reliable, format!("{what}: its owner has no session time")))
            }
            (_, None) => Err(Violation::new(Invariant::Reliable, format!("{what} was never introduced"))),
        }
    }

    /// What may have been sent when the network calms down: as many vectors as triggers and receivers allow, and by `even` no more
    /// than its budget and what its buckets hold.
    pub(super) fn check_budget(&self) -> Result<(), Violation> {
        let receivers = (self.players.len() - 1) as f64;
        let is_even = self.policies.iter().all(|policy| matches!(policy, PolicyKind::Even(_)));
        let per_trigger = self.budgets.iter().map(|budget| budget.per_trigger(receivers as usize));
        let per_trigger = if is_even { per_trigger.fold(0.0, f64::max) } else { receivers };
        let senders = self.relay.map_or_else(|| self.honest(), |relay| vec![relay]);
        for sender in senders {
            let owners = if self.relay.is_some() { self.players.clone() } else { vec![sender] };
            let triggers: u64 = owners.iter().filter_map(|owner| self.truth.triggers.get(owner)).sum();
            let Some(ledger) = self.stage.machine(sender).ledger() else { continue };
            let lives = f64::from(self.births);
            // A bucket for each life, and each time that the policy takes over.
            let bucket = if is_even { (30.0 * per_trigger).max(4.0) } else { receivers };
            let most = per_trigger * triggers as f64 + bucket * lives * self.policies.len() as f64;
            if ledger.sent() as f64 > most {
                let what = format!("{sender:?} sent {} vectors, at most {most} may be", ledger.sent());
                return Err(Violation::new(Invariant::Budget, what));
            }
        }
        Ok(())
    }
}
