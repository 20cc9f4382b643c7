//! A random session in the simulator: receivers that join and leave, entities that move, links with faults.

use evenkeel_core::{Draws, PeerId, Seed, Span, Vec3};
use evenkeel_dr::{
    Budget, Content, DrCommand, DrConfig, DrPeer, DrRelay, EntityId, MotionState, Placement, PolicyKind,
    RelayCommand, Threshold, Topology,
};
use evenkeel_lab::dr::node::{DrNode, NodeCommand};
use evenkeel_link::{ClockFaults, DelayLaw, Jitter, LinkFaults, Loss, Reorder, TrueTime};
use evenkeel_sim::{NodeId, World};

use crate::log::Log;

const TICK: Span = Span::from_millis(30);
const TICKS: i64 = 260;
/// The time after the last trigger: long enough for every repetition.
const QUIET: Span = Span::from_secs(3600);
const DATAGRAM_MAX: usize = 1200;

/// The parameters of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SceneOptions {
    /// The seed of everything random.
    pub(crate) seed: u64,
    /// Whether a relay runs the policy and keeps the ledger.
    pub(crate) relay: bool,
    /// The policy at the start.
    pub(crate) policy: PolicyKind,
    /// Whether entities end and begin again.
    pub(crate) lives: bool,
}

/// A session.
pub(crate) struct Scene {
    pub(crate) world: World<DrNode>,
    pub(crate) log: Log,
    pub(crate) owner: NodeId,
    /// The node that keeps the ledger.
    pub(crate) sender: NodeId,
    pub(crate) receivers: Vec<NodeId>,
    joined: Vec<bool>,
    entities: Vec<DrivenEntity>,
    options: SceneOptions,
    draws: Draws,
}

/// An entity with random motion.
struct DrivenEntity {
    entity: EntityId,
    alive: bool,
    state: MotionState,
}

impl DrivenEntity {
    fn new(entity: EntityId, draws: &mut Draws) -> Self {
        let mut driven = Self { entity, alive: false, state: MotionState::default() };
        driven.steer(draws);
        driven
    }

    fn steer(&mut self, draws: &mut Draws) {
        let mut between = |limit: f64| draws.uniform(-limit, limit);
        self.state.velocity = Vec3::new(between(25.0), between(25.0), between(3.0));
        self.state.acceleration = Vec3::new(between(5.0), between(5.0), 0.0);
        self.state.turn_rate = between(0.8);
    }

    fn step(&mut self, draws: &mut Draws) {
        self.state.position = self.state.position + self.state.velocity * TICK.as_secs_f64();
        if draws.chance(0.15) {
            self.steer(draws);
        }
    }
}

fn at(ticks: i64) -> TrueTime {
    TrueTime::default() + TICK.times(ticks)
}

/// Random faults of a link.
fn faults(draws: &mut Draws) -> LinkFaults {
    let base = Span::from_millis(5 + draws.below(300) as i64);
    let spread = Span::from_millis(1 + draws.below(80) as i64);
    let jitter = match draws.below(4) {
        0 => Jitter::Constant,
        1 => Jitter::Uniform { half_width: spread },
        2 => Jitter::Normal { sd: spread },
        _ => Jitter::Exponential { mean: spread },
    };
    let loss = match draws.below(4) {
        0 => Loss::None,
        // Bad periods are long enough to lose every repetition of a report.
        1 => Loss::GilbertElliott {
            good_mean: Span::from_secs(2),
            bad_mean: Span::from_secs(1),
            loss_good: 0.05,
            loss_bad: 0.95,
        },
        _ => Loss::Independent { probability: draws.uniform(0.0, 0.4) },
    };
    LinkFaults {
        delay: DelayLaw { base, jitter },
        loss,
        duplicate: if draws.chance(0.5) { draws.uniform(0.0, 0.3) } else { 0.0 },
        reorder: draws.chance(0.3).then(|| Reorder { share: 0.2, extra: Span::from_millis(150) }),
        ..LinkFaults::default()
    }
}

impl Scene {
    /// Sets a session up in which only owner and relay have joined each other.
    pub(crate) fn new(options: SceneOptions) -> Self {
        let mut draws = Seed::new(options.seed).child(1).draws();
        let mut world = World::new(Seed::new(options.seed).child(2));
        let kind = Content::ALL[draws.below(5) as usize];
        let config = DrConfig {
            topology: if options.relay { Topology::Relay(PeerId(1)) } else { Topology::Direct },
            threshold: Threshold {
                distance: draws.uniform(0.1, 2.0),
                time: draws.chance(0.7).then_some(Span::from_millis(700)),
            },
            kind,
            placement: if draws.chance(0.3) { Placement::Local } else { Placement::Global },
            policy: options.policy,
            seed: Seed::new(options.seed).child(3),
            // Compensation would limit the delays that the ledger believes.
            compensation: None,
            ..DrConfig::default()
        };
        let peer = || DrNode::Peer(Box::new(DrPeer::new(&config)));
        let owner = world.add_node(peer(), ClockFaults::default());
        let mut sender = owner;
        if options.relay {
            let relay = DrNode::Relay(Box::new(DrRelay::new(&config)));
            sender = world.add_node(relay, ClockFaults::default());
            world.connect(owner, sender, faults(&mut draws), faults(&mut draws));
            world.join(owner, sender, DATAGRAM_MAX);
        }
        let count = 1 + draws.below(4);
        let receivers: Vec<_> = (0..count)
            .map(|_| {
                let node = world.add_node(peer(), ClockFaults::default());
                world.connect(sender, node, faults(&mut draws), faults(&mut draws));
                node
            })
            .collect();
        let entities =
            (0..1 + draws.below(3)).map(|i| DrivenEntity::new(EntityId(i as u32), &mut draws)).collect();
        let joined = vec![false; receivers.len()];
        let log = Log::new(owner);
        Self { world, log, owner, sender, receivers, joined, entities, options, draws }
    }

    /// Plays the session and waits until all reports are in.
    pub(crate) fn play(&mut self) {
        for tick in 0..TICKS {
            self.world.run_until(at(tick), &mut self.log);
            self.come_and_go(tick);
            self.drive(tick);
            if self.draws.chance(0.005) {
                self.switch();
            }
        }
        // Other policies may send held vectors minutes later, when the ledger has given up waiting and estimates.
        self.switch_to(PolicyKind::BASE);
        self.world.run_until(at(TICKS) + QUIET, &mut self.log);
    }

    fn come_and_go(&mut self, tick: i64) {
        for index in 0..self.receivers.len() {
            let node = self.receivers[index];
            let comes = if tick == 0 { 0.7 } else { 0.02 };
            if !self.joined[index] && (self.draws.chance(comes) || tick == TICKS / 2) {
                self.joined[index] = true;
                self.log.joined(node, at(tick));
                self.world.join(self.sender, node, DATAGRAM_MAX);
            } else if self.joined[index] && tick < TICKS / 2 && self.draws.chance(0.01) {
                self.joined[index] = false;
                self.world.leave(self.sender, node);
                self.log.left(node);
            }
        }
    }

    fn drive(&mut self, tick: i64) {
        for driven in &mut self.entities {
            if driven.alive && self.options.lives && self.draws.chance(0.01) {
                driven.alive = false;
                let command = DrCommand::End { entity: driven.entity };
                self.world.command(self.owner, NodeCommand::Peer(command));
                self.log.ended(driven.entity, at(tick));
            }
            if !driven.alive {
                // Sometimes an entity id is used again at the instant it became free.
                let begins = tick < 5 || self.draws.chance(0.2);
                if !begins {
                    continue;
                }
                driven.alive = true;
                self.log.began(driven.entity);
            }
            driven.step(&mut self.draws);
            let command = DrCommand::Observe { entity: driven.entity, state: driven.state };
            self.world.command(self.owner, NodeCommand::Peer(command));
        }
    }

    fn switch(&mut self) {
        let policies = PolicyKind::all();
        let policy = policies[self.draws.below(policies.len() as u64) as usize];
        self.switch_to(policy);
    }

    fn switch_to(&mut self, policy: PolicyKind) {
        let budget = Budget::new(self.draws.uniform(0.5, 3.0)).expect("the budget is positive");
        let command = if self.options.relay {
            NodeCommand::Relay(RelayCommand::Switch { policy, budget })
        } else {
            NodeCommand::Peer(DrCommand::Policy(RelayCommand::Switch { policy, budget }))
        };
        self.world.command(self.sender, command);
    }

    /// The ids of all entities.
    pub(crate) fn entity_ids(&self) -> impl Iterator<Item = EntityId> + '_ {
        self.entities.iter().map(|driven| driven.entity)
    }
}
