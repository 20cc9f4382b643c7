//! DR vectors on the wire.

use evenkeel_core::{Malformed, Reader, Scratch, SessionTime, Span, Varint, Wire};
use evenkeel_session::envelope::{emit_span, parse_span, parse_u32};

use super::{Frame, INTRODUCE, VECTOR};
use crate::motion::quantize::{STATE_LEN, encode_state, from_micros, micros, parse_state};
use crate::motion::{DrSeq, DrVector, EntityId, MotionKind};
use crate::owner::Threshold;

/// A DR vector as it travels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct VectorFrame {
    /// The entity.
    pub entity: EntityId,
    /// The number of the first vector of the entity's current life, which tells it from earlier ones.
    pub first: DrSeq,
    /// The number of this vector.
    pub seq: DrSeq,
    /// The stamp of its message: when it was sent, which is later than its generation if a policy held it.
    pub sent: SessionTime,
    /// The vector, quantized.
    pub vector: DrVector,
}

/// The largest usual vector frame: at most two minutes old, of an entity below 2^21, in a life that began below 2^21
/// and has at most 2^19 vectors (or 2^14 and 2^26, or 2^28 and 2^12). Beyond, it grows by a byte for each seven bits.
pub const VECTOR_LEN_MAX: usize = 1 + 3 + 3 + 2 + 4 + STATE_LEN;

/// Bits of a vector's position in its life that are in the tag.
const LIFE_BITS: u32 = 5;

/// Scratch space for a vector frame: the longest frame, and eight bytes that are written beyond it.
const SCRATCH_LEN: usize = ID_LEN_MAX + 10 + STATE_LEN + 8;
/// The longest id of a vector: its tag and three numbers.
const ID_LEN_MAX: usize = 1 + 3 * 5;

/// Appends a vector frame.
#[inline]
pub fn emit_vector(frame: &VectorFrame, stamp: SessionTime, bytes: &mut Vec<u8>) {
    let mut scratch = encode_id(frame);
    scratch.push_varint(age(frame, stamp));
    scratch.push_array(&encode_state(&frame.vector.state));
    scratch.append_to(bytes);
}

/// Encodes the tag, with the kind, and the numbers that identify a vector.
#[inline]
fn encode_id(frame: &VectorFrame) -> Scratch<SCRATCH_LEN> {
    let life = frame.seq.0 - frame.first.0;
    let tag = VECTOR | (frame.vector.kind as u8) << LIFE_BITS | (life & ((1 << LIFE_BITS) - 1)) as u8;
    let mut id = Scratch::default();
    id.push(u64::from(tag), 1);
    for number in [frame.entity.0, frame.first.0, life >> LIFE_BITS] {
        id.push_varint(Varint(u64::from(number)));
    }
    id
}

/// The age of a vector at the stamp, in microseconds.
#[inline]
fn age(frame: &VectorFrame, stamp: SessionTime) -> Varint {
    Varint::signed(micros(stamp) - micros(frame.vector.generated))
}

/// A vector frame that is encoded once for all of its receivers. Only its age depends on the message, if anything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EncodedVector {
    frame: VectorFrame,
    /// The whole frame, for messages whose stamp is the sending time.
    whole: Scratch<SCRATCH_LEN>,
    id: Scratch<SCRATCH_LEN>,
    state: [u8; STATE_LEN],
}

impl EncodedVector {
    pub(crate) fn new(frame: &VectorFrame) -> Self {
        let (id, state) = (encode_id(frame), encode_state(&frame.vector.state));
        let mut whole = id;
        whole.push_varint(age(frame, frame.sent));
        whole.push_array(&state);
        Self { frame: *frame, whole, id, state }
    }

    pub(crate) const fn frame(&self) -> &VectorFrame {
        &self.frame
    }

    #[inline]
    pub(crate) fn emit(&self, stamp: SessionTime, bytes: &mut Vec<u8>) {
        if stamp == self.frame.sent {
            return self.whole.append_to(bytes);
        }
        let mut scratch = self.id;
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
    let kind = tag.checked_sub(VECTOR).map(|tag| MotionKind::ALL[usize::from(tag >> LIFE_BITS)]);
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
    // Also rejects -0.0, which no sane threshold is.
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
    use crate::motion::MotionState;

    #[test]
    fn an_encoded_vector_has_the_bytes_of_an_emitted_one() {
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
                    EncodedVector::new(&frame).emit(stamp, &mut other);
                }
                assert_eq!(one, other);
            }
        }
    }
}
