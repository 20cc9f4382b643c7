//! The server clock: it shows its own time and answers the peers that have joined.

use evenkeel_core::clock::SessionClock;
use evenkeel_core::{ClockFrame, LocalTime, PeerChange, PeerId, ServerClock, SessionTime, Span};

const PEER: PeerId = PeerId(3);

fn at(millis: i64) -> LocalTime {
    LocalTime::from_nanos(millis * 1_000_000)
}

fn probe(millis: i64) -> ClockFrame {
    ClockFrame::Probe { sent: at(millis) }
}

fn joined() -> ServerClock {
    let mut clock = ServerClock::default();
    clock.handle_peer(at(0), PeerChange::Joined { peer: PEER, datagram_max: 1_200 });
    clock
}

#[test]
fn the_session_time_is_the_servers_own() {
    let clock = ServerClock::default();
    assert_eq!(clock.session(at(5)), Some(SessionTime::from_nanos(5_000_000)));
    assert_eq!(clock.local(SessionTime::from_nanos(5_000_000)), Some(at(5)));
    assert_eq!(clock.error_max(at(5)), Some(Span::ZERO));
}

#[test]
fn an_echo_reports_how_long_it_was_held() {
    let mut clock = joined();
    clock.handle_frame(at(100), PEER, &probe(7));
    let arrived = SessionTime::from_nanos(100_000_000);
    let echo = ClockFrame::Echo { probe: at(7), arrived, held: Span::from_millis(4) };
    assert_eq!(clock.poll_frame(at(104), PEER), Some(echo));
    assert_eq!(clock.poll_frame(at(104), PEER), None, "each probe gets one echo");
    // The deadline passes with nothing left to send.
    assert_eq!(clock.poll_due(at(105)), None);
    assert_eq!(clock.poll_timeout(), None);
}

#[test]
fn an_echo_gets_its_own_datagram_if_no_other_leaves_in_time() {
    let mut clock = joined();
    clock.handle_frame(at(100), PEER, &probe(7));
    assert_eq!((clock.poll_due(at(104)), clock.poll_timeout()), (None, Some(at(105))));
    assert_eq!((clock.poll_due(at(105)), clock.poll_due(at(105))), (Some(PEER), None));
    assert!(clock.poll_frame(at(105), PEER).is_some());
}

#[test]
fn only_the_newest_probe_is_answered_and_later_probes_do_not_delay_the_echo() {
    let mut clock = joined();
    for millis in 0..6 {
        clock.handle_frame(at(100 + millis), PEER, &probe(millis));
    }
    assert_eq!(clock.poll_timeout(), Some(at(105)));
    assert_eq!(clock.poll_due(at(105)), Some(PEER));
    let frame = clock.poll_frame(at(105), PEER);
    assert!(
        matches!(frame, Some(ClockFrame::Echo { probe, held, .. }) if probe == at(5) && held == Span::ZERO)
    );
    assert_eq!(clock.poll_frame(at(105), PEER), None);
}

#[test]
fn peers_that_never_joined_or_have_left_get_no_echo() {
    let mut clock = joined();
    clock.handle_frame(at(100), PeerId(8), &probe(1));
    assert_eq!((clock.poll_timeout(), clock.poll_frame(at(101), PeerId(8))), (None, None));
    clock.handle_frame(at(100), PEER, &probe(1));
    clock.handle_peer(at(101), PeerChange::Left { peer: PEER });
    assert_eq!((clock.poll_timeout(), clock.poll_frame(at(110), PEER)), (None, None));
}
