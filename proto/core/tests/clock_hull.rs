//! The two-sided hull: the certified interval contains the true offset and is as narrow as possible.

use evenkeel_core::clock::band::SKEW_PPB_MAX;
use evenkeel_core::clock::hull::EXCHANGES_MAX;
use evenkeel_core::clock::{Band, Exchange, Hull, Observed, OffsetEstimator};
use evenkeel_core::{Draws, LocalTime, Seed, SessionTime, Span};
use proptest::prelude::*;

const MS: i64 = 1_000_000;

/// Two clocks and the path between them. The answerer's clock shows true time.
struct Path {
    offset: i64,
    skew_ppm: f64,
    up: i64,
    down: i64,
    jitter: f64,
    draws: Draws,
}

impl Path {
    /// Reads the asker's clock: the remote one is ahead of it by `offset` and gains `skew_ppm`.
    fn local(&self, remote: i64) -> i64 {
        ((remote - self.offset) as f64 / (1.0 + self.skew_ppm / 1e6)).floor() as i64
    }

    fn jitter(&mut self) -> i64 {
        self.draws.exponential(self.jitter) as i64
    }

    fn exchange(&mut self, sent: i64) -> Exchange {
        let arrived = sent + self.up + self.jitter();
        let left = arrived + self.draws.below(5_000_000) as i64;
        let returned = left + self.down + self.jitter();
        Exchange {
            sent: LocalTime::from_nanos(self.local(sent)),
            arrived: SessionTime::from_nanos(arrived),
            left: SessionTime::from_nanos(left),
            returned: LocalTime::from_nanos(self.local(returned)),
        }
    }

    /// Makes ten exchanges a second, in the order of their return.
    fn exchanges(&mut self, count: i64) -> Vec<Exchange> {
        let mut exchanges: Vec<_> = (0..count).map(|index| self.exchange(index * 100 * MS)).collect();
        exchanges.sort_by_key(|exchange| exchange.returned);
        exchanges
    }
}

fn contains_truth(band: &Band, local: i64, remote: i64) -> bool {
    let (now, truth) = (LocalTime::from_nanos(local), Span::from_nanos(remote - local));
    // The rounding of two readings.
    let rounding = Span::from_nanos(2);
    band.low(now) <= truth + rounding && truth <= band.high(now) + rounding
}

/// Computes the band at a time by trying every pair of points.
fn by_pairs(exchanges: &[Exchange], now: LocalTime) -> (f64, f64) {
    let limit = SKEW_PPB_MAX as f64 / 1e9;
    let (mut flattest, mut steepest) = (-limit, limit);
    for a in exchanges {
        for b in exchanges {
            let run = (a.sent - b.returned).as_nanos() as f64;
            let slope = (a.upper() - b.lower() + Span::from_nanos(4)).as_nanos() as f64 / run;
            if run > 0.0 {
                steepest = steepest.min(slope);
            } else if run < 0.0 {
                flattest = flattest.max(slope);
            }
        }
    }
    let run = |from: LocalTime| (now - from).as_nanos() as f64;
    let high = exchanges.iter().map(|e| e.upper().as_nanos() as f64 + 2.0 + steepest * run(e.sent));
    let low = exchanges.iter().map(|e| e.lower().as_nanos() as f64 - 2.0 + flattest * run(e.returned));
    (low.fold(f64::MIN, f64::max), high.fold(f64::MAX, f64::min))
}

proptest! {
    #[test]
    fn the_band_contains_the_truth_now_and_later(
        seed: u64,
        offset in -1_000_000 * MS..1_000_000 * MS,
        skew_ppm in -199.0..199.0f64,
        up in 0..400 * MS,
        down in 0..400 * MS,
        jitter in 0.0..50e6f64,
        count in 1..450i64,
    ) {
        let draws = Seed::new(seed).draws();
        let mut path = Path { offset, skew_ppm, up, down, jitter, draws };
        let mut hull = Hull::default();
        for exchange in path.exchanges(count) {
            // The band must be right even if the exchange caused a break by mistake, which is rare.
            hull.observe(&exchange);
            let band = hull.band().expect("an exchange was used");
            for later in [0, 50, 1_000, 30_000] {
                // The true time of the return, recovered from the local reading.
                let local = exchange.returned.as_nanos() + later * MS;
                let remote = (local as f64 * (1.0 + skew_ppm / 1e6)).floor() as i64 + offset;
                prop_assert!(contains_truth(&band, local, remote), "{later} ms: {band:?}");
            }
        }
    }

    #[test]
    fn the_band_matches_a_search_over_all_pairs_of_points(
        seed: u64,
        skew_ppm in -199.0..199.0f64,
        up in 0..2 * MS,
        jitter in 0.0..0.5e6f64,
        count in 1..250i64,
    ) {
        // Short paths, so that the exchanges bound the skew more narrowly than 200 ppm.
        let draws = Seed::new(seed).draws();
        let mut path = Path { offset: 7 * MS, skew_ppm, up, down: MS / 10, jitter, draws };
        let exchanges = path.exchanges(count);
        let mut hull = Hull::default();
        for exchange in &exchanges {
            hull.observe(exchange);
        }
        let band = hull.band().expect("exchanges were used");
        for later in [0, 100, 10_000] {
            let now = band.at + Span::from_millis(later);
            let (low, high) = by_pairs(&exchanges, now);
            // Rates are rounded outward to parts per billion: ten nanoseconds in ten seconds.
            let (below, above) = (low - band.low(now).as_nanos() as f64, band.high(now).as_nanos() as f64 - high);
            prop_assert!((-1.0..13.0).contains(&below) && (-1.0..13.0).contains(&above), "{below} {above}");
        }
    }

    #[test]
    fn any_exchange_is_handled_in_bounded_memory(
        echoes in prop::collection::vec((any::<i64>(), any::<i64>(), any::<i64>(), any::<i64>()), 1..50),
    ) {
        let mut hull = Hull::default();
        let mut now = LocalTime::MIN;
        for (sent, arrived, held, step) in echoes {
            now = now.max(LocalTime::from_nanos(step));
            let echo = evenkeel_core::ClockFrame::Echo {
                probe: LocalTime::from_nanos(sent),
                arrived: SessionTime::from_nanos(arrived),
                held: Span::from_nanos(held),
            };
            if let Some(exchange) = Exchange::complete(&echo, now) {
                hull.observe(&exchange);
                prop_assert!(hull.band().is_some_and(|band| band.low(now) <= band.high(now)) || hull.is_empty());
            }
        }
        prop_assert!(hull.len() <= EXCHANGES_MAX);
    }
}

#[test]
fn a_clock_step_breaks_the_hull_once_and_it_recovers() {
    for (step, jitter) in [(-900, 0.0), (-60, 5e6), (-12, 1e6), (12, 1e6), (60, 5e6), (900, 20e6)] {
        let mut path = Path {
            offset: 0,
            skew_ppm: 80.0,
            up: 50 * MS,
            down: 150 * MS,
            jitter,
            draws: Seed::new(1).draws(),
        };
        let mut hull = Hull::default();
        let mut breaks = 0;
        for index in 0..600 {
            if index == 300 {
                path.offset += step * MS;
            }
            let exchange = path.exchange(index * 200 * MS);
            breaks += u32::from(hull.observe(&exchange) == Observed::Broke);
        }
        assert_eq!(breaks, 1, "a step of {step} ms");
        let last = 599 * 200 * MS + 1_000 * MS;
        let band = hull.band().expect("the hull has recovered");
        assert!(contains_truth(&band, path.local(last), last), "after a step of {step} ms");
    }
}

#[test]
fn a_longer_path_breaks_nothing_and_a_shorter_one_stays_certified() {
    for (up, down) in [(100, 300), (300, 100), (300, 300), (20, 100), (100, 20), (0, 0), (20, 300)] {
        let draws = Seed::new(2).draws();
        let (skew_ppm, jitter) = (-80.0, 10e6);
        let mut path = Path { offset: 0, skew_ppm, up: 100 * MS, down: 100 * MS, jitter, draws };
        let mut hull = Hull::default();
        let mut breaks = 0;
        for index in 0..300 {
            if index == 150 {
                (path.up, path.down) = (up * MS, down * MS);
            }
            let exchange = path.exchange(index * 100 * MS);
            breaks += u32::from(hull.observe(&exchange) == Observed::Broke);
            let band = hull.band().expect("an exchange was used");
            let remote = index * 100 * MS + 1_000 * MS;
            assert!(
                contains_truth(&band, path.local(remote), remote),
                "exchange {index}, path {up} + {down} ms"
            );
        }
        assert_eq!(breaks, u32::from(up < 100 || down < 100), "path {up} + {down} ms");
    }
}

#[test]
fn a_flood_of_exchanges_stays_within_its_limit() {
    let mut path =
        Path { offset: 0, skew_ppm: 0.0, up: MS, down: MS, jitter: 1e5, draws: Seed::new(3).draws() };
    let mut hull = Hull::default();
    for index in 0..5_000 {
        let exchange = path.exchange(index * 10 * MS);
        hull.observe(&exchange);
        assert!(hull.len() <= EXCHANGES_MAX);
    }
    assert!(hull.len() > EXCHANGES_MAX / 2);
}
