//! A world of processes whose network, clocks and lives follow from a game's seed.
//!
//! Every draw is keyed by what it decides: a fault, a tick, a node. So a game without one of its faults is otherwise the same,
//! which is what makes shrinking work.

use evenkeel_core::{Draws, PeerId, Seed, Span};
use evenkeel_link::{
    ClockFaults, ClockStep, DelayLaw, DelayStep, Jitter, LinkFaults, Loss, Reorder, TrueTime,
};
use evenkeel_sim::{NodeId, Observer, World};

use crate::actor::{Actor, ClockedEndpoint, Lie, Order};
use crate::fault::Fault;
use crate::game::{Game, Machine};

/// The time between two frames of a game.
pub(crate) const TICK: Span = Span::from_millis(40);
/// How many ticks a process that left stays away at most.
const AWAY_MAX: u64 = 30;

/// What clocks of computers differ by at most; session clocks allow for 200 ppm between two of them.
const SKEW_PPM_MAX: f64 = 90.0;
/// The tick after which no clock steps any more.
const STEPPED: u64 = 165;

const WORLD: u64 = 1;
const LINK: u64 = 2;
const CLOCK: u64 = 3;
const CHURN: u64 = 4;
const LIE: u64 = 5;
const LIMITS: u64 = 6;

/// What happened to a process in a tick.
pub(crate) enum Churn {
    Left(NodeId),
    Restarted(NodeId),
    Joined,
}

pub(crate) struct Stage<M: ClockedEndpoint> {
    pub(crate) world: World<Actor<M>>,
    game: Game,
    seed: Seed,
    links: Vec<(NodeId, NodeId)>,
    /// Whether both ends of a link have joined.
    joined: Vec<bool>,
    /// By node: when it comes back, if it is away.
    away_until: Vec<Option<u64>>,
    datagram_max: usize,
    pub(crate) tick: u64,
}

impl<M: ClockedEndpoint> Stage<M> {
    pub(crate) fn new(game: &Game) -> Self {
        let seed = Seed::new(game.seed);
        let mut draws = seed.child(LIMITS).draws();
        let tiny = [200, 120, 300, 64][draws.below(4) as usize];
        Self {
            world: World::new(seed.child(WORLD)),
            game: *game,
            seed,
            links: Vec::new(),
            joined: Vec::new(),
            away_until: Vec::new(),
            datagram_max: if game.faults.has(Fault::TinyLimits) { tiny } else { 1_200 },
            tick: 0,
        }
    }

    /// Adds a process. The last player may be one that lies.
    pub(crate) fn add(&mut self, machine: M, lie: Option<Lie>) -> NodeId {
        let node = self.away_until.len() as u64;
        let lie = lie.map(|lie| (lie, self.seed.child(LIE).child(node).draws()));
        let clock = clock_faults(&self.game, self.seed.child(CLOCK).child(node));
        self.away_until.push(None);
        self.world.add_node(Actor::new(machine, lie), clock)
    }

    pub(crate) fn connect(&mut self, a: NodeId, b: NodeId) {
        let faults = |from: NodeId, to: NodeId| {
            let seed = self.seed.child(LINK).child(u64::from(from.0)).child(u64::from(to.0));
            link_faults(&self.game, seed)
        };
        let (there, back) = (faults(a, b), faults(b, a));
        self.world.connect(a, b, there, back);
        self.links.push((a, b));
        self.joined.push(false);
    }

    pub(crate) fn is_here(&self, node: NodeId) -> bool {
        self.away_until[node.0 as usize].is_none()
    }

    pub(crate) fn machine(&self, node: NodeId) -> &M {
        self.world.node(node).machine()
    }

    pub(crate) fn session(&self, node: NodeId) -> Option<evenkeel_core::SessionTime> {
        self.machine(node).session(self.world.clock(node).local(self.world.now()))
    }

    pub(crate) fn command(&mut self, node: NodeId, command: M::Command) {
        self.world.command(node, Order::Command(command));
    }

    /// Joins whoever is here.
    pub(crate) fn join_all(&mut self) {
        for index in 0..self.links.len() {
            let (a, b) = self.links[index];
            if !self.joined[index] && self.is_here(a) && self.is_here(b) {
                self.joined[index] = true;
                self.world.join(a, b, self.datagram_max);
            }
        }
    }

    fn leave(&mut self, node: NodeId, back_at: u64) {
        self.away_until[node.0 as usize] = Some(back_at);
        for index in 0..self.links.len() {
            let (a, b) = self.links[index];
            if self.joined[index] && (a == node || b == node) {
                self.joined[index] = false;
                self.world.leave(a, b);
            }
        }
    }

    /// Lets a tick pass.
    pub(crate) fn run(&mut self, observer: &mut impl Observer<Actor<M>>) {
        self.tick += 1;
        self.world.run_until(TrueTime::default() + TICK.times(self.tick as i64), observer);
    }

    /// Plays this tick's comings, goings, stops and cuts.
    pub(crate) fn churn(&mut self, fresh: impl Fn(NodeId) -> M) -> Vec<Churn> {
        let mut what = Vec::new();
        for node in (0..self.away_until.len() as u32).map(NodeId) {
            let seed = self.seed.child(CHURN).child(self.tick).child(u64::from(node.0));
            let draws_of = |fault: Fault| seed.child(fault as u64).draws();
            if let Some(back_at) = self.away_until[node.0 as usize] {
                if self.tick >= back_at {
                    self.away_until[node.0 as usize] = None;
                    self.join_all();
                    what.push(Churn::Joined);
                }
                continue;
            }
            let mut leaves = draws_of(Fault::Leaves);
            if self.game.faults.has(Fault::Leaves) && leaves.chance(0.012) {
                self.leave(node, self.tick + 1 + leaves.below(AWAY_MAX));
                what.push(Churn::Left(node));
                continue;
            }
            let mut crashes = draws_of(Fault::Crashes);
            if self.game.faults.has(Fault::Crashes) && crashes.chance(0.008) {
                self.leave(node, self.tick + 1 + crashes.below(AWAY_MAX));
                self.world.command(node, Order::Restart(Box::new(fresh(node))));
                what.push(Churn::Left(node));
                what.push(Churn::Restarted(node));
                continue;
            }
            let mut pauses = draws_of(Fault::Pauses);
            if self.game.faults.has(Fault::Pauses) && pauses.chance(0.01) {
                let until = self.world.clock(node).local(self.world.now()) + some_time(&mut pauses);
                self.world.command(node, Order::Stop(until));
            }
            let mut cuts = draws_of(Fault::Partitions);
            if self.game.faults.has(Fault::Partitions) && cuts.chance(0.01) {
                let until = self.world.clock(node).local(self.world.now()) + some_time(&mut cuts);
                self.world.command(node, Order::Cut(until));
            }
        }
        what
    }

    /// Ends every stop and cut, and brings everybody back. Applications whose clock has stepped connect anew, as they may have no
    /// session time until the step has passed.
    pub(crate) fn heal(&mut self, observer: &mut impl Observer<Actor<M>>) -> Vec<Churn> {
        let mut what = Vec::new();
        if self.game.faults.has(Fault::ClockSteps) {
            while self.tick < STEPPED {
                self.run(observer);
            }
            for node in (0..self.away_until.len() as u32).map(NodeId) {
                self.world.command(node, Order::Resume);
                if self.is_here(node) {
                    self.leave(node, 0);
                    what.push(Churn::Left(node));
                }
            }
        }
        for node in (0..self.away_until.len() as u32).map(NodeId) {
            self.world.command(node, Order::Resume);
            if self.away_until[node.0 as usize].take().is_some() {
                what.push(Churn::Joined);
            }
        }
        self.join_all();
        what
    }

    /// The other node of every link of a node.
    pub(crate) fn peers(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.links.iter().filter_map(move |&(a, b)| match node {
            _ if a == node => Some(b),
            _ if b == node => Some(a),
            _ => None,
        })
    }

    /// The bytes that a node has sent to its peers, and the messages.
    pub(crate) fn sent(&self, node: NodeId) -> (u64, u64) {
        let counters = self.peers(node).filter_map(|peer| self.world.counters(node, peer));
        counters.fold((0, 0), |(bytes, messages), lane| (bytes + lane.bytes, messages + lane.sent))
    }
}

/// Mostly fractions of a second; one in eight is longer than any connection's idle time.
fn some_time(draws: &mut Draws) -> Span {
    match draws.below(8) {
        0 => Span::from_millis(3_000 + draws.below(12_000) as i64),
        1 | 2 => Span::from_millis(500 + draws.below(2_500) as i64),
        _ => Span::from_millis(20 + draws.below(400) as i64),
    }
}

fn is_without_server(game: &Game) -> bool {
    matches!(game.machine, Machine::DrDirect | Machine::Neo)
}

fn clock_faults(game: &Game, seed: Seed) -> ClockFaults {
    let mut faults = ClockFaults::default();
    if game.faults.has(Fault::Clocks) {
        let mut draws = seed.child(0).draws();
        // Peers without a server have clocks that a time service keeps together: their median cannot go back by hours.
        let most = if is_without_server(game) { 150 } else { 10_000_000 };
        faults.offset = Span::from_millis(draws.below(2 * most) as i64 - most as i64);
        faults.skew_ppm = draws.uniform(-SKEW_PPM_MAX, SKEW_PPM_MAX);
    }
    if game.faults.has(Fault::ClockSteps) {
        let mut draws = seed.child(1).draws();
        let mut at = TrueTime::default();
        for _ in 0..draws.below(3) {
            at += Span::from_millis(200 + draws.below(3_000) as i64);
            // Small ones as by a time service, forward ones as after a laptop's sleep.
            // The median of peers without a server may then lie minutes back, which takes as long as it says.
            let kinds = if is_without_server(game) { 1 } else { 3 };
            let by = match draws.below(kinds) {
                0 => Span::from_millis(draws.below(400) as i64 - 200),
                1 => Span::from_secs(1 + draws.below(600) as i64),
                _ => Span::from_millis(draws.below(3_000) as i64),
            };
            faults.steps.push(ClockStep { at, by });
        }
    }
    faults
}

fn link_faults(game: &Game, seed: Seed) -> LinkFaults {
    let draws_of = |fault: Fault| seed.child(fault as u64).draws();
    let base = Span::from_millis(2 + seed.draws().below(200) as i64);
    let mut faults = LinkFaults::constant(base);
    if game.faults.has(Fault::Jitter) {
        let mut draws = draws_of(Fault::Jitter);
        let spread = Span::from_millis(1 + draws.below(60) as i64);
        let jitter = match draws.below(3) {
            0 => Jitter::Uniform { half_width: spread },
            1 => Jitter::Normal { sd: spread },
            _ => Jitter::Exponential { mean: spread },
        };
        faults.delay = DelayLaw { base, jitter };
    }
    if game.faults.has(Fault::DelaySteps) {
        let mut draws = draws_of(Fault::DelaySteps);
        let mut at = TrueTime::default();
        for _ in 0..1 + draws.below(2) {
            at += Span::from_millis(300 + draws.below(3_000) as i64);
            faults.steps.push(DelayStep { at, delay: Span::from_millis(draws.below(400) as i64) });
        }
    }
    if game.faults.has(Fault::Bursts) {
        let mut draws = draws_of(Fault::Bursts);
        faults.loss = Loss::GilbertElliott {
            good_mean: Span::from_millis(500 + draws.below(2_000) as i64),
            bad_mean: Span::from_millis(50 + draws.below(800) as i64),
            loss_good: draws.uniform(0.0, 0.1),
            loss_bad: draws.uniform(0.5, 0.95),
        };
    } else if game.faults.has(Fault::Loss) {
        faults.loss = Loss::Independent { probability: draws_of(Fault::Loss).uniform(0.0, 0.4) };
    }
    if game.faults.has(Fault::Duplicates) {
        faults.duplicate = draws_of(Fault::Duplicates).uniform(0.0, 0.3);
    }
    if game.faults.has(Fault::Reordering) {
        let mut draws = draws_of(Fault::Reordering);
        let extra = Span::from_millis(10 + draws.below(300) as i64);
        faults.reorder = Some(Reorder { share: draws.uniform(0.0, 0.3), extra });
    }
    faults
}

/// Damages one message in four.
pub(crate) fn garble(bytes: &mut Vec<u8>, _: evenkeel_core::Channel, draws: &mut Draws) {
    if bytes.is_empty() || !draws.chance(0.25) {
        return;
    }
    let at = draws.below(bytes.len() as u64) as usize;
    match draws.below(3) {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << draws.below(8),
        _ => bytes.extend_from_within(at..),
    }
}

/// The number by which peers know a node.
pub(crate) fn peer(node: NodeId) -> PeerId {
    node.into()
}
