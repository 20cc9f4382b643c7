//! The scheduling algorithm of NetGames'05 (section 4), as printed but for its misprints.
//!
//! Symbols: `E_k` the estimated error of receiver k at a trigger, `R_k` its relative export error (actual minus
//! estimated), `dt_k` the delay estimate, `delta_k` how long its vector is held, `Err(DR_i, t1, t2)` the integral of
//! the distance between DR_i and what the receiver had been sent before.
//!
//! Deviation: `R` is actual minus estimated as in the theorem (section 4.1 has the other sign, which drives errors
//! apart), and the receiver with the LARGEST `E_k` gets the vector at once (with the smallest, equation 1 would need
//! negative delays).

use std::collections::VecDeque;

use evenkeel_core::{SessionTime, Span};

use super::scheduling::hold_until;
use super::{ClosedPairs, FairnessPolicy, Pair, PairColumn, Review, SendPlan, Settlement};
use crate::motion::divergence::{Divergence, export_error};
use crate::motion::vector::{DrSeq, DrVector};

/// The most dispatches per receiver whose feedback is awaited. Beyond that, the oldest counts as estimated correctly.
const PENDING_MAX: usize = 256;

/// The state of one pair.
#[derive(Clone, Debug, Default)]
struct State {
    /// R: relative export error that is not used up yet.
    relative: f64,
    /// The part of R reported since the last trigger.
    late: f64,
    /// The vector last sent, which this policy assumes the receiver to show.
    shown: Option<DrVector>,
    /// The dispatch of the last plan.
    planned: Option<Planned>,
    /// Dispatches whose feedback is awaited.
    pending: VecDeque<Planned>,
}

/// A dispatch as it was estimated.
#[derive(Clone, Copy, Debug)]
struct Planned {
    seq: DrSeq,
    vector: DrVector,
    /// What the receiver shows until it arrives.
    shown: DrVector,
    delay: Span,
}

impl State {
    /// Accounts for what has happened since the last trigger: feedback, and the error of a vector that was never sent. Returns
    /// the vector that the receiver shows.
    fn catch_up(&mut self, pair: &Pair<'_>, now: SessionTime) -> DrVector {
        let last_sent = pair.last_sent().map(|sent| sent.seq);
        let late = core::mem::take(&mut self.late);
        let introduced = || last_sent.and_then(|seq| pair.vector(seq)).unwrap_or(*pair.newest().1);
        let shown = *self.shown.get_or_insert_with(introduced);
        match self.planned.take() {
            // It was sent: R is used up and begins with the feedback since.
            Some(planned) if last_sent == Some(planned.seq) => {
                self.relative = late;
                let shown = pair.vector(planned.seq).unwrap_or(planned.vector);
                self.shown = Some(shown);
                if self.pending.len() == PENDING_MAX {
                    self.pending.pop_front();
                }
                self.pending.push_back(planned);
                shown
            }
            // It was never sent: its error counts up to this trigger.
            Some(Planned { vector, .. }) => {
                self.relative += late + export_error(&vector, &shown, vector.generated, now);
                shown
            }
            None => {
                self.relative += late;
                shown
            }
        }
    }
}

/// NetGames'05 as printed.
#[derive(Clone, Debug, Default)]
pub struct Netgames05 {
    states: PairColumn<State>,
    estimates: Vec<(f64, DrVector)>,
}

impl FairnessPolicy for Netgames05 {
    fn on_closed(&mut self, closed: &ClosedPairs) {
        self.states.close(closed);
    }

    fn plan(&mut self, review: &Review<'_>, plan: &mut SendPlan) {
        let now = review.now();
        self.estimates.clear();
        for pair in review.pairs() {
            let state = self.states.at(&pair);
            let shown = state.catch_up(&pair, now);
            let error = export_error(pair.newest().1, &shown, now, now + pair.delay());
            self.estimates.push((state.relative + error, shown));
        }
        let largest = self.estimates.iter().map(|(error, _)| *error).fold(f64::NEG_INFINITY, f64::max);
        for (pair, &(error, shown)) in review.pairs().zip(&self.estimates) {
            let (seq, &vector) = pair.newest();
            let delay = pair.delay();
            let ahead = (pair.horizon() - now).as_secs_f64();
            let held = Divergence::between(&vector, &shown, now + delay).reaches(largest - error, ahead);
            hold_until(plan, &pair, held.map(|held| now + Span::from_secs_f64(held)));
            self.states.at(&pair).planned = Some(Planned { seq, vector, shown, delay });
        }
    }

    fn on_settled(&mut self, settlement: &Settlement) {
        let Settlement { seq, sent, arrived, .. } = *settlement;
        let state = self.states.settled(settlement);
        // The last plan's dispatch may be acknowledged before the next trigger notes it as sent.
        let current = state.planned.filter(|planned| planned.seq == seq);
        let index = state.pending.iter().position(|planned| planned.seq == seq);
        let Some(planned) = current.or_else(|| index.and_then(|index| state.pending.remove(index))) else {
            return;
        };
        let Planned { vector, shown, delay, .. } = planned;
        let expected = sent + delay;
        state.late += if arrived >= expected {
            export_error(&vector, &shown, expected, arrived)
        } else {
            -export_error(&vector, &shown, arrived, expected)
        };
    }
}
