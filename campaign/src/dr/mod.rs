//! Games of dead reckoning, in both topologies.

mod check;
mod motion;
mod node;
mod steady;
mod truth;

use evenkeel_core::{Draws, PeerId, Seed, Span, Synchronized};
use evenkeel_dr::{
    Budget, Compensation, Content, DrCommand, DrConfig, DrPeer, DrRelay, EntityId, Limits, PairWeight,
    Placement, PolicyKind, RelayCommand, Threshold, Topology,
};
use evenkeel_sim::NodeId;

use crate::actor::Lie;
use crate::clock::AnyClock;
use crate::fault::Fault;
use crate::game::{Game, Machine, Played, Violation};
use crate::stage::{Churn, Stage, TICK, garble};
use motion::{Mover, REST_MAX};
use node::{DrNode, NodeCommand, claim_late};
use truth::Truth;

const CONFIG: u64 = 0x100;
const CLOCKS: u64 = 0x101;
const MOTION: u64 = 0x102;
const COMMANDS: u64 = 0x103;

/// How long the network has at the end, when everybody is back and nothing moves.
const CALM: Span = Span::from_secs(14);
/// How much longer it has for what is repeated ever more rarely.
const PATIENCE: Span = Span::from_secs(300);
/// Ticks between two observations then.
const CALM_PACE: u64 = 5;

/// A game while it is played.
pub(super) struct DrGame {
    game: Game,
    stage: Stage<DrNode>,
    truth: Truth,
    config: DrConfig,
    is_synchronized: bool,
    relay: Option<NodeId>,
    players: Vec<NodeId>,
    movers: Vec<Vec<Mover>>,
    /// Lives that have begun.
    births: u32,
    /// The budgets and policies so far.
    budgets: Vec<Budget>,
    policies: Vec<PolicyKind>,
}

/// Plays a game and checks it.
pub(crate) fn play(game: &Game) -> Result<Played, Violation> {
    let mut played = DrGame::new(game);
    played.run()?;
    played.check()
}

fn config(game: &Game) -> DrConfig {
    let mut draws = Seed::new(game.seed).child(CONFIG).draws();
    let topology = match game.machine {
        Machine::DrRelay => Topology::Relay(PeerId(0)),
        _ => Topology::Direct,
    };
    let threshold = Threshold {
        distance: draws.uniform(0.05, 2.0),
        time: Some(Span::from_millis(300 + draws.below(600) as i64)),
    };
    let kind = Content::ALL[draws.below(Content::ALL.len() as u64) as usize];
    let placement = if draws.chance(0.3) { Placement::Local } else { Placement::Global };
    let policy = policy(&mut draws);
    let budget = budget(&mut draws);
    let compensation = draws.chance(0.5).then(Compensation::default);
    let tick = [Span::ZERO, Span::from_millis(10), Span::from_millis(33)][draws.below(3) as usize];
    let tight = Limits {
        vectors_per_second: draws.uniform(2.0, 60.0),
        births_per_second: draws.uniform(0.2, 5.0),
        ..Limits::default()
    };
    let limits = if game.faults.has(Fault::TinyLimits) { tight } else { Limits::default() };
    // As servers have it. Otherwise an id belongs to whoever comes first, and a damaged introduction may take another player's.
    let limits = Limits { own_names: true, ..limits };
    let seed = Seed::new(draws.bits());
    let drawn =
        DrConfig { topology, threshold, kind, placement, policy, budget, compensation, tick, limits, seed };
    if steady::is_steady(game) { steady::settings(game, &drawn, &mut draws) } else { drawn }
}

fn policy(draws: &mut Draws) -> PolicyKind {
    // Half of the games play the default policy.
    if draws.chance(0.4) {
        let even = ["even", "even:kappa=3,keep=0.9", "even:phi=0.5", "even:kappa=1"];
        return even[draws.below(4) as usize].parse().expect("a policy of ours");
    }
    let all = PolicyKind::all();
    all[draws.below(all.len() as u64) as usize]
}

fn budget(draws: &mut Draws) -> Budget {
    let drawn = match draws.below(4) {
        0 => Budget::new(draws.uniform(0.0, 3.0)),
        1 => Budget::bits_per_second(draws.uniform(1_000.0, 200_000.0)),
        2 => Budget::of_receivers(draws.uniform(0.05, 1.0)),
        _ => Some(Budget::ALL),
    };
    drawn.expect("the budgets are in range")
}

impl DrGame {
    fn new(game: &Game) -> Self {
        let config = config(game);
        let mut draws = Seed::new(game.seed).child(CLOCKS).draws();
        let is_synchronized = !game.faults.has_any(&[Fault::Clocks, Fault::ClockSteps]) && draws.chance(0.5);
        let mut stage = Stage::new(game);
        let build = |node| fresh(&config, is_synchronized, node);
        let relay = (game.machine == Machine::DrRelay).then(|| stage.add(build(NodeId(0)), None));
        let first = u32::from(relay.is_some());
        let players: Vec<NodeId> = (first..first + game.players)
            .map(|node| {
                let is_last = node == first + game.players - 1;
                stage.add(build(NodeId(node)), lie(game).filter(|_| is_last))
            })
            .collect();
        match relay {
            Some(relay) => players.iter().for_each(|player| stage.connect(relay, *player)),
            None => {
                for (place, a) in players.iter().enumerate() {
                    players[place + 1..].iter().for_each(|b| stage.connect(*a, *b));
                }
            }
        }
        stage.join_all();
        let motion = Seed::new(game.seed).child(MOTION);
        let mover = |player: &NodeId, entity| {
            let seed = motion.child(u64::from(player.0)).child(u64::from(entity));
            if steady::is_steady(game) { Mover::steered(seed) } else { Mover::new(seed) }
        };
        let movers = players
            .iter()
            .map(|player| (0..game.entities).map(|entity| mover(player, entity)).collect())
            .collect();
        let (budgets, policies) = (vec![config.budget], vec![config.policy]);
        Self {
            game: *game,
            stage,
            truth: Truth::default(),
            config,
            is_synchronized,
            relay,
            players,
            movers,
            births: 0,
            budgets,
            policies,
        }
    }

    /// Whether a player always says the truth.
    fn is_honest(&self, node: NodeId) -> bool {
        lie(&self.game).is_none() || Some(&node) != self.players.last()
    }

    fn run(&mut self) -> Result<(), Violation> {
        for _ in 0..self.game.ticks {
            self.stage.run(&mut self.truth);
            let (config, is_synchronized) = (self.config, self.is_synchronized);
            let churn = self.stage.churn(|node| fresh(&config, is_synchronized, node));
            self.note(churn);
            self.drive();
            if self.game.faults.has(Fault::Switches) {
                self.switch();
            }
        }
        self.check_budget()?;
        self.check_spread()?;
        self.calm_down();
        Ok(())
    }

    fn note(&mut self, churn: Vec<Churn>) {
        for what in churn {
            if let Churn::Restarted(node) = what {
                self.truth.restart(node);
                match self.relay {
                    Some(relay) if relay == node => self.truth.triggers.clear(),
                    Some(_) => {}
                    None => drop(self.truth.triggers.remove(&node)),
                }
            }
        }
    }

    /// Moves and observes every entity.
    fn drive(&mut self) {
        let tick = self.stage.tick;
        for (player, movers) in self.players.clone().into_iter().zip(0..) {
            // A stopped game neither moves nor ends anything.
            if self.stage.world.node(player).is_stopped() {
                continue;
            }
            for (number, mover) in (0..).zip(&mut self.movers[movers]) {
                let entity = EntityId::of(player.into(), number);
                let seed = Seed::new(self.game.seed).child(COMMANDS).child(tick).child(u64::from(entity.0));
                let mut draws = seed.draws();
                if mover.is_alive && self.game.faults.has(Fault::Lives) && draws.chance(0.02) {
                    mover.is_alive = false;
                    let rest = draws.below((REST_MAX.as_nanos() / TICK.as_nanos()) as u64);
                    mover.rests_until = tick + 1 + rest;
                    self.truth.end(player, entity);
                    self.stage.command(player, NodeCommand::Peer(DrCommand::End { entity }));
                }
                mover.step(tick);
                if mover.is_alive || tick >= mover.rests_until {
                    self.births += u32::from(!mover.is_alive);
                    mover.is_alive = true;
                    let observe = DrCommand::Observe { entity, state: mover.state };
                    self.stage.command(player, NodeCommand::Peer(observe));
                }
            }
        }
    }

    fn switch(&mut self) {
        let mut draws = Seed::new(self.game.seed).child(COMMANDS).child(self.stage.tick).draws();
        if draws.chance(0.02) {
            let (policy, budget) = (policy(&mut draws), budget(&mut draws));
            self.tell_policy(RelayCommand::Switch { policy, budget });
            self.budgets.push(budget);
            self.policies.push(policy);
        }
        if draws.chance(0.02) {
            let entity = EntityId::of(self.players[0].into(), 0);
            let weight = PairWeight::new(draws.uniform(0.0, 2.0)).expect("the weight is in range");
            let receiver = self.players[1].into();
            self.tell_policy(RelayCommand::Weigh { entity, receiver, weight });
        }
    }

    fn tell_policy(&mut self, command: RelayCommand) {
        match self.relay {
            Some(relay) => self.stage.command(relay, NodeCommand::Relay(command)),
            None => {
                for player in self.players.clone() {
                    self.stage.command(player, NodeCommand::Peer(DrCommand::Policy(command)));
                }
            }
        }
    }

    /// Everybody comes back, nothing moves, and everything is sent to everybody until it has arrived.
    fn calm_down(&mut self) {
        let churn = self.stage.heal(&mut self.truth);
        self.note(churn);
        let base = RelayCommand::Switch { policy: PolicyKind::BASE, budget: Budget::ALL };
        self.tell_policy(base);
        self.budgets.push(Budget::ALL);
        self.policies.push(PolicyKind::BASE);
        let movers = self.movers.iter_mut().flatten();
        movers.for_each(|mover| {
            mover.stop();
            mover.is_alive = true;
        });
        let end = self.stage.tick + (CALM.as_nanos() / TICK.as_nanos()) as u64;
        self.rest_until(end);
        let last = end + (PATIENCE.as_nanos() / TICK.as_nanos()) as u64;
        while self.stage.tick < last && self.check_placements(&mut Played::default()).is_err() {
            self.rest_until(self.stage.tick + 50);
        }
    }

    fn rest_until(&mut self, tick: u64) {
        while self.stage.tick < tick {
            self.stage.run(&mut self.truth);
            if self.stage.tick.is_multiple_of(CALM_PACE) {
                self.observe_all();
            }
        }
    }

    fn observe_all(&mut self) {
        for (player, movers) in self.players.clone().into_iter().zip(&self.movers) {
            for (number, mover) in (0..).zip(movers) {
                let entity = EntityId::of(player.into(), number);
                let observe = DrCommand::Observe { entity, state: mover.state };
                self.stage.command(player, NodeCommand::Peer(observe));
            }
        }
    }
}

fn lie(game: &Game) -> Option<Lie> {
    match game.faults {
        faults if faults.has(Fault::Garbage) => Some(garble),
        faults if faults.has(Fault::Liar) => Some(claim_late),
        _ => None,
    }
}

/// A fresh machine for a node.
fn fresh(config: &DrConfig, is_synchronized: bool, node: NodeId) -> DrNode {
    let config = DrConfig { seed: config.seed.child(u64::from(node.0)), ..*config };
    let is_relayed = matches!(config.topology, Topology::Relay(_));
    let clock = match (is_synchronized, is_relayed, node) {
        (true, ..) => AnyClock::Synchronized(Synchronized),
        (_, true, NodeId(0)) => AnyClock::server(),
        (_, true, _) => AnyClock::follower(PeerId(0)),
        (_, false, _) => AnyClock::median(),
    };
    match (is_relayed, node) {
        (true, NodeId(0)) => DrNode::Relay(Box::new(DrRelay::with_clock(&config, clock))),
        _ => DrNode::Peer(Box::new(DrPeer::with_clock(&config, clock))),
    }
}
