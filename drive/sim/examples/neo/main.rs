//! NEO's figures: playout, age, unused moves and bandwidth of tables of 2 to 50 peers, how soon equivocation is proved, and
//! games with every fault.
//!
//! ```text
//! cargo run --release -p evenkeel-sim --example neo -- figures
//! cargo run --release -p evenkeel-sim --example neo -- figures 10
//! cargo run --release -p evenkeel-sim --example neo -- equivocation 200
//! cargo run --release -p evenkeel-sim --example neo -- games 10000
//! ```

#![allow(clippy::disallowed_macros, reason = "a program prints")]

#[path = "../../tests/neo/games.rs"]
mod games;
#[path = "../../tests/neo/table.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod table;

use std::collections::BTreeMap;

use evenkeel_core::{PeerId, Span};
use evenkeel_link::{ClockFaults, TrueTime};
use evenkeel_neo::cheat::HONEST_MOVES;
use evenkeel_neo::{Cheat, Deadline, NeoCommand, NeoConfig, NeoEvent, NeoStats, Session};

use table::{Table, exponential};

/// Playing time before anything is counted, and in which it is, in milliseconds.
const WARM_UP: i64 = 4_000;
const COUNTED: i64 = 20_000;
/// Bytes of IP, UDP and QUIC around a datagram: 28 and about 30.
const AROUND: u64 = 58;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = arguments.get(1).and_then(|number| number.parse::<u64>().ok());
    match arguments.first().map(String::as_str) {
        Some("figures") => figures(number),
        Some("equivocation") => equivocation(number.unwrap_or(100)),
        Some("game") => one_game(number.unwrap_or(0)),
        Some("games") => many_games(number.unwrap_or(1_000)),
        _ => {
            println!("usage: neo figures [PEERS] | equivocation [RUNS] | games [COUNT] | game SEED");
            std::process::exit(2);
        }
    }
}

fn figures(peers: Option<u64>) {
    println!("45 ms mean exponential delay, 1 % loss, moves of 8 bytes, {} s counted", COUNTED / 1_000);
    println!("playout: from the sending of the update that first reveals a move; age: from its commitment");
    println!("| peers | rules | playout ms | age ms | unused % | kbps up per peer | with headers |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for count in [2, 3, 4, 10, 20, 50].into_iter().filter(|count| peers.is_none_or(|peers| peers == *count)) {
        let count = count as usize;
        let session = Session([9; 16]);
        measure(count, "default", &NeoConfig::new(session));
        if count <= 10 {
            measure(count, "thesis", &NeoConfig::thesis(session));
            measure(count, "thesis, at the quorum", &NeoConfig::thesis_at_quorum(session));
        }
        if count == 50 {
            measure(count, "default, areas", &NeoConfig { has_areas: true, ..NeoConfig::new(session) });
        }
    }
}

fn total(table: &Table) -> NeoStats {
    let mut sum = NeoStats::default();
    for i in 0..table.nodes.len() {
        let stats = table.node(i).stats();
        sum.played += stats.played;
        sum.datagrams += stats.datagrams;
        sum.datagram_bytes += stats.datagram_bytes;
        sum.reliable += stats.reliable;
        sum.reliable_bytes += stats.reliable_bytes;
        (0..5).for_each(|reason| sum.unused[reason] += stats.unused[reason]);
    }
    sum
}

fn measure(count: usize, rules: &str, config: &NeoConfig) {
    let clock = |i: usize| ClockFaults { offset: Span::from_millis(i as i64 % 7), ..ClockFaults::default() };
    let link = |_, _| exponential(Span::from_millis(45), 0.01);
    let mut table = Table::new(count as u64, config, vec![Cheat::None; count], clock, link);
    if config.has_areas {
        set_areas(&mut table, count);
    }
    table.play_until(WARM_UP);
    let before = total(&table);
    table.play_until(WARM_UP + COUNTED);
    let after = total(&table);
    let played = after.played - before.played;
    let (playout, age) = true_delays(&table, config);
    let unused: u64 = after.unused.iter().sum::<u64>() - before.unused.iter().sum::<u64>();
    let messages = after.datagrams + after.reliable - before.datagrams - before.reliable;
    let bytes = after.datagram_bytes + after.reliable_bytes - before.datagram_bytes - before.reliable_bytes;
    let kbps = |bytes: u64| bytes as f64 * 8.0 / COUNTED as f64 / count as f64;
    println!(
        "| {count} | {rules} | {:.1} | {:.1} | {:.3} | {:.1} | {:.1} |",
        playout,
        age,
        unused as f64 * 100.0 / (played + unused) as f64,
        kbps(bytes),
        kbps(bytes + messages * AROUND),
    );
}

/// Mean playout delay and age in milliseconds, by the true time of commitment and play-out.
fn true_delays(table: &Table, config: &NeoConfig) -> (f64, f64) {
    let slot = Span::from_nanos(config.round.as_nanos() / i64::from(config.depth));
    let hidden = if config.deadline == Deadline::Slot { slot } else { config.round };
    let mut committed = BTreeMap::new();
    let (mut sum, mut count) = (0.0, 0.0);
    for (at, node, event) in &table.events {
        match event {
            NeoEvent::Committed { slot, .. } => {
                committed.insert((PeerId::from(*node), *slot), *at);
            }
            NeoEvent::Played(made) if at.as_nanos() > WARM_UP * 1_000_000 => {
                if let Some(began) = committed.get(&(made.from, made.slot)) {
                    sum += (*at - *began).as_millis_f64();
                    count += 1.0;
                }
            }
            _ => {}
        }
    }
    (sum / count - hidden.as_millis_f64(), sum / count)
}

/// Peers on a 10 by 5 field see whoever is at most two steps away: neighbourhoods overlap, and none is closed.
fn set_areas(table: &mut Table, count: usize) {
    let place = |i: usize| ((i % 10) as i64, (i / 10) as i64);
    for i in 0..count {
        let (x, y) = place(i);
        let is_near = |other: &usize| {
            let (other_x, other_y) = place(*other);
            *other != i && (x - other_x).abs() + (y - other_y).abs() <= 2
        };
        let near: Vec<PeerId> = (0..count).filter(is_near).map(|other| PeerId(other as u32)).collect();
        table.act(i, NeoCommand::Interest(near));
    }
}

/// From a cheater's first update with two stories to the first proof, over runs with 10 peers.
fn equivocation(runs: u64) {
    let config = NeoConfig::new(Session([9; 16]));
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for seed in 0..runs {
        let fooled: Vec<PeerId> = (1..10).filter(|i| (seed + i) % 2 == 0).map(|i| PeerId(i as u32)).collect();
        let mut cheats = vec![Cheat::None; 10];
        cheats[0] = Cheat::Inconsistency(fooled);
        let mut table = Table::plain(seed, &config, cheats, 45, 0.01);
        table.play_until(5_500);
        let moves = table.events.iter().filter_map(|(at, node, event)| {
            (node.0 == 0 && matches!(event, NeoEvent::Committed { .. })).then_some(*at)
        });
        let began = moves.into_iter().nth(HONEST_MOVES as usize);
        let proved: Vec<TrueTime> = table
            .events
            .iter()
            .filter(|(_, node, event)| node.0 > 0 && matches!(event, NeoEvent::Evicted { .. }))
            .map(|(at, ..)| *at)
            .collect();
        let (Some(began), Some(one), Some(all)) = (began, proved.iter().min(), proved.iter().max()) else {
            println!("run {seed}: no proof");
            continue;
        };
        first.push((*one - began).as_millis_f64());
        last.push((*all - began).as_millis_f64());
    }
    for (name, mut delays) in [("first proof", first), ("everybody has it", last)] {
        delays.sort_by(f64::total_cmp);
        let at = |share: f64| delays[((delays.len() - 1) as f64 * share).round() as usize];
        println!("{name}: median {:.0} ms, p99 {:.0} ms, of {} runs", at(0.5), at(0.99), delays.len());
    }
}

/// Shows one game second by second: moves played and not used by each peer, and what happened to it.
fn one_game(seed: u64) {
    let report = games::play_and_show(seed, |table| {
        for node in &table.nodes {
            println!("{node:?}, whose clock is {:?}", table.world.clock(*node));
            for second in 0..9 {
                let is_then = |at: &TrueTime| at.as_nanos() / 1_000_000_000 == second;
                let (mut played, mut unused) = (0, [0; 5]);
                for (_, _, event) in table.events.iter().filter(|(at, by, _)| is_then(at) && by == node) {
                    match event {
                        NeoEvent::Played(_) => played += 1,
                        NeoEvent::Unused { reason, .. } => unused[*reason as usize] += 1,
                        NeoEvent::Clock(_) | NeoEvent::Left { .. } | NeoEvent::Joined { .. } => {
                            println!("  {event:?}")
                        }
                        _ => {}
                    }
                }
                println!("  second {second}: {played} played, not used {unused:?}");
            }
            println!("  {:?}", table.world.node(*node).stats());
        }
    });
    println!("{report:?}");
}

fn many_games(count: u64) {
    let mut sum = games::GameReport::default();
    for seed in 0..count {
        let report = games::play(seed);
        sum.played += report.played;
        sum.unused += report.unused;
        sum.shared += report.shared;
        sum.split += report.split;
        sum.changes += report.changes;
        sum.cheaters += report.cheaters;
        sum.caught += report.caught;
        if report.caught < report.cheaters {
            println!("game {seed}: the cheater was not evicted");
        }
        sum.partitions += report.partitions;
        sum.crashes += report.crashes;
        sum.clock_steps += report.clock_steps;
        if (seed + 1).is_multiple_of(500) {
            println!("{} games: {sum:?}", seed + 1);
        }
    }
    println!(
        "{count} games without an honest peer evicted, two moves for one slot, or a state change lost or doubled"
    );
    println!("{sum:?}");
}
