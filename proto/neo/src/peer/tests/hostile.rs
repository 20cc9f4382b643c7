//! What a peer may send, and what it does not get by it.

use evenkeel_core::{Endpoint, Malformed, PeerChange, PeerId, Rejected, SessionTime, Span};

use super::{Net, identity, millis, session};
use crate::command::{NeoCommand, NeoEvent};
use crate::config::{Adaptation, NeoConfig};
use crate::control::{Control, STREAMS_MAX, ToldTempo};
use crate::crypto::Identity;
use crate::members::CREDIT_MAX;
use crate::proof::{Signed, Statement};

fn config() -> NeoConfig {
    NeoConfig::new(session())
}

fn adaptive() -> NeoConfig {
    let adaptation = Adaptation {
        round_min: Span::from_millis(100),
        round_max: Span::from_millis(600),
        depth_max: 6,
        every_rounds: 8,
    };
    NeoConfig { adaptation: Some(adaptation), ..config() }
}

fn signed(author: &Identity, statement: Statement) -> Control {
    Control::Signed { author: author.key(), signed: Signed::new(author, session(), statement) }
}

fn change(author: &Identity, stream: u64, number: u64, bytes: &[u8]) -> Control {
    signed(author, Statement::State { stream, number, slot: 7, bytes: bytes.to_vec() })
}

#[test]
fn no_number_of_a_state_change_overflows() {
    let mut net = Net::new(&config(), 2, 1);
    net.run_until(1_500);
    let absurd = net.say(1, 0, &change(&identity(1), 0, u64::MAX, b"x"));
    assert_eq!(absurd, Err(Rejected::Malformed(Malformed::Field)));
    // The greatest that there is leaves a gap, which is given up in time.
    let last = (1 << 48) - 1;
    assert_eq!(net.say(1, 0, &change(&identity(1), 0, last, b"y")), Ok(()));
    net.run_until(35_000);
    assert_eq!(net.changes(0), [(net.key(1), b"y".to_vec())]);
    assert_eq!(net.say(1, 0, &change(&identity(1), 0, last, b"y")), Ok(()));
    assert_eq!(net.peers[0].stats().changes_lost, last);
}

#[test]
fn two_stories_about_a_state_change_are_proved() {
    let mut net = Net::new(&config(), 4, 20);
    net.run_until(2_000);
    for (to, story) in [(0, b"X"), (1, b"Y"), (2, b"X")] {
        assert_eq!(net.say(3, to, &change(&identity(3), 0, 0, story)), Ok(()));
    }
    let culprit = net.key(3);
    net.run_until(10_000);
    for peer in &net.peers[..3] {
        let proof = peer.proofs().next().expect("it is proved");
        assert!(proof.culprit == culprit && proof.is_valid(session()));
        assert_eq!(peer.stats().evicted, 1, "only the culprit");
    }
}

#[test]
fn many_state_changes_of_honest_peers_are_no_contradiction() {
    let mut net = Net::new(&config(), 3, 30);
    for turn in 0..100 {
        net.run_until(2_000 + 40 * turn);
        let now = millis(net.now);
        for (i, peer) in net.peers.iter_mut().enumerate() {
            peer.handle_command(now, NeoCommand::ChangeState(vec![i as u8, turn as u8]));
        }
    }
    net.run_until(10_000);
    for (at, peer) in net.peers.iter().enumerate() {
        let stats = peer.stats();
        assert_eq!((stats.disputes, stats.evicted, stats.changes_lost), (0, 0, 0));
        assert_eq!(net.changes(at).len(), 200);
    }
}

#[test]
fn streams_of_one_author_give_way_to_each_other_only() {
    let mut net = Net::new(&config(), 3, 10);
    net.run_until(1_500);
    for _ in 0..2 {
        for stream in 0..2 * STREAMS_MAX as u64 {
            assert_eq!(net.say(1, 0, &change(&identity(1), stream, 0, &stream.to_le_bytes())), Ok(()));
        }
    }
    net.peers[2].handle_command(millis(1_500), NeoCommand::ChangeState(b"honest".to_vec()));
    net.run_until(4_000);
    let changes = net.changes(0);
    assert!(changes.contains(&(net.key(2), b"honest".to_vec())));
    assert_eq!(changes.len(), 2 * STREAMS_MAX + 1, "each once");
    // Older ones than those that were forgotten are not taken again, and count for nothing.
    assert_eq!(net.say(1, 0, &change(&identity(1), 5, 1, b"late")), Ok(()));
    net.run_until(4_100);
    assert_eq!(net.changes(0).len(), changes.len());
}

#[test]
fn strangers_give_way_to_those_who_take_part_and_do_not_come_again() {
    let mut net = Net::new(&config(), 3, 10);
    net.run_until(1_500);
    let strangers: Vec<Identity> = (100..100 + STREAMS_MAX + 10).map(identity).collect();
    for stranger in &strangers {
        assert_eq!(net.say(1, 0, &change(stranger, 0, 0, b"strange")), Ok(()));
    }
    assert_eq!(net.peers[0].stats().changes_refused, 10, "there is room for so many only");
    net.peers[2].handle_command(millis(1_500), NeoCommand::ChangeState(b"honest".to_vec()));
    net.run_until(1_600);
    for stranger in &strangers {
        assert_eq!(net.say(1, 0, &change(stranger, 0, 0, b"strange")), Ok(()));
    }
    net.run_until(1_700);
    let changes = net.changes(0);
    assert!(changes.contains(&(net.key(2), b"honest".to_vec())));
    assert_eq!(changes.len(), STREAMS_MAX + 1, "each once");
}

#[test]
fn who_comes_and_goes_renews_the_roster_once_per_slot() {
    let mut net = Net::new(&config(), 3, 1);
    net.run_until(2_000);
    let before = net.reliable[&(0, 2)];
    for turn in 0..1_000 {
        assert_eq!(net.say(1, 0, &Control::Reach { is_in: turn % 2 == 0 }), Ok(()));
    }
    assert_eq!(net.say(1, 0, &Control::Reach { is_in: false }), Ok(()));
    net.run_until(2_060);
    let after = net.reliable[&(0, 2)];
    assert!(after.0 - before.0 <= 3, "{before:?} to {after:?}");
}

#[test]
fn votes_of_those_who_left_do_not_count() {
    let mut net = Net::new(&adaptive(), 5, 1);
    net.run_until(1_700);
    let before = net.peers[0].tempo();
    let ballot = 1_700 / 200 / 8;
    let vote = |i| signed(&identity(i), Statement::Tempo { ballot, choice: 3 });
    for voter in [1, 2] {
        assert_eq!(net.say(voter, 0, &vote(voter)), Ok(()));
        net.peers[0].handle_peer(millis(1_700), PeerChange::Left { peer: PeerId(voter as u32) });
    }
    // One of two others, and two that are gone.
    assert_eq!(net.say(3, 0, &vote(3)), Ok(()));
    assert_eq!(net.peers[0].tempo(), before);
    let has_changed = |net: &mut Net| {
        while let Some(event) = net.peers[0].poll_event() {
            if matches!(event, NeoEvent::TempoChanged { .. }) {
                return true;
            }
        }
        false
    };
    assert!(!has_changed(&mut net));
    assert_eq!(net.say(4, 0, &vote(4)), Ok(()));
    assert!(has_changed(&mut net), "two of three are a majority");
}

/// A tempo that a session may have come to, after a ballot.
fn tempo() -> ToldTempo {
    let start = SessionTime::from_nanos(1_600_000_000);
    ToldTempo { ballot: 1, first: 32, start, round_number: 8, round: Span::from_millis(250), depth: 4 }
}

#[test]
fn a_newcomer_goes_by_the_majority_and_not_by_one_peer() {
    let mut net = Net::new(&adaptive(), 4, 1);
    net.run_until(100);
    assert_eq!(net.say(1, 0, &Control::Tempo(tempo())), Ok(()));
    net.run_until(1_800);
    assert_eq!(net.peers[0].tempo().0, Span::from_millis(200), "one of three told it");
    let mut net = Net::new(&adaptive(), 4, 1);
    net.run_until(100);
    for teller in [1, 2] {
        assert_eq!(net.say(teller, 0, &Control::Tempo(tempo())), Ok(()));
    }
    net.run_until(1_800);
    assert_eq!(net.peers[0].tempo().0, Span::from_millis(250), "two of three did");
}

#[test]
fn no_tempo_overflows() {
    let absurd = [
        ToldTempo { first: u64::MAX, ..tempo() },
        ToldTempo { first: u64::MAX / 2, round_number: u64::MAX, ..tempo() },
        ToldTempo { start: SessionTime::from_nanos(i64::MAX), ..tempo() },
        ToldTempo { start: SessionTime::from_nanos(i64::MIN), ..tempo() },
        ToldTempo { round_number: u64::MAX, ..tempo() },
        ToldTempo { round_number: 0, ..tempo() },
        ToldTempo { ballot: u64::MAX, first: u64::MAX, ..tempo() },
    ];
    for told in absurd {
        let mut net = Net::new(&adaptive(), 3, 1);
        net.run_until(100);
        for teller in [1, 2] {
            assert_eq!(net.say(teller, 0, &Control::Tempo(told)), Ok(()));
        }
        net.run_until(2_500);
        assert_eq!(net.peers[0].tempo(), (Span::from_millis(200), 4), "{told:?}");
        assert!(net.played().count() > 20, "{told:?}");
    }
}

/// A net whose first peer has so many changes of this length, which were made by the third.
fn with_changes(count: u64, len: usize) -> Net {
    let mut net = Net::new(&config(), 3, 1);
    net.run_until(1_500);
    for number in 0..count {
        assert_eq!(net.say(2, 0, &change(&identity(2), 0, number, &vec![1; len])), Ok(()));
    }
    net
}

#[test]
fn whoever_claims_to_know_nothing_is_not_sent_everything_again_and_again() {
    let mut net = with_changes(1_000, 1_000);
    let before = net.reliable.get(&(0, 1)).copied().unwrap_or_default().1;
    for turn in 1..100 {
        assert_eq!(net.say(1, 0, &Control::Have { known: Vec::new() }), Ok(()));
        net.run_until(1_500 + turn * 100);
    }
    let sent = net.reliable[&(0, 1)].1 - before;
    let slots = 10 * 20;
    assert!(sent as usize <= CREDIT_MAX + slots * 1_024 + 20_000, "{sent} bytes");
}

#[test]
fn who_lacks_much_gets_all_of_it_in_time() {
    let mut net = with_changes(900, 100);
    net.run_until(12_000);
    let got = net.changes(1);
    assert_eq!(got.len(), 900);
}
