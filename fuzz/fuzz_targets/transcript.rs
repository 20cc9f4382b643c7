//! Any bytes parse as a transcript or as the records of one, which is written byte for byte and replays without a panic, or are
//! rejected.

#![no_main]

use evenkeel_core::transcript::{Call, Record, Recorder, Transcript, replay, seal};
use evenkeel_core::{FollowerClock, PeerId, Reader, ServerClock};
use evenkeel_dr::{DrCommand, DrConfig, DrPeer, DrRelay};
use evenkeel_games::{Bot, BotConfig};
use libfuzzer_sys::fuzz_target;

fn write(recorder: &mut Recorder, record: &Record<'_, DrCommand>) {
    match *record {
        Record::Node { node, config } => recorder.node(node, config),
        Record::Transmit { to, channel, bytes } => recorder.transmit(to, channel, bytes),
        Record::Call { node, now, ref call } => match *call {
            Call::Command(ref command) => recorder.command(node, now, command),
            Call::Message(from, channel, bytes) => recorder.message(node, now, from, channel, bytes),
            Call::Peer(change) => recorder.peer(node, now, change),
            Call::Timeout => recorder.timeout(node, now),
        },
    }
}

fuzz_target!(|bytes: &[u8]| {
    let _ = Transcript::open(bytes)
        .map(|mut transcript| while let Ok(Some(_)) = transcript.next_record::<DrCommand>() {});
    // Hardly any bytes have the right checksum.
    let sealed = seal(bytes);
    let Ok(mut transcript) = Transcript::open(&sealed) else { return };
    let whole = transcript.clone();
    let mut recorder = Recorder::new(transcript.config, transcript.seed);
    while let Ok(Some(record)) = transcript.next_record::<DrCommand>() {
        write(&mut recorder, &record);
    }
    if transcript.has_ended() {
        assert_eq!(recorder.finish(), sealed, "a transcript is written differently than it was read");
    }
    let config = DrConfig::default();
    let _ = replay(whole.clone(), |_, _| Ok(DrPeer::new(&config)));
    // With the recorded settings, as each kind of machine.
    let read = |bytes: &[u8]| Reader::new(bytes).read::<DrConfig>();
    let follower = || FollowerClock::new(PeerId(0));
    let _ =
        replay(whole.clone(), |_, config| Ok(DrRelay::with_clock(&read(config)?, ServerClock::default())));
    let _ = replay(whole.clone(), |_, config| {
        Ok(DrPeer::<FollowerClock>::with_clock(&read(config)?, follower()))
    });
    let _ = replay(whole, |_, config| {
        Ok(Bot::<FollowerClock>::new(&Reader::new(config).read::<BotConfig>()?, follower()))
    });
});
