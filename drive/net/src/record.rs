//! Recording a session on real sockets, so that it can be replayed into fresh machines byte for byte.
//!
//! The crank writes each call with its node and its `now`, and what was transmitted behind it, into a transcript of
//! `evenkeel_core`; a thread of its own appends that to a file. If the disk fails or does not keep up, the recording ends
//! with an error that can be asked for, and the game goes on. Replay it with [`evenkeel_core::transcript::replay`], which
//! builds a machine wherever one was added, also under a number that another had before.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use evenkeel_core::transcript::Recorder;
use evenkeel_core::{Channel, LocalTime, PeerChange, PeerId, Span, Wire};

use crate::crank::NodeId;

/// How many chunks may wait for the disk.
const CHUNKS_MAX: usize = 256;
/// A chunk is handed to the writer when it has so many bytes,
const CHUNK_BYTES: usize = 64 * 1_024;
/// or when it is so old.
const CHUNK_AGE_MAX: Span = Span::from_millis(200);
/// How long the end of a crank waits for the disk.
const FINISH_MAX: Duration = Duration::from_secs(5);

/// Why a recording ended early. The transcript is good up to there.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RecordingError {
    /// The disk refused.
    #[error("the recording stopped because it could not be written: {0}; the game goes on")]
    Io(Arc<io::Error>),
    /// The disk is too slow.
    #[error("the recording stopped because the disk does not keep up; the game goes on")]
    TooSlow,
}

#[derive(Debug, Default)]
struct State {
    written: AtomicU64,
    error: OnceLock<RecordingError>,
}

/// How a recording is doing.
#[derive(Clone, Debug)]
pub struct RecordingStatus(Arc<State>);

impl RecordingStatus {
    /// How many bytes have been handed to the file.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// Why it ended early, if it did.
    #[must_use]
    pub fn error(&self) -> Option<RecordingError> {
        self.0.error.get().cloned()
    }
}

/// A recording for one crank.
#[derive(Debug)]
pub struct Recording {
    recorder: Recorder,
    /// About what the recorder holds.
    gathered: usize,
    since: LocalTime,
    chunks: Option<SyncSender<Vec<u8>>>,
    done: Receiver<()>,
    state: Arc<State>,
}

impl Recording {
    /// Begins a recording of a session with this configuration and seed, which a replay reads to build its machines.
    ///
    /// # Errors
    /// What the system says if there can be no thread for it.
    pub fn start(
        writer: impl Write + Send + 'static,
        config: &[u8],
        seed: u64,
    ) -> Result<Self, RecordingError> {
        let (chunks, waiting) = sync_channel(CHUNKS_MAX);
        let (ending, done) = sync_channel(1);
        let state = Arc::new(State::default());
        let shared = state.clone();
        thread::Builder::new()
            .name("evenkeel-record".to_owned())
            .spawn(move || {
                if let Err(error) = append(writer, &waiting, &shared.written) {
                    let error = RecordingError::Io(Arc::new(error));
                    tracing::error!("{error}");
                    let _ = shared.error.set(error);
                }
                let _ = ending.send(());
            })
            .map_err(|error| RecordingError::Io(Arc::new(error)))?;
        let recorder = Recorder::new(config, seed);
        let since = LocalTime::MIN;
        Ok(Self { recorder, gathered: 0, since, chunks: Some(chunks), done, state })
    }

    /// How it is doing, also after it was handed to a crank.
    #[must_use]
    pub fn status(&self) -> RecordingStatus {
        RecordingStatus(self.state.clone())
    }

    fn gather(&mut self, bytes: usize) -> Option<&mut Recorder> {
        self.chunks.as_ref()?;
        self.gathered += bytes + 32;
        Some(&mut self.recorder)
    }

    fn hand_over(&mut self) {
        let Some(chunks) = &self.chunks else { return };
        self.gathered = 0;
        match chunks.try_send(self.recorder.take()) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                tracing::error!("{}", RecordingError::TooSlow);
                let _ = self.state.error.set(RecordingError::TooSlow);
                self.chunks = None;
            }
            // The writer has said why.
            Err(TrySendError::Disconnected(_)) => self.chunks = None,
        }
    }
}

fn append(mut writer: impl Write, chunks: &Receiver<Vec<u8>>, written: &AtomicU64) -> io::Result<()> {
    for chunk in chunks {
        writer.write_all(&chunk)?;
        writer.flush()?;
        written.fetch_add(chunk.len() as u64, Ordering::Relaxed);
    }
    writer.flush()
}

/// What a crank tells its recording. It is a trait so that only those who record need commands that can be written.
pub(crate) trait Tape<C>: Send {
    fn node(&mut self, node: NodeId, config: &[u8]);
    fn command(&mut self, node: NodeId, now: LocalTime, command: &C);
    fn message(&mut self, node: NodeId, now: LocalTime, from: PeerId, channel: Channel, bytes: &[u8]);
    fn peer(&mut self, node: NodeId, now: LocalTime, change: PeerChange);
    fn timeout(&mut self, node: NodeId, now: LocalTime);
    fn transmit(&mut self, to: PeerId, channel: Channel, bytes: &[u8]);
    /// Hands what has gathered to the writer, if it is enough or old enough.
    fn turn(&mut self, now: LocalTime);
    /// Hands over the rest and waits a while until it is written.
    fn finish(&mut self);
}

impl<C: Wire> Tape<C> for Recording {
    fn node(&mut self, node: NodeId, config: &[u8]) {
        if let Some(recorder) = self.gather(config.len()) {
            recorder.node(node.0, config);
        }
    }

    fn command(&mut self, node: NodeId, now: LocalTime, command: &C) {
        if let Some(recorder) = self.gather(64) {
            recorder.command(node.0, now, command);
        }
    }

    fn message(&mut self, node: NodeId, now: LocalTime, from: PeerId, channel: Channel, bytes: &[u8]) {
        if let Some(recorder) = self.gather(bytes.len()) {
            recorder.message(node.0, now, from, channel, bytes);
        }
    }

    fn peer(&mut self, node: NodeId, now: LocalTime, change: PeerChange) {
        if let Some(recorder) = self.gather(0) {
            recorder.peer(node.0, now, change);
        }
    }

    fn timeout(&mut self, node: NodeId, now: LocalTime) {
        if let Some(recorder) = self.gather(0) {
            recorder.timeout(node.0, now);
        }
    }

    fn transmit(&mut self, to: PeerId, channel: Channel, bytes: &[u8]) {
        if let Some(recorder) = self.gather(bytes.len()) {
            recorder.transmit(to, channel, bytes);
        }
    }

    fn turn(&mut self, now: LocalTime) {
        let is_old = self.gathered > 0 && now - self.since > CHUNK_AGE_MAX;
        if self.gathered >= CHUNK_BYTES || is_old {
            self.since = now;
            self.hand_over();
        }
    }

    fn finish(&mut self) {
        self.hand_over();
        if self.chunks.take().is_some() && self.done.recv_timeout(FINISH_MAX).is_err() {
            let _ = self.state.error.set(RecordingError::TooSlow);
        }
    }
}
