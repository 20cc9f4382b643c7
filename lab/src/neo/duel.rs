//! What a cheat gains under a protocol: a game of tells among real machines, some of them cheats.

use std::collections::BTreeMap;

use evenkeel_core::{LocalTime, PeerId, Seed, Span};
use evenkeel_link::{ClockFaults, DelayLaw, Jitter, LinkFaults, Loss, TrueTime};
use evenkeel_neo::{NeoEvent, PlayedMove};
use evenkeel_sim::{NodeId, World};

use super::duelist::{Duelist, Role, Tell};
use super::node::BoxedPeer;
use super::protocol::MoveProtocol;
use crate::parallel::Progress;

const NETWORK: u64 = 11;
const MACHINES: u64 = 12;
const ROLES: u64 = 13;
const DATAGRAM_MAX: usize = 1_200;
const SETTLED: Span = Span::from_secs(3);
const DURATION: Span = Span::from_secs(23);
/// No message is faster, so that an honest reaction is never taken for foresight.
const DELAY: Span = Span::from_millis(30);
const JITTER: Span = Span::from_millis(15);
const LOSS: f64 = 0.01;

/// A duel: a protocol, and what the first players do. All others are honest.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Duel {
    pub(crate) protocol: MoveProtocol,
    pub(crate) players: usize,
    pub(crate) cheats: Vec<Role>,
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct DuelFigures {
    /// The share of the cheats' moves that the honest accepted, in percent of an honest player's without cheats.
    pub(crate) accepted: f64,
    /// The share of its accepted moves that answer the others' moves of the same slot, in percent.
    pub(crate) foresight: f64,
    /// The share of slots in which two honest players accepted different moves of a cheat, in percent.
    pub(crate) split: f64,
    /// Moves per second that an honest player is shown of another.
    pub(crate) honest_rate: f64,
    /// The share of the honest that evicted a cheat, in percent.
    pub(crate) evicted: f64,
    /// Honest players that were evicted by anybody.
    pub(crate) innocent: u64,
}

#[derive(Default)]
struct Seen {
    cheats: u32,
    players: u32,
    from: TrueTime,
    /// Slot and tell of each move of a cheat that was accepted.
    cheated: Vec<(u64, LocalTime)>,
    /// The earliest tell of the honest in each slot.
    told: BTreeMap<u64, LocalTime>,
    honest: u64,
    /// By cheat and slot: what the first honest player accepted, and whether another accepted something else.
    moves: BTreeMap<(PeerId, u64), (Vec<u8>, bool)>,
    evicted: BTreeMap<(PeerId, PeerId), ()>,
    innocent: u64,
}

impl Seen {
    const fn is_cheat(&self, peer: PeerId) -> bool {
        peer.0 < self.cheats
    }

    fn on_event(&mut self, at: TrueTime, node: NodeId, event: NeoEvent) {
        let viewer = PeerId::from(node);
        if self.is_cheat(viewer) || viewer.0 >= self.players {
            return;
        }
        match event {
            NeoEvent::Evicted { peer: Some(peer), .. } if self.is_cheat(peer) => {
                self.evicted.insert((viewer, peer), ());
            }
            NeoEvent::Evicted { .. } => self.innocent += 1,
            NeoEvent::Played(played) if at >= self.from => self.note(&played),
            _ => {}
        }
    }

    fn note(&mut self, played: &PlayedMove) {
        let Some(tell) = Tell::of(&played.bytes) else { return };
        if !self.is_cheat(played.from) {
            self.honest += 1;
            let earliest = self.told.entry(played.slot).or_insert(tell.at);
            *earliest = tell.at.min(*earliest);
            return;
        }
        let reacted_to = if tell.is_honest { LocalTime::MIN } else { tell.at };
        self.cheated.push((played.slot, reacted_to));
        let first = self.moves.entry((played.from, played.slot)).or_insert((played.bytes.clone(), false));
        first.1 |= first.0 != played.bytes;
    }
}

impl Seen {
    /// How many of the cheats' moves tell what the honest told in the same slot, or later.
    fn foreseen(&self) -> usize {
        let is_foreseen =
            |(slot, tell): &&(u64, LocalTime)| self.told.get(slot).is_some_and(|told| tell >= told);
        self.cheated.iter().filter(is_foreseen).count()
    }
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { 100.0 * part / whole }
}

/// Runs a duel; `None` if the work was cancelled.
pub(crate) fn run_duel(duel: &Duel, seed: u64, progress: &Progress) -> Option<DuelFigures> {
    let mut world = build(duel, Seed::new(seed));
    let start = TrueTime::default();
    let mut seen = Seen {
        cheats: duel.cheats.len() as u32,
        players: duel.players as u32,
        from: start + SETTLED,
        ..Seen::default()
    };
    let mut now = start;
    while now < start + DURATION {
        now += Span::from_millis(500);
        world.run_until(now, &mut |at, node, event| seen.on_event(at, node, event));
        if progress.is_cancelled() {
            return None;
        }
    }
    let (cheats, players) = (duel.cheats.len() as f64, duel.players as f64);
    let honest = players - cheats;
    let seconds = (DURATION - SETTLED).as_secs_f64();
    let per_pair =
        |count: u64, authors: f64, viewers: f64| count as f64 / (authors * viewers * seconds).max(1.0);
    let split = seen.moves.values().filter(|(_, differs)| *differs).count();
    Some(DuelFigures {
        accepted: percent(
            per_pair(seen.cheated.len() as u64, cheats, honest),
            duel.protocol.moves_per_second(),
        ),
        foresight: percent(seen.foreseen() as f64, seen.cheated.len() as f64),
        split: percent(split as f64, seen.moves.len() as f64),
        honest_rate: per_pair(seen.honest, honest, honest - 1.0),
        evicted: percent(seen.evicted.len() as f64, cheats * honest),
        innocent: seen.innocent,
    })
}

fn faults() -> LinkFaults {
    LinkFaults {
        delay: DelayLaw { base: DELAY, jitter: Jitter::Exponential { mean: JITTER } },
        loss: Loss::Independent { probability: LOSS },
        ..LinkFaults::default()
    }
}

fn build(duel: &Duel, seed: Seed) -> World<Duelist> {
    let mut world = World::new(seed.child(NETWORK));
    let slot = Span::from_secs_f64(1.0 / duel.protocol.moves_per_second());
    let players: Vec<NodeId> = (0..duel.players)
        .map(|index| {
            let role = duel.cheats.get(index).copied().unwrap_or(Role::Honest);
            let machine = || {
                let secret = |of: usize| seed.child(MACHINES).child(of as u64);
                let (protocol, players) = (&duel.protocol, duel.players);
                let machine = match role {
                    Role::Spoofing => protocol.spoofing(index, players, secret(index), secret(players - 1)),
                    _ => protocol.synchronized(index, players, secret(index)),
                };
                BoxedPeer(machine.peer)
            };
            let twin = (role == Role::TwoFaced).then(machine);
            let player = Duelist::new(role, machine(), twin, slot, seed.child(ROLES).child(index as u64));
            world.add_node(player, ClockFaults::default())
        })
        .collect();
    if let Some(server) = duel.protocol.server(duel.players) {
        let server = Duelist::new(Role::Honest, server, None, slot, seed.child(ROLES));
        let server = world.add_node(server, ClockFaults::default());
        for player in &players {
            world.connect(*player, server, faults(), faults());
            world.join(*player, server, DATAGRAM_MAX);
        }
        return world;
    }
    for (index, one) in players.iter().enumerate() {
        for other in &players[..index] {
            world.connect(*one, *other, faults(), faults());
            world.join(*one, *other, DATAGRAM_MAX);
        }
    }
    world
}
