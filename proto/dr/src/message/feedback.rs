//! Acknowledgments on the wire: consecutive arrivals from a running number on, in [runs](super::runs).

use evenkeel_core::{Malformed, Reader, SessionTime, Varint, Wire};
use evenkeel_session::envelope::is_sane_time;

use super::FEEDBACK;
use super::runs::{
    ArrivalRuns, CheckedRun, SHORT_RUN_LEN_MAX, SHORT_RUN_ROOM, SHORT_TIME_MAX, ShortRunHeader, are_one_run,
    check_run, emit_arrival, write_short_run,
};
use crate::motion::{DrSeq, EntityId};

/// An arrival as its receiver reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The entity.
    pub entity: EntityId,
    /// The number of the vector.
    pub seq: DrSeq,
    /// When it arrived.
    pub at: SessionTime,
    /// The nonce of the message that brought it.
    pub nonce: u32,
}

/// The largest feedback frame without its arrivals.
pub const FEEDBACK_LEN_MAX: usize = 1 + 10 + 10 + 1;
/// The largest arrival: one with a run of its own.
pub const RUN_LEN_MAX: usize = 4 + 10 + 1 + 5 + 5;
/// Arrivals in one feedback frame.
pub const FEEDBACK_MAX: usize = 255;

/// Arrivals from a running number on.
#[derive(Clone, PartialEq, Debug)]
pub struct FeedbackFrame<'a> {
    /// The oldest number that the receiver can still repeat.
    pub oldest: u64,
    /// The number of the first arrival in this frame.
    pub first: u64,
    /// The receiver's clock when it sent this. A confirmation echoes it, for the receiver to measure the round trip.
    pub stamp: SessionTime,
    count: u8,
    runs: &'a [u8],
    /// The arrivals before the last run, and their length in bytes.
    before_last: (u8, usize),
}

impl<'a> FeedbackFrame<'a> {
    /// The arrivals, each with its number.
    pub fn arrivals(&self) -> impl Iterator<Item = (u64, Arrival)> + use<'a> {
        self.arrivals_from(self.first)
    }

    /// The arrivals whose number is at least `next`.
    pub fn arrivals_from(&self, next: u64) -> impl Iterator<Item = (u64, Arrival)> + use<'a> {
        let arrivals = self.runs_from(next).flat_map(|run| {
            let (at, nonce) = run.came;
            run.ids.map(move |(entity, seq)| Arrival { entity, seq, at, nonce })
        });
        arrivals.zip(next.max(self.first)..).map(|(arrival, number)| (number, arrival))
    }

    /// The arrivals whose number is at least `next`, in runs. Usually only the last run is new, so the ones before it
    /// are skipped at once if possible.
    #[inline]
    pub(crate) fn runs_from(&self, next: u64) -> ArrivalRuns<'a> {
        let (count, len) = self.before_last;
        let (count, len) = if next < self.first + u64::from(count) { (0, 0) } else { (count, len) };
        ArrivalRuns {
            reader: Reader::new(&self.runs[len..]),
            stamp: self.stamp,
            known: next.saturating_sub(self.first + u64::from(count)).min(u64::from(u8::MAX)) as u8,
            remaining: self.count - count,
        }
    }
}

/// Room for the short runs of most acknowledgments.
const SHORT_RUNS_ROOM: usize = 4 * SHORT_RUN_LEN_MAX + SHORT_RUN_ROOM;

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
    // The counts of the frame and of its runs are written when they are known.
    let (total_at, mut total) = (bytes.len(), 0);
    bytes.push(0);
    let (mut run, mut count_at) = (None, total_at);
    // Short runs are collected here, because appending each of them alone would check the capacity each time.
    let (mut short, mut short_len) = ([0; SHORT_RUNS_ROOM], 0);
    arrivals.take(FEEDBACK_MAX).for_each(|arrival| {
        total += 1;
        let is_new = run.replace((arrival.nonce, arrival.at)) != Some((arrival.nonce, arrival.at));
        if is_new
            && let Some(room) = short[short_len..].first_chunk_mut()
            && let Some((before_count, len)) = write_short_run(arrival, stamp, room)
        {
            count_at = bytes.len() + short_len + before_count;
            short_len += len;
            return;
        }
        bytes.extend_from_slice(&short[..short_len]);
        short_len = 0;
        count_at = emit_arrival(arrival, stamp, (!is_new).then_some(count_at), bytes);
    });
    let end = bytes.len() + short_len;
    bytes.extend_from_slice(&short);
    bytes.truncate(end);
    bytes[total_at] = total;
}

pub(super) fn parse<'a>(stamp: SessionTime, reader: &mut Reader<'a>) -> Result<FeedbackFrame<'a>, Malformed> {
    let (oldest, ahead) = (reader.read::<Varint>()?.0, reader.read::<Varint>()?.0);
    let first = oldest.checked_add(ahead).filter(|first| *first <= u64::MAX / 2).ok_or(Malformed::Field)?;
    let total = reader.read::<u8>()?;
    let are_short_times_sane = is_sane_time(stamp + SHORT_TIME_MAX) && is_sane_time(stamp - SHORT_TIME_MAX);
    let bytes = reader.rest();
    let (mut end, mut last_at) = (0, 0);
    let (mut remaining, mut last_count, mut last_nonce) = (total, 0, None);
    while remaining > 0 {
        let at = end;
        let short = ShortRunHeader::at(bytes, at).filter(|_| are_short_times_sane);
        let CheckedRun { count, nonce, len } = check_run(stamp, short, remaining, &bytes[at..])?;
        end += len;
        if end > bytes.len() {
            return Err(Malformed::Truncated);
        }
        // Runs are maximal: adjacent ones differ in nonce or time.
        if last_nonce == Some(nonce) && are_one_run(stamp, &bytes[last_at..], &bytes[at..])? {
            return Err(Malformed::Field);
        }
        (remaining, last_count, last_at, last_nonce) = (remaining - count, count, at, Some(nonce));
    }
    let runs = reader.take(end)?;
    let before_last = (total - last_count, last_at);
    Ok(FeedbackFrame { oldest, first, stamp, count: total, runs, before_last })
}
