//! A run is a function of its seed, as its transcript proves.

mod pinger;

use evenkeel_core::transcript::{ReplayError, Replayed, Transcript, replay};
use evenkeel_core::{Channel, PeerId, Seed, Span};
use evenkeel_link::{ClockFaults, DelayLaw, Jitter, LinkFaults, Loss};
use evenkeel_sim::{NodeId, World};
use pinger::{Command, Pinger, local_millis, millis};

/// Records a small world with every kind of call.
fn recorded(seed: u64) -> Vec<u8> {
    let mut world = World::new(Seed::new(seed));
    world.record(b"three pingers", seed);
    let faults = LinkFaults {
        delay: DelayLaw { base: Span::from_millis(40), jitter: Jitter::Gamma { sd: Span::from_millis(15) } },
        loss: Loss::GilbertElliott {
            good_mean: Span::from_millis(300),
            bad_mean: Span::from_millis(50),
            loss_good: 0.01,
            loss_bad: 0.5,
        },
        duplicate: 0.05,
        ..LinkFaults::default()
    };
    let nodes: Vec<NodeId> = (0..3)
        .map(|i| {
            let clock = ClockFaults { offset: Span::from_secs(i), skew_ppm: 40.0, ..ClockFaults::default() };
            world.add_node(Pinger::default(), clock)
        })
        .collect();
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        world.connect(nodes[a], nodes[b], faults.clone(), faults.clone());
        world.join(nodes[a], nodes[b], 1200);
    }
    world.command(nodes[2], Command::Wake(local_millis(2_100), Span::from_millis(70)));
    for number in 0..100u64 {
        let (from, to) = (nodes[number as usize % 3], PeerId((number as u32 + 1) % 3));
        let channel = if number % 5 == 0 { Channel::Reliable } else { Channel::Datagram };
        world.command(from, Command::Ping(to, channel, number));
        if number == 60 {
            world.leave(nodes[0], nodes[1]);
        }
        world.run_until(millis(10 * number as i64), &mut ());
    }
    world.take_transcript()
}

#[test]
fn the_transcript_is_a_function_of_the_seed() {
    assert_eq!(recorded(1), recorded(1));
    assert_ne!(recorded(1), recorded(2));
}

#[test]
fn fresh_machines_replay_a_transcript_byte_for_byte() {
    let bytes = recorded(5);
    let transcript = Transcript::open(&bytes).unwrap();
    assert_eq!((transcript.config, transcript.seed), (&b"three pingers"[..], 5));
    let Replayed { calls, transmits, .. } = replay(transcript, |_, _| Ok(Pinger::default())).unwrap();
    assert!(calls > 250 && transmits > 150, "{calls} {transmits}");
}

#[test]
fn a_replay_finds_a_machine_that_answers_differently() {
    let bytes = recorded(5);
    let replayed =
        replay(Transcript::open(&bytes).unwrap(), |node, _| Ok(Pinger::changed(u64::from(node == 1))));
    assert!(matches!(replayed, Err(ReplayError::Diverged { node: 1, .. })), "{replayed:?}");
}

#[test]
fn a_world_that_is_not_recorded_has_no_transcript() {
    let mut world = World::<Pinger>::new(Seed::new(1));
    assert_eq!(world.take_transcript(), []);
}

#[test]
#[should_panic(expected = "before the first call")]
fn recording_cannot_start_in_the_middle() {
    let mut world = World::new(Seed::new(1));
    let node = world.add_node(Pinger::default(), ClockFaults::default());
    world.command(node, Command::Wake(local_millis(1), Span::ZERO));
    world.record(b"", 1);
}
