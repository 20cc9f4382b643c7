//! When a clock probes: in datagrams that leave anyway, or in one of its own.

use evenkeel_core::clock::{Hull, SessionClock};
use evenkeel_core::{FollowerClock, LocalTime, PeerChange, PeerId};

const MS: i64 = 1_000_000;
const SERVER: PeerId = PeerId(0);
const JOINED: PeerChange = PeerChange::Joined { peer: SERVER, datagram_max: 1_200 };

#[test]
fn a_probe_rides_on_a_datagram_that_leaves_shortly_before_it_is_due() {
    let mut clock = FollowerClock::<Hull>::new(SERVER);
    let at = |millis: i64| LocalTime::from_nanos(millis * MS);
    assert_eq!((clock.poll_due(at(0)), clock.poll_timeout()), (None, None), "no server has joined");
    clock.handle_peer(at(0), JOINED);
    assert_eq!((clock.poll_timeout(), clock.poll_due(at(0))), (Some(at(0)), Some(SERVER)));
    assert_eq!(clock.poll_due(at(0)), None, "each peer is returned once");
    assert_eq!(clock.poll_frame(at(1), PeerId(7)), None, "only the server is probed");
    assert!(clock.poll_frame(at(1), SERVER).is_some());
    // In a burst a probe is due every 20 ms and may be 5 ms early.
    assert_eq!(clock.poll_frame(at(15), SERVER), None);
    assert!(clock.poll_frame(at(16), SERVER).is_some());
    assert_eq!((clock.poll_due(at(35)), clock.poll_timeout()), (None, Some(at(36))));
    assert_eq!(clock.poll_due(at(36)), Some(SERVER));
}
