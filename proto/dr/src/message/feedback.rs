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

    /// The one that bytes begin with.
    fn first(stamp: SessionTime, bytes: &[u8]) -> Result<Self, Malformed> {
        Self::parse(stamp, &mut Reader::new(bytes))
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
        let number = self.number;
        self.number += 1;
        if self.run.left == 0 {
            if let Some(run) = PlainRun::at(self.reader.rest(), 0)
                && self.reader.take(run.len).is_ok()
            {
                return Some((number, run.arrival(self.stamp)));
            }
            self.run = Run::parse(self.stamp, &mut self.reader).ok()?;
        }
        self.run.left -= 1;
        let (entity, seq) = parse_name(&mut self.reader).ok()?;
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
    // Plain runs are put together before they are appended: to append each by itself would ask each time for room.
    let (mut plain, mut plain_len) = ([0; PLAIN_ROOM], 0);
    arrivals.take(FEEDBACK_MAX).for_each(|arrival| {
        count += 1;
        let is_new = run.replace((arrival.nonce, arrival.at)) != Some((arrival.nonce, arrival.at));
        if is_new
            && let Some(room) = plain[plain_len..].first_chunk_mut()
            && let Some((before_length, len)) = write_plain_run(arrival, stamp, room)
        {
            length = bytes.len() + plain_len + before_length;
            plain_len += len;
            return;
        }
        bytes.extend_from_slice(&plain[..plain_len]);
        plain_len = 0;
        length = emit_arrival(arrival, stamp, (!is_new).then_some(length), bytes);
    });
    let end = bytes.len() + plain_len;
    bytes.extend_from_slice(&plain);
    bytes.truncate(end);
    bytes[place] = count;
}

/// Appends an arrival to the run whose number of arrivals is at this place, or to a new one. Gives that place.
#[inline(never)]
fn emit_arrival(arrival: &Arrival, stamp: SessionTime, run: Option<usize>, bytes: &mut Vec<u8>) -> usize {
    let length = run.unwrap_or_else(|| {
        arrival.nonce.emit(bytes);
        emit_before(arrival.at, stamp, bytes);
        bytes.push(0);
        bytes.len() - 1
    });
    emit_u32(arrival.entity.0, bytes);
    emit_u32(arrival.seq.0, bytes);
    bytes[length] += 1;
    length
}

/// Room for the plain runs of most acknowledgments.
const PLAIN_ROOM: usize = 4 * PLAIN_LEN_MAX + PLAIN_WRITTEN;
/// A plain run is written in words, of which the last may be longer than what is left of the run.
const PLAIN_WRITTEN: usize = 24;

/// Writes a run of one arrival, if it is a [plain](PlainRun) one. Gives the place of its number of arrivals, and its length.
#[inline]
fn write_plain_run(
    arrival: &Arrival,
    stamp: SessionTime,
    room: &mut [u8; PLAIN_WRITTEN],
) -> Option<(usize, usize)> {
    let &Arrival { entity: EntityId(entity), seq: DrSeq(seq), at, nonce } = arrival;
    let (before, len) = Varint::signed((stamp - at).as_nanos()).word()?;
    let (name, name_len) = match (entity, seq) {
        (..0x80, ..0x80) => (1 | entity << 8 | seq << 16, 3),
        (..0x80, ..0x4000) => (1 | entity << 8 | (seq & 0x7f | 0x80) << 16 | (seq >> 7) << 24, 4),
        _ => return None,
    };
    room[..4].copy_from_slice(&nonce.to_le_bytes());
    room[4..12].copy_from_slice(&before.to_le_bytes());
    room[4 + len..][..4].copy_from_slice(&name.to_le_bytes());
    Some((4 + len, 4 + len + name_len))
}

pub(super) fn parse<'a>(stamp: SessionTime, reader: &mut Reader<'a>) -> Result<FeedbackFrame<'a>, Malformed> {
    let (oldest, ahead) = (reader.read::<Varint>()?.0, reader.read::<Varint>()?.0);
    let first = oldest.checked_add(ahead).filter(|first| *first <= u64::MAX / 2).ok_or(Malformed::Field)?;
    let count = reader.read::<u8>()?;
    let are_plain_sane = is_sane_time(stamp + PLAIN_MAX) && is_sane_time(stamp - PLAIN_MAX);
    let bytes = reader.rest();
    let (mut end, mut last_at) = (0, 0);
    let (mut left, mut last_count, mut last_nonce) = (count, 0, None);
    while left > 0 {
        let at = end;
        let (length, nonce, len) = match PlainRun::at(bytes, at).filter(|_| are_plain_sane) {
            Some(run) => (1, run.nonce, run.len),
            None => check_run(stamp, left, &bytes[at..])?,
        };
        end += len;
        if end > bytes.len() {
            return Err(Malformed::Truncated);
        }
        // Runs are as long as they can be: two in a row with one nonce and one time would be one.
        if last_nonce == Some(nonce)
            && Run::first(stamp, &bytes[last_at..])?.goes_on(Run::first(stamp, &bytes[at..])?)
        {
            return Err(Malformed::Field);
        }
        (left, last_count, last_at, last_nonce) = (left - length, length, at, Some(nonce));
    }
    let runs = reader.take(end)?;
    Ok(FeedbackFrame { oldest, first, stamp, count, runs, before_last: (count - last_count, last_at) })
}

/// Checks a run of at most so many arrivals; gives their number, the nonce of their message, and how many bytes they take.
fn check_run(stamp: SessionTime, left: u8, bytes: &[u8]) -> Result<(u8, u32, usize), Malformed> {
    let mut reader = Reader::new(bytes);
    let Run { left: length, nonce, .. } = Run::parse(stamp, &mut reader)?;
    if !(1..=left).contains(&length) {
        return Err(Malformed::Field);
    }
    for _ in 0..length {
        check_name(&mut reader)?;
    }
    Ok((length, nonce, bytes.len() - reader.remaining()))
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

/// A plain run takes at most so many bytes.
const PLAIN_LEN_MAX: usize = 4 + 7 + 1 + 2 + 2;

/// What most runs are: one arrival, of an entity and a vector whose numbers take at most two bytes, at a time that takes at
/// most seven. Each acknowledgment repeats many of them, and they are checked as a word.
#[derive(Clone, Copy, Debug)]
struct PlainRun {
    nonce: u32,
    /// The number that tells its time, as a word.
    before: u64,
    /// What the numbers of the entity and of the vector begin with.
    name: [u8; 4],
    /// Its length in bytes; the last of them may lie beyond what there is.
    len: usize,
}

impl PlainRun {
    /// Looks whether there is one at a place.
    #[inline]
    fn at(bytes: &[u8], at: usize) -> Option<Self> {
        let word = bytes.get(at..).and_then(<[u8]>::first_chunk).map(|word| u128::from_le_bytes(*word));
        let word = word.unwrap_or_else(|| padded(bytes, at));
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
        Some(Self { nonce: word as u32, before, name, len: 4 + len + 1 + name_len(name)? })
    }

    /// What it says, in a message with this stamp.
    #[inline]
    fn arrival(self, stamp: SessionTime) -> Arrival {
        let [a, b, c, d] = self.name;
        let (entity, seq) = if a < 0x80 { (u32::from(a), short(b, c)) } else { (short(a, b), short(c, d)) };
        let at = stamp - Span::from_nanos(Varint::from_word(self.before).to_signed());
        Arrival { entity: EntityId(entity), seq: DrSeq(seq), at, nonce: self.nonce }
    }
}

/// A number of at most two bytes.
#[inline]
fn short(first: u8, second: u8) -> u32 {
    if first < 0x80 { u32::from(first) } else { u32::from(first & 0x7f) | u32::from(second) << 7 }
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

/// What is left from a place on, which is less than a word, and noughts behind it.
#[inline]
fn padded(bytes: &[u8], at: usize) -> u128 {
    match bytes.last_chunk() {
        Some(word) => {
            let beyond = at + size_of::<u128>() - bytes.len();
            u128::from_le_bytes(*word).checked_shr(8 * beyond as u32).unwrap_or(0)
        }
        None => bytes[at..].iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte)),
    }
}
