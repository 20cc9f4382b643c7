//! Acknowledgments on the wire: runs of arrivals that came with one message share its nonce and its time.

use evenkeel_core::{Malformed, Reader, SessionTime, Span, Varint, Wire};
use evenkeel_session::envelope::{emit_before, emit_u32, is_sane_time, parse_before};

use super::FEEDBACK;
use super::names::{Names, padded};
use crate::vector::{DrSeq, EntityId};

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
    pub fn arrivals(&self) -> impl Iterator<Item = (u64, Arrival)> + use<'a> {
        self.arrivals_from(self.first)
    }

    /// The arrivals whose number is not below `next`.
    pub fn arrivals_from(&self, next: u64) -> impl Iterator<Item = (u64, Arrival)> + use<'a> {
        let arrivals = self.runs_from(next).flat_map(|run| {
            let (at, nonce) = run.came;
            run.names.map(move |(entity, seq)| Arrival { entity, seq, at, nonce })
        });
        arrivals.zip(next.max(self.first)..).map(|(arrival, number)| (number, arrival))
    }

    /// The same in runs. What comes before them is passed over, mostly at once: the last run alone is new.
    #[inline]
    pub(crate) fn runs_from(&self, next: u64) -> Runs<'a> {
        let (count, len) = self.before_last;
        let (count, len) = if next < self.first + u64::from(count) { (0, 0) } else { (count, len) };
        Runs {
            reader: Reader::new(&self.runs[len..]),
            stamp: self.stamp,
            known: next.saturating_sub(self.first + u64::from(count)).min(u64::from(u8::MAX)) as u8,
            left: self.count - count,
        }
    }
}

/// Arrivals that came with one message.
#[derive(Clone, Debug)]
pub(crate) struct Run<'a> {
    /// When they came, and the message's nonce.
    pub(crate) came: (SessionTime, u32),
    /// Of which vectors they are.
    pub(crate) names: Names<'a>,
}

/// Runs of arrivals, of which some may be known.
#[derive(Clone, Debug)]
pub(crate) struct Runs<'a> {
    reader: Reader<'a>,
    stamp: SessionTime,
    /// How many arrivals are left, of which so many are known.
    left: u8,
    known: u8,
}

impl<'a> Iterator for Runs<'a> {
    type Item = Run<'a>;

    #[inline]
    fn next(&mut self) -> Option<Run<'a>> {
        while self.left > 0 {
            let head = match PlainHead::at(self.reader.rest(), 0) {
                Some(plain) if plain.len <= self.reader.remaining() => {
                    self.reader.take(plain.len).ok()?;
                    plain.head(self.stamp)
                }
                _ => Head::parse(self.stamp, &mut self.reader).ok()?,
            };
            let mut names = self.reader.clone();
            // Nobody asks what comes behind the last run.
            if head.count < self.left {
                Names::pass_over(head.count, &mut self.reader).ok()?;
            }
            self.left = self.left.checked_sub(head.count)?;
            let known = self.known.min(head.count);
            self.known -= known;
            if known < head.count {
                Names::pass_over(known, &mut names).ok()?;
                let names = Names::new(head.count - known, names);
                return Some(Run { came: (head.at, head.nonce), names });
            }
        }
        None
    }
}

/// What comes before the arrivals of a run.
#[derive(Clone, Copy, Debug)]
struct Head {
    nonce: u32,
    at: SessionTime,
    count: u8,
}

impl Head {
    #[inline]
    fn parse(stamp: SessionTime, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { nonce: reader.read()?, at: parse_before(stamp, reader)?, count: reader.read()? })
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

/// Writes a run of one arrival, if it is a [plain](PlainHead) one. Gives the place of its number of arrivals, and its length.
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
        let plain = PlainHead::at(bytes, at).filter(|_| are_plain_sane);
        let (length, nonce, len) = check_run(stamp, plain, left, &bytes[at..])?;
        end += len;
        if end > bytes.len() {
            return Err(Malformed::Truncated);
        }
        // Runs are as long as they can be: two in a row with one nonce and one time would be one.
        if last_nonce == Some(nonce)
            && Head::first(stamp, &bytes[last_at..])?.goes_on(Head::first(stamp, &bytes[at..])?)
        {
            return Err(Malformed::Field);
        }
        (left, last_count, last_at, last_nonce) = (left - length, length, at, Some(nonce));
    }
    let runs = reader.take(end)?;
    Ok(FeedbackFrame { oldest, first, stamp, count, runs, before_last: (count - last_count, last_at) })
}

/// Checks a run of at most so many arrivals; gives their number, the nonce of their message, and how many bytes they take, which may be more
/// than there are.
#[inline]
fn check_run(
    stamp: SessionTime,
    plain: Option<PlainHead>,
    left: u8,
    bytes: &[u8],
) -> Result<(u8, u32, usize), Malformed> {
    let (count, nonce, len, name_len) = match plain.filter(|plain| plain.len <= bytes.len()) {
        Some(PlainHead { count, nonce, len, name_len, .. }) => (count, nonce, len, name_len),
        None => {
            let mut reader = Reader::new(bytes);
            let Head { nonce, count, .. } = Head::parse(stamp, &mut reader)?;
            (count, nonce, bytes.len() - reader.remaining(), None)
        }
    };
    if !(1..=left).contains(&count) {
        return Err(Malformed::Field);
    }
    if let (1, Some(name_len)) = (count, name_len) {
        return Ok((count, nonce, len + name_len));
    }
    let mut names = Reader::new(&bytes[len..]);
    Names::pass_over(count, &mut names)?;
    Ok((count, nonce, bytes.len() - names.remaining()))
}

/// How many bytes two numbers take that begin with these, if none takes more than two.
#[inline]
fn name_len([a, b, c, d]: [u8; 4]) -> Option<usize> {
    let seq = if a < 0x80 { number_len(b, c) } else { number_len(c, d) };
    Some(number_len(a, b)? + seq?)
}

/// No time of at most seven bytes is further from its stamp.
const PLAIN_MAX: Span = Span::from_nanos(1 << 48);

/// A plain run takes at most so many bytes.
const PLAIN_LEN_MAX: usize = 4 + 7 + 1 + 2 + 2;

/// What most runs begin with: a time that takes at most seven bytes; and many are of one arrival, of an entity and a vector whose
/// numbers take at most two. Each acknowledgment repeats many of them, and they are checked as a word.
#[derive(Clone, Copy, Debug)]
struct PlainHead {
    nonce: u32,
    /// The number that tells its time, as a word.
    before: u64,
    count: u8,
    /// Its length in bytes; the last of them may lie beyond what there is.
    len: usize,
    /// How many more bytes the first arrival takes, if its numbers are that short; they may lie beyond, too.
    name_len: Option<usize>,
}

impl PlainHead {
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
        let [count, name @ .., _, _, _] = ((word >> (32 + 8 * len)) as u64).to_le_bytes();
        Some(Self { nonce: word as u32, before, count, len: 4 + len + 1, name_len: name_len(name) })
    }

    /// The same as a head in a message with this stamp.
    #[inline]
    fn head(self, stamp: SessionTime) -> Head {
        let at = stamp - Span::from_nanos(Varint::from_word(self.before).to_signed());
        Head { nonce: self.nonce, at, count: self.count }
    }
}

/// How many bytes a number takes that begins with these, if that is not more than two.
#[inline]
fn number_len(first: u8, second: u8) -> Option<usize> {
    match (first, second) {
        (..0x80, _) => Some(1),
        (_, 1..0x80) => Some(2),
        _ => None,
    }
}
