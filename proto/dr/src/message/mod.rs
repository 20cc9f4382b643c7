//! What dead reckoning says on the wire: a header, then frames. `docs/WIRE.md` has every byte.
//!
//! | frame | channel | from → to | says |
//! | --- | --- | --- | --- |
//! | vector | datagram | sender → receiver | a DR vector |
//! | feedback | datagram | receiver → sender | arrivals, in order, from a running number on |
//! | confirm | datagram | sender → receiver | arrivals up to that number are in the books |
//! | recorded | datagram | relay → owner | vectors up to that number are in the exported path |
//! | introduce | reliable | sender → receiver | an entity's newest vector, to somebody who has none |
//! | ended | reliable | sender → receiver | an entity is no more |
//! | clock | datagram | either way | half of an exchange of clock readings |
//!
//! Times are told relative to the header's stamp, which makes most of them short. A message is checked as a whole before
//! any of it is acted on, so that a rejected one leaves no trace.

mod feedback;
mod names;
mod vector;

use evenkeel_core::{ClockFrame, Malformed, Reader, Scratch, SessionTime, Span, Varint, Wire};

pub use feedback::{Arrival, FEEDBACK_LEN_MAX, FEEDBACK_MAX, FeedbackFrame, RUN_LEN_MAX, emit_feedback};
pub(crate) use vector::WrittenVector;
pub use vector::{VECTOR_LEN_MAX, VectorFrame, emit_introduce, emit_vector};

use crate::threshold::Threshold;
use crate::vector::{DrSeq, EntityId, MotionKind, is_sane_time};

/// The version of this format.
pub const VERSION: u8 = 1;

/// The size of a header.
pub const HEADER_LEN: usize = 1 + 4 + 8;
/// The largest clock frame.
pub const CLOCK_LEN_MAX: usize = 1 + 1 + 8 + 8 + 10;

const LINEAR: u8 = 0;
const QUADRATIC: u8 = 1;
const CIRCULAR: u8 = 2;
const DAMPED: u8 = 3;
const INTRODUCE: u8 = 0x14;
const FEEDBACK: u8 = 0x20;
const CONFIRM: u8 = 0x21;
const CONFIRM_HOLE: u8 = 0x22;
const RECORDED: u8 = 0x30;
const ENDED: u8 = 0x31;
const CLOCK: u8 = 0x40;
/// This and what is above: the kind in two bits, then five of the vector's place in its life.
const VECTOR: u8 = 0x80;

/// What every message begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// A number that nobody can foresee; acknowledgments of what the message brings give it back, and so can be late but
    /// never early.
    pub nonce: u32,
    /// The sender's session time when it began the message; `None` while it has none. Only clock frames do without.
    pub stamp: Option<SessionTime>,
}

/// Stands for "no session time".
const NO_STAMP: i64 = i64::MIN;

impl Header {
    /// Appends the header.
    pub fn emit(&self, bytes: &mut Vec<u8>) {
        let mut all = [VERSION; HEADER_LEN];
        let stamp = self.stamp.map_or(NO_STAMP, SessionTime::as_nanos);
        all[1..5].copy_from_slice(&self.nonce.to_le_bytes());
        all[5..].copy_from_slice(&stamp.to_le_bytes());
        bytes.extend_from_slice(&all);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.read::<u8>()? {
            VERSION => {}
            found => return Err(Malformed::Version { found, supported: VERSION }),
        }
        let nonce = reader.read()?;
        let stamp = match reader.read()? {
            NO_STAMP => None,
            nanos => Some(sane(SessionTime::from_nanos(nanos))?),
        };
        Ok(Self { nonce, stamp })
    }
}

fn sane(at: SessionTime) -> Result<SessionTime, Malformed> {
    if is_sane_time(at) { Ok(at) } else { Err(Malformed::Field) }
}

/// What the sender has in its books, and an echo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfirmFrame {
    /// Every arrival before this number is settled.
    pub next: u64,
    /// The stamp of the newest message with feedback.
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
    /// An entity's newest vector for a newcomer, and when its owner makes new ones.
    Introduce(VectorFrame, Threshold),
    /// An entity is no more.
    Ended {
        /// Which entity.
        entity: EntityId,
        /// The last vector of its life.
        last: DrSeq,
        /// Since when.
        at: SessionTime,
    },
    /// Half of an exchange of clock readings.
    Clock(ClockFrame),
}

impl Frame<'_> {
    /// Appends the frame to a message with this stamp.
    pub fn emit(&self, stamp: SessionTime, bytes: &mut Vec<u8>) {
        match self {
            Self::Vector(frame) => emit_vector(frame, stamp, bytes),
            Self::Introduce(frame, threshold) => emit_introduce(frame, threshold, stamp, bytes),
            Self::Feedback(feedback) => {
                let arrivals: Vec<Arrival> = feedback.arrivals().map(|(_, arrival)| arrival).collect();
                emit_feedback(feedback.oldest, feedback.first, stamp, arrivals.iter(), bytes);
            }
            Self::Confirm(confirm) => emit_confirm(confirm, stamp, bytes),
            Self::Recorded { entity, contiguous, newest } => {
                emit_recorded(*entity, *contiguous, *newest, bytes);
            }
            Self::Ended { entity, last, at } => emit_ended(*entity, *last, *at, stamp, bytes),
            Self::Clock(frame) => emit_clock(frame, bytes),
        }
    }
}

const fn kind_tag(kind: MotionKind) -> u8 {
    match kind {
        MotionKind::Linear => LINEAR,
        MotionKind::Quadratic => QUADRATIC,
        MotionKind::Circular => CIRCULAR,
        MotionKind::Damped => DAMPED,
    }
}

const fn parse_kind(tag: u8) -> Option<MotionKind> {
    match tag {
        LINEAR => Some(MotionKind::Linear),
        QUADRATIC => Some(MotionKind::Quadratic),
        CIRCULAR => Some(MotionKind::Circular),
        DAMPED => Some(MotionKind::Damped),
        _ => None,
    }
}

/// A time as its distance before the stamp.
#[inline]
fn emit_before(at: SessionTime, stamp: SessionTime, bytes: &mut Vec<u8>) {
    Varint::signed((stamp - at).as_nanos()).emit_long(bytes);
}

#[inline]
fn parse_before(stamp: SessionTime, reader: &mut Reader<'_>) -> Result<SessionTime, Malformed> {
    let nanos =
        stamp.as_nanos().checked_sub(Varint::parse_long(reader)?.to_signed()).ok_or(Malformed::Field)?;
    sane(SessionTime::from_nanos(nanos))
}

#[inline]
fn emit_u32(value: u32, bytes: &mut Vec<u8>) {
    Varint(u64::from(value)).emit(bytes);
}

#[inline]
fn parse_u32(reader: &mut Reader<'_>) -> Result<u32, Malformed> {
    u32::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)
}

/// A span of time that is not negative.
#[inline]
fn parse_span(reader: &mut Reader<'_>) -> Result<Span, Malformed> {
    i64::try_from(reader.read::<Varint>()?.0).map(Span::from_nanos).map_err(|_| Malformed::Field)
}

#[inline]
fn emit_span(span: Span, bytes: &mut Vec<u8>) {
    Varint(span.as_nanos().max(0) as u64).emit(bytes);
}

/// What a confirm frame is put together in: a tag, three numbers of at most ten bytes, and eight bytes more.
const CONFIRM_ROOM: usize = 1 + 3 * 10 + 8;

/// Appends a confirm frame.
pub fn emit_confirm(confirm: &ConfirmFrame, stamp: SessionTime, bytes: &mut Vec<u8>) {
    let mut scratch = Scratch::<CONFIRM_ROOM>::default();
    scratch.push(u64::from(if confirm.hole { CONFIRM_HOLE } else { CONFIRM }), 1);
    scratch.push_varint(Varint(confirm.next));
    scratch.push_varint(Varint::signed((stamp - confirm.stamp).as_nanos()));
    scratch.push_varint(Varint(confirm.held.as_nanos().max(0) as u64));
    scratch.append_to(bytes);
}

fn parse_confirm(hole: bool, stamp: SessionTime, reader: &mut Reader<'_>) -> Result<ConfirmFrame, Malformed> {
    let next = reader.read::<Varint>()?.0;
    let stamp = parse_before(stamp, reader)?;
    let held = i64::try_from(Varint::parse_long(reader)?.0).map_err(|_| Malformed::Field)?;
    Ok(ConfirmFrame { next, stamp, held: Span::from_nanos(held), hole })
}

/// Appends a recorded frame.
pub fn emit_recorded(entity: EntityId, contiguous: DrSeq, newest: DrSeq, bytes: &mut Vec<u8>) {
    bytes.push(RECORDED);
    emit_u32(entity.0, bytes);
    emit_u32(contiguous.0, bytes);
    emit_u32(newest.0, bytes);
}

/// Appends an ended frame.
pub fn emit_ended(entity: EntityId, last: DrSeq, at: SessionTime, stamp: SessionTime, bytes: &mut Vec<u8>) {
    bytes.push(ENDED);
    emit_u32(entity.0, bytes);
    emit_u32(last.0, bytes);
    emit_before(at, stamp, bytes);
}

/// Appends a clock frame.
pub fn emit_clock(frame: &ClockFrame, bytes: &mut Vec<u8>) {
    bytes.push(CLOCK);
    frame.emit(bytes);
}

/// Reads a frame into its place.
#[inline]
fn parse_frame<'a>(
    header: &Header,
    reader: &mut Reader<'a>,
    place: &mut Option<Frame<'a>>,
) -> Result<(), Malformed> {
    let tag = reader.read::<u8>()?;
    if tag == CLOCK {
        *place = Some(Frame::Clock(reader.read()?));
        return Ok(());
    }
    let stamp = header.stamp.ok_or(Malformed::Field)?;
    // Each kind is put there by itself: to put there whichever it is would copy as much as the largest takes.
    match tag {
        FEEDBACK => *place = Some(Frame::Feedback(feedback::parse(stamp, reader)?)),
        CONFIRM | CONFIRM_HOLE => {
            *place = Some(Frame::Confirm(parse_confirm(tag == CONFIRM_HOLE, stamp, reader)?));
        }
        RECORDED => {
            let (entity, contiguous) = (EntityId(parse_u32(reader)?), DrSeq(parse_u32(reader)?));
            *place = Some(Frame::Recorded { entity, contiguous, newest: DrSeq(parse_u32(reader)?) });
        }
        ENDED => {
            let (entity, last) = (EntityId(parse_u32(reader)?), DrSeq(parse_u32(reader)?));
            *place = Some(Frame::Ended { entity, last, at: parse_before(stamp, reader)? });
        }
        INTRODUCE => *place = Some(vector::parse_introduce(stamp, reader)?),
        _ => *place = Some(Frame::Vector(vector::parse(tag, stamp, reader)?)),
    }
    Ok(())
}

/// Checks a whole message; then gives its header and its frames.
///
/// # Errors
/// [`Malformed`] if any of it is not of this format.
pub fn frames(bytes: &[u8]) -> Result<(Header, Frames<'_>), Malformed> {
    let mut frames = Frames::unchecked(bytes);
    frames.check(|_| Ok::<_, Malformed>(()))?;
    Ok((frames.header, frames))
}

/// Most messages have no more frames than this.
const READ_MAX: usize = 2;

/// The frames of a message that has been checked.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    header: Header,
    /// The first ones, which are not read twice.
    read: [Option<Frame<'a>>; READ_MAX],
    taken: usize,
    rest: Reader<'a>,
}

impl<'a> Frames<'a> {
    /// Those of a message that is to be [checked](Self::check) before anything of it is read.
    #[inline]
    pub(crate) fn unchecked(bytes: &'a [u8]) -> Self {
        let header = Header { nonce: 0, stamp: None };
        Self { header, read: core::array::from_fn(|_| None), taken: 0, rest: Reader::new(bytes) }
    }

    /// Checks the whole message, and that every frame of it is welcome. Once.
    ///
    /// # Errors
    /// Why the first frame that is not welcome, or not of this format, is not.
    #[inline]
    pub(crate) fn check<E: From<Malformed>>(
        &mut self,
        mut welcome: impl FnMut(&Frame<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.header = Header::parse(&mut self.rest)?;
        for place in &mut self.read {
            if self.rest.is_empty() {
                return Ok(());
            }
            parse_frame(&self.header, &mut self.rest, place)?;
            place.as_ref().map_or(Ok(()), &mut welcome)?;
        }
        let (mut reader, mut place) = (self.rest.clone(), None);
        while !reader.is_empty() {
            parse_frame(&self.header, &mut reader, &mut place)?;
            place.as_ref().map_or(Ok(()), &mut welcome)?;
        }
        Ok(())
    }

    pub(crate) const fn header(&self) -> Header {
        self.header
    }

    /// All frames in their order. Cheaper than to iterate: they stay where they are.
    #[inline]
    pub(crate) fn each(&mut self, mut on_frame: impl FnMut(&Frame<'a>)) {
        self.read.iter().flatten().for_each(&mut on_frame);
        let mut place = None;
        while !self.rest.is_empty() && parse_frame(&self.header, &mut self.rest, &mut place).is_ok() {
            place.iter().for_each(&mut on_frame);
        }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        if let Some(place) = self.read.get_mut(self.taken) {
            self.taken += 1;
            return place.take();
        }
        let mut frame = None;
        if !self.rest.is_empty() {
            parse_frame(&self.header, &mut self.rest, &mut frame).ok()?;
        }
        frame
    }
}
