//! Estimates of an account's error beyond the settled one, and of when it reaches a given amount.

use evenkeel_core::{SessionTime, Span};

use super::{Account, AccountMut, Dispatch, Flight, Outlook, Presumed};
use crate::ledger::cursor::Cursor;
use crate::ledger::exported_path::ExportedPath;
use crate::ledger::pair_state::PairState;
use crate::motion::vector::{DrSeq, DrVector};

/// The most exported vectors, and the most expected ones, that an estimate walks along.
pub(super) const NEAR: usize = 64;

/// The longest time that an estimate covers.
const NEAR_SPAN: Span = Span::from_secs(5);

impl AccountMut<'_> {
    /// Moves the start of estimates on if they would have far to go from the settled error. Receivers that never report, and
    /// owners whose vectors are always late, must not make estimates expensive.
    pub(crate) fn presume(&mut self, history: &ExportedPath, outlook: &Outlook) {
        let account = self.read();
        if account.is_near(history, outlook.now) {
            return;
        }
        let state = account.state();
        let near = account.near(history, outlook);
        if state.has(PairState::SETTLED) && state.settled_at() >= near {
            return self.set_presumed(None);
        }
        let settled = account.cursor(history).or_else(|| account.first_arrival(history, outlook, near));
        let Some(settled) = settled.filter(|settled| settled.at < near) else {
            return self.set_presumed(None);
        };
        let before = account.presumed().filter(|presumed| settled.at < presumed.based);
        let (start, based) = before.map_or((settled, near), |presumed| (presumed.cursor, presumed.based));
        let cursor = account.walk(start, history, outlook, Flight::Estimated, near, Cursor::estimate_to);
        self.set_presumed(Some(Presumed { cursor, based }));
    }
}

impl<'a> Account<'a> {
    /// Whether little is unsettled and nothing is presumed, as usual.
    #[inline(always)]
    pub(in crate::ledger) fn is_near(&self, history: &ExportedPath, now: SessionTime) -> bool {
        let state = self.state();
        state.has(PairState::SETTLED)
            && state.settled_at() >= now - NEAR_SPAN
            && history.len() < NEAR
            && self.messages.in_flight.is_short(state.chain)
            && self.rare().is_none()
    }

    /// The time from which on an estimate has few vectors to walk along and a short time to cover.
    pub(super) fn near(&self, history: &ExportedPath, outlook: &Outlook) -> SessionTime {
        let exported = history.nth_newest(NEAR).map(|vector| vector.generated);
        let nth_newest = self.in_flight_count().checked_sub(NEAR);
        let expected = nth_newest.and_then(|nth| self.dispatches().nth(nth));
        let expected = expected.map(|dispatch| dispatch.sent + outlook.under_way);
        let last = exported.into_iter().chain(expected).fold(SessionTime::MIN, SessionTime::max);
        last.max(outlook.now - NEAR_SPAN).min(outlook.now)
    }

    /// The error since the generation of the vector that is in use at a time.
    pub(crate) fn since_generation(
        &self,
        history: &ExportedPath,
        outlook: &Outlook,
        now: SessionTime,
    ) -> f64 {
        let Some(cursor) = self.estimated(history, outlook, Flight::Estimated, now) else { return 0.0 };
        let generated =
            history.vector(cursor.placed).map_or(cursor.vector.generated, |vector| vector.generated);
        let (settled, at) = self.settled().unwrap_or((0.0, now));
        let then = if generated >= at {
            self.estimated(history, outlook, Flight::Estimated, generated)
                .map_or(settled, |cursor| cursor.error)
        } else {
            let marks = self.rare().and_then(|rare| rare.marks.as_ref());
            let mut marks = marks.into_iter().flatten();
            marks.find(|(seq, _)| *seq == cursor.placed).map_or(settled, |(_, error)| *error)
        };
        // The presumed error may be slightly less than the settled one.
        (cursor.error - then).max(0.0)
    }

    /// The settled error moved on to `until` by reported and expected arrivals: what is settled if nothing more is awaited.
    /// Unlike an estimate it is integrated exactly.
    pub(crate) fn last_word(
        &self,
        history: &ExportedPath,
        outlook: &Outlook,
        until: SessionTime,
    ) -> Option<Cursor> {
        let settled = self.cursor(history).or_else(|| self.first_arrival(history, outlook, until))?;
        Some(self.walk(settled, history, outlook, Flight::Estimated, until, Cursor::integrate_to))
    }

    /// The cursor moved on to `to` by what is known and then by what is expected; `None` before the first arrival.
    pub(crate) fn estimated(
        &self,
        history: &ExportedPath,
        outlook: &Outlook,
        flight: Flight,
        to: SessionTime,
    ) -> Option<Cursor> {
        let cursor = self.start(history, outlook, to)?;
        Some(self.walk(cursor, history, outlook, flight, to, Cursor::estimate_to))
    }

    /// Where estimates begin; `None` before the first arrival.
    fn start(&self, history: &ExportedPath, outlook: &Outlook, to: SessionTime) -> Option<Cursor> {
        let start = self.presumed().map(|presumed| presumed.cursor).or_else(|| self.cursor(history));
        start.or_else(|| self.first_arrival(history, outlook, to))
    }

    /// The estimated errors now and at a later time, in one walk.
    pub(crate) fn estimates(
        &self,
        history: &ExportedPath,
        outlook: &Outlook,
        later: SessionTime,
    ) -> Option<(f64, f64)> {
        let now = outlook.now;
        let mut cursor = self.start(history, outlook, now)?;
        let mut expected = self.expected(outlook, Flight::Estimated).peekable();
        while let Some((seq, at)) = expected.next_if(|(_, at)| *at <= now) {
            self.expect(&mut cursor, history, outlook, seq, at, Cursor::estimate_to);
        }
        if let Some(last) = history.last_until(cursor.exported, now) {
            cursor.estimate_to(history, last);
        }
        let mut present = cursor;
        present.estimate_to(history, now);
        for (seq, at) in expected.take_while(|(_, at)| *at <= later) {
            self.expect(&mut cursor, history, outlook, seq, at, Cursor::estimate_to);
        }
        cursor.estimate_to(history, later);
        Some((present.error, cursor.error))
    }

    /// The cursor at the first arrival, if that is reported but not settled.
    pub(super) fn first_arrival(
        &self,
        history: &ExportedPath,
        outlook: &Outlook,
        to: SessionTime,
    ) -> Option<Cursor> {
        let (seq, at) = self.next_arrival().filter(|(_, at)| *at <= to)?;
        Some(Cursor::open(history, seq, self.placed(history, outlook, seq, at)?, at))
    }

    /// The newest vector that the receiver has, or will have once what is in flight arrives.
    pub(crate) fn prospect(&self, history: &ExportedPath, outlook: &Outlook) -> Option<(DrSeq, DrVector)> {
        // A lost vector and a late report look alike. Better to send a vector twice than never.
        let is_awaited = |dispatch: &Dispatch| outlook.now - dispatch.sent <= outlook.lost_after;
        let awaited = self.under_way(outlook).filter(is_awaited);
        let flying = awaited.map(|dispatch| dispatch.seq).max();
        let newest = flying.max(self.newest_arrived())?;
        match self.point(history) {
            Some(settled) if settled.placed == newest => Some((newest, self.shown(history, newest))),
            _ => history.vector(newest).map(|vector| (newest, self.as_sent(newest, vector))),
        }
    }

    /// Moves a cursor on by reported and then by expected arrivals.
    pub(super) fn walk(
        &self,
        mut cursor: Cursor,
        history: &ExportedPath,
        outlook: &Outlook,
        flight: Flight,
        to: SessionTime,
        count_to: fn(&mut Cursor, &ExportedPath, SessionTime),
    ) -> Cursor {
        for (seq, at) in self.expected(outlook, flight) {
            if seq > cursor.placed && at.max(cursor.at) > to {
                break;
            }
            self.expect(&mut cursor, history, outlook, seq, at, count_to);
        }
        count_to(&mut cursor, history, to);
        cursor
    }

    /// The earliest time, from now up to `by`, at which the error reaches `error`.
    pub(crate) fn reaches(
        &self,
        history: &ExportedPath,
        outlook: &Outlook,
        flight: Flight,
        error: f64,
        by: SessionTime,
    ) -> Option<SessionTime> {
        let mut cursor = self.estimated(history, outlook, flight, outlook.now)?;
        for (seq, at) in self.expected(outlook, flight) {
            if at <= outlook.now {
                continue;
            }
            if at >= by {
                break;
            }
            if let Some(time) = cursor.reach(history, error, at) {
                return Some(time);
            }
            if let Some(vector) = self.placed(history, outlook, seq, at) {
                cursor.place(seq, vector);
            }
        }
        cursor.reach(history, error, by)
    }

    /// Vectors in flight that are considered neither overtaken nor lost.
    pub(super) fn under_way(&self, outlook: &Outlook) -> impl Iterator<Item = Dispatch> + use<'a> {
        let Outlook { now, under_way, lost_after, known_until, assumed, .. } = *outlook;
        let account = *self;
        self.dispatches()
            .chain(assumed)
            .filter(move |d| account.is_news(d.seq))
            // An overdue vector is lost if later arrivals have been reported. Otherwise the reports may just be late.
            .filter(move |d| now - d.sent <= lost_after || known_until < d.sent + under_way)
    }

    /// Reported arrivals that are not settled, then expected ones, in order of time.
    pub(super) fn expected(
        &self,
        outlook: &Outlook,
        flight: Flight,
    ) -> impl Iterator<Item = (DrSeq, SessionTime)> + use<'a> {
        let Outlook { under_way, known_until, .. } = *outlook;
        // Reports are complete, so nothing else can have arrived earlier, unless it is assumed to travel in no time.
        let (delay, earliest) = match flight {
            Flight::Estimated => (under_way, known_until),
            Flight::Instant => (Span::ZERO, SessionTime::MIN),
        };
        let mut reported = self.arrivals().peekable();
        let mut expected =
            self.under_way(outlook).map(move |d| (d.seq, (d.sent + delay).max(earliest))).peekable();
        core::iter::from_fn(move || match (reported.peek(), expected.peek()) {
            (Some((_, known)), Some((_, guessed))) if guessed < known => expected.next(),
            (Some(_), _) => reported.next(),
            (None, _) => expected.next(),
        })
    }

    /// Moves a cursor on to an expected arrival, unless that changes nothing.
    fn expect(
        &self,
        cursor: &mut Cursor,
        history: &ExportedPath,
        outlook: &Outlook,
        seq: DrSeq,
        at: SessionTime,
        count_to: fn(&mut Cursor, &ExportedPath, SessionTime),
    ) {
        if seq <= cursor.placed {
            return;
        }
        let at = at.max(cursor.at);
        count_to(cursor, history, at);
        if let Some(vector) = self.placed(history, outlook, seq, at) {
            cursor.place(seq, vector);
        }
    }
}
