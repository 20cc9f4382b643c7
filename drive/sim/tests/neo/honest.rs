//! Honest peers, with and without faults.

use evenkeel_core::{PeerId, Span};
use evenkeel_link::ClockFaults;
use evenkeel_neo::{Adaptation, Cheat, Departure, NeoCommand, NeoConfig, NeoEvent, Session};
use evenkeel_sim::NodeId;

use crate::games;
use crate::table::{Act, DATAGRAM_MAX, Table, exponential, millis};

fn config() -> NeoConfig {
    NeoConfig::new(Session([3; 16]))
}

#[test]
fn games_with_every_fault_are_fair() {
    let mut caught = 0;
    for seed in 0..12 {
        let report = games::play(seed);
        assert!(report.played > 100, "game {seed}: {report:?}");
        caught += report.caught;
    }
    assert!(caught > 0, "no cheater was caught in any game");
}

#[test]
fn a_crashed_peer_is_out_after_its_timeout_and_can_come_back() {
    let mut table = Table::plain(2, &config(), vec![Cheat::None; 4], 20, 0.01);
    table.play_until(3_000);
    table.world.command(NodeId(3), Act::Crash);
    table.play_until(6_000);
    let silence = config().silence;
    let left: Vec<i64> = table
        .events
        .iter()
        .filter_map(|(at, _, event)| match event {
            NeoEvent::Left { peer: PeerId(3), why: Departure::Silent, .. } => Some(at.as_nanos() / 1_000_000),
            _ => None,
        })
        .collect();
    let latest = 3_000 + (silence + config().round.times(3)).as_nanos() / 1_000_000;
    assert!(left.len() == 3 && left.iter().all(|at| *at <= latest), "{left:?}, at most {latest}");
    let before = table.played();
    table.play_until(7_000);
    let after = table.played();
    let ongoing = (NodeId(0), PeerId(1));
    assert!(after[&ongoing] > before[&ongoing] + 15, "the game does not go on");
    for other in 0..3 {
        table.world.leave(NodeId(3), NodeId(other));
    }
    table.world.command(NodeId(3), Act::Restart);
    for other in 0..3 {
        table.world.join(NodeId(3), NodeId(other), DATAGRAM_MAX);
    }
    table.play_until(11_000);
    let back = table.played();
    let returned = (NodeId(0), PeerId(3));
    assert!(back[&returned] > after[&returned] + 20, "it does not come back");
    assert_eq!(table.evicted().len(), 0);
}

#[test]
fn drifting_clocks_keep_the_rounds() {
    let clock = |i: usize| ClockFaults {
        offset: Span::from_millis(30 * i as i64),
        skew_ppm: 150.0 - 100.0 * i as f64,
        ..ClockFaults::default()
    };
    let link = |_, _| exponential(Span::from_millis(20), 0.0);
    let mut table = Table::new(5, &config(), vec![Cheat::None; 4], clock, link);
    table.play_until(20_000);
    for i in 0..4 {
        let stats = table.node(i).stats();
        assert!(stats.unused_total() * 100 < stats.played, "{i}: {stats:?}");
        assert!(stats.played > 3 * 300, "{i}: {stats:?}");
    }
}

#[test]
fn rounds_grow_by_vote_when_the_network_is_slow_and_all_agree() {
    let adaptation = Adaptation {
        round_min: Span::from_millis(100),
        round_max: Span::from_millis(600),
        depth_max: 6,
        every_rounds: 8,
    };
    let config = NeoConfig { adaptation: Some(adaptation), ..config() };
    let mut table = Table::plain(6, &config, vec![Cheat::None; 5], 110, 0.0);
    table.play_until(40_000);
    let tempos: Vec<_> = (0..5).map(|i| table.node(i).tempo()).collect();
    assert!(tempos.iter().all(|tempo| *tempo == tempos[0]), "{tempos:?}");
    assert!(tempos[0].0 > config.round, "{tempos:?}");
    let changes = table.events.iter().filter(|(_, _, event)| matches!(event, NeoEvent::TempoChanged { .. }));
    assert!(changes.count() >= 5);
    let recent = table.events.iter().filter(|(at, _, _)| *at > millis(30_000));
    let (mut played, mut unused) = (0, 0);
    for (_, _, event) in recent {
        played += u64::from(matches!(event, NeoEvent::Played(_)));
        unused += u64::from(matches!(event, NeoEvent::Unused { .. }));
    }
    assert!(unused * 20 < played, "{played} played, {unused} unused");
}

#[test]
fn loss_halves_the_depth_by_vote() {
    let adaptation = Adaptation {
        round_min: Span::from_millis(200),
        round_max: Span::from_millis(200),
        depth_max: 4,
        every_rounds: 8,
    };
    let config = NeoConfig { adaptation: Some(adaptation), ..config() };
    let mut table = Table::plain(7, &config, vec![Cheat::None; 4], 10, 0.15);
    table.play_until(15_000);
    let tempos: Vec<_> = (0..4).map(|i| table.node(i).tempo()).collect();
    assert!(tempos.iter().all(|tempo| tempo.1 < 4), "{tempos:?}");
}

#[test]
fn areas_of_interest_limit_whom_a_peer_talks_to() {
    let config = NeoConfig { has_areas: true, ..config() };
    let mut table = Table::plain(8, &config, vec![Cheat::None; 6], 20, 0.01);
    // A ring: each peer sees two neighbours on either side, so that neighbourhoods overlap and none is closed.
    for i in 0..6u32 {
        let near = [1, 2, 4, 5].map(|step| PeerId((i + step) % 6)).to_vec();
        table.act(i as usize, NeoCommand::Interest(near));
    }
    table.play_until(6_000);
    let played = table.played();
    for i in 0..6u32 {
        let opposite = PeerId((i + 3) % 6);
        let far = played.get(&(NodeId(i), opposite)).copied().unwrap_or(0);
        let near = played[&(NodeId(i), PeerId((i + 1) % 6))];
        assert!(far == 0 && near > 40, "{i}: {far} far, {near} near");
    }
}

#[test]
fn a_good_bye_is_heard() {
    let mut table = Table::plain(9, &config(), vec![Cheat::None; 3], 20, 0.0);
    table.play_until(3_000);
    table.act(2, NeoCommand::Leave);
    table.play_until(4_000);
    let left = table.events.iter().filter(|(_, _, event)| {
        matches!(event, NeoEvent::Left { peer: PeerId(2), why: Departure::Left, .. })
    });
    assert_eq!(left.count(), 2);
    assert_eq!(table.node(0).present(), 1);
}
