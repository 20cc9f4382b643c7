//! False acknowledgments.

use std::collections::VecDeque;

use evenkeel_core::{Draws, SessionTime, Span};
use evenkeel_dr::message::{Arrival, emit_feedback};
use evenkeel_dr::{DrSeq, EntityId};

use super::Forge;

/// Acknowledgments in one datagram.
pub(super) const REPORTS_MAX: usize = 40;
/// Arrivals that are kept until they are acknowledged. Further ones are dropped.
const ARRIVALS_MAX: usize = 256;

/// What a member knows from the relay's messages.
#[derive(Default)]
pub(in crate::hostile) struct MemberView {
    /// The newest session time that the relay sent.
    pub(in crate::hostile) stamp: Option<SessionTime>,
    /// The relay has confirmed every acknowledgment before this number.
    pub(in crate::hostile) confirmed: u64,
    pub(super) arrivals: VecDeque<Arrival>,
}

impl MemberView {
    /// Notes a vector that arrived.
    pub(in crate::hostile) fn add_arrival(&mut self, entity: EntityId, seq: DrSeq, nonce: u32) {
        if let Some(at) = self.stamp
            && self.arrivals.len() < ARRIVALS_MAX
        {
            self.arrivals.push_back(Arrival { entity, seq, at, nonce });
        }
    }
}

/// Acknowledgments that the relay has not confirmed.
#[derive(Default)]
pub(super) struct ReportLog {
    unconfirmed: VecDeque<Arrival>,
    /// The number of the first of them.
    oldest: u64,
}

impl Forge {
    /// An acknowledgment: true or late, early, with a wrong nonce, from the future or the past, or of a vector that never
    /// came.
    fn report(&mut self, view: &mut MemberView) -> Option<Arrival> {
        let mut arrival = view.arrivals.pop_front()?;
        let millis = |draws: &mut Draws, max| Span::from_millis(draws.below(max) as i64);
        match self.draws.below(8) {
            0..3 => {}
            3 => arrival.at = self.stamp + millis(&mut self.draws, 300),
            4 => arrival.nonce = self.draws.bits() as u32,
            5 => arrival.at = self.stamp + millis(&mut self.draws, 10_000),
            6 => arrival.at = arrival.at - millis(&mut self.draws, 10_000),
            _ => arrival.seq.0 = arrival.seq.0.wrapping_add(self.draws.below(1_000) as u32),
        }
        Some(arrival)
    }

    /// A valid datagram with acknowledgments, consecutively numbered but for a few gaps. Unconfirmed ones are repeated.
    pub(in crate::hostile) fn reports(&mut self, view: &mut MemberView) -> Vec<u8> {
        let missing = view.confirmed.saturating_sub(self.log.oldest) as usize;
        let confirmed = self.log.unconfirmed.len().min(missing);
        self.log.unconfirmed.drain(..confirmed);
        self.counts.settled += confirmed as u64;
        self.log.oldest = self.log.oldest.max(view.confirmed);
        while self.log.unconfirmed.len() < REPORTS_MAX
            && let Some(report) = self.report(view)
        {
            self.log.unconfirmed.push_back(report);
            self.counts.reports += 1;
        }
        if self.draws.chance(0.002) {
            let lost = self.log.unconfirmed.len().min(1 + self.draws.below(10) as usize);
            self.log.unconfirmed.drain(..lost);
            self.log.oldest += lost as u64;
        }
        let skipped = if self.draws.chance(0.05) { self.log.unconfirmed.len() / 2 } else { 0 };
        let mut bytes = self.header();
        let ReportLog { unconfirmed, oldest } = &self.log;
        let first = oldest + skipped as u64;
        emit_feedback(*oldest, first, self.stamp, unconfirmed.iter().skip(skipped), &mut bytes);
        bytes
    }
}
