//! What players and the server are shown, held against what was done.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_link::TrueTime;
use evenkeel_objects::{Delivery, GameMessage, ObjectEvent, ObjectId, ObjectRoomEvent, Owner, Target};
use evenkeel_sim::{NodeId, Observer};

use super::SERVER;
use super::node::{Note, ObjectNode, ObjectNodeEvent, Wave};
use crate::actor::{Actor, Stamped};
use crate::fault::{Fault, Faults};
use crate::game::{Invariant, Violation};

/// A message, and what became of it.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) from: NodeId,
    pub(super) delivery: Delivery,
    pub(super) target: Target,
    pub(super) len: usize,
    /// The lives of its sender and of each receiver in which it was said.
    pub(super) life: u32,
    pub(super) to: BTreeMap<NodeId, u32>,
    /// How often it arrived at whom.
    pub(super) arrived: BTreeMap<NodeId, u32>,
}

/// A node's session with the other side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    /// Counts the beginnings after which nobody owes anything to whom it was before: a machine is fresh, or was forgotten.
    pub(super) life: u32,
    /// The life in which the server, and the player, found each other.
    room_ready: Option<u32>,
    player_ready: Option<u32>,
    /// Whether there is a reason to begin a session instead of going on with one.
    pub(super) may_begin: bool,
}

impl Standing {
    pub(super) fn begin(&mut self) {
        self.life += 1;
        self.may_begin = true;
    }

    /// Whether whatever is said must arrive.
    pub(super) fn is_ready(&self) -> bool {
        let life = Some(self.life);
        self.room_ready == life && self.player_ready == life
    }
}

/// Everything shown.
#[derive(Default)]
pub(super) struct SeenObjects {
    pub(super) said: BTreeMap<u32, Said>,
    /// By node; the server's is first.
    pub(super) standing: Vec<Standing>,
    pub(super) liar: Option<NodeId>,
    /// What is planted, to show that rules can fail.
    planted: Faults,
    pub(super) broken: Option<Violation>,
    /// By sender and receiver: the newest that arrived in order, and of which only the newest counts.
    ordered: BTreeMap<(NodeId, NodeId), u32>,
    recent: BTreeMap<(NodeId, NodeId), u32>,
    /// The objects that a player knows.
    known: BTreeSet<(NodeId, ObjectId)>,
    /// How often an object entered a player's scope, and was shown to it.
    entered: BTreeMap<(NodeId, ObjectId), u32>,
    shown: BTreeMap<(NodeId, ObjectId), u32>,
}

impl SeenObjects {
    pub(super) fn new(nodes: usize, liar: Option<NodeId>, planted: Faults) -> Self {
        let begun = Standing { may_begin: true, ..Standing::default() };
        Self { standing: vec![begun; nodes], liar, planted, ..Self::default() }
    }

    fn break_rule(&mut self, invariant: Invariant, what: String) {
        self.broken.get_or_insert(Violation::new(invariant, what));
    }

    /// Forgets what a process knew whose machine was replaced.
    pub(super) fn restart(&mut self, node: NodeId) {
        self.known.retain(|(player, _)| *player != node);
    }

    fn arrive(&mut self, at: NodeId, from: NodeId, kind: u16, bytes: &[u8]) {
        if self.liar == Some(from) || self.liar == Some(at) {
            return;
        }
        let note = (kind == Note::KIND).then(|| Note::from_bytes(bytes).ok()).flatten();
        let wave = (kind == Wave::KIND).then(|| Wave::from_bytes(bytes).ok()).flatten();
        let number = note.map(|note| note.number).or(wave.map(|wave| wave.number));
        let said = number.and_then(|number| self.said.get_mut(&number));
        let Some(said) = said.filter(|said| said.from == from && said.len == bytes.len()) else {
            let what = format!("{at:?} got message {number:?} of {from:?}, who never said that");
            return self.break_rule(Invariant::Reliable, what);
        };
        if self.planted.has(Fault::PlantedLoss) && number.is_some_and(|number| number % 8 == 3) {
            return;
        }
        let count = said.arrived.entry(at).or_default();
        *count += if self.planted.has(Fault::PlantedDouble) { 2 } else { 1 };
        let (count, delivery, target) = (*count, said.delivery, said.target);
        let number = number.unwrap_or_default();
        if delivery.is_reliable() && count > 1 {
            let what = format!("message {number} ({delivery:?}) of {from:?} arrived {count} times at {at:?}");
            self.break_rule(Invariant::Reliable, what);
        }
        if let Target::Scope(object) = target
            && at != SERVER
            && !self.entered.contains_key(&(at, object))
        {
            let what = format!("{at:?} heard message {number} about {object:?}, which it never saw");
            self.break_rule(Invariant::Scope, what);
        }
        let newest = match delivery {
            Delivery::ReliableOrdered => self.ordered.entry((from, at)).or_default(),
            Delivery::MostRecent => self.recent.entry((from, at)).or_default(),
            _ => return,
        };
        let before = core::mem::replace(newest, number.max(*newest));
        if number < before {
            let what = format!("{at:?} got message {number} ({delivery:?}) of {from:?} after {before}");
            self.break_rule(Invariant::Order, what);
        }
    }

    fn begin(&mut self, node: NodeId, resumed: bool, at: &str) {
        let standing = &mut self.standing[node.0 as usize];
        if !resumed && !standing.may_begin && self.liar != Some(node) {
            let what = format!("{at} lost its session with {node:?} for no reason");
            self.break_rule(Invariant::Reliable, what);
        }
    }

    fn on_player(&mut self, node: NodeId, event: ObjectEvent) {
        match event {
            ObjectEvent::Ready { resumed, .. } => {
                self.begin(node, resumed, "a player");
                let standing = &mut self.standing[node.0 as usize];
                standing.player_ready = Some(standing.life);
                // A player that stood still may have been welcomed by a server that is gone.
                standing.may_begin &= !standing.is_ready();
            }
            ObjectEvent::Call { from, kind, bytes, .. } => {
                let from = from.player().map_or(SERVER, NodeId::from);
                self.arrive(node, from, kind, &bytes);
            }
            ObjectEvent::Created { object, .. } => self.show(node, object),
            ObjectEvent::Changed { object, .. } | ObjectEvent::Owned { object, .. }
                if !self.known.contains(&(node, object)) =>
            {
                let what = format!("{node:?} was told of {object:?}, which it does not know");
                self.break_rule(Invariant::Scope, what);
            }
            ObjectEvent::Gone { object, .. } => drop(self.known.remove(&(node, object))),
            ObjectEvent::Refused(words) if self.liar != Some(node) => {
                self.break_rule(Invariant::Agreement, format!("{node:?} was refused: {words}"));
            }
            _ => {}
        }
    }

    fn show(&mut self, node: NodeId, object: ObjectId) {
        self.known.insert((node, object));
        // Its own objects are shown to a player when it creates them.
        if NodeId::from(object.creator()) == node {
            return;
        }
        let shown = self.shown.entry((node, object)).or_default();
        *shown += 1;
        let (shown, entered) = (*shown, self.entered.get(&(node, object)).copied().unwrap_or_default());
        if shown > entered {
            let what = format!("{object:?} was shown to {node:?} {shown} times, but entered {entered} times");
            self.break_rule(Invariant::Scope, what);
        }
    }

    fn on_room(&mut self, event: ObjectRoomEvent) {
        match event {
            ObjectRoomEvent::Ready { player, .. } => {
                let standing = &mut self.standing[player.0 as usize];
                standing.room_ready = Some(standing.life);
            }
            ObjectRoomEvent::Entered { player, object } => {
                *self.entered.entry((player.into(), object)).or_default() += 1;
            }
            ObjectRoomEvent::Call { from, kind, bytes } => self.arrive(SERVER, from.into(), kind, &bytes),
            ObjectRoomEvent::Owned { owner: Owner::Player(player), object } if player.0 == SERVER.0 => {
                self.break_rule(Invariant::Agreement, format!("{object:?} belongs to nobody"));
            }
            _ => {}
        }
    }

    /// A reliable message that did not arrive at somebody who was there all the time.
    pub(super) fn lost(&self, is_counted: impl Fn(NodeId) -> bool) -> Option<(u32, NodeId)> {
        let is_whole =
            |node: NodeId, life: u32| self.standing[node.0 as usize].life == life && self.liar != Some(node);
        let mut all = self.said.iter().filter(|(_, said)| said.delivery.is_reliable());
        all.find_map(|(number, said)| {
            if !is_whole(said.from, said.life) || is_counted(said.from) {
                return None;
            }
            let unheard =
                |(to, life): &(&NodeId, &u32)| is_whole(**to, **life) && !said.arrived.contains_key(*to);
            said.to.iter().find(unheard).map(|(to, _)| (*number, *to))
        })
    }
}

impl Observer<Actor<ObjectNode>> for SeenObjects {
    fn on_event(&mut self, _: TrueTime, node: NodeId, stamped: Stamped<ObjectNodeEvent>) {
        match stamped.event {
            ObjectNodeEvent::Room(event) => self.on_room(event),
            ObjectNodeEvent::Player(event) => self.on_player(node, event),
        }
    }
}
