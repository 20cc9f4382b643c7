//! Games with every fault at once, and what must hold in each of them.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::{Draws, PeerId, Seed, Span};
use evenkeel_link::{ClockFaults, ClockStep, LinkFaults, Loss};
use evenkeel_neo::{Cheat, NeoCommand, NeoConfig, NeoEvent, PublicKey, Session};
use evenkeel_sim::NodeId;

use crate::table::{Act, DATAGRAM_MAX, Table, exponential, millis};

/// The length of a game, and from when on no more faults begin, in milliseconds.
const GAME: i64 = 9_000;
const QUIET: i64 = 6_500;

/// What happened in a game.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GameReport {
    pub(crate) played: u64,
    pub(crate) unused: u64,
    /// Moves of honest peers on which honest peers decided, two or more on each, and those of them that some of these played
    /// and others gave up.
    pub(crate) shared: u64,
    pub(crate) split: u64,
    pub(crate) changes: u64,
    /// Cheaters, and those of them that were evicted.
    pub(crate) cheaters: u64,
    pub(crate) caught: u64,
    pub(crate) partitions: u64,
    pub(crate) crashes: u64,
    pub(crate) clock_steps: u64,
}

struct Plan {
    peers: usize,
    cheater: Option<usize>,
    partition: Option<(i64, i64, usize)>,
    crash: Option<(usize, i64, i64, i64)>,
}

fn between(draws: &mut Draws, low: i64, high: i64) -> i64 {
    low + draws.below((high - low) as u64) as i64
}

impl Plan {
    fn draw(draws: &mut Draws) -> Self {
        let peers = 3 + draws.below(4) as usize;
        let cheater = draws.chance(0.3).then(|| draws.below(peers as u64) as usize);
        let partition = draws.chance(0.5).then(|| {
            let begin = between(draws, 1_500, 4_000);
            (begin, begin + between(draws, 300, 2_500), 1 + draws.below(peers as u64 - 1) as usize)
        });
        let crash = draws.chance(0.5).then(|| {
            let at = between(draws, 1_500, 3_500);
            // The driver notices after a while, and starts the process again.
            let noticed = at + between(draws, 100, 1_500);
            (draws.below(peers as u64) as usize, at, noticed, noticed + between(draws, 50, 1_000))
        });
        Self { peers, cheater, partition, crash }
    }
}

fn clock(draws: &mut Draws, steps: &mut u64) -> ClockFaults {
    let mut faults = ClockFaults {
        offset: Span::from_millis(between(draws, -60, 60)),
        skew_ppm: draws.uniform(-100.0, 100.0),
        steps: Vec::new(),
    };
    if draws.chance(0.2) {
        *steps += 1;
        let by = Span::from_millis(between(draws, -400, 400));
        faults.steps.push(ClockStep { at: millis(between(draws, 1_000, 5_000)), by });
    }
    faults
}

fn link(draws: &mut Draws) -> LinkFaults {
    let mut faults = exponential(Span::from_millis(between(draws, 5, 60)), draws.uniform(0.0, 0.05));
    faults.delay.base = Span::from_millis(between(draws, 1, 30));
    faults.duplicate = if draws.chance(0.3) { 0.02 } else { 0.0 };
    if draws.chance(0.2) {
        let (good_mean, bad_mean) = (Span::from_millis(2_000), Span::from_millis(120));
        faults.loss = Loss::GilbertElliott { good_mean, bad_mean, loss_good: 0.01, loss_bad: 0.7 };
    }
    faults
}

/// Plays one game and checks it.
///
/// # Panics
/// If an honest peer was evicted, two honest peers played different moves of one slot, or a state change of an honest peer
/// was lost or delivered twice.
pub(crate) fn play(seed: u64) -> GameReport {
    play_and_show(seed, |_| {})
}

/// Plays one game, shows it, and checks it.
pub(crate) fn play_and_show(seed: u64, show: impl FnOnce(&Table)) -> GameReport {
    let mut draws = Seed::new(seed).draws();
    let plan = Plan::draw(&mut draws);
    let config = NeoConfig::new(Session([seed as u8; 16]));
    let mut report = GameReport::default();
    let cheats: Vec<Cheat> = (0..plan.peers)
        .map(|i| {
            let others = (0..plan.peers).filter(|other| *other != i && other % 2 == 0);
            let mut fooled: Vec<PeerId> = others.map(|other| PeerId(other as u32)).collect();
            // Told to all, the other story would be the only one.
            fooled.truncate(plan.peers - 2);
            if plan.cheater == Some(i) { Cheat::Inconsistency(fooled) } else { Cheat::None }
        })
        .collect();
    let clocks: Vec<ClockFaults> =
        (0..plan.peers).map(|_| clock(&mut draws, &mut report.clock_steps)).collect();
    let links: Vec<LinkFaults> = (0..plan.peers * plan.peers).map(|_| link(&mut draws)).collect();
    let mut table =
        Table::new(seed, &config, cheats, |i| clocks[i].clone(), |a, b| links[a * plan.peers + b].clone());
    run(&mut table, &plan, &mut draws);
    show(&table);
    report.partitions = u64::from(plan.partition.is_some());
    report.crashes = u64::from(plan.crash.is_some());
    check_evictions(seed, &table, &plan, &mut report);
    check_moves(seed, &table, &plan, &mut report);
    check_changes(seed, &table, &plan, &mut report);
    report
}

/// Something that befalls a table.
type Fault = Box<dyn Fn(&mut Table)>;

fn run(table: &mut Table, plan: &Plan, draws: &mut Draws) {
    let mut acts: Vec<(i64, Fault)> = Vec::new();
    if let Some((begin, end, size)) = plan.partition {
        acts.push((begin, Box::new(move |table| cut(table, size))));
        acts.push((end, Box::new(move |table| cut(table, 0))));
    }
    if let Some((who, at, noticed, back)) = plan.crash {
        acts.push((at, Box::new(move |table| table.world.command(table.nodes[who], Act::Crash))));
        acts.push((noticed, Box::new(move |table| relink(table, who, false))));
        acts.push((
            back,
            Box::new(move |table| {
                table.world.command(table.nodes[who], Act::Restart);
                relink(table, who, true);
            }),
        ));
    }
    acts.sort_by_key(|(at, _)| *at);
    let mut acts = acts.into_iter().peekable();
    let mut count = 0u32;
    for at in (50..GAME).step_by(50) {
        while let Some((due, act)) = acts.next_if(|(due, _)| *due <= at) {
            table.play_until(due);
            act(table);
        }
        table.play_until(at);
        if at < QUIET && draws.chance(0.3) {
            count += 1;
            let who = draws.below(plan.peers as u64) as usize;
            table.act(who, NeoCommand::ChangeState(count.to_le_bytes().to_vec()));
        }
    }
    table.play_until(GAME);
}

/// Cuts the first peers off from the others.
fn cut(table: &mut Table, size: usize) {
    for (i, node) in table.nodes.clone().into_iter().enumerate() {
        let others = (0..table.nodes.len()).filter(|other| (i < size) != (*other < size));
        let cut: BTreeSet<PeerId> = others.map(|other| PeerId(other as u32)).collect();
        table.world.command(node, Act::Cut(cut));
    }
}

fn relink(table: &mut Table, who: usize, is_up: bool) {
    let node = table.nodes[who];
    for other in table.nodes.clone().into_iter().filter(|other| *other != node) {
        if is_up {
            table.world.join(node, other, DATAGRAM_MAX);
        } else {
            table.world.leave(node, other);
        }
    }
}

fn is_honest(plan: &Plan, node: NodeId) -> bool {
    plan.cheater != Some(node.0 as usize)
}

fn check_evictions(seed: u64, table: &Table, plan: &Plan, report: &mut GameReport) {
    report.cheaters = u64::from(plan.cheater.is_some());
    let cheater = plan.cheater.map(|cheater| table.node(cheater).key());
    for (by, key) in table.evicted() {
        assert_eq!(Some(key), cheater, "game {seed}: {by:?} evicts {key}, who is honest");
        report.caught = 1;
    }
}

fn check_moves(seed: u64, table: &Table, plan: &Plan, report: &mut GameReport) {
    let mut moves: BTreeMap<(bool, u64, PeerId), &[u8]> = BTreeMap::new();
    let mut fates: BTreeMap<(bool, u64, PeerId), (u64, u64)> = BTreeMap::new();
    for (at, node, event) in table.events.iter().filter(|(_, node, _)| is_honest(plan, *node)) {
        // While a partition keeps honest peers from talking, a cheater between them can tell each side another story.
        let is_apart = |(begin, end, size): (i64, i64, usize)| {
            (node.0 as usize) < size && millis(begin) <= *at && *at <= millis(end + 1_000)
        };
        let side = plan.partition.is_some_and(is_apart);
        match event {
            NeoEvent::Played(made) => {
                let known = moves.entry((side, made.slot, made.from)).or_insert(&made.bytes);
                assert_eq!(*known, &made.bytes[..], "game {seed}: {node:?} played another move than others");
                report.played += 1;
                fates.entry((side, made.slot, made.from)).or_default().0 += 1;
            }
            NeoEvent::Unused { slot, from, .. } => {
                report.unused += 1;
                fates.entry((side, *slot, *from)).or_default().1 += 1;
            }
            _ => {}
        }
    }
    let shared = fates
        .iter()
        .filter(|((_, _, from), (played, given_up))| is_honest(plan, NodeId(from.0)) && played + given_up > 1)
        .map(|(_, fate)| *fate);
    for (played, given_up) in shared {
        report.shared += 1;
        report.split += u64::from(played > 0 && given_up > 0);
    }
}

fn check_changes(seed: u64, table: &Table, plan: &Plan, report: &mut GameReport) {
    let crashed = plan.crash.map(|(who, ..)| NodeId(who as u32));
    let mut sent: BTreeMap<PublicKey, Vec<Vec<u8>>> = BTreeMap::new();
    let mut received: BTreeMap<(NodeId, PublicKey), Vec<Vec<u8>>> = BTreeMap::new();
    for (_, node, event) in &table.events {
        match event {
            NeoEvent::StateSent { bytes, .. } => {
                let key = table.world.node(*node).key();
                sent.entry(key).or_default().push(bytes.clone());
            }
            NeoEvent::StateChanged { author, bytes, .. } => {
                received.entry((*node, *author)).or_default().push(bytes.clone());
            }
            _ => {}
        }
    }
    let steady: Vec<NodeId> =
        table.nodes.iter().copied().filter(|node| is_honest(plan, *node) && crashed != Some(*node)).collect();
    for author in table.nodes.iter().copied().filter(|node| is_honest(plan, *node)) {
        let key = table.world.node(author).key();
        let all = sent.get(&key).cloned().unwrap_or_default();
        report.changes += all.len() as u64;
        let mut seen: Option<BTreeSet<Vec<u8>>> = None;
        for node in steady.iter().filter(|node| **node != author) {
            let got = received.get(&(*node, key)).cloned().unwrap_or_default();
            let set: BTreeSet<Vec<u8>> = got.iter().cloned().collect();
            assert_eq!(set.len(), got.len(), "game {seed}: {node:?} got a change of {author:?} twice");
            if crashed == Some(author) {
                // What it had told nobody is gone with it.
                let first = seen.get_or_insert_with(|| set.clone());
                assert_eq!(
                    first, &set,
                    "game {seed}: {node:?} lacks a change of {author:?} that others have"
                );
            } else {
                assert_eq!(all, got, "game {seed}: {node:?} lacks a change of {author:?}");
            }
        }
    }
}
