//! One run: a simulated world of players, and what is seen of it.

use std::collections::BTreeMap;

use evenkeel_core::{PeerId, Seed, Span};
use evenkeel_games::eater::{EaterEvent, EaterNode, EaterNodeConfig, EaterPlayer, Forager};
use evenkeel_link::{ClockFaults, TrueTime};
use evenkeel_neo::{NeoEvent, PlayedMove, UnusedReason};
use evenkeel_sim::{NodeId, World};

use super::node::{BoxedPeer, MoveNode};
use super::protocol::Machine;
use super::setting::NeoSetting;
use super::tally::DelayTally;
use crate::parallel::Progress;

const NETWORK: u64 = 1;
const MACHINES: u64 = 2;
const BOTS: u64 = 3;
const CLOCKS: u64 = 4;
const DATAGRAM_MAX: usize = 1_200;
/// How often positions are compared.
const SAMPLE: Span = Span::from_millis(100);
/// Clocks start up to this much apart.
const CLOCK_OFFSET_MS: f64 = 500.0;

/// The figures of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct NeoFigures {
    pub(crate) latency: DelayTally,
    pub(crate) waiting: DelayTally,
    /// From the update that reveals a move until it is shown.
    pub(crate) playout: DelayTally,
    /// From the commitment to a move until it is shown.
    pub(crate) age: DelayTally,
    /// Votes for a move that was used.
    pub(crate) votes: DelayTally,
    /// Moves that were not used, by reason.
    pub(crate) unused: [u64; 5],
    /// Pixels between where eaters are and where others show them.
    pub(crate) location: DelayTally,
    /// Bytes that a peer sends, per second, the mean over the peers.
    pub(crate) up: f64,
    /// Bytes of all messages, per second.
    pub(crate) total: f64,
    /// Messages that a peer sends, per second.
    pub(crate) messages: f64,
    /// The share of messages that the network lost.
    pub(crate) lost: f64,
    /// The mean size of a message, in bytes.
    pub(crate) size: f64,
    /// Stones that are gone, those of which no eater is known, and the largest difference of any two peers' counts.
    pub(crate) stones: (u64, u64, u64),
    /// Peers that were evicted, by anybody.
    pub(crate) evicted: u64,
}

impl NeoFigures {
    /// The share of moves that were not used, in percent.
    pub(crate) fn unused_percent(&self) -> f64 {
        let unused: u64 = self.unused.iter().sum();
        percent(unused, unused + self.playout.count())
    }

    /// The share of moves that were not used for this reason, in percent.
    pub(crate) fn unused_by(&self, reason: UnusedReason) -> f64 {
        let unused: u64 = self.unused.iter().sum();
        percent(self.unused[reason as usize], unused + self.playout.count())
    }

    /// What a peer sends, in kilobits per second.
    pub(crate) fn up_kbps(&self) -> f64 {
        self.up * 8.0 / 1_000.0
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// A decided update, as the thesis' tables 2 and 3 list it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TracedUpdate {
    pub(crate) at_peer: usize,
    pub(crate) from: usize,
    pub(crate) slot: u64,
    /// What became of it.
    pub(crate) fate: Result<PlayedMove, UnusedReason>,
}

/// What the observer collects.
struct Collected {
    figures: NeoFigures,
    from: TrueTime,
    until: TrueTime,
    trace: Vec<TracedUpdate>,
    trace_max: usize,
    /// When each player committed to each of its moves.
    committed: BTreeMap<(PeerId, u64), TrueTime>,
}

impl Collected {
    fn on_event(&mut self, at: TrueTime, node: NodeId, event: EaterEvent) {
        let EaterEvent::Peer(event) = event else { return };
        if matches!(event, NeoEvent::Evicted { .. }) {
            self.figures.evicted += 1;
        }
        if let NeoEvent::Committed { slot, .. } = event {
            self.committed.insert((node.into(), slot), at);
        }
        if at < self.from || at >= self.until {
            return;
        }
        let figures = &mut self.figures;
        let (from, slot, fate) = match event {
            NeoEvent::Played(played) => {
                figures.latency.add((played.arrived - played.revealed).as_millis_f64());
                figures.waiting.add(played.waiting().as_millis_f64());
                figures.playout.add(played.playout().as_millis_f64());
                if let Some(committed) = self.committed.get(&(played.from, played.slot)) {
                    figures.age.add((at - *committed).as_millis_f64());
                }
                figures.votes.add(f64::from(played.votes.0));
                (played.from, played.slot, Ok(played))
            }
            NeoEvent::Unused { from, slot, reason, .. } => {
                figures.unused[reason as usize] += 1;
                (from, slot, Err(reason))
            }
            _ => return,
        };
        if self.trace.len() < self.trace_max {
            let index = |peer: PeerId| peer.0 as usize;
            self.trace.push(TracedUpdate { at_peer: index(node.into()), from: index(from), slot, fate });
        }
    }
}

/// Runs a setting; `None` if the work was cancelled.
pub(crate) fn run_setting(setting: &NeoSetting, seed: u64, progress: &Progress) -> Option<NeoFigures> {
    Some(run_traced(setting, seed, 0, progress)?.0)
}

/// The same, with the first so many decided updates.
pub(crate) fn run_traced(
    setting: &NeoSetting,
    seed: u64,
    trace_max: usize,
    progress: &Progress,
) -> Option<(NeoFigures, Vec<TracedUpdate>)> {
    let seed = Seed::new(seed);
    let (mut world, players) = build(setting, seed);
    let start = TrueTime::default();
    let (from, until) = (start + setting.settled, start + setting.duration);
    let mut collected = Collected {
        figures: NeoFigures::default(),
        from,
        until,
        trace: Vec::new(),
        trace_max,
        committed: BTreeMap::new(),
    };
    let mut observer = |at, node, event| collected.on_event(at, node, event);
    let mut location = DelayTally::default();
    world.run_until(from, &mut observer);
    let before = Traffic::of(&world, &players);
    let mut now = from;
    while now < until {
        now += SAMPLE;
        world.run_until(now, &mut observer);
        compare(&world, &players, &mut location);
        if progress.is_cancelled() {
            return None;
        }
    }
    let traffic = Traffic::of(&world, &players).since(&before);
    let seconds = (until - from).as_secs_f64();
    let mut figures = collected.figures;
    figures.location = location;
    figures.up = traffic.players as f64 / seconds / players.len() as f64;
    figures.total = traffic.bytes as f64 / seconds;
    figures.messages = traffic.messages as f64 / seconds / players.len() as f64;
    figures.lost = percent(traffic.lost, traffic.sent);
    figures.size = traffic.bytes as f64 / traffic.sent.max(1) as f64;
    figures.stones = stones(&world, &players);
    Some((figures, collected.trace))
}

/// Builds the world; its players are its first nodes.
fn build(setting: &NeoSetting, seed: Seed) -> (World<MoveNode>, Vec<NodeId>) {
    let mut world = World::new(seed.child(NETWORK));
    let mut clocks = seed.child(CLOCKS).draws();
    let players: Vec<NodeId> = (0..setting.peers)
        .map(|index| {
            let apart = if setting.protocol.keeps_time() { CLOCK_OFFSET_MS } else { 0.0 };
            let offset = Span::from_millis_f64(clocks.uniform(0.0, apart));
            let clock = ClockFaults { offset, ..ClockFaults::default() };
            world.add_node(player(setting, seed, index), clock)
        })
        .collect();
    if let Some(server) = setting.protocol.server(setting.peers) {
        let server = world.add_node(MoveNode::Server(server), ClockFaults::default());
        for player in &players {
            let [up, down] = setting.server_faults();
            world.connect(*player, server, up, down);
            world.join(*player, server, DATAGRAM_MAX);
        }
        return (world, players);
    }
    for (index, one) in players.iter().enumerate() {
        for other in &players[..index] {
            world.connect(*one, *other, setting.faults(), setting.faults());
            world.join(*one, *other, DATAGRAM_MAX);
        }
    }
    (world, players)
}

fn player(setting: &NeoSetting, seed: Seed, index: usize) -> MoveNode {
    let secret = seed.child(MACHINES).child(index as u64);
    let Machine { peer, key } = setting.protocol.machine(index, setting.peers, secret);
    let config = EaterNodeConfig {
        game: setting.game,
        has_areas: setting.protocol.has_areas(),
        player: EaterPlayer::Bot(Forager::new(seed.child(BOTS).child(index as u64))),
    };
    MoveNode::Player(Box::new(EaterNode::new(config, BoxedPeer(peer), &key)))
}

/// Compares where each eater is with where the others show it.
fn compare(world: &World<MoveNode>, players: &[NodeId], location: &mut DelayTally) {
    let boards: Vec<_> = players.iter().filter_map(|node| world.node(*node).player()).collect();
    for viewer in &boards {
        for shown in &boards {
            let rival = viewer.board().rivals().find(|(eater, _)| *eater == shown.board().me());
            let Some(reckoning) = rival.and_then(|(_, rival)| rival.reckoning()) else { continue };
            // Those out of sight are not shown.
            if viewer.shows(shown.board().me()) {
                location.add(reckoning.at().distance(shown.board().walker().at()));
            }
        }
    }
}

fn stones(world: &World<MoveNode>, players: &[NodeId]) -> (u64, u64, u64) {
    let gone: Vec<(u64, u64)> =
        players.iter().filter_map(|node| Some(world.node(*node).player()?.board().stones().gone())).collect();
    let most = gone.iter().map(|(gone, _)| *gone).max().unwrap_or(0);
    let least = gone.iter().map(|(gone, _)| *gone).min().unwrap_or(0);
    let unknown = gone.iter().map(|(_, unknown)| *unknown).max().unwrap_or(0);
    (most, unknown, most - least)
}

/// Messages and bytes so far.
#[derive(Clone, Copy, Default)]
struct Traffic {
    sent: u64,
    lost: u64,
    bytes: u64,
    /// Of those that the players sent.
    players: u64,
    messages: u64,
}

impl Traffic {
    /// The server, if there is one, is the node after the players.
    fn of(world: &World<MoveNode>, players: &[NodeId]) -> Self {
        let nodes = || (0..=players.len() as u32).map(NodeId);
        let mut traffic = Self::default();
        for (from, to) in nodes().flat_map(|from| nodes().map(move |to| (from, to))) {
            let Some(counters) = world.counters(from, to) else { continue };
            traffic.sent += counters.sent;
            traffic.lost += counters.lost;
            traffic.bytes += counters.bytes;
            if players.contains(&from) {
                traffic.players += counters.bytes;
                traffic.messages += counters.sent;
            }
        }
        traffic
    }

    const fn since(&self, before: &Self) -> Self {
        Self {
            sent: self.sent - before.sent,
            lost: self.lost - before.lost,
            bytes: self.bytes - before.bytes,
            players: self.players - before.players,
            messages: self.messages - before.messages,
        }
    }
}
