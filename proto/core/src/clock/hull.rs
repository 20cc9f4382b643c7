//! The two-sided hull: a certified interval of the offset to one peer.
//!
//! With constant rates the offset is a line over the local clock. For each exchange the line passes below the
//! point (t0, a) and above the point (t3, b), and its slope is at most 200 ppm in size. All such lines form
//! the feasible set, and the values they take now form the certified interval. Queueing only adds delay and
//! so moves points away from the line, never across it. An average would follow the queues; the hulls do not.
//!
//! The estimate is the middle of the widest strip between the hulls. Its slope is the skew that leaves most
//! room between the a's and the b's, judged by the exchanges of the whole window. The middle of the certified
//! interval would be worse: because the interval allows for 200 ppm, only the last few seconds determine it.
//!
//! After the newest point, the steepest feasible line gives the largest offset and the flattest one the
//! smallest. These lines touch the a's from below and the b's from above at once. Newton's method finds them
//! on the gap between the hulls as a function of the slope. That function is concave and piecewise linear, so
//! the steps are exact and few. The lines are the same for all later times, so later queries need no search.
//!
//! If no line is feasible, or a bound moves too suddenly (see `step.rs`), a clock was stepped. Then
//! everything is dropped, including exchanges sent before the break was noticed. Dropping only the older half
//! until a line is feasible would not do: the rest could still hold exchanges from before the step, and the
//! interval would not be certified.

use std::collections::VecDeque;

use super::band::{Band, SKEW_PPB_MAX};
use super::chain::{Chain, Corner, Slope};
use super::exchange::{Exchange, Observed, OffsetEstimator};
use super::step::is_step;
use crate::time::{LocalTime, Span};

/// Age at which exchanges are dropped (checked once a second, so some get a second older). The clocks' rates
/// are taken to be constant over this time.
pub const WINDOW: Span = Span::from_secs(30);
/// Limit on the exchanges kept; beyond it, the oldest are dropped. Ten exchanges a second fill the window
/// with 300.
pub const EXCHANGES_MAX: usize = 512;

/// How often old exchanges are dropped, which rebuilds the hulls.
const PRUNE_INTERVAL: Span = Span::from_secs(1);
/// Each clock is read in whole nanoseconds, so a difference of two readings is off by less than this.
const ROUNDING: Span = Span::from_nanos(2);
/// Limit on the search for the widest gap. It takes a handful of steps unless a peer crafts a hard hull,
/// which then gets a worse estimate.
const STEPS_MAX: u32 = 64;
const STEEPEST: Slope = Slope { rise: SKEW_PPB_MAX, run: 1_000_000_000 };
const FLATTEST: Slope = STEEPEST.negated();

/// The two-sided hull of the exchanges with one peer.
#[derive(Clone, Debug, Default)]
pub struct Hull {
    /// In the order of their return.
    exchanges: VecDeque<Exchange>,
    /// Lower hull of the a's.
    above: Chain,
    /// Upper hull of the b's, mirrored because a chain is a lower hull.
    below: Chain,
    band: Option<Band>,
    /// The widest strip: its slope, and the points of the a's and the b's that bound it.
    strip: Option<(Slope, Corner, Corner)>,
    /// Exchanges sent by then may straddle a step.
    since: Option<LocalTime>,
}

impl Hull {
    /// Returns the number of exchanges in use.
    #[must_use]
    pub fn len(&self) -> usize {
        self.exchanges.len()
    }

    /// Returns whether no exchange is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }

    fn insert(&mut self, exchange: &Exchange) {
        let (a, b) = (exchange.upper() + ROUNDING, exchange.lower() - ROUNDING);
        self.above.insert(Corner { at: exchange.sent.as_nanos(), height: a.as_nanos() });
        self.below.insert(Corner { at: exchange.returned.as_nanos(), height: -b.as_nanos() });
    }

    /// Drops exchanges that are too old or too many.
    fn prune(&mut self, now: LocalTime) {
        let is_over = |oldest: &Exchange| now - oldest.returned > WINDOW + PRUNE_INTERVAL;
        if self.exchanges.len() < EXCHANGES_MAX && !self.exchanges.front().is_some_and(is_over) {
            return;
        }
        // Drops a few more than necessary, so that a flood does not rebuild the hulls with each exchange.
        let spare = (self.exchanges.len() + EXCHANGES_MAX / 16).saturating_sub(EXCHANGES_MAX);
        let old = self.exchanges.partition_point(|exchange| now - exchange.returned > WINDOW);
        self.exchanges.drain(..old.max(spare));
        self.above.clear();
        self.below.clear();
        for exchange in core::mem::take(&mut self.exchanges) {
            self.insert(&exchange);
            self.exchanges.push_back(exchange);
        }
    }

    /// Returns the band of all feasible lines after `now`, or `None` if no line is feasible.
    fn solve(&self, now: LocalTime, (widest, top, bottom): (Slope, Corner, Corner)) -> Option<Band> {
        let (steepest, a, _) = self.extreme(STEEPEST)?;
        let (flattest, _, b) = self.extreme(FLATTEST)?;
        if steepest.is_below(flattest) {
            return None;
        }
        let low = Span::from_nanos(along(b, flattest, now, i128::div_euclid));
        let high = Span::from_nanos(along(a, steepest, now, div_ceil));
        let (low_ppb, high_ppb) = (ppb(flattest, i128::div_euclid), ppb(steepest, div_ceil));
        let [top, bottom] = [top, bottom].map(|corner| along(corner, widest, now, i128::div_euclid));
        let best = Span::from_nanos(bottom + (top - bottom) / 2).clamp(low, high);
        let best_ppb = ppb(widest, i128::div_euclid).clamp(low_ppb, high_ppb);
        Some(Band { at: now, low, high, low_ppb, high_ppb, best, best_ppb })
    }

    /// Finds the slope at which the gap between the hulls is widest, and the points that bound it. The gap is
    /// concave in the slope: where the two known pieces cross lies either its maximum or a better piece.
    fn widest(&self) -> Option<(Slope, Corner, Corner)> {
        let (a, b) = self.bounds(FLATTEST)?;
        if b.at <= a.at {
            return Some((FLATTEST, a, b));
        }
        let (mut rising, mut falling) = ((a, b), self.bounds(STEEPEST)?);
        if falling.1.at >= falling.0.at {
            return Some((STEEPEST, falling.0, falling.1));
        }
        let run = |(a, b): (Corner, Corner)| b.at - a.at;
        let gap = |(a, b): (Corner, Corner)| a.height - b.height;
        let mut steps = 0;
        loop {
            let slope = Slope { rise: gap(falling) - gap(rising), run: run(rising) - run(falling) };
            let (a, b) = self.bounds(slope)?;
            let is_top = slope.excess(a) - slope.excess(b) >= slope.excess(rising.0) - slope.excess(rising.1);
            steps += 1;
            if is_top || run((a, b)) == 0 || steps >= STEPS_MAX {
                return Some((slope, a, b));
            }
            *(if run((a, b)) > 0 { &mut rising } else { &mut falling }) = (a, b);
        }
    }

    /// Returns whether an exchange narrows the strip by more than jitter explains.
    fn reveals_step(&self, exchange: &Exchange) -> bool {
        let Some((slope, a, b)) = self.strip else { return false };
        let top = Span::from_nanos(along(a, slope, exchange.sent, i128::div_euclid));
        let bottom = Span::from_nanos(along(b, slope, exchange.returned, i128::div_euclid));
        is_step(&self.exchanges, Exchange::upper, top - exchange.upper())
            || is_step(&self.exchanges, Exchange::lower, exchange.lower() - bottom)
    }

    /// Returns the points of the a's and the b's that lines of this slope touch.
    fn bounds(&self, slope: Slope) -> Option<(Corner, Corner)> {
        let a = self.above.touched(slope)?;
        let b = self.below.touched(slope.negated())?;
        Some((a, Corner { at: b.at, height: -b.height }))
    }

    /// Returns the feasible slope nearest to `limit`, and the points of the a's and the b's that its line
    /// touches.
    fn extreme(&self, limit: Slope) -> Option<(Slope, Corner, Corner)> {
        let falls = limit.rise > 0;
        let mut slope = limit;
        loop {
            let (a, b) = self.bounds(slope)?;
            if slope.excess(a) >= slope.excess(b) {
                return Some((slope, a, b));
            }
            // The gap is negative. A slope that closes it exists only if the points are in the right order.
            let run = a.at - b.at;
            if run == 0 || (run > 0) != falls {
                return None;
            }
            let rise = a.height - b.height;
            slope = Slope { rise: rise * run.signum(), run: run.abs() };
            if slope.is_below(FLATTEST) || STEEPEST.is_below(slope) {
                return None;
            }
        }
    }

    /// Drops everything. Until the next exchange the band is what the exchange that caused the break says on
    /// its own.
    fn start_over(&mut self, exchange: &Exchange) {
        let now = exchange.returned;
        self.exchanges.clear();
        self.above.clear();
        self.below.clear();
        self.insert(exchange);
        self.band = self.widest().and_then(|strip| self.solve(now, strip)).or(self.band);
        self.above.clear();
        self.below.clear();
        self.strip = None;
        self.since = Some(now);
    }
}

impl OffsetEstimator for Hull {
    fn observe(&mut self, exchange: &Exchange) -> Observed {
        if self.since.is_some_and(|since| exchange.sent <= since) {
            return Observed::Ignored;
        }
        self.prune(exchange.returned);
        self.insert(exchange);
        self.strip = if self.reveals_step(exchange) { None } else { self.widest() };
        let band = self.strip.and_then(|strip| self.solve(exchange.returned, strip));
        if band.is_none() {
            self.start_over(exchange);
            return Observed::Broke;
        }
        self.exchanges.push_back(*exchange);
        self.band = band;
        Observed::Taken
    }

    fn band(&self) -> Option<Band> {
        self.band
    }
}

/// The height at a time of the line of this slope through a corner, rounded.
fn along(corner: Corner, slope: Slope, now: LocalTime, divide: fn(i128, i128) -> i128) -> i64 {
    let rise = i128::from(now.as_nanos() - corner.at) * i128::from(slope.rise);
    corner.height.saturating_add(divide(rise, i128::from(slope.run)) as i64)
}

fn ppb(slope: Slope, divide: fn(i128, i128) -> i128) -> i64 {
    divide(i128::from(slope.rise) * 1_000_000_000, i128::from(slope.run)) as i64
}

fn div_ceil(value: i128, by: i128) -> i128 {
    -(-value).div_euclid(by)
}
