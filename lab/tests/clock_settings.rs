//! A thousand random settings: the truth is inside of the certified interval in every second, but for the time
//! between a step of a clock and the event that tells of it.

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

/// A way with a base delay of up to 400 ms, jitter that only adds, loss, and perhaps a change of the path.
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

/// What came of one setting.
#[derive(Default)]
struct Verdict {
    looks: u64,
    fixed: u64,
    /// Seconds in which the truth was outside, though no step explains it.
    outside: Vec<String>,
    /// For how long after a step the truth was outside.
    late: Span,
    is_stepped: bool,
}

/// A clock that is set back stands still until it has caught up: only then its step is over.
fn step(setting: &ClockSetting) -> Option<(TrueTime, TrueTime)> {
    let mut steps = setting.server.steps.iter().chain(&setting.follower.steps);
    steps.next().map(|step| (step.at, step.at + (-step.by).max(Span::ZERO)))
}

fn judge(seed: u64) -> Verdict {
    let setting = setting(seed);
    let step = step(&setting);
    let mut verdict = Verdict { is_stepped: step.is_some(), ..Verdict::default() };
    let (mut breaks_before, mut noticed, mut is_told) = (0, None, false);
    run::<Hull>(&setting, seed, Span::from_secs(1), DURATION, |look| {
        verdict.looks += 1;
        verdict.fixed += u64::from(look.shown.is_some());
        let begun = step.filter(|(begun, _)| *begun <= look.at);
        if begun.is_none() {
            breaks_before = look.breaks;
        }
        if let Some((_, ended)) = begun.filter(|_| look.breaks > breaks_before) {
            // A correction that is small enough to be slewed is not told at all.
            let noticed = *noticed.get_or_insert(look.at);
            is_told |=
                look.events.iter().any(|(at, _)| *at > ended) || look.at - noticed > Span::from_secs(4);
        }
        if look.is_certified() {
            return;
        }
        match begun {
            Some((_, ended)) if !is_told => verdict.late = verdict.late.max(look.at - ended),
            _ => verdict.outside.push(format!("setting {seed}: {look:?}, step {step:?}")),
        }
    });
    verdict
}

#[test]
fn the_truth_is_inside_in_every_second_of_a_thousand_settings() {
    let progress = Progress::default();
    progress.expect(SETTINGS as usize);
    let seeds: Vec<u64> = (1..=SETTINGS).collect();
    let verdicts = map(&seeds, &progress, |seed| Some(judge(*seed))).expect("nobody cancels it");
    let outside: Vec<&String> = verdicts.iter().flat_map(|verdict| &verdict.outside).collect();
    assert!(outside.is_empty(), "{} times outside: {:#?}", outside.len(), &outside[..outside.len().min(5)]);
    let sum = |figure: fn(&Verdict) -> u64| verdicts.iter().map(figure).sum::<u64>();
    let (looks, fixed) = (sum(|verdict| verdict.looks), sum(|verdict| verdict.fixed));
    assert!(fixed * 100 > looks * 98, "there is a session time in {fixed} of {looks} seconds");
    // A step that is smaller than the jitter hides in it until the window has passed, but hardly ever.
    let stepped = sum(|verdict| u64::from(verdict.is_stepped));
    let slow = sum(|verdict| u64::from(verdict.late > Span::from_secs(1)));
    assert!(stepped > 300 && slow * 50 <= stepped, "{slow} of {stepped} steps took more than a second");
    assert!(verdicts.iter().all(|verdict| verdict.late < Span::from_secs(33)));
}
