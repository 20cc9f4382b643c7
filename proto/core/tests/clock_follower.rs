//! The follower clock: the time it shows, its events, and the echoes it rejects.

mod bench;

use bench::{Bench, MS, Node};
use evenkeel_core::clock::{Hull, SLEW_PPB_MAX, SessionClock};
use evenkeel_core::{
    ClockEvent, ClockFrame, FollowerClock, LocalTime, PeerChange, PeerId, ServerClock, SessionTime, Span,
};
use proptest::prelude::*;

const SERVER: PeerId = PeerId(0);
const JOINED: PeerChange = PeerChange::Joined { peer: SERVER, datagram_max: 1_200 };

type Delay = fn(usize, usize) -> (i64, f64);
const STEADY: Delay = |_, _| (20, 0.0);
const JITTERY: Delay = |_, _| (20, 10.0);

fn pair(seed: u64, skew_ppm: i64, delay: Delay) -> Bench<dyn SessionClock> {
    let server: Node<dyn SessionClock> = Node::new(Box::<ServerClock>::default(), 3_000 * MS, 20);
    let clock = Box::new(FollowerClock::<Hull>::new(SERVER));
    let follower: Node<dyn SessionClock> = Node::new(clock, -70_000 * MS, skew_ppm);
    Bench::new(seed, vec![server, follower], delay)
}

fn is_certified(bench: &Bench<dyn SessionClock>) -> bool {
    let node = &bench.nodes[1];
    let error_max = node.clock.error_max(node.local(bench.now)).map(Span::as_nanos);
    bench.error(1, 0).map(i64::abs) <= error_max
}

#[test]
fn there_is_no_session_time_before_the_first_fix() {
    let mut bench = pair(1, 0, STEADY);
    bench.run(180, |bench| assert_eq!(bench.session(1), None));
    bench.run(100, |_| ());
    assert!(bench.session(1).is_some());
    assert!(matches!(bench.nodes[1].events[..], [ClockEvent::Fixed { .. }]), "{:?}", bench.nodes[1].events);
}

#[test]
fn the_shown_time_is_monotone_slews_gently_and_is_certified() {
    for (seed, skew) in [(1, -150), (2, 0), (3, 150)] {
        let mut bench = pair(seed, skew, JITTERY);
        let mut last = None;
        bench.run(60_000, |bench| {
            let node = &bench.nodes[1];
            let now = node.local(bench.now);
            assert!(is_certified(bench), "{:?} at {}", bench.error(1, 0), bench.now);
            if let Some((before, shown)) = last.zip(node.clock.session(now)) {
                let (local_before, shown_before): (LocalTime, SessionTime) = before;
                let (run, advance) = ((now - local_before).as_nanos(), (shown - shown_before).as_nanos());
                let is_jump = matches!(node.events.last(), Some(ClockEvent::Stepped { .. }));
                let gain_max = run * SLEW_PPB_MAX / 1_000_000_000 + 4;
                let is_gentle = advance >= run - gain_max && (is_jump || advance <= run + gain_max);
                assert!(is_gentle, "{advance} ns in {run} ns at {}", bench.now);
            }
            last = node.clock.session(now).map(|shown| (now, shown));
        });
        assert!(bench.error(1, 0).is_some_and(|error| error.abs() < MS / 2), "{:?}", bench.error(1, 0));
    }
}

#[test]
fn local_is_the_earliest_time_that_shows_a_session_time() {
    let mut bench = pair(4, 120, JITTERY);
    let mut checked = 0;
    bench.run(20_000, |bench| {
        let node = &bench.nodes[1];
        let now = node.local(bench.now);
        let Some(shown) = node.clock.session(now) else { return };
        for ahead in [-1_000_003, 0, 1, 999, 5 * MS, 700 * MS + 1, 100_000 * MS] {
            let at = shown + Span::from_nanos(ahead);
            let local = node.clock.local(at).expect("there is a session time");
            let nanosecond = Span::from_nanos(1);
            assert!(
                node.clock.session(local) >= Some(at) && node.clock.session(local - nanosecond) < Some(at)
            );
            checked += 1;
        }
    });
    assert!(checked > 100_000);
}

#[test]
fn a_clock_that_falls_behind_jumps_forward_and_reports_it() {
    let mut bench = pair(5, 40, JITTERY);
    bench.run(40_000, |_| ());
    bench.nodes[1].events.clear();
    bench.nodes[1].offset -= 500 * MS;
    bench.run(2_000, |_| ());
    let events = &bench.nodes[1].events;
    assert!(
        matches!(events.first(), Some(ClockEvent::Stepped { by }) if *by > Span::from_millis(480)),
        "{events:?}"
    );
    bench.run(5_000, |bench| assert!(is_certified(bench)));
}

#[test]
fn a_clock_that_is_ahead_shows_nothing_until_the_session_catches_up() {
    let mut bench = pair(6, -40, JITTERY);
    bench.run(40_000, |_| ());
    bench.nodes[1].events.clear();
    bench.nodes[1].offset += 1_500 * MS;
    let mut shown_max = bench.session(1);
    let mut absent = 0;
    bench.run(4_000, |bench| {
        absent += i64::from(bench.session(1).is_none());
        if let Some(shown) = bench.session(1) {
            assert!(Some(shown) >= shown_max);
            shown_max = Some(shown);
        }
    });
    let events = &bench.nodes[1].events;
    assert!(matches!(events[..2], [ClockEvent::Lost, ClockEvent::Fixed { .. }]), "{events:?}");
    assert!((1_300..1_700).contains(&absent), "{absent} ms");
    assert!(is_certified(&bench));
}

#[test]
fn a_silent_server_widens_the_bounds_and_finally_loses_the_session_time() {
    let mut bench = pair(7, 100, STEADY);
    bench.run(10_000, |_| ());
    bench.nodes[0].is_connected = false;
    bench.nodes[1].events.clear();
    let error_max = |bench: &Bench<dyn SessionClock>| {
        let node = &bench.nodes[1];
        node.clock.error_max(node.local(bench.now))
    };
    let before = error_max(&bench);
    bench.run(29_000, |bench| assert!(is_certified(bench)));
    assert!(error_max(&bench) > before && bench.nodes[1].events.is_empty());
    bench.run(2_000, |_| ());
    assert_eq!((bench.session(1), &bench.nodes[1].events[..]), (None, &[ClockEvent::Lost][..]));
    bench.nodes[0].is_connected = true;
    bench.run(3_000, |_| ());
    assert!(is_certified(&bench) && bench.session(1).is_some());
}

#[test]
fn a_server_that_rejoins_starts_a_new_session() {
    let mut bench = pair(8, 0, STEADY);
    bench.run(2_000, |_| ());
    let before = bench.session(1);
    bench.nodes[0].offset -= 100_000 * MS;
    bench.peer_change(1, PeerChange::Left { peer: SERVER });
    assert_eq!(bench.session(1), None);
    bench.peer_change(1, JOINED);
    bench.run(1_000, |_| ());
    assert!(bench.session(1).is_some() && bench.session(1) < before);
    assert!(is_certified(&bench));
}

#[test]
fn a_server_that_never_answers_is_probed_slowly() {
    let mut bench = pair(9, 0, STEADY);
    bench.nodes[0].is_connected = false;
    bench.run(60_000, |_| ());
    let now = bench.nodes[1].local(bench.now);
    let mut probes = 0;
    for millis in 0..10_000 {
        let now = now + Span::from_millis(millis);
        if bench.nodes[1].clock.poll_due(now).is_some() {
            probes += i32::from(bench.nodes[1].clock.poll_frame(now, SERVER).is_some());
        }
    }
    assert!((95..=101).contains(&probes), "{probes} in ten seconds");
}

#[test]
fn both_directions_are_measured_separately() {
    let mut clock = FollowerClock::<Hull>::new(SERVER);
    let at = |millis: i64| LocalTime::from_nanos(millis * MS);
    clock.handle_peer(at(0), JOINED);
    for exchange in 0..50 {
        let sent = at(exchange * 100);
        assert_eq!(clock.poll_frame(sent, SERVER), Some(ClockFrame::Probe { sent }));
        // Offset zero, 10 ms up, 30 ms down with a minimum of 10 ms.
        let arrived = SessionTime::from_nanos(sent.as_nanos()) + Span::from_millis(10);
        let (held, down) = (Span::from_millis(3), if exchange % 10 == 0 { 10 } else { 30 });
        let echo = ClockFrame::Echo { probe: sent, arrived, held };
        clock.handle_frame(sent + Span::from_millis(13 + down), SERVER, &echo);
    }
    let delays = clock.delays().expect("the server has joined");
    let near = |delay: Option<Span>, millis: f64| {
        assert!(delay.is_some_and(|delay| (delay.as_millis_f64() - millis).abs() < 0.5), "{delay:?}");
    };
    near(delays.up.least(at(5_000)), 10.0);
    near(delays.down.least(at(5_000)), 10.0);
    near(delays.round_trip.least(at(5_000)), 20.0);
    near(Some(delays.up.estimate.mean()), 10.0);
    assert!(delays.down.estimate.mean() > Span::from_millis(24));
    assert_eq!(delays.round_trip.least(at(60_000)), None);
}

#[test]
fn impossible_echoes_are_counted_and_change_nothing() {
    let mut clock = FollowerClock::<Hull>::new(SERVER);
    let at = |millis: i64| LocalTime::from_nanos(millis * MS);
    clock.handle_peer(at(0), JOINED);
    let echo = |probe, held| ClockFrame::Echo { probe, arrived: SessionTime::default(), held };
    // No probe is outstanding.
    clock.handle_frame(at(0), SERVER, &echo(at(0), Span::ZERO));
    for (index, held) in [-1, 51, i64::MAX / MS].into_iter().enumerate() {
        let sent = at(100 * index as i64);
        assert!(clock.poll_frame(sent, SERVER).is_some());
        let frame = echo(sent, Span::from_millis(held));
        clock.handle_frame(sent + Span::from_millis(50), SERVER, &frame);
        // The probe is used up even by a bad echo; frames of strangers are not even counted.
        clock.handle_frame(sent + Span::from_millis(50), SERVER, &echo(sent, Span::ZERO));
        clock.handle_frame(sent + Span::from_millis(50), PeerId(9), &echo(sent, Span::ZERO));
    }
    assert_eq!(clock.ignored(), 7);
    assert_eq!(clock.estimate(at(1_000)), None);
}

proptest! {
    #[test]
    fn hostile_echoes_never_panic_and_never_turn_time_back(
        echoes in prop::collection::vec((0..400 * MS, any::<i64>(), 0..400 * MS, any::<bool>()), 20..200),
    ) {
        let mut clock = FollowerClock::<Hull>::new(SERVER);
        let mut now = LocalTime::from_nanos(0);
        clock.handle_peer(now, JOINED);
        let mut shown = None;
        for (index, (elapsed, arrived, held, is_wild)) in echoes.into_iter().enumerate() {
            let sent = now;
            let _ = clock.poll_due(now);
            let is_sent = clock.poll_frame(now, SERVER).is_some();
            now += Span::from_nanos(elapsed + 1);
            // Most echoes are only badly off; some claim any time at all.
            let arrived = if is_wild && index % 7 == 0 { arrived } else { now.as_nanos() + arrived % (900 * MS) };
            let arrived = SessionTime::from_nanos(arrived);
            let echo = ClockFrame::Echo { probe: sent, arrived, held: Span::from_nanos(held) };
            clock.handle_frame(now, SERVER, &echo);
            let _ = (is_sent, clock.error_max(now), clock.poll_timeout(), clock.poll_event());
            let showing = clock.session(now);
            if showing.is_some() {
                prop_assert!(showing >= shown);
                shown = showing;
            }
        }
    }
}
