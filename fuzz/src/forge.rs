//! Forged messages: well formed, with fields that the fuzzer chooses close to honest ones.

use evenkeel_core::{ClockFrame, LocalTime, SessionTime, Span};
use evenkeel_dr::message::{
    Arrival, ConfirmFrame, Header, VERSION, VectorFrame, emit_clock, emit_confirm, emit_ended, emit_feedback,
    emit_introduce, emit_recorded, emit_vector, frames,
};
use evenkeel_dr::{DrSeq, DrVector, EntityId, MotionKind, Threshold};

use crate::feed::Feed;
use crate::settings::state;

/// The most frames of a message.
const FRAMES_MAX: usize = 6;
/// The most arrivals of a feedback frame.
const ARRIVALS_MAX: usize = 8;

/// What a forger has overheard.
#[derive(Clone, Copy, Debug)]
pub struct Overheard<'a> {
    /// Roughly the session's time.
    pub now: SessionTime,
    /// Nonces of messages that were sent.
    pub nonces: &'a [u32],
    /// Send times of probes, which identify them.
    pub probes: &'a [LocalTime],
}

impl Overheard<'_> {
    fn nonce(&self, feed: &mut Feed<'_>) -> u32 {
        if self.nonces.is_empty() { feed.small() } else { feed.pick(self.nonces) }
    }

    /// Usually within the last quarter of a second.
    fn time(&self, feed: &mut Feed<'_>) -> SessionTime {
        if feed.once_in(16) { self.now - feed.span() } else { self.now - feed.millis() }
    }

    /// Forges a message.
    pub fn message(&self, feed: &mut Feed<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let stamp = self.time(feed);
        let header_stamp = if feed.once_in(16) { None } else { Some(stamp) };
        Header { nonce: feed.small(), stamp: header_stamp }.emit(VERSION, &mut bytes);
        for _ in 0..=feed.below(FRAMES_MAX) {
            self.frame(stamp, feed, &mut bytes);
        }
        bytes
    }

    fn frame(&self, stamp: SessionTime, feed: &mut Feed<'_>, bytes: &mut Vec<u8>) {
        let entity = EntityId(feed.small());
        match feed.below(10) {
            0 | 1 => emit_vector(&self.vector(entity, stamp, feed), stamp, bytes),
            2 => {
                let time = Some(feed.span()).filter(|time| *time > Span::ZERO);
                let threshold = Threshold { distance: feed.number(), time };
                emit_introduce(&self.vector(entity, stamp, feed), &threshold, stamp, bytes);
            }
            3 => emit_ended(entity, DrSeq(feed.small()), self.time(feed), stamp, bytes),
            4 => emit_recorded(entity, DrSeq(feed.small()), DrSeq(feed.small()), bytes),
            5 => {
                let (next, hole) = (u64::from(feed.small()), feed.once_in(2));
                let confirm = ConfirmFrame { next, stamp: self.time(feed), held: feed.span(), hole };
                emit_confirm(&confirm, stamp, bytes);
            }
            6 | 7 => self.feedback(stamp, feed, bytes),
            8 => emit_clock(&ClockFrame::Probe { sent: LocalTime::from_nanos(feed.long()) }, bytes),
            _ => emit_clock(&self.echo(feed), bytes),
        }
    }

    fn vector(&self, entity: EntityId, stamp: SessionTime, feed: &mut Feed<'_>) -> VectorFrame {
        let seq = feed.small();
        let first = seq.saturating_sub(feed.small());
        let kind = feed.pick(&MotionKind::ALL);
        let vector = DrVector { generated: self.time(feed), state: state(feed), kind };
        VectorFrame { entity, first: DrSeq(first), seq: DrSeq(seq), sent: stamp, vector: vector.quantized() }
    }

    fn feedback(&self, stamp: SessionTime, feed: &mut Feed<'_>, bytes: &mut Vec<u8>) {
        let oldest = if feed.once_in(32) { feed.long().unsigned_abs() / 4 } else { u64::from(feed.small()) };
        let first = oldest + u64::from(feed.small());
        let mut arrivals: Vec<Arrival> = Vec::new();
        for _ in 0..feed.below(ARRIVALS_MAX + 1) {
            let (entity, seq) = (EntityId(feed.small()), DrSeq(feed.small()));
            // Vectors of one message share their arrival time and nonce.
            let (at, nonce) = match arrivals.last() {
                Some(last) if !feed.once_in(2) => (last.at, last.nonce),
                _ => (self.time(feed), self.nonce(feed)),
            };
            arrivals.push(Arrival { entity, seq, at, nonce });
        }
        emit_feedback(oldest, first, stamp, arrivals.iter(), bytes);
    }

    /// Forges an answer to a probe.
    pub fn echo(&self, feed: &mut Feed<'_>) -> ClockFrame {
        let probe = if self.probes.is_empty() { LocalTime::default() } else { feed.pick(self.probes) };
        let held = if feed.once_in(8) { feed.span() } else { feed.millis() };
        ClockFrame::Echo { probe, arrived: self.time(feed), held: held.max(Span::ZERO) }
    }
}

/// Damages the bytes that an honest node sent.
pub fn damage(bytes: &mut Vec<u8>, feed: &mut Feed<'_>) {
    let at = (usize::from(feed.byte()) << 8 | usize::from(feed.byte())) % bytes.len().max(1);
    match feed.below(4) {
        0 => bytes.truncate(at),
        1 if at < bytes.len() => bytes[at] ^= 1 << feed.below(8),
        2 if at < bytes.len() => bytes[at] = feed.byte(),
        _ => bytes.extend_from_slice(feed.slice(40)),
    }
}

/// Checks that a message is emitted byte for byte as it was parsed.
///
/// # Panics
/// If it is not. Bytes that are no message pass.
pub fn check_roundtrip(bytes: &[u8]) {
    let Ok((header, frames)) = frames(bytes) else { return };
    let mut again = Vec::with_capacity(bytes.len());
    header.emit(VERSION, &mut again);
    frames.for_each(|frame| frame.emit(header.stamp.unwrap_or_default(), &mut again));
    assert_eq!(again, bytes, "a message is emitted differently than it was parsed");
}
