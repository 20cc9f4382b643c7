//! The scheduling algorithm of NetGames'05 (section 4), as printed but for its misprints.
//!
//! Symbols: `E_k` the estimated error of receiver k at a trigger, `R_k` its relative export error (actual minus
//! estimated), `dt_k` the delay estimate, `delta_k` how long its vector is held, `Err(DR_i, t1, t2)` the integral of
//! the distance between DR_i and what the receiver had been sent before.
//!
//! Deviation: `R` is actual minus estimated as in the theorem (section 4.1 has the other sign, which drives errors
//! apart), and the LARGEST `E_k` is sent to at once (with the smallest, equation 1 would need negative delays).

use std::collections::VecDeque;

use evenkeel_core::{PeerId, SessionTime, Span};

use super::scheduling::hold_until;
use super::{FairnessPolicy, Pair, PairStates, Review, SendPlan, Settlement};
use crate::divergence::{Divergence, export_error};
use crate::vector::{DrSeq, DrVector, EntityId};

/// Dispatches whose feedback is awaited; when there are more, the oldest counts as estimated rightly.
const PENDING_MAX: usize = 4096;

/// What has been computed for one receiver.
#[derive(Clone, Debug, Default)]
struct State {
    /// R: relative export error, not used up yet.
    relative: f64,
    /// What the receiver was last sent, by this policy's assumption what it shows.
    shown: Option<DrVector>,
    /// The vector of the last plan.
    planned: Option<(DrSeq, DrVector)>,
}

/// A dispatch whose feedback is awaited.
#[derive(Clone, Copy, Debug)]
struct Pending {
    entity: EntityId,
    receiver: PeerId,
    seq: DrSeq,
    shown: DrVector,
    vector: DrVector,
    estimated_delay: Span,
}

/// NetGames'05 as printed.
#[derive(Clone, Debug, Default)]
pub struct Netgames05 {
    states: PairStates<State>,
    pending: VecDeque<Pending>,
    /// R as it becomes known, until the next plan.
    late: Vec<(EntityId, PeerId, f64)>,
    estimates: Vec<(f64, DrVector)>,
}

impl Netgames05 {
    /// Books what has happened since the last trigger: late feedback, and errors of vectors that were never sent.
    fn catch_up(&mut self, pair: &Pair<'_>, now: SessionTime) -> DrVector {
        let (newest_seq, newest) = pair.newest();
        let mut late = 0.0;
        self.late.retain(|(entity, receiver, error)| {
            let mine = (*entity, *receiver) == (pair.entity(), pair.receiver());
            late += if mine { *error } else { 0.0 };
            !mine
        });
        let state = self.states.of(pair);
        let sent = pair.last_sent();
        let shown = match (state.shown, sent.and_then(|sent| pair.vector(sent.seq))) {
            (Some(shown), _) => shown,
            (None, Some(introduced)) => *introduced,
            (None, None) => *newest,
        };
        let Some((seq, planned)) = state.planned.take() else {
            state.relative += late;
            state.shown = Some(shown);
            return shown;
        };
        if sent.is_some_and(|sent| sent.seq == seq) {
            // It was sent: R is used up, and what has come in since is the new one.
            state.relative = late;
            state.shown = Some(planned);
            planned
        } else {
            // It was never sent: its error counts up to this trigger.
            debug_assert!(seq < newest_seq, "a plan is for a newer vector than the last");
            state.relative += late + export_error(&planned, &shown, planned.generated, now);
            state.shown = Some(shown);
            shown
        }
    }
}

impl FairnessPolicy for Netgames05 {
    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        let now = review.now();
        let mut estimates = core::mem::take(&mut self.estimates);
        estimates.clear();
        for pair in review.pairs() {
            let shown = self.catch_up(&pair, now);
            let newest = *pair.newest().1;
            let error = export_error(&newest, &shown, now, now + pair.delay());
            estimates.push((self.states.of(&pair).relative + error, shown));
        }
        let largest = estimates.iter().map(|(error, _)| *error).fold(f64::NEG_INFINITY, f64::max);
        for (pair, &(error, shown)) in review.pairs().zip(&estimates) {
            let (seq, newest) = pair.newest();
            let arrival = now + pair.delay();
            let ahead = (pair.expires() - now).as_secs_f64();
            let held = Divergence::between(newest, &shown, arrival).reaches(largest - error, ahead);
            let due = held.map(|held| now + Span::from_secs_f64(held));
            hold_until(plan, &pair, due);
            let state = self.states.of(&pair);
            state.planned = Some((seq, *newest));
            if due.is_some_and(|due| due < pair.expires()) {
                let pending = Pending {
                    entity: pair.entity(),
                    receiver: pair.receiver(),
                    seq,
                    shown,
                    vector: *newest,
                    estimated_delay: pair.delay(),
                };
                if self.pending.len() == PENDING_MAX {
                    self.pending.pop_front();
                }
                self.pending.push_back(pending);
            }
        }
        self.estimates = estimates;
    }

    fn on_settled(&mut self, settlement: &Settlement) {
        let Settlement { entity, receiver, seq, sent, arrived } = *settlement;
        let Some(index) =
            self.pending.iter().position(|p| (p.entity, p.receiver, p.seq) == (entity, receiver, seq))
        else {
            return;
        };
        let Some(Pending { shown, vector, estimated_delay, .. }) = self.pending.remove(index) else { return };
        let expected = sent + estimated_delay;
        let difference = if arrived >= expected {
            export_error(&vector, &shown, expected, arrived)
        } else {
            -export_error(&vector, &shown, arrived, expected)
        };
        self.late.push((entity, receiver, difference));
    }
}
