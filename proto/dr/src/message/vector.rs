//! DR vectors on the wire.

use evenkeel_core::{Malformed, Reader, Scratch, SessionTime, Span, Varint, Wire};

use evenkeel_session::envelope::{emit_span, parse_span, parse_u32};

use super::{Frame, INTRODUCE, VECTOR, kind_tag, parse_kind};
use crate::quantize::{STATE_LEN, from_micros, micros, parse_state, written_state};
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

/// The largest vector frame of an entity below 2^21 that is at most two minutes old, in a life that began below 2^21 and
/// has at most 2^19 vectors, or below 2^14 and 2^26, or below 2^28 and 2^12. Beyond these it grows by a byte for each seven
/// bits.
pub const VECTOR_LEN_MAX: usize = 1 + 3 + 3 + 2 + 4 + STATE_LEN;

/// How much of a vector's place in its life the tag holds.
const LIFE_BITS: u32 = 5;

/// What a vector frame is put together in: no frame is longer, and there are eight bytes more.
const VECTOR_ROOM: usize = NAME_MAX + 10 + STATE_LEN + 8;
/// No name is longer.
const NAME_MAX: usize = 1 + 3 * 5;

/// Appends a vector frame.
#[inline]
pub fn emit_vector(frame: &VectorFrame, stamp: SessionTime, bytes: &mut Vec<u8>) {
    let mut scratch = written_name(frame);
    scratch.push_varint(age(frame, stamp));
    scratch.push_array(&written_state(&frame.vector.state));
    scratch.append_to(bytes);
}

/// Which vector it is, and of which kind.
#[inline]
fn written_name(frame: &VectorFrame) -> Scratch<VECTOR_ROOM> {
    let life = frame.seq.0 - frame.first.0;
    let tag = VECTOR | kind_tag(frame.vector.kind) << LIFE_BITS | (life & ((1 << LIFE_BITS) - 1)) as u8;
    let mut name = Scratch::default();
    name.push(u64::from(tag), 1);
    for number in [frame.entity.0, frame.first.0, life >> LIFE_BITS] {
        name.push_varint(Varint(u64::from(number)));
    }
    name
}

/// How long before the stamp it was made, in microseconds.
#[inline]
fn age(frame: &VectorFrame, stamp: SessionTime) -> Varint {
    Varint::signed(micros(stamp) - micros(frame.vector.generated))
}

/// A vector frame that was written once for all who are sent it: messages differ in nothing but how old it is, and mostly not
/// in that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenVector {
    frame: VectorFrame,
    /// As it is in a message that begins when it is sent.
    whole: Scratch<VECTOR_ROOM>,
    name: Scratch<VECTOR_ROOM>,
    state: [u8; STATE_LEN],
}

impl WrittenVector {
    pub(crate) fn new(frame: &VectorFrame) -> Self {
        let (name, state) = (written_name(frame), written_state(&frame.vector.state));
        let mut whole = name;
        whole.push_varint(age(frame, frame.sent));
        whole.push_array(&state);
        Self { frame: *frame, whole, name, state }
    }

    pub(crate) const fn frame(&self) -> &VectorFrame {
        &self.frame
    }

    /// Appends it to a message with this stamp.
    #[inline]
    pub(crate) fn emit(&self, stamp: SessionTime, bytes: &mut Vec<u8>) {
        if stamp == self.frame.sent {
            return self.whole.append_to(bytes);
        }
        let mut scratch = self.name;
        scratch.push_varint(age(&self.frame, stamp));
        scratch.push_array(&self.state);
        scratch.append_to(bytes);
    }
}

/// Appends an introduce frame.
pub fn emit_introduce(frame: &VectorFrame, threshold: &Threshold, stamp: SessionTime, bytes: &mut Vec<u8>) {
    bytes.push(INTRODUCE);
    threshold.distance.emit(bytes);
    emit_span(threshold.time.unwrap_or(Span::ZERO), bytes);
    emit_vector(frame, stamp, bytes);
}

#[inline]
pub(super) fn parse(tag: u8, stamp: SessionTime, reader: &mut Reader<'_>) -> Result<VectorFrame, Malformed> {
    let kind = tag.checked_sub(VECTOR).and_then(|tag| parse_kind(tag >> LIFE_BITS));
    let kind = kind.ok_or(Malformed::UnknownTag(tag))?;
    let (entity, first) = (EntityId(parse_u32(reader)?), DrSeq(parse_u32(reader)?));
    let life = u64::from(parse_u32(reader)?) << LIFE_BITS | u64::from(tag) & ((1 << LIFE_BITS) - 1);
    let seq = u32::try_from(u64::from(first.0) + life).ok().filter(|seq| *seq < u32::MAX);
    let seq = DrSeq(seq.ok_or(Malformed::Field)?);
    let generated =
        micros(stamp).checked_sub(reader.read::<Varint>()?.to_signed()).ok_or(Malformed::Field)?;
    let vector = DrVector { generated: from_micros(generated), state: parse_state(reader)?, kind };
    if !vector.is_sane() {
        return Err(Malformed::Field);
    }
    Ok(VectorFrame { entity, first, seq, sent: stamp, vector })
}

pub(super) fn parse_introduce<'a>(
    stamp: SessionTime,
    reader: &mut Reader<'_>,
) -> Result<Frame<'a>, Malformed> {
    let distance = reader.read::<f64>()?;
    let time = Some(parse_span(reader)?).filter(|time| *time > Span::ZERO);
    // A negative zero would come back as it is, but no threshold is one.
    if !(distance.is_finite() && distance.is_sign_positive()) {
        return Err(Malformed::Field);
    }
    let tag = reader.read()?;
    Ok(Frame::Introduce(parse(tag, stamp, reader)?, Threshold { distance, time }))
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Vec3;

    use super::*;
    use crate::vector::{MotionKind, MotionState};

    #[test]
    fn what_was_written_once_has_the_bytes_of_each_message() {
        let state = MotionState {
            position: Vec3::new(1.0, -20_000.5, 3.25),
            velocity: Vec3::xy(0.1, 7.0),
            acceleration: Vec3::xy(-2.0, 0.0),
            turn_rate: 0.3,
        };
        let at = |micros: i64| from_micros(1_000_000 + micros);
        for (entity, first, seq) in
            [(0, 0, 0), (7, 3, 40), (1 << 20, 1 << 13, 1 << 25), (u32::MAX, 5, u32::MAX - 1)]
        {
            for (kind, age) in
                [(MotionKind::Linear, 0), (MotionKind::Circular, 63), (MotionKind::Damped, 90_000_000)]
            {
                let vector = DrVector { generated: at(0), state, kind }.quantized();
                let (entity, first, seq) = (EntityId(entity), DrSeq(first), DrSeq(seq));
                let frame = VectorFrame { entity, first, seq, sent: at(age), vector };
                let (mut one, mut other) = (vec![9], vec![9]);
                for stamp in [at(age), at(age + 1), at(age / 2)] {
                    emit_vector(&frame, stamp, &mut one);
                    WrittenVector::new(&frame).emit(stamp, &mut other);
                }
                assert_eq!(one, other);
            }
        }
    }
}
