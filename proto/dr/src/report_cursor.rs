//! How far a receiver's reports have been read. They go into the ledger in the order of their numbers.

use std::collections::BTreeMap;

use evenkeel_core::SessionTime;

use crate::fairness::FairnessPolicy;
use crate::ledger::{Report, Reports};
use crate::message::Arrival;

/// How far the reports of one receiver have been read.
#[derive(Clone, Debug)]
pub(crate) struct ReportCursor {
    pub(crate) next: u64,
    /// Arrivals behind a hole, by number.
    pub(crate) early: BTreeMap<u64, Arrival>,
    pub(crate) stamp: SessionTime,
    pub(crate) heard: SessionTime,
    pub(crate) confirm_at: Option<SessionTime>,
    /// Reports before the next one are lost for good.
    pub(crate) gap: bool,
    /// When that was last so.
    pub(crate) gap_at: SessionTime,
}

impl ReportCursor {
    /// The cursor of a receiver that joins now.
    pub(crate) const fn new(now: SessionTime) -> Self {
        Self {
            next: 0,
            early: BTreeMap::new(),
            stamp: now,
            heard: now,
            confirm_at: None,
            gap: false,
            gap_at: now,
        }
    }

    /// Passes the next reports on to the ledger: of arrivals at a time, in a message with this nonce.
    pub(crate) fn settle(
        &mut self,
        reported: &[Report],
        (at, nonce): (SessionTime, u32),
        reports: &mut Reports<'_>,
        policy: &mut dyn FairnessPolicy,
    ) {
        if core::mem::take(&mut self.gap) {
            reports.give_up(at);
        }
        self.next += reported.len() as u64;
        if !policy.hears_settled() {
            reported.iter().for_each(|report| _ = reports.arrived(*report, at, nonce));
            return;
        }
        for report in reported {
            if let Some(fate) = reports.arrived(*report, at, nonce) {
                policy.on_settled(&reports.settlement(*report, fate));
            }
        }
    }
}
