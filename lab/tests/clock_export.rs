//! A dozen random settings with real players' machines: once the newest DR vector has arrived, the placed position is off
//! by at most the entity's speed times the error bounds of the two clocks.

use evenkeel_core::{Draws, Seed, Span};
use evenkeel_dr::PolicyKind;
use evenkeel_lab::clock::Filter;
use evenkeel_lab::dr::{Sampling, run};
use evenkeel_lab::parallel::{Progress, map};
use evenkeel_lab::scenario::{Receiver, Scenario, ScenarioClock, ScenarioTopology};
use evenkeel_link::{ClockFaults, ClockStep, DelayLaw, Jitter, LinkFaults, Loss, TrueTime};

const SETTINGS: u64 = 12;
const DURATION: Span = Span::from_secs(40);
/// Owner and receiver project the same rounded vector, so only floating-point errors remain.
const ROUNDING: f64 = 1e-6;
/// How long after a step the next exchanges reveal it.
const NOTICED_AFTER: Span = Span::from_secs(1);

fn millis(draws: &mut Draws, low: f64, high: f64) -> Span {
    Span::from_millis_f64(draws.uniform(low, high))
}

fn way(draws: &mut Draws) -> LinkFaults {
    let base = millis(draws, 0.0, 150.0);
    let jitter = match draws.below(4) {
        0 => Jitter::Constant,
        1 => Jitter::Exponential { mean: millis(draws, 0.0, 50.0) },
        2 => Jitter::LogNormal { median: millis(draws, 0.0, 20.0), sigma: draws.uniform(0.0, 1.0) },
        _ => Jitter::Gamma { sd: base.part(2 + draws.below(6) as i64) },
    };
    let loss = Loss::Independent { probability: draws.uniform(0.0, 0.2) };
    LinkFaults { delay: DelayLaw { base, jitter }, loss, ..LinkFaults::default() }
}

fn clock(draws: &mut Draws) -> ClockFaults {
    let (offset, skew_ppm) = (millis(draws, -1e6, 1e6), draws.uniform(-120.0, 120.0));
    ClockFaults { offset, skew_ppm, ..ClockFaults::default() }
}

fn setting(seed: u64) -> Scenario {
    let mut draws = Seed::new(seed).draws();
    let receiver = |name: &str, draws: &mut Draws| Receiver {
        forward: way(draws),
        back: way(draws),
        clock: clock(draws),
        ..Receiver::at(name, Span::ZERO, Jitter::Constant)
    };
    Scenario {
        duration: DURATION,
        topology: ScenarioTopology::Relay { uplink: millis(&mut draws, 0.0, 100.0) },
        clock: ScenarioClock::Session(Filter::Hull),
        owner_clock: clock(&mut draws),
        receivers: vec![receiver("a", &mut draws), receiver("b", &mut draws)],
        ..Scenario::papers(Span::ZERO, 0.09)
    }
}

/// Counts the samples in which the bound could be checked, and describes those in which it was broken.
fn judge(scenario: &Scenario, seed: u64) -> (usize, Vec<String>) {
    let sampling =
        Sampling { from: Span::ZERO, until: DURATION, every: Span::from_millis(20), ledger: false };
    let figures = run(scenario, PolicyKind::BASE, seed, Some(sampling));
    let (mut checked, mut broken) = (0, Vec::new());
    for sample in &figures.samples {
        for (index, placement) in sample.placements.iter().enumerate() {
            let Some((distance, distance_max)) = placement.after_arrival() else { continue };
            checked += 1;
            let step =
                scenario.receivers[index].clock.steps.first().map(|step| step.at - TrueTime::default());
            let since = step.map(|step| Span::from_secs_f64(sample.at) - step);
            let is_unnoticed = since.is_some_and(|since| since >= Span::ZERO && since < NOTICED_AFTER);
            if distance > distance_max + ROUNDING && !is_unnoticed {
                broken.push(format!("seed {seed}, {} s, receiver {index}: {placement:?}", sample.at));
            }
        }
    }
    (checked, broken)
}

#[track_caller]
fn judge_all(settings: impl Fn(u64) -> Scenario + Sync) {
    let progress = Progress::default();
    progress.expect(SETTINGS as usize);
    let seeds: Vec<u64> = (1..=SETTINGS).collect();
    let judged = map(&seeds, &progress, |seed| Some(judge(&settings(*seed), *seed)))
        .expect("the run is not cancelled");
    for (seed, (checked, broken)) in seeds.iter().zip(judged) {
        assert!(broken.is_empty(), "{} times: {:#?}", broken.len(), &broken[..broken.len().min(5)]);
        assert!(checked > 500, "seed {seed}: only {checked} samples had the newest vector");
    }
}

#[test]
fn placement_is_within_the_clocks_error_bounds() {
    judge_all(setting);
}

#[test]
fn clock_step_breaks_the_bound_for_at_most_a_second() {
    judge_all(|seed| {
        let mut scenario = setting(seed);
        let by = Span::from_millis(if seed % 2 == 0 { 250 } else { 1_000 });
        let at = TrueTime::default() + Span::from_secs(20);
        scenario.receivers[0].clock.steps = vec![ClockStep { at, by }];
        scenario
    });
}

#[test]
fn bounds_of_averaging_do_not_hold() {
    let broken = |seed| {
        let scenario = Scenario { clock: ScenarioClock::Session(Filter::Averaging), ..setting(seed) };
        judge(&scenario, seed).1.len()
    };
    assert!((1..=3).all(|seed| broken(seed) > 500));
}

#[test]
fn session_clocks_without_faults_match_synchronized_ones() {
    let aee = |clock| {
        let mut scenario = setting(1);
        (scenario.clock, scenario.owner_clock) = (clock, ClockFaults::default());
        scenario.warmup = Span::from_secs(10);
        for receiver in &mut scenario.receivers {
            (receiver.clock, receiver.forward) =
                (ClockFaults::default(), LinkFaults::constant(Span::from_millis(80)));
            receiver.back = receiver.forward.clone();
        }
        run(&scenario, PolicyKind::BASE, 1, None).mean_aee()
    };
    let (synchronized, session) =
        (aee(ScenarioClock::Synchronized), aee(ScenarioClock::Session(Filter::Hull)));
    assert!((session / synchronized - 1.0).abs() < 1e-3, "{session} instead of {synchronized}");
}
