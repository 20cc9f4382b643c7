//! The position up to which the reports of one receiver are settled.

use std::collections::BTreeMap;

use evenkeel_core::SessionTime;

use crate::ledger::{Report, Reports};
use crate::message::Arrival;
use crate::policy::FairnessPolicy;

#[derive(Clone, Debug)]
pub(crate) struct ReportCursor {
    pub(crate) next: u64,
    /// Arrivals behind a hole, by number.
    pub(crate) early: BTreeMap<u64, Arrival>,
    pub(crate) stamp: SessionTime,
    pub(crate) heard: SessionTime,
    /// When to confirm it, at the latest; `None` if it is confirmed.
    pub(crate) confirm_at: Option<SessionTime>,
    /// Whether reports before the next one are lost for good.
    pub(crate) gap: bool,
    pub(crate) gap_at: SessionTime,
}

impl ReportCursor {
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

    /// Settles the next reports, which are of arrivals with the same message: its time and nonce are given.
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
        if !policy.wants_settlements() {
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
