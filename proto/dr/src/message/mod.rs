//! The wire format of dead reckoning. `docs/WIRE.md` specifies every byte.
//!
//! | frame | channel | from → to | content |
//! | --- | --- | --- | --- |
//! | vector | datagram | sender → receiver | a DR vector |
//! | feedback | datagram | receiver → sender | consecutive arrivals, from a running number on |
//! | confirm | datagram | sender → receiver | the number up to which arrivals are settled |
//! | recorded | datagram | relay → owner | the number up to which vectors are in the exported path |
//! | introduce | reliable | sender → receiver | an entity's newest vector, for a receiver that has none |
//! | ended | reliable | sender → receiver | the end of an entity |
//! | clock | datagram | either way | half of an exchange of clock readings |
//!
//! They travel in the [envelope](evenkeel_session::envelope) that all protocols share.

mod feedback;
mod runs;
mod vector;
mod vector_ids;

use evenkeel_core::{ClockFrame, Malformed, Reader, Rejected, Scratch, SessionTime, Span, Varint};
use evenkeel_session::envelope::{CLOCK, emit_before, emit_u32, is_foreign, parse_before, parse_u32};
pub use evenkeel_session::envelope::{CLOCK_LEN_MAX, HEADER_LEN, Header, emit_clock};
use evenkeel_session::{FrameFormat, Message};

pub use feedback::{Arrival, FEEDBACK_LEN_MAX, FEEDBACK_MAX, FeedbackFrame, RUN_LEN_MAX, emit_feedback};
pub(crate) use vector::EncodedVector;
pub use vector::{VECTOR_LEN_MAX, VectorFrame, emit_introduce, emit_vector};

use crate::motion::{DrSeq, EntityId};
use crate::owner::Threshold;

/// The first byte of every message: the version of this format.
pub const VERSION: u8 = 1;

const INTRODUCE: u8 = 0x14;
const FEEDBACK: u8 = 0x20;
const CONFIRM: u8 = 0x21;
const CONFIRM_HOLE: u8 = 0x22;
const RECORDED: u8 = 0x30;
const ENDED: u8 = 0x31;
/// The first tag of vectors. Their tags hold the kind, as its place in `MotionKind::ALL`, in two bits, and five bits of the
/// position in the life.
const VECTOR: u8 = 0x80;

/// The refusal of a message, as counted: a message of a game or of another protocol is not one of another version.
#[cold]
pub(crate) fn refusal(rejected: Rejected) -> Rejected {
    match rejected {
        Rejected::Malformed(Malformed::Version { found, .. }) if is_foreign(found, VERSION) => {
            Rejected::Unexpected
        }
        other => other,
    }
}

/// A confirmation of reports, which also echoes a stamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfirmFrame {
    /// The number of the first arrival that is not settled.
    pub next: u64,
    /// The stamp of the newest message with feedback.
    pub stamp: SessionTime,
    /// The time since that feedback came.
    pub held: Span,
    /// Whether the sender has later arrivals, but not this one.
    pub hole: bool,
}

/// One frame.
#[derive(Clone, PartialEq, Debug)]
pub enum Frame<'a> {
    /// A DR vector.
    Vector(VectorFrame),
    /// Arrivals.
    Feedback(FeedbackFrame<'a>),
    /// A confirmation of reported arrivals.
    Confirm(ConfirmFrame),
    /// A record: the relay has the vectors of an entity up to `contiguous`, and `newest` has arrived.
    Recorded {
        /// The entity.
        entity: EntityId,
        /// The last vector before the first hole.
        contiguous: DrSeq,
        /// The vector that this answers.
        newest: DrSeq,
    },
    /// An entity's newest vector, for a receiver that has none, and its owner's threshold.
    Introduce(VectorFrame, Threshold),
    /// The end of an entity.
    Ended {
        /// The entity.
        entity: EntityId,
        /// The last vector of its life.
        last: DrSeq,
        /// When it ended.
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

/// Scratch space for a confirm frame: a tag, three numbers of at most ten bytes, and eight bytes written beyond them.
const CONFIRM_SCRATCH_LEN: usize = 1 + 3 * 10 + 8;

/// Appends a confirm frame.
pub fn emit_confirm(confirm: &ConfirmFrame, stamp: SessionTime, bytes: &mut Vec<u8>) {
    let mut scratch = Scratch::<CONFIRM_SCRATCH_LEN>::default();
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

impl<'a> FrameFormat<'a> for Frame<'a> {
    const FORMAT: u8 = VERSION;

    #[inline]
    fn parse_into(
        header: &Header,
        reader: &mut Reader<'a>,
        slot: &mut Option<Self>,
    ) -> Result<(), Malformed> {
        let tag = reader.read::<u8>()?;
        if tag == CLOCK {
            *slot = Some(Frame::Clock(reader.read()?));
            return Ok(());
        }
        let stamp = header.stamp.ok_or(Malformed::Field)?;
        // Each arm writes its own variant. A single write after the match would copy the size of the largest one.
        match tag {
            FEEDBACK => *slot = Some(Frame::Feedback(feedback::parse(stamp, reader)?)),
            CONFIRM | CONFIRM_HOLE => {
                *slot = Some(Frame::Confirm(parse_confirm(tag == CONFIRM_HOLE, stamp, reader)?));
            }
            RECORDED => {
                let (entity, contiguous) = (EntityId(parse_u32(reader)?), DrSeq(parse_u32(reader)?));
                *slot = Some(Frame::Recorded { entity, contiguous, newest: DrSeq(parse_u32(reader)?) });
            }
            ENDED => {
                let (entity, last) = (EntityId(parse_u32(reader)?), DrSeq(parse_u32(reader)?));
                *slot = Some(Frame::Ended { entity, last, at: parse_before(stamp, reader)? });
            }
            INTRODUCE => *slot = Some(vector::parse_introduce(stamp, reader)?),
            _ => *slot = Some(Frame::Vector(vector::parse(tag, stamp, reader)?)),
        }
        Ok(())
    }
}

/// A message of this protocol.
pub type DrMessage<'a> = Message<'a, Frame<'a>>;

/// Checks a whole message. Returns its header and its frames.
///
/// # Errors
/// [`Malformed`] if any of it is not of this format.
pub fn frames(bytes: &[u8]) -> Result<(Header, DrMessage<'_>), Malformed> {
    let message = DrMessage::parse(bytes)?;
    Ok((message.header(), message))
}
