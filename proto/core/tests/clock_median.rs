//! The median clock: peers without a server agree, and a minority of liars cannot move them.

mod bench;

use bench::{Bench, MS, Node};
use evenkeel_core::clock::SessionClock;
use evenkeel_core::{
    ClockEvent, ClockFrame, LocalTime, MedianClock, PeerChange, PeerId, ServerClock, SessionTime, Span,
};
use proptest::prelude::*;

fn peers(offsets: &[i64], liars: usize) -> Vec<Node<dyn SessionClock>> {
    let node = |(index, offset): (usize, &i64)| -> Node<dyn SessionClock> {
        // A server clock answers with its local time; with an absurd local clock it is a liar.
        let clock: Box<dyn SessionClock> =
            if index < liars { Box::<ServerClock>::default() } else { Box::<MedianClock>::default() };
        Node::new(clock, *offset, 7 * index as i64 - 20)
    };
    offsets.iter().enumerate().map(node).collect()
}

/// Returns how far the session times of the honest peers are ahead of true time.
fn shown(bench: &Bench<dyn SessionClock>, liars: usize) -> Vec<i64> {
    (liars..bench.nodes.len())
        .map(|node| bench.session(node).expect("a session time").as_nanos() - bench.now)
        .collect()
}

#[test]
fn honest_peers_agree_on_the_median_of_their_clocks() {
    let offsets = [-900 * MS, 40 * MS, 100 * MS, 2_000 * MS, 7_000 * MS];
    let mut bench = Bench::new(1, peers(&offsets, 0), |from, to| (10 + 5 * (from + to) as i64, 4.0));
    bench.run(20_000, |_| ());
    for shown in shown(&bench, 0) {
        assert!((shown - 100 * MS).abs() < 2 * MS, "{shown}");
    }
    assert!(bench.nodes.iter().all(|node| matches!(node.events[0], ClockEvent::Fixed { .. })));
}

#[test]
fn peers_whose_clocks_are_hours_apart_agree() {
    for offsets in [&[-9_000_000 * MS, 8_000_000 * MS][..], &[0, 7_000_000 * MS, -3_000_000 * MS]] {
        let mut bench =
            Bench::new(5, peers(offsets, 0), |from, to| (20 + 60 * from.abs_diff(to) as i64, 4.0));
        bench.run(10_000, |_| ());
        let shown = shown(&bench, 0);
        assert!(shown.iter().all(|one| (one - shown[0]).abs() < 200 * MS), "{shown:?}");
    }
}

#[test]
fn a_late_peer_moves_the_median_and_time_never_runs_backwards() {
    let offsets = [0, 300 * MS, -800 * MS];
    let mut bench = Bench::new(2, peers(&offsets, 0), |_, _| (20, 2.0));
    bench.nodes[2].is_connected = false;
    let mut last = [None; 3];
    bench.run(12_000, |bench| {
        for (node, last) in last.iter_mut().enumerate() {
            let now = bench.session(node);
            assert!(now.is_none() || now >= *last);
            *last = now.or(*last);
        }
    });
    // The midpoint of the two clocks.
    for node in 0..2 {
        let shown = bench.session(node).expect("a majority is there").as_nanos() - bench.now;
        assert!((shown - 150 * MS).abs() < 2 * MS, "{shown}");
    }
    bench.nodes[2].is_connected = true;
    bench.run(12_000, |bench| {
        for (node, last) in last.iter_mut().enumerate() {
            let now = bench.session(node);
            assert!(now.is_none() || now >= *last);
            *last = now.or(*last);
        }
    });
    for shown in shown(&bench, 0) {
        assert!(shown.abs() < 2 * MS, "{shown}");
    }
}

#[test]
fn a_stepped_clock_does_not_disturb_the_other_peers() {
    let offsets = [-400 * MS, -200 * MS, 0, 300 * MS, 900 * MS];
    let mut bench = Bench::new(4, peers(&offsets, 0), |_, _| (20, 3.0));
    bench.run(5_000, |_| ());
    bench.nodes.iter_mut().for_each(|node| node.events.clear());
    bench.nodes[4].offset += 5_000 * MS;
    bench.run(10_000, |bench| {
        for node in 0..4 {
            let shown = bench.session(node).expect("a session time").as_nanos() - bench.now;
            assert!(shown.abs() < 3 * MS, "{shown}");
        }
    });
    assert!(bench.nodes[..4].iter().all(|node| node.events.is_empty()));
    // Its own session time would have run backwards, so it was lost for a while.
    assert_eq!(bench.nodes[4].events[0], ClockEvent::Lost);
    assert!(bench.session(4).is_some_and(|shown| (shown.as_nanos() - bench.now).abs() < 3 * MS));
}

#[test]
fn a_peer_alone_has_no_session_time() {
    let mut bench = Bench::new(3, peers(&[0, 0], 0), |_, _| (20, 0.0));
    bench.run(1_000, |_| ());
    assert!(bench.session(0).is_some());
    bench.peer_change(0, PeerChange::Left { peer: PeerId(1) });
    assert_eq!(bench.session(0), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_minority_of_liars_cannot_move_the_median_out_of_the_honest_range(
        honest in prop::collection::vec(-500 * MS..500 * MS, 2..5),
        lies in prop::collection::vec(-3_600_000 * MS..3_600_000 * MS, 0..4),
        seed: u64,
    ) {
        let liars = lies.len().min(honest.len() - 1);
        let offsets: Vec<i64> = lies[..liars].iter().chain(&honest).copied().collect();
        let mut bench = Bench::new(seed, peers(&offsets, liars), |_, _| (15, 5.0));
        bench.run(5_000, |_| ());
        let (low, high) = (honest.iter().min().unwrap(), honest.iter().max().unwrap());
        // The honest intervals reach beyond the clocks by half of a round trip.
        for shown in shown(&bench, liars) {
            prop_assert!((low - 20 * MS..=high + 20 * MS).contains(&shown), "{shown} of {low} to {high}");
        }
    }

    #[test]
    fn arbitrary_frames_never_panic(
        frames in prop::collection::vec((0..4u32, any::<bool>(), any::<i64>(), any::<i64>(), any::<i64>()), 1..300),
    ) {
        let mut clock = MedianClock::default();
        let mut now = LocalTime::from_nanos(0);
        for (peer, is_probe, time, arrived, held) in frames {
            let peer = PeerId(peer);
            now += Span::from_nanos(held & 0xff_ffff);
            if time % 17 == 0 {
                clock.handle_peer(now, PeerChange::Joined { peer, datagram_max: 1_200 });
            }
            let time = match clock.poll_frame(now, peer) {
                Some(ClockFrame::Probe { sent }) => sent,
                _ => LocalTime::from_nanos(time),
            };
            let arrived = SessionTime::from_nanos(arrived);
            let frame = if is_probe {
                ClockFrame::Probe { sent: time }
            } else {
                ClockFrame::Echo { probe: time, arrived, held: Span::from_nanos(held & 0xff_ffff) }
            };
            clock.handle_frame(now + Span::from_millis(20), peer, &frame);
            while clock.poll_due(now).is_some() {}
            let _ = (clock.session(now), clock.error_max(now), clock.poll_timeout(), clock.poll_event());
        }
    }
}
