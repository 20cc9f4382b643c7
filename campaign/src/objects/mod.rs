//! Games of objects: players and the server create, change, pass on and destroy them, and talk.

mod check;
mod deeds;
mod node;
mod seen;

use evenkeel_core::{Seed, Span};
use evenkeel_objects::{Area, ObjectPeer, ObjectPeerConfig, ObjectRoom, ObjectRoomConfig, Quotas};
use evenkeel_sim::NodeId;

use crate::actor::Lie;
use crate::fault::{Fault, Faults};
use crate::game::{Game, Played, Violation};
use crate::stage::{Churn, Stage, TICK, garble, peer};
use node::{GAME, MeteredRoom, ObjectNode, forge};
use seen::SeenObjects;

const CONFIG: u64 = 0x400;
const DEEDS: u64 = 0x401;
const SERVER: NodeId = NodeId(0);
/// How long the network has at the end, when everybody is back and nothing is done.
const CALM: Span = Span::from_secs(3);
/// How much longer it has for what a tight budget delays, and what is repeated ever more rarely.
const PATIENCE: Span = Span::from_secs(900);
/// Ticks between two looks at what has settled.
const PACE: u64 = 5;
/// How long nobody sends anything once everything has arrived.
const SILENCE: Span = Span::from_secs(2);

/// A game while it is played.
struct ObjectGame {
    game: Game,
    stage: Stage<ObjectNode>,
    config: ObjectRoomConfig,
    players: Vec<NodeId>,
    seen: SeenObjects,
    /// By player: since when it is without the server.
    away_since: Vec<Option<u64>>,
    next: u32,
}

/// Plays a game and checks it.
pub(crate) fn play(game: &Game) -> Result<Played, Violation> {
    let mut played = ObjectGame::new(game);
    played.run()?;
    played.check()
}

fn config(game: &Game) -> ObjectRoomConfig {
    let mut draws = Seed::new(game.seed).child(CONFIG).draws();
    let area = match draws.below(3) {
        0 => Area::Everywhere,
        1 => Area::Radius { enter: 30.0, leave: 36.0 },
        _ => Area::Grid { cell: draws.uniform(10.0, 30.0), reach: 1 },
    };
    let tight = Quotas {
        objects: 1 + draws.below(4) as usize,
        births_per_second: draws.uniform(0.5, 4.0),
        changes_per_second: draws.uniform(10.0, 100.0),
        deliveries_per_second: draws.uniform(5.0, 50.0),
        delivered_bytes_per_second: draws.uniform(500.0, 20_000.0),
    };
    ObjectRoomConfig {
        schema: &GAME,
        server: peer(SERVER),
        tick: Span::from_millis([5, 20, 20, 50][draws.below(4) as usize]),
        area,
        review: Span::from_millis(40 + draws.below(160) as i64),
        look_speed_max: if draws.chance(0.2) { draws.uniform(20.0, 200.0) } else { f64::INFINITY },
        bits_per_second: draws.chance(0.4).then(|| draws.uniform(16_000.0, 200_000.0)),
        quotas: if game.faults.has(Fault::TinyLimits) { tight } else { Quotas::default() },
        remember: if draws.chance(0.3) { Span::from_millis(500) } else { Span::from_secs(60) },
        seed: Seed::new(draws.bits()),
        ..ObjectRoomConfig::default()
    }
}

/// A fresh machine for a node, which nobody takes for the one before.
fn fresh(config: &ObjectRoomConfig, faults: Faults, tick: u64, node: NodeId) -> ObjectNode {
    let seed = config.seed.child(u64::from(node.0)).child(tick);
    if node == SERVER {
        let config = ObjectRoomConfig { seed, ..*config };
        return ObjectNode::Room(Box::new(MeteredRoom::new(&config, faults.has(Fault::PlantedExcess))));
    }
    let config = ObjectPeerConfig { relay: peer(SERVER), schema: &GAME, tick: config.tick, seed };
    ObjectNode::Player(Box::new(ObjectPeer::new(&config)))
}

fn lie(game: &Game) -> Option<Lie> {
    match game.faults {
        faults if faults.has(Fault::Garbage) => Some(garble),
        faults if faults.has(Fault::Liar) => Some(forge),
        _ => None,
    }
}

const fn ticks(span: Span) -> u64 {
    (span.as_nanos() / TICK.as_nanos()) as u64
}

impl ObjectGame {
    fn new(game: &Game) -> Self {
        let config = config(game);
        let mut stage = Stage::new(game);
        stage.add(fresh(&config, game.faults, 0, SERVER), None);
        let players: Vec<NodeId> = (1..=game.players)
            .map(|node| {
                let lie = lie(game).filter(|_| node == game.players);
                stage.add(fresh(&config, game.faults, 0, NodeId(node)), lie)
            })
            .collect();
        players.iter().for_each(|player| stage.connect(SERVER, *player));
        stage.join_all();
        let liar = lie(game).and_then(|_| players.last().copied());
        let seen = SeenObjects::new(1 + players.len(), liar, game.faults);
        let away_since = vec![None; players.len()];
        Self { game: *game, stage, config, players, seen, away_since, next: 1 }
    }

    fn room(&self) -> &ObjectRoom {
        &self.metered().room
    }

    fn metered(&self) -> &MeteredRoom {
        match self.stage.machine(SERVER) {
            ObjectNode::Room(room) => room,
            ObjectNode::Player(_) => unreachable!("the first node is the server"),
        }
    }

    fn player(&self, node: NodeId) -> &ObjectPeer {
        match self.stage.machine(node) {
            ObjectNode::Player(player) => player,
            ObjectNode::Room(_) => unreachable!("only the first node is the server"),
        }
    }

    fn honest(&self) -> impl Iterator<Item = NodeId> {
        self.players.iter().copied().filter(|player| self.seen.liar != Some(*player))
    }

    fn run(&mut self) -> Result<(), Violation> {
        for _ in 0..self.game.ticks {
            self.stage.run(&mut self.seen);
            let (config, faults, tick) = (self.config, self.game.faults, self.stage.tick);
            let churn = self.stage.churn(|node| fresh(&config, faults, tick, node));
            self.note(churn);
            self.play_tick();
            self.check_excess()?;
        }
        let churn = self.stage.heal(&mut self.seen);
        self.note(churn);
        self.place_all();
        let calm = self.stage.tick + ticks(CALM);
        let last = calm + ticks(PATIENCE);
        while self.stage.tick < calm || (self.stage.tick < last && self.check_settled().is_err()) {
            self.rest(PACE);
        }
        self.check_settled()?;
        self.fall_silent()
    }

    fn rest(&mut self, ticks: u64) {
        (0..ticks).for_each(|_| self.stage.run(&mut self.seen));
    }

    fn note(&mut self, churn: Vec<Churn>) {
        for what in churn {
            if let Churn::Restarted(node) = what {
                self.seen.restart(node);
                let is_all = node == SERVER;
                let standings = (0..).zip(&mut self.seen.standing);
                standings.filter(|(at, _)| is_all || *at == node.0).for_each(|(_, known)| known.begin());
            }
        }
        let tick = self.stage.tick;
        for (player, away_since) in self.players.iter().zip(&mut self.away_since) {
            if !(self.stage.is_here(SERVER) && self.stage.is_here(*player)) {
                away_since.get_or_insert(tick);
                continue;
            }
            // Clocks that jump let the server forget earlier; those that drift, a little.
            let Some(since) = away_since.take() else { continue };
            let away = TICK.times((tick - since) as i64);
            let is_long = away >= self.config.remember - TICK.times(2);
            if is_long || (self.game.faults.has(Fault::ClockSteps) && away > Span::ZERO) {
                self.seen.standing[player.0 as usize].begin();
            }
        }
    }
}
