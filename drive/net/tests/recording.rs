//! A session on real sockets is recorded and replays byte for byte into fresh machines.

mod loopback;
mod pinger;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evenkeel_core::transcript::{ReplayError, Transcript, replay};
use evenkeel_core::{Channel, PeerId, Seed, Span};
use evenkeel_link::{Link, LinkFaults};
use evenkeel_net::{Attachment, Crank, CrankHandle, Emulation, NodeId, Recording, RecordingError};

use loopback::{Relay, soon};
use pinger::{Command, Pinger};

const RELAY: NodeId = NodeId(0);
const PLAYER: NodeId = NodeId(1);
const PEER: PeerId = PeerId(5);

/// A file in memory.
#[derive(Clone, Default)]
struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Plays for a while on two cranks, each with its own recording.
async fn play(emulation: Option<Emulation>) -> [Vec<u8>; 2] {
    let files = [MemoryFile::default(), MemoryFile::default()];
    let cranks: Vec<CrankHandle<Pinger>> = files
        .iter()
        .map(|file| {
            let recording = Recording::start(file.clone(), b"pinger", 42).expect("a thread");
            Crank::new().record(recording).start().expect("a thread")
        })
        .collect();
    let mut relay = Relay::local();
    let (served, client) = soon(relay.pair()).await;
    cranks[0].add(RELAY, Pinger::default()).expect("running");
    cranks[1].add(PLAYER, Pinger::default()).expect("running");
    cranks[0].attach(RELAY, PEER, served).expect("running");
    let attachment = Attachment { connection: client, emulation, allowance: None };
    cranks[1].attach(PLAYER, PEER, attachment).expect("running");
    for (crank, node) in cranks.iter().zip([RELAY, PLAYER]) {
        let wake = Command::Wake(crank.clock().now(), Span::from_millis(3));
        crank.command(node, wake).expect("running");
    }
    for number in 0..30 {
        for (crank, node) in cranks.iter().zip([RELAY, PLAYER]) {
            crank.command(node, Command::Ping(PEER, Channel::Reliable, number)).expect("running");
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for crank in &cranks {
        soon(crank.stop(Duration::from_millis(500))).await.expect("running");
        let status = crank.recording().expect("a recording");
        assert!(status.error().is_none() && status.written() > 1_000);
    }
    files.map(|file| file.0.lock().expect("no panic").clone())
}

fn check(transcript: &[u8]) {
    let open = || Transcript::open(transcript).expect("a transcript");
    assert_eq!((open().config, open().seed), (b"pinger".as_slice(), 42));
    let done = replay(open(), |_, _| Ok(Pinger::default())).expect("the same bytes");
    assert!(done.calls > 100 && done.transmits > 100 && done.is_complete, "{done:?}");
    let other = replay(open(), |_, _| Ok(Pinger::changed(1)));
    assert!(matches!(other, Err(ReplayError::Diverged { .. })), "{other:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorded_session_replays_byte_for_byte() {
    play(None).await.iter().for_each(|transcript| check(transcript));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_over_an_emulated_link_replays_byte_for_byte() {
    let link = |seed| Link::new(LinkFaults::constant(Span::from_millis(15)), Seed::new(seed));
    let emulation = Emulation { outgoing: link(1), incoming: link(2) };
    play(Some(emulation)).await.iter().for_each(|transcript| check(transcript));
}

/// A full disk.
struct FullDisk;

impl Write for FullDisk {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_ends_the_recording_but_not_the_game() {
    let recording = Recording::start(FullDisk, b"", 0).expect("a thread");
    let status = recording.status();
    let crank = Crank::new().record(recording).start().expect("a thread");
    crank.add(RELAY, Pinger::default()).expect("running");
    let wake = Command::Wake(crank.clock().now(), Span::from_millis(1));
    crank.command(RELAY, wake).expect("running");
    let start = std::time::Instant::now();
    while status.error().is_none() {
        assert!(start.elapsed() < Duration::from_secs(5), "no error was reported");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(matches!(status.error(), Some(RecordingError::Io(_))));
    let before = crank.counts().timeouts;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(crank.counts().timeouts > before, "the game stopped");
    soon(crank.stop(Duration::ZERO)).await.expect("running");
}
