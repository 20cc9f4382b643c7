//! What must hold after a game of objects.

use std::collections::BTreeMap;

use evenkeel_core::Vec3;
use evenkeel_objects::{Area, Object, ObjectId, ObjectView, Owner, Value};
use evenkeel_sim::NodeId;

use super::node::Ship;
use super::{ObjectGame, PACE, PATIENCE, SERVER, SILENCE, ticks};
use crate::game::{Invariant, Played, Violation};
use crate::stage::peer;

/// How often a node may ask another that does not answer.
const ASKS_PER_SECOND: u64 = 2;

type Known<'a> = BTreeMap<ObjectId, (u16, Owner, &'a [Value])>;

impl ObjectGame {
    /// No packet leaves while a link owes bytes.
    pub(super) fn check_excess(&self) -> Result<(), Violation> {
        match &self.metered().excess {
            Some(what) => Err(Violation::new(Invariant::Budget, what.clone())),
            None => Ok(()),
        }
    }

    /// What must hold as soon as everything has arrived.
    pub(super) fn check_settled(&self) -> Result<(), Violation> {
        let is_counted = |from: NodeId| from != SERVER && self.room().refusals(peer(from)).calls > 0;
        if let Some((number, to)) = self.seen.lost(is_counted) {
            let what = format!("message {number} never reached {to:?}: {:?}", self.seen.said[&number]);
            return Err(Violation::new(Invariant::Reliable, what));
        }
        for player in self.honest() {
            self.check_copies(player)?;
            self.check_scope(player)?;
        }
        Ok(())
    }

    /// A player knows what is in its scope, as the server knows it.
    fn check_copies(&self, player: NodeId) -> Result<(), Violation> {
        if !self.player(player).is_ready() {
            let what = format!("{player:?} is not in the room");
            return Err(Violation::new(Invariant::Reliable, what));
        }
        let sees = |view: &ObjectView<'_>| self.room().watchers(view.object).any(|who| who == peer(player));
        let views = self.room().objects().filter(sees);
        let shown: Known<'_> =
            views.map(|view| (view.object, (view.kind, view.owner, view.values))).collect();
        let objects = self.player(player).objects();
        let known: Known<'_> = objects.map(|(id, kind, owner, values)| (id, (kind, owner, values))).collect();
        if shown == known {
            return Ok(());
        }
        let names = shown.keys().chain(known.keys());
        let differs = names.copied().find(|name| shown.get(name) != known.get(name));
        let (at_room, at_player) =
            differs.map(|name| (shown.get(&name), known.get(&name))).unwrap_or_default();
        let what = format!("{differs:?} is {at_room:?} at the server, and {at_player:?} at {player:?}");
        Err(Violation::new(Invariant::Agreement, what))
    }

    /// A player has in its scope what its area says: by places, without what the server keeps of them.
    fn check_scope(&self, player: NodeId) -> Result<(), Violation> {
        if self.config.look_speed_max.is_finite() {
            return Ok(());
        }
        let mine = Owner::Player(peer(player));
        let ships = || self.room().objects().filter(|view| view.kind == Ship::KIND);
        let from: Vec<Vec3> =
            ships().filter(|view| view.owner == mine).filter_map(|view| view.position).collect();
        // Who has no ship looks from where its last one was.
        if from.is_empty() && self.config.area != Area::Everywhere {
            return Ok(());
        }
        for view in self.room().objects() {
            let is_seen = self.room().watchers(view.object).any(|who| who == peer(player));
            let bounds = match view.position {
                // It waits for its owner, and nobody sees it meanwhile.
                _ if view.is_held => (false, false),
                _ if view.kind != Ship::KIND || view.owner == mine => (true, true),
                None => (false, false),
                Some(at) => reach(&self.config.area, &from, at),
            };
            if (bounds.0 && !is_seen) || (!bounds.1 && is_seen) {
                let what = format!("{player:?} sees {:?}: {is_seen}, which is not its area's", view.object);
                return Err(Violation::new(Invariant::Scope, what));
            }
        }
        Ok(())
    }

    /// Once everything has arrived, nobody sends anything.
    pub(super) fn fall_silent(&mut self) -> Result<(), Violation> {
        if self.seen.liar.is_some() {
            return Ok(());
        }
        let last = self.stage.tick + ticks(PATIENCE);
        let nodes = 0..=self.game.players;
        let sent = |game: &Self| -> u64 { nodes.clone().map(|node| game.stage.sent(NodeId(node)).1).sum() };
        let first = sent(self);
        let (mut before, mut since) = (first, self.stage.tick);
        while self.stage.tick < since + ticks(SILENCE) {
            // A stream that stands still is asked for an answer now and then.
            let most =
                ASKS_PER_SECOND * u64::from(self.game.players) * (PATIENCE.as_nanos() / 1_000_000_000) as u64;
            if self.stage.tick >= last && before - first <= most {
                return self.check_settled();
            }
            if self.stage.tick >= last {
                let what = format!("{before} messages, and everything had arrived long ago");
                return Err(Violation::new(Invariant::Budget, what));
            }
            self.rest(PACE);
            let now = sent(self);
            if now > before {
                (before, since) = (now, self.stage.tick);
            }
        }
        self.check_settled()
    }

    pub(super) fn check(self) -> Result<Played, Violation> {
        self.check_excess()?;
        if let Some(broken) = self.seen.broken {
            return Err(broken);
        }
        let compared = self.honest().map(|player| self.player(player).objects().count() as u64).sum();
        let reliable = self.seen.said.values().filter(|said| said.delivery.is_reliable());
        let followed = reliable.map(|said| said.to.len() as u64).sum();
        let calls = self.stage.world.events_handled();
        Ok(Played { calls, compared, followed, ..Played::default() })
    }
}

/// Whether something must be seen from one of these places, and whether it may be.
fn reach(area: &Area, from: &[Vec3], at: Vec3) -> (bool, bool) {
    let nearest = from.iter().map(|from| at.distance(*from)).fold(f64::INFINITY, f64::min);
    match *area {
        Area::Everywhere => (true, true),
        Area::Radius { enter, leave } => (nearest <= enter, nearest <= leave),
        Area::Grid { cell, reach } => {
            let number = |axis: f64| (axis / cell).floor();
            let is_near = |from: &Vec3| {
                let apart = [(from.x, at.x), (from.y, at.y), (from.z, at.z)];
                apart.iter().all(|(a, b)| (number(*a) - number(*b)).abs() <= f64::from(reach))
            };
            let is_seen = from.iter().any(is_near);
            (is_seen, is_seen)
        }
        // No game has another area.
        _ => (false, true),
    }
}
