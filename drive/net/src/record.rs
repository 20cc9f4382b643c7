//! Recordings of sessions on real sockets, which replay into fresh machines byte for byte.
//!
//! Its blocks have checksums, and one that ended as it should has an end mark, so whatever happens to the file is found.
//!
//! The crank writes each call with its node, its time and what the machine then transmitted into a transcript of
//! `evenkeel_core`; a separate thread appends it to a file. If the disk fails or falls behind, the recording ends with an
//! error in its status, and the game goes on. [`evenkeel_core::transcript::replay`] replays it, building a machine wherever
//! one was added, including under a reused number.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use evenkeel_core::transcript::Recorder;
use evenkeel_core::{Channel, LocalTime, PeerChange, PeerId, Span, Wire};

use crate::crank::NodeId;

/// Chunks queued for the disk.
const CHUNKS_MAX: usize = 256;
/// A chunk is handed to the writer at this size,
const CHUNK_BYTES: usize = 64 * 1_024;
/// or at this age.
const CHUNK_AGE_MAX: Span = Span::from_millis(200);
/// How long a stopping crank waits for the disk.
const FINISH_MAX: Duration = Duration::from_secs(5);

/// Why a recording ended early. The transcript is valid up to that point.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// Writing failed.
    #[error("the recording stopped because it could not be written: {0}; the game goes on")]
    Io(Arc<io::Error>),
    /// The disk is too slow.
    #[error("the recording stopped because the disk does not keep up; the game goes on")]
    TooSlow,
}

#[derive(Debug, Default)]
struct RecordingState {
    written: AtomicU64,
    error: OnceLock<RecordingError>,
}

/// The state of a recording.
#[derive(Clone, Debug)]
pub struct RecordingStatus(Arc<RecordingState>);

impl RecordingStatus {
    /// Returns the number of bytes written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// Returns why it ended early, if it did.
    #[must_use]
    pub fn error(&self) -> Option<RecordingError> {
        self.0.error.get().cloned()
    }
}

/// A recording for one crank.
#[derive(Debug)]
pub struct Recording {
    /// `None` once it has ended.
    recorder: Option<Recorder>,
    /// Approximate number of bytes in the recorder.
    buffered: usize,
    handed_over_at: LocalTime,
    chunks: Option<SyncSender<Vec<u8>>>,
    done: Receiver<()>,
    state: Arc<RecordingState>,
}

impl Recording {
    /// Starts a recording with this configuration and seed, from which a replay builds its machines.
    ///
    /// # Errors
    /// If the system refuses to start a thread.
    pub fn start(
        writer: impl Write + Send + 'static,
        config: &[u8],
        seed: u64,
    ) -> Result<Self, RecordingError> {
        let (chunks, waiting) = sync_channel(CHUNKS_MAX);
        let (ending, done) = sync_channel(1);
        let state = Arc::new(RecordingState::default());
        let writer_state = state.clone();
        thread::Builder::new()
            .name("evenkeel-record".to_owned())
            .spawn(move || {
                if let Err(error) = append(writer, &waiting, &writer_state.written) {
                    let error = RecordingError::Io(Arc::new(error));
                    tracing::error!("{error}");
                    let _ = writer_state.error.set(error);
                }
                let _ = ending.send(());
            })
            .map_err(|error| RecordingError::Io(Arc::new(error)))?;
        let recorder = Some(Recorder::new(config, seed));
        let handed_over_at = LocalTime::MIN;
        Ok(Self { recorder, buffered: 0, handed_over_at, chunks: Some(chunks), done, state })
    }

    /// Returns its status, which stays valid after the recording is handed to a crank.
    #[must_use]
    pub fn status(&self) -> RecordingStatus {
        RecordingStatus(self.state.clone())
    }

    fn recorder_for(&mut self, bytes: usize) -> Option<&mut Recorder> {
        self.chunks.as_ref()?;
        self.buffered += bytes + 32;
        self.recorder.as_mut()
    }

    fn hand_over(&mut self, chunk: Vec<u8>) {
        let Some(chunks) = &self.chunks else { return };
        self.buffered = 0;
        match chunks.try_send(chunk) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                tracing::error!("{}", RecordingError::TooSlow);
                let _ = self.state.error.set(RecordingError::TooSlow);
                self.chunks = None;
            }
            // The writer has reported its error.
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

/// What a crank reports to its recording. A trait, so that only recorded machines need commands that implement [`Wire`].
pub(crate) trait CallRecorder<C>: Send {
    fn node(&mut self, node: NodeId, config: &[u8]);
    fn command(&mut self, node: NodeId, now: LocalTime, command: &C);
    fn message(&mut self, node: NodeId, now: LocalTime, from: PeerId, channel: Channel, bytes: &[u8]);
    fn peer(&mut self, node: NodeId, now: LocalTime, change: PeerChange);
    fn timeout(&mut self, node: NodeId, now: LocalTime);
    fn transmit(&mut self, to: PeerId, channel: Channel, bytes: &[u8]);
    /// Hands the buffered bytes to the writer if they are many or old.
    fn flush_if_due(&mut self, now: LocalTime);
    /// Hands over the rest and waits up to [`FINISH_MAX`] until it is written.
    fn finish(&mut self);
}

impl<C: Wire> CallRecorder<C> for Recording {
    fn node(&mut self, node: NodeId, config: &[u8]) {
        if let Some(recorder) = self.recorder_for(config.len()) {
            recorder.node(node.0, config);
        }
    }

    fn command(&mut self, node: NodeId, now: LocalTime, command: &C) {
        if let Some(recorder) = self.recorder_for(64) {
            recorder.command(node.0, now, command);
        }
    }

    fn message(&mut self, node: NodeId, now: LocalTime, from: PeerId, channel: Channel, bytes: &[u8]) {
        if let Some(recorder) = self.recorder_for(bytes.len()) {
            recorder.message(node.0, now, from, channel, bytes);
        }
    }

    fn peer(&mut self, node: NodeId, now: LocalTime, change: PeerChange) {
        if let Some(recorder) = self.recorder_for(0) {
            recorder.peer(node.0, now, change);
        }
    }

    fn timeout(&mut self, node: NodeId, now: LocalTime) {
        if let Some(recorder) = self.recorder_for(0) {
            recorder.timeout(node.0, now);
        }
    }

    fn transmit(&mut self, to: PeerId, channel: Channel, bytes: &[u8]) {
        if let Some(recorder) = self.recorder_for(bytes.len()) {
            recorder.transmit(to, channel, bytes);
        }
    }

    fn flush_if_due(&mut self, now: LocalTime) {
        let is_old = self.buffered > 0 && now - self.handed_over_at > CHUNK_AGE_MAX;
        if self.buffered >= CHUNK_BYTES || is_old {
            self.handed_over_at = now;
            if let Some(recorder) = self.recorder_for(0) {
                let chunk = recorder.take();
                self.hand_over(chunk);
            }
        }
    }

    fn finish(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            self.hand_over(recorder.finish());
        }
        if self.chunks.take().is_some() && self.done.recv_timeout(FINISH_MAX).is_err() {
            let _ = self.state.error.set(RecordingError::TooSlow);
        }
    }
}
