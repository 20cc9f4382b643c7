//! DR vectors on the wire.

use evenkeel_core::{Malformed, Reader, SessionTime, Span, Varint, Wire};

use super::{Frame, INTRODUCE, VECTOR, emit_span, emit_u32, kind_tag, parse_kind, parse_span, parse_u32};
use crate::quantize::{STATE_LEN, emit_state, from_micros, micros, parse_state};
use crate::threshold::Threshold;
use crate::vector::{DrSeq, DrVector, EntityId};

/// A DR vector as it travels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct VectorFrame {
    /// Of which entity.
    pub entity: EntityId,
    /// The number of the first vector of the entity's present life: what is left of an earlier one is not taken for it.
    pub first: DrSeq,
    /// Its number.
    pub seq: DrSeq,
    /// The stamp of its message: when it left its sender, which is later than its generation when a policy held it back.
    pub sent: SessionTime,
    /// The vector, quantized.
    pub vector: DrVector,
}

/// The largest vector frame of an entity below 2^14, with a number below 2^21 and an age below two minutes. An entity
/// below 2^21, as those of a relay's players are, takes a byte more, but only once its life has 2^14 vectors and then for
/// a vector that is a second old. Beyond these it grows by a byte for each seven bits.
pub const VECTOR_LEN_MAX: usize = 1 + 2 + 3 + 3 + 4 + STATE_LEN;

/// Appends a vector frame.
#[inline]
pub fn emit_vector(frame: &VectorFrame, stamp: SessionTime, bytes: &mut Vec<u8>) {
    bytes.push(VECTOR + kind_tag(frame.vector.kind));
    emit_body(frame, stamp, bytes);
}

/// Appends an introduce frame.
pub fn emit_introduce(frame: &VectorFrame, threshold: &Threshold, stamp: SessionTime, bytes: &mut Vec<u8>) {
    bytes.push(INTRODUCE + kind_tag(frame.vector.kind));
    emit_body(frame, stamp, bytes);
    threshold.distance.emit(bytes);
    emit_span(threshold.time.unwrap_or(Span::ZERO), bytes);
}

fn emit_body(frame: &VectorFrame, stamp: SessionTime, bytes: &mut Vec<u8>) {
    emit_u32(frame.entity.0, bytes);
    emit_u32(frame.seq.0, bytes);
    emit_u32(frame.seq.0 - frame.first.0, bytes);
    Varint::signed(micros(stamp) - micros(frame.vector.generated)).emit(bytes);
    emit_state(&frame.vector.state, bytes);
}

pub(super) fn parse<'a>(
    tag: u8,
    stamp: SessionTime,
    reader: &mut Reader<'_>,
) -> Result<Frame<'a>, Malformed> {
    let (base, introduce) = if tag >= INTRODUCE { (INTRODUCE, true) } else { (VECTOR, false) };
    let kind = tag.checked_sub(base).and_then(parse_kind).ok_or(Malformed::UnknownTag(tag))?;
    let (entity, seq) = (EntityId(parse_u32(reader)?), DrSeq(parse_u32(reader)?));
    let first = DrSeq(seq.0.checked_sub(parse_u32(reader)?).ok_or(Malformed::Field)?);
    let generated =
        micros(stamp).checked_sub(reader.read::<Varint>()?.to_signed()).ok_or(Malformed::Field)?;
    let vector = DrVector { generated: from_micros(generated), state: parse_state(reader)?, kind };
    if !vector.is_sane() || seq.0 == u32::MAX {
        return Err(Malformed::Field);
    }
    let frame = VectorFrame { entity, first, seq, sent: stamp, vector };
    if !introduce {
        return Ok(Frame::Vector(frame));
    }
    let distance = reader.read::<f64>()?;
    let time = Some(parse_span(reader)?).filter(|time| *time > Span::ZERO);
    // A negative zero would come back as it is, but no threshold is one.
    if !(distance.is_finite() && distance.is_sign_positive()) {
        return Err(Malformed::Field);
    }
    Ok(Frame::Introduce(frame, Threshold { distance, time }))
}
