//! Acknowledgments on the wire: runs of arrivals that came with one message share its nonce and its time.

use evenkeel_core::{Malformed, Reader, SessionTime, Span, Varint, Wire};

use super::{FEEDBACK, emit_before, emit_u32, parse_before, parse_u32};
use crate::vector::{DrSeq, EntityId, is_sane_time};

/// An arrival as its receiver reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Of which entity.
    pub entity: EntityId,
    /// Which vector.
    pub seq: DrSeq,
    /// When.
    pub at: SessionTime,
    /// The nonce of the message that brought it.
    pub nonce: u32,
}

/// The largest feedback frame without its arrivals.
pub const FEEDBACK_LEN_MAX: usize = 1 + 10 + 10 + 1;
/// What an arrival takes at most: a run of its own.
pub const RUN_LEN_MAX: usize = 4 + 10 + 1 + 5 + 5;
/// Arrivals in one feedback frame.
pub const FEEDBACK_MAX: usize = 255;

/// Arrivals from a running number on.
#[derive(Clone, PartialEq, Debug)]
pub struct FeedbackFrame<'a> {
    /// The oldest number that the receiver can still repeat.
    pub oldest: u64,
    /// The number of the first arrival in here.
    pub first: u64,
    /// The receiver's clock when it sent this; echoed, so that it can measure the round trip.
    pub stamp: SessionTime,
    count: u8,
    runs: &'a [u8],
    /// How many arrivals come before the last run, and in how many bytes.
    before_last: (u8, usize),
}

impl<'a> FeedbackFrame<'a> {
    /// The arrivals, each with its number.
    #[must_use]
    pub fn arrivals(&self) -> Arrivals<'a> {
        self.arrivals_after(0, 0)
    }

    /// The arrivals, without some of those whose number is below `next`: mostly the last run alone is new.
    #[must_use]
    pub fn arrivals_from(&self, next: u64) -> Arrivals<'a> {
        let (count, len) = self.before_last;
        if next < self.first + u64::from(count) { self.arrivals() } else { self.arrivals_after(count, len) }
    }

    #[inline]
    fn arrivals_after(&self, count: u8, len: usize) -> Arrivals<'a> {
        Arrivals {
            reader: Reader::new(&self.runs[len..]),
            stamp: self.stamp,
            number: self.first + u64::from(count),
            left: self.count - count,
            run: Run { nonce: 0, at: self.stamp, left: 0 },
        }
    }
}

/// Arrivals that came with one message.
#[derive(Clone, Copy, Debug)]
struct Run {
    nonce: u32,
    at: SessionTime,
    left: u8,
}

impl Run {
    /// Reads what comes before a run's arrivals.
    #[inline]
    fn parse(stamp: SessionTime, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { nonce: reader.read()?, at: parse_before(stamp, reader)?, left: reader.read()? })
    }

    /// Whether another one is of the same message.
    fn goes_on(self, other: Self) -> bool {
        (self.nonce, self.at) == (other.nonce, other.at)
    }
}

/// The arrivals of a feedback frame, in order.
#[derive(Clone, Debug)]
pub struct Arrivals<'a> {
    reader: Reader<'a>,
    stamp: SessionTime,
    number: u64,
    left: u8,
    run: Run,
}

impl Iterator for Arrivals<'_> {
    type Item = (u64, Arrival);

    #[inline]
    fn next(&mut self) -> Option<(u64, Arrival)> {
        self.left = self.left.checked_sub(1)?;
        if self.run.left == 0 {
            self.run = Run::parse(self.stamp, &mut self.reader).ok()?;
        }
        self.run.left -= 1;
        let (entity, seq) = parse_name(&mut self.reader).ok()?;
        let number = self.number;
        self.number += 1;
        Some((number, Arrival { entity, seq, at: self.run.at, nonce: self.run.nonce }))
    }
}

/// Which vector an arrival is of.
#[inline]
fn parse_name(reader: &mut Reader<'_>) -> Result<(EntityId, DrSeq), Malformed> {
    Ok((EntityId(parse_u32(reader)?), DrSeq(parse_u32(reader)?)))
}

/// Appends a feedback frame with at most [`FEEDBACK_MAX`] arrivals, the first of which has the number `first`.
pub fn emit_feedback<'a>(
    oldest: u64,
    first: u64,
    stamp: SessionTime,
    arrivals: impl Iterator<Item = &'a Arrival>,
    bytes: &mut Vec<u8>,
) {
    bytes.push(FEEDBACK);
    Varint(oldest).emit(bytes);
    Varint(first - oldest).emit(bytes);
    // How many follow, and how many of each run, is written when it is known.
    let (place, mut count) = (bytes.len(), 0);
    bytes.push(0);
    let (mut run, mut length) = (None, place);
    arrivals.take(FEEDBACK_MAX).for_each(|arrival| {
        count += 1;
        let &Arrival { entity, seq, at, nonce } = arrival;
        if run.replace((nonce, at)) != Some((nonce, at)) {
            if let Some(plain) = emit_plain_run(arrival, stamp, bytes) {
                length = plain;
                return;
            }
            nonce.emit(bytes);
            emit_before(at, stamp, bytes);
            length = bytes.len();
            bytes.push(0);
        }
        emit_u32(entity.0, bytes);
        emit_u32(seq.0, bytes);
        bytes[length] += 1;
    });
    bytes[place] = count;
}

/// Writes a run of one arrival as a word, if it is a [plain](plain_run) one. Gives the place of its number of arrivals.
#[inline]
fn emit_plain_run(arrival: &Arrival, stamp: SessionTime, bytes: &mut Vec<u8>) -> Option<usize> {
    let &Arrival { entity: EntityId(entity), seq: DrSeq(seq), at, nonce } = arrival;
    let (before, len) = Varint::signed((stamp - at).as_nanos()).word()?;
    let name = match (entity, seq) {
        (..0x80, ..0x80) => 1 | entity << 8 | seq << 16,
        (..0x80, ..0x4000) => 1 | entity << 8 | (seq & 0x7f | 0x80) << 16 | (seq >> 7) << 24,
        _ => return None,
    };
    let word = u128::from(nonce) | u128::from(before) << 32 | u128::from(name) << (32 + 8 * len);
    let place = bytes.len() + 4 + len;
    bytes.extend_from_slice(&word.to_le_bytes());
    bytes.truncate(place + if seq < 0x80 { 3 } else { 4 });
    Some(place)
}

pub(super) fn parse<'a>(stamp: SessionTime, reader: &mut Reader<'a>) -> Result<FeedbackFrame<'a>, Malformed> {
    let (oldest, ahead) = (reader.read::<Varint>()?.0, reader.read::<Varint>()?.0);
    let first = oldest.checked_add(ahead).filter(|first| *first <= u64::MAX / 2).ok_or(Malformed::Field)?;
    let count = reader.read::<u8>()?;
    let are_plain_sane = is_sane_time(stamp + PLAIN_MAX) && is_sane_time(stamp - PLAIN_MAX);
    let (mut rest, mut last_run) = (reader.clone(), reader.clone());
    let (mut left, mut last_count, mut last_nonce) = (count, 0, None);
    while left > 0 {
        let run = rest.clone();
        let (length, nonce) = match plain_run(&rest).filter(|_| are_plain_sane) {
            Some((nonce, len)) => rest.take(len).map(|_| (1, nonce))?,
            None => check_run(stamp, left, &mut rest)?,
        };
        // Runs are as long as they can be: two in a row with one nonce and one time would be one.
        if last_nonce == Some(nonce)
            && Run::parse(stamp, &mut last_run)?.goes_on(Run::parse(stamp, &mut run.clone())?)
        {
            return Err(Malformed::Field);
        }
        (left, last_count, last_run, last_nonce) = (left - length, length, run, Some(nonce));
    }
    let before_last = (count - last_count, reader.remaining() - last_run.remaining());
    let runs = reader.take(reader.remaining() - rest.remaining())?;
    Ok(FeedbackFrame { oldest, first, stamp, count, runs, before_last })
}

/// Checks a run of at most so many arrivals; gives their number and the nonce of their message.
fn check_run(stamp: SessionTime, left: u8, reader: &mut Reader<'_>) -> Result<(u8, u32), Malformed> {
    let Run { left: length, nonce, .. } = Run::parse(stamp, reader)?;
    if !(1..=left).contains(&length) {
        return Err(Malformed::Field);
    }
    for _ in 0..length {
        check_name(reader)?;
    }
    Ok((length, nonce))
}

/// Checks which vector an arrival is of. Nearly always the two numbers take at most two bytes each.
#[inline]
fn check_name(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    let len = reader.clone().take_array().ok().and_then(|bytes| name_len(*bytes));
    match len {
        Some(len) => reader.take(len).map(|_| ()),
        None => parse_name(reader).map(|_| ()),
    }
}

/// How many bytes two numbers take that begin with these, if none takes more than two.
#[inline]
fn name_len([a, b, c, d]: [u8; 4]) -> Option<usize> {
    let seq = if a < 0x80 { short_len(b, c) } else { short_len(c, d) };
    Some(short_len(a, b)? + seq?)
}

/// No time of at most seven bytes is further from its stamp.
const PLAIN_MAX: Span = Span::from_nanos(1 << 48);

/// Looks whether the next run is what most are: one arrival, of an entity and a vector whose numbers take at most two bytes, at a time
/// that takes at most seven. Each acknowledgment repeats many of them, and they are checked as a word. Gives its nonce and its
/// length in bytes.
#[inline]
fn plain_run(reader: &Reader<'_>) -> Option<(u32, usize)> {
    let word =
        reader.clone().take_array().map_or_else(|_| padded(reader), |bytes| u128::from_le_bytes(*bytes));
    let before = (word >> 32) as u64;
    // The bytes up to the first whose top bit is not set; that one must say something.
    let ends = !before & 0x0080_8080_8080_8080;
    let before = before & (ends ^ ends.checked_sub(1)?);
    let len = ends.trailing_zeros() as usize / 8 + 1;
    if len > 1 && before >> (8 * (len - 1)) == 0 {
        return None;
    }
    // Then the number of its arrivals, the entity's and the vector's.
    let [1, name @ .., _, _, _] = ((word >> (32 + 8 * len)) as u64).to_le_bytes() else { return None };
    Some((word as u32, 4 + len + 1 + name_len(name)?))
}

/// How many bytes a number takes that begins with these, if that is not more than two.
#[inline]
fn short_len(first: u8, second: u8) -> Option<usize> {
    match (first, second) {
        (..0x80, _) => Some(1),
        (_, 1..0x80) => Some(2),
        _ => None,
    }
}

/// What is left, as far as the end, and noughts behind it.
fn padded(reader: &Reader<'_>) -> u128 {
    let rest = reader.clone().take(reader.remaining()).unwrap_or_default();
    rest.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte))
}
