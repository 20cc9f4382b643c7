//! The machines keep the endpoint contract under a hostile schedule, and survive hostile bytes.

use evenkeel_core::contract::check;
use evenkeel_core::{
    Channel, ClockFrame, Draws, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Seed, SessionTime, Span,
    Synchronized, Wire,
};
use evenkeel_neo::{
    Adaptation, Baseline, BaselinePeer, Cheat, CheatingPeer, Identity, NeoCommand, NeoConfig, NeoPeer,
    Session, VERSION,
};
use proptest::prelude::*;

const STEPS: usize = 2_500;

fn identity(i: usize) -> Identity {
    Identity::from_secret([i as u8 + 1; 32])
}

fn command(draws: &mut Draws) -> NeoCommand {
    let len = [0, 8, 200, 2_000][draws.below(4) as usize];
    let bytes = vec![draws.bits() as u8; len];
    match draws.below(12) {
        0..6 => NeoCommand::Submit(bytes),
        6..9 => NeoCommand::ChangeState(bytes),
        9 => NeoCommand::Tell { to: PeerId(draws.below(6) as u32), bytes },
        10 => NeoCommand::Interest((0..draws.below(5)).map(|peer| PeerId(peer as u32)).collect()),
        _ if draws.chance(0.02) => NeoCommand::Leave,
        _ => NeoCommand::Submit(Vec::new()),
    }
}

fn configs() -> [NeoConfig; 4] {
    let session = Session([5; 16]);
    let adaptation = Adaptation {
        round_min: Span::from_millis(50),
        round_max: Span::from_millis(500),
        depth_max: 8,
        every_rounds: 4,
    };
    [
        NeoConfig::new(session),
        NeoConfig { has_areas: true, adaptation: Some(adaptation), ..NeoConfig::new(session) },
        NeoConfig::thesis(session),
        NeoConfig::thesis_at_quorum(session),
    ]
}

#[test]
fn neo_keeps_the_contract() {
    for (seed, config) in configs().iter().enumerate() {
        let seed = seed as u64;
        check(seed, STEPS, 4, |i| NeoPeer::new(config, identity(i)), |_, draws| command(draws));
        let synchronized = |i| NeoPeer::with_clock(config, identity(i), Synchronized);
        check(seed + 10, STEPS, 4, synchronized, |_, draws| command(draws));
    }
}

#[test]
fn baselines_keep_the_contract() {
    let lag = Span::from_millis(100);
    let kinds = [
        [Baseline::Bucket(lag); 3],
        [Baseline::LocalLag(lag); 3],
        [Baseline::Lockstep; 3],
        [Baseline::Pipelined(4); 3],
        [Baseline::AdaptivePipelined; 3],
        [Baseline::Server, Baseline::Client(PeerId(0)), Baseline::Client(PeerId(0))],
    ];
    for (seed, kinds) in kinds.into_iter().enumerate() {
        let build = |i: usize| BaselinePeer::new(kinds[i], Span::from_millis(50), identity(i));
        check(seed as u64, STEPS, 3, build, |_, draws| command(draws));
    }
}

/// Two peers that have joined and play.
fn playing() -> (NeoPeer<Synchronized>, Vec<(Channel, Vec<u8>)>) {
    let config = &configs()[0];
    let mut peers = [0, 1].map(|i| NeoPeer::with_clock(config, identity(i), Synchronized));
    for (here, there) in [(0, 1), (1, 0)] {
        peers[here].handle_peer(
            LocalTime::default(),
            PeerChange::Joined { peer: PeerId(there), datagram_max: 1_200 },
        );
    }
    let (mut bytes, mut sent) = (Vec::new(), Vec::new());
    for millis in 0..2_500 {
        let now = LocalTime::from_nanos(millis * 1_000_000);
        for here in 0..2 {
            peers[here].handle_timeout(now);
            while let Some((to, channel)) = peers[here].poll_transmit(now, &mut bytes) {
                let handled = peers[to.0 as usize].handle_message(now, PeerId(here as u32), channel, &bytes);
                assert_eq!(handled, Ok(()));
                if here == 1 {
                    sent.push((channel, bytes.clone()));
                }
            }
        }
    }
    let [peer, _] = peers;
    assert!(peer.stats().played > 10, "{:?}", peer.stats());
    (peer, sent)
}

#[test]
fn damaged_and_old_messages_change_nothing_that_was_decided() {
    let (mut peer, sent) = playing();
    let before = peer.stats();
    let now = LocalTime::from_nanos(2_500_000_000);
    let mut draws = Seed::new(4).draws();
    for _ in 0..20_000 {
        let (channel, mut bytes) = sent[draws.below(sent.len() as u64) as usize].clone();
        for _ in 0..draws.below(4) {
            let at = draws.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << draws.below(8);
        }
        if draws.chance(0.1) {
            bytes.truncate(draws.below(bytes.len() as u64 + 1) as usize);
        }
        let _ = peer.handle_message(now, PeerId(1), channel, &bytes);
        while peer.poll_transmit(now, &mut bytes).is_some() {}
        while peer.poll_event().is_some() {}
    }
    assert_eq!(peer.stats().played, before.played, "a replayed move was played twice");
    assert_eq!(peer.stats().evicted, 0, "damage framed an honest peer");
}

#[test]
fn a_stranger_is_not_heard() {
    let (mut peer, sent) = playing();
    let now = LocalTime::from_nanos(2_500_000_000);
    for (channel, bytes) in &sent {
        assert_eq!(peer.handle_message(now, PeerId(9), *channel, bytes), Err(Rejected::UnknownPeer));
    }
    // A connection that has proved no key gets no votes and no moves in.
    peer.handle_peer(now, PeerChange::Joined { peer: PeerId(9), datagram_max: 1_200 });
    for (channel, bytes) in sent.iter().filter(|(channel, _)| *channel == Channel::Datagram) {
        let _ = peer.handle_message(now, PeerId(9), *channel, bytes);
    }
    assert_eq!(peer.present().count(), 1);
}

#[test]
fn a_cheater_that_does_not_cheat_is_an_honest_peer() {
    let config = &configs()[0];
    let build = |i| CheatingPeer::with_clock(config, identity(i), Cheat::None, Synchronized);
    check(3, STEPS, 3, build, |_, draws| command(draws));
}

#[test]
fn settings_out_of_range_are_named() {
    let config = NeoConfig { depth: 0, ..NeoConfig::default() };
    assert!(config.validate().expect_err("no depth").to_string().contains("depth"));
    let config = NeoConfig { round: Span::from_millis(1), ..NeoConfig::default() };
    let error = config.validate().expect_err("too short").to_string();
    assert!(error.contains("round") && error.contains("10 to 10000 ms"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn garbage_never_panics(
        tail in prop::collection::vec(any::<u8>(), 0..400), is_reliable: bool, tag in 0..14u8,
    ) {
        let mut peer = NeoPeer::with_clock(&configs()[0], identity(0), Synchronized);
        let now = LocalTime::from_nanos(5_000_000_000);
        peer.handle_peer(now, PeerChange::Joined { peer: PeerId(1), datagram_max: 1_200 });
        let mut bytes = vec![VERSION, tag];
        bytes.extend_from_slice(&tail);
        let channel = if is_reliable { Channel::Reliable } else { Channel::Datagram };
        let _ = peer.handle_message(now, PeerId(1), channel, &bytes);
        let mut clock = vec![VERSION, 4];
        ClockFrame::Echo { probe: now, arrived: SessionTime::from_nanos(1), held: Span::ZERO }.emit(&mut clock);
        let _ = peer.handle_message(now, PeerId(1), Channel::Datagram, &clock);
        while peer.poll_transmit(now, &mut bytes).is_some() {}
    }
}
