//! The exported path of one life of an entity, and a receiver's error for every choice of vectors to send.

use evenkeel_core::{SessionTime, Span};
use evenkeel_dr::{DrVector, export_error};

/// At least one vector of this many is sent. It limits the memory for costs; policies send a few of every ten.
pub const SHOWN_MAX: usize = 256;

/// One life of an entity: its DR vectors in order.
#[derive(Clone, PartialEq, Debug)]
pub struct ExportedPath {
    /// The vectors, at least one.
    pub vectors: Vec<DrVector>,
    /// When the life ended, if it did.
    pub ended: Option<SessionTime>,
}

/// The error of a receiver that shows a vector from its arrival until the arrival of a later one.
#[derive(Clone, Debug)]
pub(super) struct PathCosts {
    /// For each vector: until the next one arrives, until the one after that, and so on.
    until: Vec<Vec<f64>>,
    /// For each vector: until the end, unless [`SHOWN_MAX`] forbids it.
    to_end: Vec<Option<f64>>,
}

impl PathCosts {
    /// Computes the costs of a path at a receiver with a constant delay.
    pub(super) fn new(path: &ExportedPath, delay: Span, until: SessionTime) -> Self {
        let end = path.ended.map_or(until, |ended| ended.min(until));
        let made = |index: usize| path.vectors.get(index).map(|vector| vector.generated);
        let arrival = |index: usize| made(index).map_or(end, |made| (made + delay).min(end));
        let mut costs = Self { until: Vec::new(), to_end: Vec::new() };
        for (index, shown) in path.vectors.iter().enumerate() {
            let mut exported = index;
            let (mut at, mut error) = (arrival(index), 0.0);
            let mut row = Vec::new();
            let last = path.vectors.len().min(index + SHOWN_MAX);
            for next in index + 1..=last {
                let to = arrival(next);
                while at < to {
                    while made(exported + 1).is_some_and(|made| made <= at) {
                        exported += 1;
                    }
                    let piece = made(exported + 1).map_or(to, |made| made.min(to));
                    if exported != index {
                        error += export_error(&path.vectors[exported], shown, at, piece);
                    }
                    at = piece;
                }
                row.push(error);
            }
            let to_end = if last == path.vectors.len() { row.pop() } else { None };
            costs.until.push(row);
            costs.to_end.push(to_end);
        }
        costs
    }

    /// The error if every vector is sent.
    pub(super) fn error_if_all_sent(&self) -> f64 {
        let steps = self.until.iter().filter_map(|row| row.first());
        steps.chain(self.to_end.last().into_iter().flatten()).sum()
    }

    /// Minimizes error + price x sends and returns the sends and the error. The first vector is an introduction and is not
    /// counted.
    pub(super) fn cheapest(&self, price: f64) -> (u64, f64) {
        let count = self.until.len();
        // For each vector as the last one sent: the cost so far, the sends and the error.
        let mut best = vec![(f64::INFINITY, 0_u64, 0.0_f64); count];
        best[0].0 = 0.0;
        let mut end = (f64::INFINITY, 0, 0.0);
        for index in 0..count {
            let (cost, sends, error) = best[index];
            let row = &self.until[index];
            let following = best[index + 1..].iter_mut().zip(row);
            for (later, step) in following {
                let total = cost + step + price;
                if total < later.0 {
                    *later = (total, sends + 1, error + step);
                }
            }
            if let Some(step) = self.to_end[index]
                && cost + step < end.0
            {
                end = (cost + step, sends, error + step);
            }
        }
        (end.1, end.2)
    }
}
