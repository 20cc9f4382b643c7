//! Acknowledgments on the wire: runs of arrivals that came with one message share its nonce and its time.

use evenkeel_core::{Malformed, Reader, SessionTime, Varint, Wire};

use super::{FEEDBACK, emit_before, emit_u32, parse_before, parse_u32};
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
}

impl<'a> FeedbackFrame<'a> {
    /// The arrivals, each with its number.
    #[must_use]
    pub fn arrivals(&self) -> Arrivals<'a> {
        Arrivals {
            reader: Reader::new(self.runs),
            stamp: self.stamp,
            number: self.first,
            left: self.count,
            run: None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Run {
    nonce: u32,
    at: SessionTime,
    left: u8,
}

/// The arrivals of a feedback frame, in order.
#[derive(Clone, Debug)]
pub struct Arrivals<'a> {
    reader: Reader<'a>,
    stamp: SessionTime,
    number: u64,
    left: u8,
    run: Option<Run>,
}

impl Arrivals<'_> {
    fn parse(&mut self) -> Result<Arrival, Malformed> {
        let mut run = match self.run {
            Some(run) => run,
            None => {
                let nonce = self.reader.read()?;
                let at = parse_before(self.stamp, &mut self.reader)?;
                Run { nonce, at, left: self.reader.read()? }
            }
        };
        // Runs are as long as they can be: two in a row with one nonce and one time would be one.
        run.left = run.left.checked_sub(1).ok_or(Malformed::Field)?;
        let (entity, seq) = (EntityId(parse_u32(&mut self.reader)?), DrSeq(parse_u32(&mut self.reader)?));
        self.run = Some(run).filter(|run| run.left > 0);
        self.left -= 1;
        self.number += 1;
        if self.left == 0 && self.run.is_some() {
            return Err(Malformed::Field);
        }
        Ok(Arrival { entity, seq, at: run.at, nonce: run.nonce })
    }
}

impl Iterator for Arrivals<'_> {
    type Item = (u64, Arrival);

    fn next(&mut self) -> Option<(u64, Arrival)> {
        if self.left == 0 {
            return None;
        }
        let number = self.number;
        self.parse().ok().map(|arrival| (number, arrival))
    }
}

/// Appends a feedback frame with at most [`FEEDBACK_MAX`] arrivals, the first of which has the number `first`.
pub fn emit_feedback<'a>(
    oldest: u64,
    first: u64,
    stamp: SessionTime,
    arrivals: impl Iterator<Item = &'a Arrival> + Clone,
    bytes: &mut Vec<u8>,
) {
    let mut arrivals = arrivals.take(FEEDBACK_MAX);
    bytes.push(FEEDBACK);
    Varint(oldest).emit(bytes);
    Varint(first - oldest).emit(bytes);
    bytes.push(arrivals.clone().count() as u8);
    let mut next = arrivals.next();
    while let Some(Arrival { at, nonce, .. }) = next.copied() {
        nonce.emit(bytes);
        emit_before(at, stamp, bytes);
        let length = bytes.len();
        bytes.push(0);
        while let Some(arrival) = next.filter(|arrival| (arrival.at, arrival.nonce) == (at, nonce)) {
            emit_u32(arrival.entity.0, bytes);
            emit_u32(arrival.seq.0, bytes);
            bytes[length] += 1;
            next = arrivals.next();
        }
    }
}

pub(super) fn parse<'a>(stamp: SessionTime, reader: &mut Reader<'a>) -> Result<FeedbackFrame<'a>, Malformed> {
    let (oldest, ahead) = (reader.read::<Varint>()?.0, reader.read::<Varint>()?.0);
    let first = oldest.checked_add(ahead).filter(|first| *first <= u64::MAX / 2).ok_or(Malformed::Field)?;
    let count = reader.read::<u8>()?;
    let all = reader.clone();
    let mut arrivals = Arrivals { reader: reader.clone(), stamp, number: first, left: count, run: None };
    let mut last_run = None;
    while arrivals.left > 0 {
        let starts = arrivals.run.is_none();
        let arrival = arrivals.parse()?;
        if starts && last_run.replace((arrival.nonce, arrival.at)) == Some((arrival.nonce, arrival.at)) {
            return Err(Malformed::Field);
        }
    }
    let runs = reader.take(all.remaining() - arrivals.reader.remaining())?;
    Ok(FeedbackFrame { oldest, first, stamp, count, runs })
}
