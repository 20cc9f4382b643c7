//! A thousand random settings: the true time is inside the certified interval in every second, except between a step of a
//! clock and the event that reports it.

use evenkeel_core::clock::Hull;
use evenkeel_core::{Draws, Seed, Span};
use evenkeel_lab::clock::{ClockSetting, run};
use evenkeel_lab::parallel::{Progress, map};
use evenkeel_link::{ClockFaults, ClockStep, DelayLaw, DelayStep, Jitter, LinkFaults, Loss, TrueTime};

const SETTINGS: u64 = 1_000;
const DURATION: Span = Span::from_secs(120);

fn millis(draws: &mut Draws, low: f64, high: f64) -> Span {
    Span::from_millis_f64(draws.uniform(low, high))
}

fn instant(draws: &mut Draws) -> TrueTime {
    TrueTime::default() + millis(draws, 5_000.0, 50_000.0)
}

/// A link with jitter, loss and possibly a lasting change of its delay.
fn link(draws: &mut Draws, base: Span) -> LinkFaults {
    let jitter = match draws.below(5) {
        0 => Jitter::Constant,
        1 => Jitter::Exponential { mean: millis(draws, 0.0, 50.0) },
        2 => Jitter::LogNormal { median: millis(draws, 0.0, 20.0), sigma: draws.uniform(0.0, 1.5) },
        3 => Jitter::Uniform { half_width: base.part(1 + draws.below(4) as i64) },
        _ => Jitter::Gamma { sd: base.part(2 + draws.below(6) as i64) },
    };
    let loss = match draws.below(3) {
        0 => Loss::None,
        1 => Loss::Independent { probability: draws.uniform(0.0, 0.3) },
        _ => Loss::GilbertElliott {
            good_mean: millis(draws, 500.0, 5_000.0),
            bad_mean: millis(draws, 50.0, 1_000.0),
            loss_good: draws.uniform(0.0, 0.05),
            loss_bad: draws.uniform(0.1, 0.9),
        },
    };
    let step = DelayStep { at: instant(draws), delay: millis(draws, 0.0, 400.0) };
    let steps = if draws.chance(0.3) { vec![step] } else { Vec::new() };
    LinkFaults { delay: DelayLaw { base, jitter }, steps, loss, ..LinkFaults::default() }
}

fn clock(draws: &mut Draws, skew_ppm_max: f64, is_stepped: bool) -> ClockFaults {
    let size = millis(draws, 20.0, 2_000.0);
    let by = if draws.chance(0.5) { size } else { -size };
    let step = ClockStep { at: instant(draws), by };
    ClockFaults {
        offset: millis(draws, -1e6, 1e6),
        skew_ppm: draws.uniform(-skew_ppm_max, skew_ppm_max),
        steps: if is_stepped { vec![step] } else { Vec::new() },
    }
}

/// The two clocks differ by up to 150 ppm; at most one of them is stepped.
fn setting(seed: u64) -> ClockSetting {
    let mut draws = Seed::new(seed).draws();
    let up = millis(&mut draws, 0.0, 400.0);
    let down = if draws.chance(0.5) { up } else { millis(&mut draws, 0.0, 400.0) };
    let stepped = draws.below(6);
    ClockSetting {
        up: link(&mut draws, up),
        down: link(&mut draws, down),
        server: clock(&mut draws, 30.0, stepped == 0),
        follower: clock(&mut draws, 120.0, stepped == 1),
    }
}

/// The result of one setting.
#[derive(Default)]
struct SettingResult {
    samples: u64,
    synchronized: u64,
    /// Samples in which the true time was outside although no step explains it.
    outside: Vec<String>,
    /// How long after a step the true time was outside.
    late: Span,
    is_stepped: bool,
}

/// When a step begins and ends. A clock that is set back stands still until it has caught up, which ends its step.
fn step(setting: &ClockSetting) -> Option<(TrueTime, TrueTime)> {
    let mut steps = setting.server.steps.iter().chain(&setting.follower.steps);
    steps.next().map(|step| (step.at, step.at + (-step.by).max(Span::ZERO)))
}

fn judge(seed: u64) -> SettingResult {
    let setting = setting(seed);
    let step = step(&setting);
    let mut result = SettingResult { is_stepped: step.is_some(), ..SettingResult::default() };
    let (mut breaks_before, mut noticed, mut is_reported) = (0, None, false);
    run::<Hull>(&setting, seed, Span::from_secs(1), DURATION, |sample| {
        result.samples += 1;
        result.synchronized += u64::from(sample.shown.is_some());
        let begun = step.filter(|(begun, _)| *begun <= sample.at);
        if begun.is_none() {
            breaks_before = sample.breaks;
        }
        if let Some((_, ended)) = begun.filter(|_| sample.breaks > breaks_before) {
            // A correction small enough to be slewed is not reported.
            let noticed = *noticed.get_or_insert(sample.at);
            is_reported |=
                sample.events.iter().any(|(at, _)| *at > ended) || sample.at - noticed > Span::from_secs(4);
        }
        if sample.is_certified() {
            return;
        }
        match begun {
            Some((_, ended)) if !is_reported => result.late = result.late.max(sample.at - ended),
            _ => result.outside.push(format!("setting {seed}: {sample:?}, step {step:?}")),
        }
    });
    result
}

#[test]
fn true_time_is_inside_the_interval_in_a_thousand_settings() {
    let progress = Progress::default();
    progress.expect(SETTINGS as usize);
    let seeds: Vec<u64> = (1..=SETTINGS).collect();
    let results = map(&seeds, &progress, |seed| Some(judge(*seed))).expect("the run is not cancelled");
    let outside: Vec<&String> = results.iter().flat_map(|result| &result.outside).collect();
    assert!(outside.is_empty(), "{} times outside: {:#?}", outside.len(), &outside[..outside.len().min(5)]);
    let sum = |figure: fn(&SettingResult) -> u64| results.iter().map(figure).sum::<u64>();
    let (samples, synchronized) = (sum(|result| result.samples), sum(|result| result.synchronized));
    assert!(synchronized * 100 > samples * 98, "session time in {synchronized} of {samples} seconds");
    // A step smaller than the jitter can stay hidden until the window has passed; that is rare.
    let stepped = sum(|result| u64::from(result.is_stepped));
    let slow = sum(|result| u64::from(result.late > Span::from_secs(1)));
    assert!(stepped > 300 && slow * 50 <= stepped, "{slow} of {stepped} steps took more than a second");
    assert!(results.iter().all(|result| result.late < Span::from_secs(33)));
}
