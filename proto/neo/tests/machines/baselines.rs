//! The baselines play as their papers say, over a network with one constant delay.

use std::collections::BTreeMap;

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Span};
use evenkeel_neo::{Baseline, BaselinePeer, Identity, NeoCommand, NeoEvent, PlayedMove};

const SLOT: Span = Span::from_millis(50);

/// A message on its way: sender, receiver, channel and bytes.
type InFlight = (usize, PeerId, Channel, Vec<u8>);

/// What peers played, and the state changes that they got.
#[derive(Default)]
struct Seen {
    played: Vec<(usize, PlayedMove)>,
    unused: usize,
    changes: Vec<(usize, Vec<u8>)>,
}

/// Runs peers for three seconds. `sees` says who is connected.
fn run(kinds: &[Baseline], delay: i64, sees: impl Fn(usize, usize) -> bool) -> (Vec<BaselinePeer>, Seen) {
    let at = |millis: i64| LocalTime::from_nanos(millis * 1_000_000);
    let build = |(i, kind): (usize, &Baseline)| {
        BaselinePeer::new(*kind, SLOT, Identity::from_secret([i as u8 + 1; 32]))
    };
    let mut peers: Vec<BaselinePeer> = kinds.iter().enumerate().map(build).collect();
    for (here, peer) in peers.iter_mut().enumerate() {
        for there in (0..kinds.len()).filter(|there| *there != here && sees(here, *there)) {
            peer.handle_peer(at(0), PeerChange::Joined { peer: PeerId(there as u32), datagram_max: 1_200 });
        }
    }
    let mut flight: BTreeMap<i64, Vec<InFlight>> = BTreeMap::new();
    let (mut bytes, mut seen) = (Vec::new(), Seen::default());
    for now in 0..3_000 {
        for (from, to, channel, bytes) in flight.remove(&now).unwrap_or_default() {
            peers[to.0 as usize]
                .handle_message(at(now), PeerId(from as u32), channel, &bytes)
                .expect("it is honest");
        }
        for (here, peer) in peers.iter_mut().enumerate() {
            peer.handle_timeout(at(now));
            if now == 1_000 {
                peer.handle_command(at(now), NeoCommand::ChangeState(vec![here as u8]));
            }
            peer.handle_command(at(now), NeoCommand::Submit(vec![here as u8]));
            while let Some((to, channel)) = peer.poll_transmit(at(now), &mut bytes) {
                flight.entry(now + delay).or_default().push((here, to, channel, bytes.clone()));
            }
            while let Some(event) = peer.poll_event() {
                match event {
                    NeoEvent::Played(made) => seen.played.push((here, made)),
                    NeoEvent::Unused { .. } => seen.unused += 1,
                    NeoEvent::StateChanged { bytes, .. } => seen.changes.push((here, bytes)),
                    _ => {}
                }
            }
        }
    }
    (peers, seen)
}

fn mesh(kind: Baseline, delay: i64) -> (Vec<BaselinePeer>, Seen) {
    let (peers, seen) = run(&[kind; 3], delay, |_, _| true);
    assert_eq!(seen.changes.len(), 3 * 2, "{kind:?}: every change reaches both others once");
    assert!(seen.played.iter().all(|(_, made)| made.bytes.is_empty() || made.bytes == [made.from.0 as u8]));
    (peers, seen)
}

fn ages(seen: &Seen) -> Vec<i64> {
    seen.played.iter().map(|(_, made)| made.age().as_nanos() / 1_000_000).collect()
}

#[test]
fn buckets_play_after_their_time_and_leave_out_who_is_slower() {
    let lag = Span::from_millis(100);
    let (_, seen) = mesh(Baseline::Bucket(lag), 30);
    assert!(seen.played.len() > 300 && ages(&seen).iter().all(|age| *age == 100), "{:?}", ages(&seen));
    let (_, seen) = mesh(Baseline::Bucket(lag), 130);
    assert!(seen.played.is_empty() && seen.unused > 300);
    let (_, seen) = mesh(Baseline::LocalLag(lag), 130);
    assert!(
        seen.unused == 0 && ages(&seen).iter().all(|age| *age == 130),
        "local lag plays late ones at once"
    );
}

#[test]
fn lockstep_waits_for_all_and_a_pipeline_hides_it() {
    let (_, step) = mesh(Baseline::Lockstep, 60);
    // Commitments take 60 ms, then openings another 60.
    assert!(ages(&step).iter().all(|age| *age >= 120), "{:?}", ages(&step));
    let (_, pipelined) = mesh(Baseline::Pipelined(4), 60);
    let (peers, adaptive) = mesh(Baseline::AdaptivePipelined, 60);
    let counts = [&step, &pipelined, &adaptive].map(|seen| seen.played.len());
    assert!(counts[1] > counts[0] * 3 / 2 && counts[2] > counts[0] * 4 / 3, "{counts:?}");
    assert!(peers[0].pipeline() > 1);
}

#[test]
fn a_server_passes_moves_on_at_once() {
    let server = PeerId(0);
    let kinds = [Baseline::Server, Baseline::Client(server), Baseline::Client(server)];
    let (_, seen) = run(&kinds, 40, |here, there| here == 0 || there == 0);
    assert!(seen.played.len() > 100 && ages(&seen).iter().all(|age| *age == 80), "{:?}", ages(&seen));
    // The clients' changes reach each other, and the server's reaches both.
    assert_eq!(seen.changes.len(), 4);
}
