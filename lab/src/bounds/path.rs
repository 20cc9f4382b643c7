//! One life of an entity as its owner exported it, and what a receiver's error is for each way of sending it.

use evenkeel_core::{SessionTime, Span};
use evenkeel_dr::{DrVector, export_error};

/// No vector is shown for longer than until the so-manieth after it arrives: at least one of so many is sent. It keeps the
/// costs in memory bounded; with a few vectors sent of every ten, nobody comes near.
pub const SHOWN_MAX: usize = 256;

/// One life of an entity: its DR vectors in order.
#[derive(Clone, PartialEq, Debug)]
pub struct ExportedPath {
    /// At least one.
    pub vectors: Vec<DrVector>,
    /// When it ceased to be.
    pub ended: Option<SessionTime>,
}

/// The error that a receiver has while it shows a vector from its arrival until that of a later one.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    /// For each vector: until the next one arrives, until the one after that, and so on.
    until: Vec<Vec<f64>>,
    /// For each vector: until the end, if it may be shown for so long.
    to_end: Vec<Option<f64>>,
}

impl Costs {
    /// Of a path at a receiver whose delay is constant.
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
    pub(super) fn everything(&self) -> f64 {
        let steps = self.until.iter().filter_map(|row| row.first());
        steps.chain(self.to_end.last().into_iter().flatten()).sum()
    }

    /// The least of error + price x sends, with the sends and the error that make it. The first vector is introduced,
    /// and costs nothing.
    pub(super) fn cheapest(&self, price: f64) -> (u64, f64) {
        let count = self.until.len();
        // Cost so far with this vector as the last one sent; which were sent; and the error.
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
