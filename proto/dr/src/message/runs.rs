//! Runs on the wire: the arrivals that came with one message share its nonce and its time.
//!
//! The usual runs are read and written as words: a *short* run header has a time of at most seven bytes, and a short id has an
//! entity and a vector number of at most two bytes each.

use evenkeel_core::{Malformed, Reader, SessionTime, Span, Varint, Wire};
use evenkeel_session::envelope::{emit_before, emit_u32, parse_before};

use super::feedback::Arrival;
use super::vector_ids::{VectorIds, zero_padded};
use crate::motion::{DrSeq, EntityId};

#[derive(Clone, Debug)]
pub(crate) struct ArrivalRun<'a> {
    /// When they came, and the message's nonce.
    pub(crate) came: (SessionTime, u32),
    pub(crate) ids: VectorIds<'a>,
}

/// The runs of a feedback frame, without the arrivals that are known already.
#[derive(Clone, Debug)]
pub(crate) struct ArrivalRuns<'a> {
    pub(super) reader: Reader<'a>,
    pub(super) stamp: SessionTime,
    /// Arrivals that follow.
    pub(super) remaining: u8,
    /// How many of them are known.
    pub(super) known: u8,
}

impl<'a> Iterator for ArrivalRuns<'a> {
    type Item = ArrivalRun<'a>;

    #[inline]
    fn next(&mut self) -> Option<ArrivalRun<'a>> {
        while self.remaining > 0 {
            let header = match ShortRunHeader::at(self.reader.rest(), 0) {
                Some(short) if short.len <= self.reader.remaining() => {
                    self.reader.take(short.len).ok()?;
                    short.header(self.stamp)
                }
                _ => RunHeader::parse(self.stamp, &mut self.reader).ok()?,
            };
            let mut ids = self.reader.clone();
            // Nothing is read behind the last run.
            if header.count < self.remaining {
                VectorIds::skip(header.count, &mut self.reader).ok()?;
            }
            self.remaining = self.remaining.checked_sub(header.count)?;
            let known = self.known.min(header.count);
            self.known -= known;
            if known < header.count {
                VectorIds::skip(known, &mut ids).ok()?;
                let ids = VectorIds::new(header.count - known, ids);
                return Some(ArrivalRun { came: (header.at, header.nonce), ids });
            }
        }
        None
    }
}

#[derive(Clone, Copy, Debug)]
struct RunHeader {
    nonce: u32,
    at: SessionTime,
    count: u8,
}

impl RunHeader {
    #[inline]
    fn parse(stamp: SessionTime, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { nonce: reader.read()?, at: parse_before(stamp, reader)?, count: reader.read()? })
    }
}

/// Whether two runs have the same nonce and time.
pub(super) fn are_one_run(stamp: SessionTime, first: &[u8], second: &[u8]) -> Result<bool, Malformed> {
    let first = RunHeader::parse(stamp, &mut Reader::new(first))?;
    let second = RunHeader::parse(stamp, &mut Reader::new(second))?;
    Ok((first.nonce, first.at) == (second.nonce, second.at))
}

/// Appends an arrival to the run whose count is at this offset, or to a new run. Returns that offset.
#[inline(never)]
pub(super) fn emit_arrival(
    arrival: &Arrival,
    stamp: SessionTime,
    run: Option<usize>,
    bytes: &mut Vec<u8>,
) -> usize {
    let count_at = run.unwrap_or_else(|| {
        arrival.nonce.emit(bytes);
        emit_before(arrival.at, stamp, bytes);
        bytes.push(0);
        bytes.len() - 1
    });
    emit_u32(arrival.entity.0, bytes);
    emit_u32(arrival.seq.0, bytes);
    bytes[count_at] += 1;
    count_at
}

/// The largest run that [`write_short_run`] writes.
pub(super) const SHORT_RUN_LEN_MAX: usize = 4 + 7 + 1 + 2 + 2;
/// Bytes that [`write_short_run`] may touch: it writes words, the last of which may be longer than what it needs.
pub(super) const SHORT_RUN_ROOM: usize = 24;

/// Writes a run of one arrival, if its header and its id are short. Returns the offset of its count, and its length.
#[inline]
pub(super) fn write_short_run(
    arrival: &Arrival,
    stamp: SessionTime,
    room: &mut [u8; SHORT_RUN_ROOM],
) -> Option<(usize, usize)> {
    let &Arrival { entity: EntityId(entity), seq: DrSeq(seq), at, nonce } = arrival;
    let (before, len) = Varint::signed((stamp - at).as_nanos()).word()?;
    // The count, which is 1, and the id.
    let (tail, tail_len) = match (entity, seq) {
        (..0x80, ..0x80) => (1 | entity << 8 | seq << 16, 3),
        (..0x80, ..0x4000) => (1 | entity << 8 | (seq & 0x7f | 0x80) << 16 | (seq >> 7) << 24, 4),
        _ => return None,
    };
    room[..4].copy_from_slice(&nonce.to_le_bytes());
    room[4..12].copy_from_slice(&before.to_le_bytes());
    room[4 + len..][..4].copy_from_slice(&tail.to_le_bytes());
    Some((4 + len, 4 + len + tail_len))
}

pub(super) struct CheckedRun {
    pub(super) count: u8,
    pub(super) nonce: u32,
    /// Its length in bytes. It may exceed the bytes that there are.
    pub(super) len: usize,
}

/// Checks a run of at most `remaining` arrivals. `short` is its header, if that is short.
#[inline]
pub(super) fn check_run(
    stamp: SessionTime,
    short: Option<ShortRunHeader>,
    remaining: u8,
    bytes: &[u8],
) -> Result<CheckedRun, Malformed> {
    let (count, nonce, len, id_len) = match short.filter(|short| short.len <= bytes.len()) {
        Some(ShortRunHeader { count, nonce, len, id_len, .. }) => (count, nonce, len, id_len),
        None => {
            let mut reader = Reader::new(bytes);
            let RunHeader { nonce, count, .. } = RunHeader::parse(stamp, &mut reader)?;
            (count, nonce, bytes.len() - reader.remaining(), None)
        }
    };
    if !(1..=remaining).contains(&count) {
        return Err(Malformed::Field);
    }
    if let (1, Some(id_len)) = (count, id_len) {
        return Ok(CheckedRun { count, nonce, len: len + id_len });
    }
    let mut ids = Reader::new(&bytes[len..]);
    VectorIds::skip(count, &mut ids)?;
    Ok(CheckedRun { count, nonce, len: bytes.len() - ids.remaining() })
}

/// The largest distance from the stamp of a time in a short run header.
pub(super) const SHORT_TIME_MAX: Span = Span::from_nanos(1 << 48);

/// A run header whose time takes at most seven bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortRunHeader {
    nonce: u32,
    /// The encoded time, as a word.
    before: u64,
    count: u8,
    /// Its length in bytes. It may exceed the bytes that there are.
    len: usize,
    /// The length of the first vector id, if that is short. It may exceed the bytes that there are, too.
    id_len: Option<usize>,
}

impl ShortRunHeader {
    /// Reads a short run header at an offset; `None` if there is another kind of header.
    #[inline]
    pub(super) fn at(bytes: &[u8], at: usize) -> Option<Self> {
        let word = bytes.get(at..).and_then(<[u8]>::first_chunk).map(|word| u128::from_le_bytes(*word));
        let word = word.unwrap_or_else(|| zero_padded(bytes, at));
        let before = (word >> 32) as u64;
        // The time ends with the first byte whose top bit is clear.
        let ends = !before & 0x0080_8080_8080_8080;
        let before = before & (ends ^ ends.checked_sub(1)?);
        let len = ends.trailing_zeros() as usize / 8 + 1;
        // In the shortest form, the last of several bytes is not zero.
        if len > 1 && before >> (8 * (len - 1)) == 0 {
            return None;
        }
        let [count, id @ .., _, _, _] = ((word >> (32 + 8 * len)) as u64).to_le_bytes();
        Some(Self { nonce: word as u32, before, count, len: 4 + len + 1, id_len: short_id_len(id) })
    }

    #[inline]
    fn header(self, stamp: SessionTime) -> RunHeader {
        let at = stamp - Span::from_nanos(Varint::from_word(self.before).to_signed());
        RunHeader { nonce: self.nonce, at, count: self.count }
    }
}

/// The length of the vector id that begins with these bytes, if it is short.
#[inline]
fn short_id_len([a, b, c, d]: [u8; 4]) -> Option<usize> {
    let seq = if a < 0x80 { short_varint_len(b, c) } else { short_varint_len(c, d) };
    Some(short_varint_len(a, b)? + seq?)
}

/// The length of the varint that begins with these bytes, if it is at most two.
#[inline]
fn short_varint_len(first: u8, second: u8) -> Option<usize> {
    match (first, second) {
        (..0x80, _) => Some(1),
        (_, 1..0x80) => Some(2),
        _ => None,
    }
}
