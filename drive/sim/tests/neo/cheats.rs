//! Each cheat, written as the cheater would, and what it gets.

use std::collections::BTreeMap;

use evenkeel_core::{PeerId, Span};
use evenkeel_neo::{Cheat, NeoCommand, NeoConfig, NeoEvent, Proof, Quorum, Session, UnusedReason};
use evenkeel_sim::NodeId;

use crate::table::{Table, millis};

const CHEATER: PeerId = PeerId(0);
const SECONDS: i64 = 6;

fn config() -> NeoConfig {
    NeoConfig::new(Session([1; 16]))
}

/// A table whose first peer cheats, after some seconds.
fn table(peers: usize, cheat: Cheat) -> Table {
    let mut cheats = vec![Cheat::None; peers];
    cheats[0] = cheat;
    let mut table = Table::plain(1, &config(), cheats, 20, 0.01);
    table.play_until(1_000 * SECONDS);
    table
}

/// How many of the cheater's moves honest peers played, and how many they did not use.
fn fate(table: &Table) -> (u64, u64) {
    let (mut played, mut unused) = (0, 0);
    for (_, node, event) in table.events.iter().filter(|(_, node, _)| *node != NodeId(CHEATER.0)) {
        match event {
            NeoEvent::Played(made) if made.from == CHEATER => played += 1,
            NeoEvent::Unused { from, .. } if *from == CHEATER => unused += 1,
            _ => assert!(node.0 > 0),
        }
    }
    (played, unused)
}

#[test]
fn an_honest_peer_is_played() {
    let table = table(5, Cheat::None);
    let (played, unused) = fate(&table);
    assert!(played > 250 && unused * 100 < played, "{played} played, {unused} unused");
}

#[test]
fn look_ahead_is_too_late_for_every_slot() {
    let victim = PeerId(1);
    let protected = table(5, Cheat::LookAhead(victim));
    let (played, unused) = fate(&protected);
    assert_eq!(played, 0, "{unused} unused");
    assert!(unused > 100, "{unused} unused");
    // The cheater does what it wants: where late commitments are accepted, it makes the victim's moves, for their slots.
    let config = NeoConfig { quorum: Quorum::ShareOfAll(0), patience: Span::from_millis(1_000), ..config() };
    let mut cheats = vec![Cheat::None; 5];
    cheats[0] = Cheat::LookAhead(victim);
    let mut open = Table::plain(1, &config, cheats, 20, 0.01);
    open.play_until(1_000 * SECONDS);
    let moves = |from: PeerId| -> BTreeMap<u64, Vec<u8>> {
        let played = open.events.iter().filter_map(|(_, _, event)| match event {
            NeoEvent::Played(made) if made.from == from => Some((made.slot, made.bytes.clone())),
            _ => None,
        });
        played.collect()
    };
    let (cheated, copied) = (moves(CHEATER), moves(victim));
    let same = cheated.iter().filter(|(slot, bytes)| copied.get(slot) == Some(bytes)).count();
    assert!(cheated.len() > 50 && same * 4 > cheated.len() * 3, "{same} of {} are copies", cheated.len());
}

#[test]
fn suppressed_updates_do_not_count_afterwards() {
    let period = Span::from_millis(2_000);
    let table = table(5, Cheat::SuppressCorrect(period));
    let mut silent = 0;
    for (at, _, event) in &table.events {
        if let NeoEvent::Played(made) = event
            && made.from == CHEATER
        {
            let phase = made.made.as_nanos().rem_euclid(period.as_nanos()) / 1_000_000;
            // The deadline is 200 ms after a move was made: what was made just before the silence ends is in time.
            silent += u32::from(phase < 750);
            assert!(*at > millis(0));
        }
    }
    assert_eq!(silent, 0, "moves of the silent half were played");
}

#[test]
fn a_fixed_delay_gains_nothing_beyond_the_deadline() {
    let late = table(5, Cheat::FixedDelay(Span::from_millis(400)));
    assert_eq!(fate(&late).0, 0);
    // Within the deadline it is only a slow connection, which sees nothing of a slot before it has committed.
    let slow = table(5, Cheat::FixedDelay(Span::from_millis(60)));
    assert!(fate(&slow).0 > 200, "{:?}", fate(&slow));
}

#[test]
fn an_earlier_timestamp_is_not_believed() {
    let table = table(5, Cheat::Timestamp(Span::from_millis(300)));
    let (played, unused) = fate(&table);
    assert_eq!(played, 0, "{unused} unused");
}

#[test]
fn two_stories_are_proved_and_nobody_plays_both() {
    let fooled = vec![PeerId(2), PeerId(4)];
    let table = table(6, Cheat::Inconsistency(fooled));
    let key = table.node(0).key();
    let evicted = table.evicted();
    for node in 1..6 {
        assert!(evicted.contains(&(NodeId(node), key)), "{node} does not evict the cheater: {evicted:?}");
    }
    for (_, _, event) in &table.events {
        if let NeoEvent::Evicted { key: culprit, proof, .. } = event {
            assert_eq!(*culprit, key);
            let copy = Proof::from_bytes(&proof.to_bytes()).expect("a proof survives a file");
            assert!(copy.is_valid(config().session));
            assert!(!copy.is_valid(Session([2; 16])), "a proof is bound to its session");
            let framed = Proof { culprit: table.node(1).key(), ..copy.clone() };
            assert!(!framed.is_valid(config().session), "nobody else can be blamed for it");
            let same = Proof { second: copy.first.clone(), ..copy };
            assert!(!same.is_valid(config().session), "one statement is no contradiction");
        }
    }
}

#[test]
fn two_state_changes_of_one_number_are_proved() {
    for fooled in [vec![PeerId(2)], vec![PeerId(1), PeerId(3), PeerId(5)]] {
        let mut cheats = vec![Cheat::None; 6];
        cheats[0] = Cheat::TwoChanges(fooled.clone());
        let mut table = Table::plain(1, &config(), cheats, 20, 0.01);
        for second in 2..12 {
            table.play_until(1_000 * second);
            table.act(0, NeoCommand::ChangeState(vec![second as u8; 4]));
            table.act(1, NeoCommand::ChangeState(vec![second as u8; 5]));
        }
        table.play_until(14_000);
        let (key, evicted) = (table.node(0).key(), table.evicted());
        for node in 1..6 {
            assert!(evicted.contains(&(NodeId(node), key)), "{node} believes the cheater, {fooled:?} fooled");
        }
        assert_eq!(evicted.iter().filter(|(_, culprit)| *culprit != key).count(), 0);
    }
}

#[test]
fn colluders_below_the_threshold_get_no_late_move_accepted() {
    // Of 7 peers one looks ahead and two vote for whatever it does: 2 of 6 others.
    let mut cheats = vec![Cheat::None; 7];
    cheats[0] = Cheat::LookAhead(PeerId(6));
    cheats[1] = Cheat::Collusion(vec![CHEATER]);
    cheats[2] = Cheat::Collusion(vec![CHEATER]);
    let mut table = Table::plain(1, &config(), cheats, 20, 0.01);
    table.play_until(1_000 * SECONDS);
    let played: u64 = table
        .played()
        .iter()
        .filter(|((by, from), _)| by.0 > 2 && *from == CHEATER)
        .map(|(_, count)| count)
        .sum();
    assert_eq!(played, 0);
    // Their votes arrived: with two of six, a majority would be four.
    let votes = table.events.iter().filter_map(|(_, node, event)| match event {
        NeoEvent::Unused { from, votes, .. } if *from == CHEATER && node.0 > 2 => Some(votes.0),
        _ => None,
    });
    assert_eq!(votes.max(), Some(2), "the colluders' votes were not even counted");
}

#[test]
fn a_replayed_commitment_opens_to_nothing() {
    let table = table(5, Cheat::Replay(PeerId(1)));
    let (played, unused) = fate(&table);
    // Moves before the victim was heard are its own.
    assert!(played < 40, "{played} played");
    let bad = table.events.iter().filter(|(_, node, event)| {
        let is_bad = |reason: &UnusedReason| *reason == UnusedReason::BadHash;
        node.0 > 0
            && matches!(event, NeoEvent::Unused { from, reason, .. } if *from == CHEATER && is_bad(reason))
    });
    assert!(bad.count() > 100, "{unused} unused");
}

#[test]
fn nobody_joins_with_a_key_it_does_not_hold() {
    let victim = Table::plain(1, &config(), vec![Cheat::None; 2], 20, 0.0).node(1).key();
    let table = table(4, Cheat::Spoofing(victim));
    let joined = table.events.iter().filter(|(_, node, event)| {
        node.0 > 1 && matches!(event, NeoEvent::Joined { peer, .. } if *peer == CHEATER)
    });
    assert_eq!(joined.count(), 0);
    assert_eq!(fate(&table).0, 0);
}
