//! One simulated room: a relay and players with a tank each, who join and leave.

use evenkeel_core::{Seed, Span};
use evenkeel_dr::{
    Budget, Compensation, DrCommand, DrConfig, DrPeer, DrRelay, EntityId, PolicyKind, Threshold, Topology,
};
use evenkeel_games::{Driver, Mover, STEP};
use evenkeel_link::{ClockFaults, DelayLaw, Jitter, LinkFaults, TrueTime};
use evenkeel_sim::{NodeId, World};

use crate::dr::node::{DrNode, NodeCommand};
use crate::parallel::Progress;
use crate::stats::{mean, population_sd};

/// The relay's node, and the first player's.
const RELAY: NodeId = NodeId(0);
const FIRST: u32 = 1;
const DATAGRAM_MAX: usize = 1200;
/// How often players observe their tanks, and how often what they see is compared, in steps of the motion.
const TICK: u64 = 2;
const COMPARED: u64 = 10;
/// The nearest and the farthest player's one-way delays, in milliseconds. The others' are between them, in equal ratios.
const NEAREST: f64 = 10.0;
const FARTHEST: f64 = 200.0;
/// Bytes of the headers around a datagram: IPv4, UDP, QUIC with its tag, and QUIC's frame.
const HEADERS: u64 = 58;

const MOTION: u64 = 1;
const NETWORK: u64 = 2;
const POLICY: u64 = 3;

/// The distance from the exported path at which owners make a vector.
pub(super) const THRESHOLD: f64 = 0.09;
/// How long a room plays, and the first part of it, in which errors and rates are not counted.
pub(super) const SECONDS: u64 = 150;
pub(super) const WARM_UP: u64 = 30;

/// Who is there, and when.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Attendance {
    /// Everybody, all the time.
    Constant,
    /// A fifth; after 50 s everybody at once; after 100 s three quarters leave at once.
    Crowd,
}

impl Attendance {
    /// When the crowd comes, and when it goes.
    pub(super) const COMES: u64 = 50;
    pub(super) const GOES: u64 = 100;

    /// The players that are there after this many seconds, of so many.
    pub(super) fn present(self, players: usize, second: u64) -> usize {
        match (self, second) {
            (Self::Constant, _) | (Self::Crowd, Self::COMES..Self::GOES) => players,
            (Self::Crowd, ..Self::COMES) => (players / 5).max(2),
            (Self::Crowd, _) => (players / 4).max(2),
        }
    }
}

/// A room to play.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct RoomCase {
    pub(super) players: usize,
    pub(super) policy: PolicyKind,
    pub(super) budget: Budget,
    pub(super) attendance: Attendance,
}

/// What left for one player in a second of the room, on average over those who were there.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct SecondRates {
    /// Bits, with the headers of the datagrams.
    pub(super) bits: f64,
    /// DR vectors.
    pub(super) vectors: f64,
}

/// What came of a room.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct RoomFigures {
    /// How far from its real position each player saw each other tank, in units, nearest player first. Those who left count
    /// while they were there.
    pub(super) errors: Vec<f64>,
    pub(super) seconds: Vec<SecondRates>,
}

impl RoomFigures {
    pub(super) fn mean_error(&self) -> f64 {
        mean(&self.errors)
    }

    pub(super) fn spread(&self) -> f64 {
        population_sd(&self.errors)
    }

    /// The mean of a rate over some seconds of the room.
    pub(super) fn rate(&self, from: u64, until: u64, of: impl Fn(&SecondRates) -> f64) -> f64 {
        mean(&self.seconds[from as usize..until as usize].iter().map(of).collect::<Vec<_>>())
    }
}

fn at_step(step: u64) -> TrueTime {
    TrueTime::from_nanos(STEP.times(step as i64).as_nanos())
}

/// A room while it is played.
struct RunningRoom {
    case: RoomCase,
    world: World<DrNode>,
    movers: Vec<Mover>,
    present: usize,
    /// Sums of distances, and their number, by player.
    distances: Vec<(f64, u64)>,
    /// Bytes and vectors until the last second.
    before: (u64, u64),
    seconds: Vec<SecondRates>,
}

impl RunningRoom {
    fn new(case: RoomCase, seed: u64) -> Self {
        let seed = Seed::new(seed);
        let config = DrConfig {
            topology: Topology::Relay(RELAY.into()),
            threshold: Threshold { distance: THRESHOLD, ..Threshold::default() },
            policy: case.policy,
            budget: case.budget,
            compensation: Some(Compensation::default()),
            tick: STEP.times(TICK as i64),
            seed: seed.child(POLICY),
            ..DrConfig::default()
        };
        let mut world = World::new(seed.child(NETWORK));
        world.add_node(DrNode::Relay(Box::new(DrRelay::new(&config))), ClockFaults::default());
        for player in 0..case.players {
            let node = world.add_node(DrNode::Peer(Box::new(DrPeer::new(&config))), ClockFaults::default());
            let part = player as f64 / (case.players.max(2) - 1) as f64;
            let delay = 1e-3 * NEAREST * (FARTHEST / NEAREST).powf(part);
            let (base, sd) = (Span::from_secs_f64(delay), Span::from_secs_f64(0.1 * delay));
            let link = LinkFaults {
                delay: DelayLaw { base, jitter: Jitter::Gamma { sd } },
                ..LinkFaults::default()
            };
            world.connect(RELAY, node, link.clone(), link);
        }
        let mover = |player: usize| Mover::tank(Driver::Random, seed.child(MOTION).child(player as u64));
        Self {
            world,
            movers: (0..case.players).map(mover).collect(),
            present: 0,
            distances: vec![(0.0, 0); case.players],
            before: (0, 0),
            seconds: Vec::new(),
            case,
        }
    }

    fn node(player: usize) -> NodeId {
        NodeId(FIRST + player as u32)
    }

    /// Players come and go. The nearest and the farthest stay: who leaves is in between.
    fn attend(&mut self, second: u64) {
        let wanted = self.case.attendance.present(self.case.players, second);
        while self.present < wanted {
            self.world.join(RELAY, Self::node(self.order(self.present)), DATAGRAM_MAX);
            self.present += 1;
        }
        while self.present > wanted {
            self.present -= 1;
            self.world.leave(RELAY, Self::node(self.order(self.present)));
        }
    }

    /// The player that joins as this one: the nearest, the farthest, then all others.
    fn order(&self, rank: usize) -> usize {
        match rank {
            0 => 0,
            1 => self.case.players - 1,
            other => other - 1,
        }
    }

    fn observe(&mut self, step: u64) {
        for rank in 0..self.present {
            let player = self.order(rank);
            let sample = self.movers[player].at(step).expect("a driven tank never dies");
            let command = DrCommand::Observe { entity: EntityId(player as u32), state: sample.state };
            self.world.command(Self::node(player), NodeCommand::Peer(command));
        }
    }

    /// Compares what each player sees with where the others really are.
    fn compare(&mut self, step: u64) {
        let there: Vec<usize> = (0..self.present).map(|rank| self.order(rank)).collect();
        let real: Vec<_> = there
            .iter()
            .map(|player| self.movers[*player].at(step).expect("a driven tank never dies").state.position)
            .collect();
        for viewer in &there {
            let local = self.world.clock(Self::node(*viewer)).local(self.world.now());
            let DrNode::Peer(peer) = self.world.node(Self::node(*viewer)) else { continue };
            let (sum, count) = &mut self.distances[*viewer];
            for (player, real) in there.iter().zip(&real).filter(|(player, _)| *player != viewer) {
                if let Some(seen) = peer.position(local, RELAY.into(), EntityId(*player as u32)) {
                    *sum += seen.distance(*real);
                    *count += 1;
                }
            }
        }
    }

    fn count_second(&mut self) {
        let lanes =
            (0..self.case.players).filter_map(|player| self.world.counters(RELAY, Self::node(player)));
        let bytes = lanes.map(|lane| lane.bytes + HEADERS * lane.sent).sum::<u64>();
        let vectors = self.world.node(RELAY).ledger().map_or(0, evenkeel_dr::ledger::ErrorLedger::sent);
        let players = self.present.max(1) as f64;
        let (bytes_before, vectors_before) = core::mem::replace(&mut self.before, (bytes, vectors));
        self.seconds.push(SecondRates {
            bits: 8.0 * (bytes - bytes_before) as f64 / players,
            vectors: (vectors - vectors_before) as f64 / players,
        });
    }
}

/// Plays a room; `None` if that was cancelled.
pub(super) fn play(case: RoomCase, seed: u64, progress: &Progress) -> Option<RoomFigures> {
    let mut room = RunningRoom::new(case, seed);
    let steps_per_second = Span::from_secs(1).as_nanos() as u64 / STEP.as_nanos() as u64;
    for second in 0..SECONDS {
        if progress.is_cancelled() {
            return None;
        }
        room.attend(second);
        for step in second * steps_per_second..(second + 1) * steps_per_second {
            room.world.run_until(at_step(step), &mut ());
            if step % TICK == 0 {
                room.observe(step);
            }
            if step % COMPARED == 0 && second >= WARM_UP {
                room.compare(step);
            }
        }
        room.count_second();
    }
    let seen = room.distances.iter().filter(|(_, count)| *count > 0);
    let errors = seen.map(|(sum, count)| sum / *count as f64).collect();
    Some(RoomFigures { errors, seconds: room.seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_comes_and_goes_within_the_budget() {
        let case = RoomCase {
            players: 12,
            policy: "even:kappa=3,keep=0.9".parse().expect("a policy"),
            budget: "24 kbit/s".parse().expect("a budget"),
            attendance: Attendance::Crowd,
        };
        let figures = play(case, 1, &Progress::default()).expect("not cancelled");
        assert_eq!((figures.errors.len(), figures.seconds.len()), (12, SECONDS as usize));
        for (from, until) in [(20, 50), (70, 100), (120, 150)] {
            let rate = figures.rate(from, until, |second| second.bits);
            assert!(rate < 1.05 * 24e3, "{rate} bit/s from {from} s");
        }
        let crowded = figures.rate(70, 100, |second| second.bits);
        assert!(crowded > 0.95 * 24e3, "{crowded} bit/s");
    }
}
