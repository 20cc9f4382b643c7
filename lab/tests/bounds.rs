//! The bounds, compared with the simulator and with brute force.

use evenkeel_core::{SessionTime, Span, Vec3};
use evenkeel_dr::{Budget, DrVector, MotionKind, MotionState, PolicyKind, export_error};
use evenkeel_lab::batch::check_bounded;
use evenkeel_lab::bounds::{ExportedPath, Frontier, SHOWN_MAX, bounds};
use evenkeel_lab::dr::{exported, run};
use evenkeel_lab::scenario::Scenario;
use proptest::prelude::*;

fn papers(threshold: f64, seconds: i64) -> Scenario {
    Scenario { duration: Span::from_secs(seconds), ..Scenario::papers(Span::ZERO, threshold) }
}

fn delays(scenario: &Scenario) -> Vec<Span> {
    scenario.receivers.iter().map(|receiver| receiver.forward.delay.base).collect()
}

#[test]
fn floor_is_the_error_of_base_at_constant_delays() {
    let mut scenario = papers(0.3, 60);
    scenario.receivers.truncate(2);
    let figures = run(&scenario, PolicyKind::BASE, 4, None);
    let until = SessionTime::default() + scenario.duration;
    let bounds = bounds(&exported(&scenario, 4), &delays(&scenario), figures.sent as f64, until);
    for (floor, receiver) in bounds.floors.iter().zip(&figures.receivers) {
        assert!((floor / receiver.aee - 1.0).abs() < 1e-9, "{floor} {}", receiver.aee);
    }
}

#[test]
fn no_policy_of_the_papers_beats_the_least_mean_at_constant_delays() {
    let scenario = papers(0.3, 60);
    let paths = exported(&scenario, 5);
    let until = SessionTime::default() + scenario.duration;
    for policy in ["base", "base-1/3", "deterministic-budget", "probabilistic-budget:pa"] {
        let figures = run(&scenario, policy.parse().unwrap(), 5, None);
        let bounds = bounds(&paths, &delays(&scenario), figures.sent as f64, until);
        assert!(figures.mean_aee() >= bounds.least_mean, "{policy}: {} {bounds:?}", figures.mean_aee());
        assert!(bounds.equal >= bounds.least_mean, "{bounds:?}");
    }
}

/// A path of `vectors` vectors, a tenth of a second apart, each in another direction.
fn long_path(vectors: usize) -> ExportedPath {
    let step = Span::from_millis(100);
    let vector = |index: usize| {
        let state = MotionState { velocity: Vec3::xy(1.0, (index % 7) as f64), ..MotionState::default() };
        DrVector::generate(SessionTime::default() + step.times(index as i64), &state, MotionKind::Linear)
    };
    ExportedPath { vectors: (0..vectors).map(vector).collect(), ended: None }
}

#[test]
fn at_least_one_vector_of_shown_max_is_sent() {
    let until = SessionTime::default() + Span::from_secs(100);
    let fewest = |vectors| {
        let mut frontier = Frontier::new(&[long_path(vectors)], Span::ZERO, until);
        frontier.sends_for(f64::INFINITY)
    };
    assert_eq!([fewest(SHOWN_MAX), fewest(SHOWN_MAX + 1)], [0.0, 1.0]);
    assert_eq!([fewest(2 * SHOWN_MAX), fewest(2 * SHOWN_MAX + 1)], [1.0, 2.0]);
}

#[test]
fn budget_below_one_vector_of_shown_max_has_no_bounds() {
    let least = 3.0 / SHOWN_MAX as f64;
    let with = |budget: f64| Scenario { budget: Budget::new(budget).unwrap(), ..papers(0.09, 60) };
    assert!(check_bounded(&with(least)).is_ok());
    let error = check_bounded(&with(0.99 * least)).expect_err("the budget is too small");
    assert!(error.to_string().contains("at least 0.012 per trigger"), "{error}");
}

/// A path with random turns at random times.
fn path() -> impl Strategy<Value = ExportedPath> {
    let vector = (10_i64..400, -20.0..20.0, -20.0..20.0);
    prop::collection::vec(vector, 1..9).prop_map(|steps| {
        let (mut at, mut position, mut vectors) = (SessionTime::default(), Vec3::ZERO, Vec::new());
        for (millis, x, y) in steps {
            let velocity = Vec3::xy(x, y);
            let state = MotionState { position, velocity, ..MotionState::default() };
            vectors.push(DrVector::generate(at, &state, MotionKind::Linear));
            let step = Span::from_millis(millis);
            position = position + velocity * step.as_secs_f64();
            at += step;
        }
        ExportedPath { vectors, ended: None }
    })
}

/// The error at a receiver that is sent the first vector and those whose bit is set.
fn error_of(path: &ExportedPath, sent: u32, delay: Span, until: SessionTime) -> f64 {
    let vectors = &path.vectors;
    let made = |index: usize| vectors.get(index).map_or(until, |vector| vector.generated);
    let mut error = 0.0;
    let mut chosen: Vec<usize> =
        (0..vectors.len()).filter(|index| *index == 0 || sent & (1 << index) != 0).collect();
    chosen.push(vectors.len());
    for pair in chosen.windows(2) {
        let from = made(pair[0]) + delay;
        let to = if pair[1] == vectors.len() { until } else { made(pair[1]) + delay };
        for (index, vector) in vectors.iter().enumerate() {
            let (begin, end) = (from.max(made(index)), to.min(made(index + 1)).min(until));
            error += export_error(vector, &vectors[pair[0]], begin, end);
        }
    }
    error
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn frontier_is_the_lower_hull_of_all_subsets(path in path(), millis in 0_i64..500, few in 0_u32..9) {
        let delay = Span::from_millis(millis);
        let until = path.vectors.last().unwrap().generated + Span::from_secs(1);
        let all: Vec<(u32, f64)> = (0..1_u32 << path.vectors.len())
            .filter(|sent| sent & 1 == 0)
            .map(|sent| (sent.count_ones(), error_of(&path, sent, delay, until)))
            .collect();
        let mut frontier = Frontier::new(std::slice::from_ref(&path), delay, until);
        let least = frontier.error_with(f64::from(few));
        // The best mixture of two subsets that sends `few` on average.
        let mut best = f64::INFINITY;
        for (n, a) in &all {
            for (m, b) in &all {
                let [n, m, few] = [*n, *m, few].map(f64::from);
                if n <= few && few < m {
                    let share = (few - n) / (m - n);
                    best = best.min(a + share * (b - a));
                }
                if n <= few {
                    best = best.min(*a);
                }
            }
        }
        prop_assert!((least - best).abs() <= 1e-6 * best.max(1.0), "{least} {best}");
        let back = frontier.sends_for(least);
        prop_assert!(back <= f64::from(few) + 1e-6, "{back} {few}");
    }
}
