//! Feedback: settling the arrivals that receivers report, and confirming their reports.
//!
//! Reports are settled in the order of their numbers, so the ledger does not depend on the order in which
//! acknowledgments arrive. Confirmations ride in datagrams with vectors if possible.

use evenkeel_core::{PeerId, SessionTime, Span};
use evenkeel_session::Outbox;

use super::Sender;
use super::report_cursor::ReportCursor;
use crate::message::{Arrival, ConfirmFrame, FeedbackFrame, emit_confirm};

/// The time that a report waits for a vector with which its confirmation can ride.
const CONFIRM_AFTER: Span = Span::from_millis(200);
/// The shortest time between two gaps of one receiver. No receiver fills its log faster, and giving up reports visits
/// all of its accounts.
const GAP_INTERVAL: Span = Span::from_secs(1);
/// Reports of one receiver that wait behind a hole. Beyond, they are dropped, because they will be repeated.
pub const EARLY_MAX: usize = 4096;

impl Sender {
    /// Handles a report of arrivals. Those beyond a hole wait until it is filled.
    pub fn on_feedback(
        &mut self,
        from: PeerId,
        feedback: &FeedbackFrame<'_>,
        now: SessionTime,
        outbox: &mut Outbox,
    ) {
        let Some(cursor) = self.cursors.get_mut(from) else { return };
        let Some(link) = self.ledger.link(from) else { return };
        if feedback.oldest > cursor.next && now - cursor.gap_at < GAP_INTERVAL {
            return; // It will be repeated.
        }
        (cursor.stamp, cursor.heard) = (feedback.stamp, now);
        if cursor.confirm_at.is_none() {
            cursor.confirm_at = Some(now + CONFIRM_AFTER);
            self.confirmations.push_back((now + CONFIRM_AFTER, from));
        }
        let had_no_hole = cursor.early.is_empty();
        if feedback.oldest > cursor.next {
            // The receiver's log overflowed: these reports are lost for good.
            (cursor.next, cursor.gap, cursor.gap_at) = (feedback.oldest, true, now);
            self.ledger.estimated += 1;
        }
        let mut reports = self.ledger.reports(link, now);
        if feedback.first > cursor.next {
            for (number, arrival) in feedback.arrivals() {
                if cursor.early.len() < EARLY_MAX {
                    cursor.early.insert(number, arrival);
                }
            }
        } else {
            for run in feedback.runs_from(cursor.next) {
                reports.find_all(run.ids, &mut self.reported);
                cursor.settle(&self.reported, run.came, &mut reports, &mut *self.policy);
            }
        }
        // Nearly always empty, which takes no access to the map's nodes to see.
        while !cursor.early.is_empty()
            && let Some(entry) = cursor.early.first_entry()
            && *entry.key() <= cursor.next
        {
            let (number, Arrival { entity, seq, at, nonce }) = entry.remove_entry();
            if number == cursor.next {
                let report = reports.find(entity, seq);
                cursor.settle(&[report], (at, nonce), &mut reports, &mut *self.policy);
            }
        }
        drop(reports);
        if had_no_hole && !cursor.early.is_empty() {
            self.confirm(from, now, outbox); // The receiver should learn of a new hole at once.
        }
        self.rearm();
    }

    pub(super) fn confirm(&mut self, receiver: PeerId, now: SessionTime, outbox: &mut Outbox) {
        let Some(cursor) = self.cursors.get_mut(receiver) else { return };
        if cursor.confirm_at.take().is_some() {
            let ReportCursor { next, stamp, heard, ref early, .. } = *cursor;
            let frame = ConfirmFrame { next, stamp, held: now - heard, hole: !early.is_empty() };
            outbox.datagram(receiver, |stamp, bytes| emit_confirm(&frame, stamp, bytes));
        }
    }

    /// Confirms the reports that have waited long enough for a vector.
    pub(super) fn confirm_overdue(&mut self, now: SessionTime, outbox: &mut Outbox) {
        while let Some((_, peer)) = self.confirmations.pop_front_if(|(at, _)| *at <= now) {
            let cursor = self.cursors.get(peer);
            if cursor.is_some_and(|cursor| cursor.confirm_at.is_some_and(|at| at <= now)) {
                self.confirm(peer, now, outbox);
            }
        }
    }
}
