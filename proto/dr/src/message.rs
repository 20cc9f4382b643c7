//! What dead reckoning says on the wire: a version byte, then frames.
//!
//! | frame | channel | from → to | says |
//! | --- | --- | --- | --- |
//! | vector | datagram | sender → receiver | a DR vector |
//! | feedback | datagram | receiver → sender | arrivals, in order, from a running number on |
//! | confirm | datagram | sender → receiver | arrivals up to that number are in the books |
//! | recorded | datagram | relay → owner | vectors up to that number are in the exported path |
//! | introduce | reliable | sender → receiver | an entity's newest vector, to somebody who has none |
//! | ended | reliable | sender → receiver | an entity is no more |
//!
//! A datagram is checked as a whole before any of it is acted on, so that a rejected one leaves no trace.

use evenkeel_core::{Malformed, Reader, SessionTime, Span, Wire};

use crate::vector::{DrSeq, DrVector, EntityId, MotionKind, MotionState, is_sane_time};

/// The version of this format.
pub const VERSION: u8 = 0;

const VECTOR: u8 = 1;
const FEEDBACK: u8 = 2;
const CONFIRM: u8 = 3;
const RECORDED: u8 = 4;
const INTRODUCE: u8 = 5;
const ENDED: u8 = 6;

/// A DR vector as it travels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct VectorFrame {
    /// Of which entity.
    pub entity: EntityId,
    /// The number of the first vector of the entity's present life: what is left of an earlier one is not taken for it.
    pub first: DrSeq,
    /// Its number.
    pub seq: DrSeq,
    /// When it left its sender, which is later than its generation when a policy held it back.
    pub sent: SessionTime,
    /// The owner's distance threshold.
    pub threshold: f64,
    /// When the owner's time threshold triggers the next one; the end of time if it never does.
    pub expires: SessionTime,
    /// The vector.
    pub vector: DrVector,
}

/// The size of a vector frame with its tag.
pub const VECTOR_LEN: usize = 1 + 4 + 4 + 4 + 8 + 8 + 8 + 8 + 1 + 80;

/// An arrival as its receiver reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Of which entity.
    pub entity: EntityId,
    /// Which vector.
    pub seq: DrSeq,
    /// When.
    pub at: SessionTime,
}

/// The size of an arrival in a feedback frame.
pub const ARRIVAL_LEN: usize = 4 + 4 + 8;
/// The size of a feedback frame without its arrivals.
pub const FEEDBACK_LEN: usize = 1 + 8 + 8 + 8 + 1;
/// Arrivals in one feedback frame.
pub const FEEDBACK_MAX: usize = 64;

/// A run of arrivals.
#[derive(Clone, PartialEq, Debug)]
pub struct FeedbackFrame<'a> {
    /// The oldest number that the receiver can still repeat.
    pub oldest: u64,
    /// The number of the first arrival in here.
    pub first: u64,
    /// The receiver's clock when it sent this; echoed, so that it can measure the round trip.
    pub stamp: SessionTime,
    entries: &'a [u8],
}

impl FeedbackFrame<'_> {
    /// The arrivals from a number on, each with its number.
    pub fn arrivals_from(&self, number: u64) -> impl Iterator<Item = (u64, Arrival)> + '_ {
        let skip = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let first = self.first;
        self.entries.chunks_exact(ARRIVAL_LEN).enumerate().skip(skip).filter_map(move |(i, entry)| {
            let arrival = parse_arrival(&mut Reader::new(entry)).ok()?;
            Some((first + i as u64, arrival))
        })
    }
}

/// What the sender has in its books, and an echo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfirmFrame {
    /// Every arrival before this number is settled.
    pub next: u64,
    /// The stamp of the newest feedback.
    pub stamp: SessionTime,
    /// How long ago that feedback came.
    pub held: Span,
    /// Whether later arrivals are known, but not this one.
    pub hole: bool,
}

/// One frame.
#[derive(Clone, PartialEq, Debug)]
pub enum Frame<'a> {
    /// A DR vector.
    Vector(VectorFrame),
    /// Arrivals.
    Feedback(FeedbackFrame<'a>),
    /// Arrivals are in the books.
    Confirm(ConfirmFrame),
    /// Vectors of an entity up to `contiguous` are recorded, and `newest` has come.
    Recorded {
        /// Which entity.
        entity: EntityId,
        /// Nothing is missing up to here.
        contiguous: DrSeq,
        /// The vector that this answers.
        newest: DrSeq,
    },
    /// An entity's newest vector for a newcomer.
    Introduce(VectorFrame),
    /// An entity is no more.
    Ended {
        /// Which entity.
        entity: EntityId,
        /// The last vector of its life.
        last: DrSeq,
        /// Since when.
        at: SessionTime,
    },
}

/// Appends a vector or introduce frame.
pub fn emit_vector(frame: &VectorFrame, introduce: bool, bytes: &mut Vec<u8>) {
    bytes.push(if introduce { INTRODUCE } else { VECTOR });
    frame.entity.0.emit(bytes);
    frame.first.0.emit(bytes);
    frame.seq.0.emit(bytes);
    frame.vector.generated.emit(bytes);
    frame.sent.emit(bytes);
    frame.threshold.emit(bytes);
    frame.expires.emit(bytes);
    bytes.push(kind_tag(frame.vector.kind));
    emit_state(&frame.vector.state, bytes);
}

fn parse_vector(reader: &mut Reader<'_>) -> Result<VectorFrame, Malformed> {
    let entity = EntityId(reader.read()?);
    let (first, seq) = (DrSeq(reader.read()?), DrSeq(reader.read()?));
    let (generated, sent) = (reader.read()?, reader.read()?);
    let (threshold, expires) = (reader.read::<f64>()?, reader.read()?);
    let kind = parse_kind(reader.read()?)?;
    let vector = DrVector { generated, state: parse_state(reader)?, kind };
    let sane = vector.is_sane() && is_sane_time(sent) && threshold >= 0.0 && threshold.is_finite();
    if !sane || seq.0 == u32::MAX || first > seq {
        return Err(Malformed::Field);
    }
    Ok(VectorFrame { entity, first, seq, sent, threshold, expires, vector })
}

fn kind_tag(kind: MotionKind) -> u8 {
    match kind {
        MotionKind::Linear => 0,
        MotionKind::Quadratic => 1,
        MotionKind::Circular => 2,
    }
}

fn parse_kind(tag: u8) -> Result<MotionKind, Malformed> {
    match tag {
        0 => Ok(MotionKind::Linear),
        1 => Ok(MotionKind::Quadratic),
        2 => Ok(MotionKind::Circular),
        _ => Err(Malformed::Field),
    }
}

/// Appends a state of motion.
pub fn emit_state(state: &MotionState, bytes: &mut Vec<u8>) {
    state.position.emit(bytes);
    state.velocity.emit(bytes);
    state.acceleration.emit(bytes);
    state.turn_rate.emit(bytes);
}

/// Reads a state of motion, whatever its numbers are.
///
/// # Errors
/// [`Malformed::Truncated`] if the bytes end before it does.
pub fn parse_state(reader: &mut Reader<'_>) -> Result<MotionState, Malformed> {
    Ok(MotionState {
        position: reader.read()?,
        velocity: reader.read()?,
        acceleration: reader.read()?,
        turn_rate: reader.read()?,
    })
}

/// Appends a feedback frame with at most [`FEEDBACK_MAX`] arrivals, the first of which has the number `first`.
pub fn emit_feedback<'a>(
    oldest: u64,
    first: u64,
    stamp: SessionTime,
    arrivals: impl ExactSizeIterator<Item = &'a Arrival>,
    bytes: &mut Vec<u8>,
) {
    bytes.push(FEEDBACK);
    oldest.emit(bytes);
    first.emit(bytes);
    stamp.emit(bytes);
    bytes.push(arrivals.len().min(FEEDBACK_MAX) as u8);
    for arrival in arrivals.take(FEEDBACK_MAX) {
        arrival.entity.0.emit(bytes);
        arrival.seq.0.emit(bytes);
        arrival.at.emit(bytes);
    }
}

fn parse_feedback<'a>(reader: &mut Reader<'a>) -> Result<FeedbackFrame<'a>, Malformed> {
    let (oldest, first, stamp) = (reader.read::<u64>()?, reader.read::<u64>()?, reader.read()?);
    let count = usize::from(reader.read::<u8>()?);
    if count > FEEDBACK_MAX || first < oldest || first > u64::MAX / 2 || !is_sane_time(stamp) {
        return Err(Malformed::Field);
    }
    let entries = reader.take(count * ARRIVAL_LEN)?;
    for entry in entries.chunks_exact(ARRIVAL_LEN) {
        parse_arrival(&mut Reader::new(entry))?;
    }
    Ok(FeedbackFrame { oldest, first, stamp, entries })
}

fn parse_arrival(reader: &mut Reader<'_>) -> Result<Arrival, Malformed> {
    let arrival =
        Arrival { entity: EntityId(reader.read()?), seq: DrSeq(reader.read()?), at: reader.read()? };
    if is_sane_time(arrival.at) { Ok(arrival) } else { Err(Malformed::Field) }
}

/// Appends a confirm frame.
pub fn emit_confirm(confirm: &ConfirmFrame, bytes: &mut Vec<u8>) {
    bytes.push(CONFIRM);
    confirm.next.emit(bytes);
    confirm.stamp.emit(bytes);
    confirm.held.as_nanos().emit(bytes);
    bytes.push(u8::from(confirm.hole));
}

fn parse_confirm(reader: &mut Reader<'_>) -> Result<ConfirmFrame, Malformed> {
    let (next, stamp, held) = (reader.read()?, reader.read()?, Span::from_nanos(reader.read()?));
    let hole = reader.read::<u8>()?;
    if !is_sane_time(stamp) || held < Span::ZERO || hole > 1 {
        return Err(Malformed::Field);
    }
    Ok(ConfirmFrame { next, stamp, held, hole: hole == 1 })
}

/// Appends a recorded frame.
pub fn emit_recorded(entity: EntityId, contiguous: DrSeq, newest: DrSeq, bytes: &mut Vec<u8>) {
    bytes.push(RECORDED);
    entity.0.emit(bytes);
    contiguous.0.emit(bytes);
    newest.0.emit(bytes);
}

/// Appends an ended frame.
pub fn emit_ended(entity: EntityId, last: DrSeq, at: SessionTime, bytes: &mut Vec<u8>) {
    bytes.push(ENDED);
    entity.0.emit(bytes);
    last.0.emit(bytes);
    at.emit(bytes);
}

fn parse_frame<'a>(reader: &mut Reader<'a>) -> Result<Frame<'a>, Malformed> {
    Ok(match reader.read::<u8>()? {
        VECTOR => Frame::Vector(parse_vector(reader)?),
        FEEDBACK => Frame::Feedback(parse_feedback(reader)?),
        CONFIRM => Frame::Confirm(parse_confirm(reader)?),
        RECORDED => Frame::Recorded {
            entity: EntityId(reader.read()?),
            contiguous: DrSeq(reader.read()?),
            newest: DrSeq(reader.read()?),
        },
        INTRODUCE => Frame::Introduce(parse_vector(reader)?),
        ENDED => {
            let (entity, last, at) = (EntityId(reader.read()?), DrSeq(reader.read()?), reader.read()?);
            if !is_sane_time(at) {
                return Err(Malformed::Field);
            }
            Frame::Ended { entity, last, at }
        }
        other => return Err(Malformed::UnknownTag(other)),
    })
}

/// Checks a whole message, and that each frame is one that is expected; then gives its frames.
///
/// # Errors
/// [`Malformed`] if any of it is not of this format.
pub fn frames(bytes: &[u8]) -> Result<Frames<'_>, Malformed> {
    let mut reader = Reader::new(bytes);
    match reader.read::<u8>()? {
        VERSION => {}
        other => return Err(Malformed::Version(other)),
    }
    let frames = Frames { reader: reader.clone() };
    while !reader.is_empty() {
        parse_frame(&mut reader)?;
    }
    Ok(frames)
}

/// The frames of a message that has been checked.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    reader: Reader<'a>,
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        if self.reader.is_empty() {
            return None;
        }
        parse_frame(&mut self.reader).ok()
    }
}
