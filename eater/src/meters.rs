//! What a peer measures of its rounds: now, over the last ten seconds, and since it began.

use std::collections::VecDeque;

use evenkeel_core::{LocalTime, Span};
use evenkeel_neo::{PlayedMove, UnusedReason};

/// What the page calls now.
const WINDOW_SECONDS: usize = 10;
/// Points of the page's curve.
const HISTORY_SECONDS: usize = 90;
/// The width of a bin of the histogram.
const BIN: Span = Span::from_millis(5);
/// Bins; the last one holds everything beyond.
const BINS: usize = 400;

/// Sums over some time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Window {
    /// Others' moves played out.
    pub played: u64,
    /// Others' moves not used, by reason in the order of [`UnusedReason::ALL`].
    pub unused: [u64; 5],
    playout_nanos: i128,
    age_nanos: i128,
    waiting_nanos: i128,
}

impl Window {
    fn add(&mut self, other: &Self) {
        self.played += other.played;
        self.playout_nanos += other.playout_nanos;
        self.age_nanos += other.age_nanos;
        self.waiting_nanos += other.waiting_nanos;
        self.unused.iter_mut().zip(other.unused).for_each(|(sum, count)| *sum += count);
    }

    fn mean(&self, nanos: i128) -> Option<f64> {
        (self.played > 0).then(|| nanos as f64 / self.played as f64 / 1e6)
    }

    /// The mean playout delay, in milliseconds.
    #[must_use]
    pub fn playout_ms(&self) -> Option<f64> {
        self.mean(self.playout_nanos)
    }

    /// The mean age of moves when they are shown, in milliseconds.
    #[must_use]
    pub fn age_ms(&self) -> Option<f64> {
        self.mean(self.age_nanos)
    }

    /// The mean time that moves waited here, in milliseconds.
    #[must_use]
    pub fn waiting_ms(&self) -> Option<f64> {
        self.mean(self.waiting_nanos)
    }

    /// The share of moves that were not used.
    #[must_use]
    pub fn unused_share(&self) -> Option<f64> {
        let unused: u64 = self.unused.iter().sum();
        let all = self.played + unused;
        (all > 0).then(|| unused as f64 / all as f64)
    }
}

/// A second of the past.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Second {
    pub(crate) number: i64,
    pub(crate) window: Window,
}

/// The meters of a peer.
#[derive(Clone, Debug)]
pub(crate) struct Meters {
    seconds: VecDeque<Second>,
    total: Window,
    playouts: Vec<u64>,
}

impl Default for Meters {
    fn default() -> Self {
        Self { seconds: VecDeque::new(), total: Window::default(), playouts: vec![0; BINS] }
    }
}

impl Meters {
    /// Counts a move that was played out.
    pub(crate) fn handle_played(&mut self, now: LocalTime, played: &PlayedMove) {
        let (playout, age) = (played.playout(), played.age());
        let window = Window {
            played: 1,
            playout_nanos: playout.as_nanos().into(),
            age_nanos: age.as_nanos().into(),
            waiting_nanos: played.waiting().as_nanos().into(),
            unused: [0; 5],
        };
        let bin = usize::try_from(playout.as_nanos() / BIN.as_nanos()).unwrap_or(0).min(BINS - 1);
        self.playouts[bin] += 1;
        self.add(now, &window);
    }

    /// Counts a move that will not be used.
    pub(crate) fn handle_unused(&mut self, now: LocalTime, reason: UnusedReason) {
        let mut window = Window::default();
        window.unused[reason as usize] = 1;
        self.add(now, &window);
    }

    fn add(&mut self, now: LocalTime, window: &Window) {
        self.total.add(window);
        let number = now.as_nanos() / Span::from_secs(1).as_nanos();
        match self.seconds.back_mut() {
            Some(second) if second.number >= number => second.window.add(window),
            _ => {
                if self.seconds.len() == HISTORY_SECONDS {
                    self.seconds.pop_front();
                }
                self.seconds.push_back(Second { number, window: *window });
            }
        }
    }

    /// The last ten seconds.
    pub(crate) fn recent(&self, now: LocalTime) -> Window {
        let number = now.as_nanos() / Span::from_secs(1).as_nanos();
        let mut sum = Window::default();
        let is_recent = |second: &&Second| number - second.number < WINDOW_SECONDS as i64;
        self.seconds.iter().rev().take_while(is_recent).for_each(|second| sum.add(&second.window));
        sum
    }

    /// Everything so far.
    pub(crate) const fn total(&self) -> Window {
        self.total
    }

    /// The curve's seconds, oldest first.
    pub(crate) fn history(&self) -> impl Iterator<Item = &Second> {
        self.seconds.iter()
    }

    /// The playout delay that this share of moves stays below, in milliseconds.
    pub(crate) fn playout_quantile_ms(&self, share: f64) -> Option<f64> {
        let rank = share * self.total.played as f64;
        let mut sum = 0;
        let bin = self.playouts.iter().position(|count| {
            sum += count;
            sum > 0 && sum as f64 >= rank
        })?;
        Some((bin + 1) as f64 * BIN.as_millis_f64())
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::{PeerId, SessionTime};

    use super::*;

    fn played(playout_ms: i64) -> PlayedMove {
        let at = |millis: i64| SessionTime::from_nanos(millis * 1_000_000);
        PlayedMove {
            from: PeerId(1),
            slot: 1,
            made: at(0),
            revealed: at(200),
            arrived: at(200 + playout_ms / 2),
            played: at(200 + playout_ms),
            is_in_time: true,
            votes: (1, 1),
            bytes: Vec::new(),
        }
    }

    #[test]
    fn the_window_forgets_and_the_total_does_not() {
        let at = |seconds| LocalTime::default() + Span::from_secs(seconds);
        let mut meters = Meters::default();
        for second in 0..20 {
            meters.handle_played(at(second), &played(if second < 10 { 100 } else { 50 }));
        }
        meters.handle_unused(at(19), UnusedReason::NeverArrived);
        let (recent, total) = (meters.recent(at(19)), meters.total());
        assert_eq!((recent.played, total.played), (10, 20));
        assert_eq!((recent.playout_ms(), total.playout_ms()), (Some(50.0), Some(75.0)));
        assert_eq!(recent.age_ms(), Some(250.0));
        assert_eq!(recent.waiting_ms(), Some(25.0));
        assert_eq!(total.unused_share(), Some(1.0 / 21.0));
        assert_eq!(meters.playout_quantile_ms(0.5), Some(55.0));
        assert_eq!(meters.playout_quantile_ms(0.99), Some(105.0));
        assert_eq!(meters.recent(at(60)), Window::default());
    }
}
