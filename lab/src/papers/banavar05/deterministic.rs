//! Figures 3.19 to 3.21: the deterministic budget algorithm against the base cases, at fixed delays.

use core::num::NonZeroU32;

use evenkeel_core::Span;
use evenkeel_dr::PolicyKind;
use evenkeel_dr::fairness::frequency::Weights;

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::dr::{RunFigures, Sampling};
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::study::{Setup, curve_over_time, over_runs};
use crate::parallel::Cancelled;
use crate::scenario::Scenario;
use crate::stats::{mean, population_sd};

const EVERY: Span = Span::from_secs(3);
const THIRD: NonZeroU32 = NonZeroU32::new(3).expect("three is not zero");
const EQUAL: f64 = 1.0 / 3.0;
const MIX: Weights = Weights { accumulated: EQUAL, instantaneous: EQUAL, time: EQUAL };

/// One policy over the seeds.
struct Measured {
    name: &'static str,
    runs: Vec<RunFigures>,
}

impl Measured {
    fn std(&self) -> f64 {
        over_runs(&self.runs, RunFigures::std_aee)
    }

    fn mean(&self) -> f64 {
        over_runs(&self.runs, RunFigures::mean_aee)
    }

    fn receiver(&self, index: usize) -> f64 {
        over_runs(&self.runs, |run| run.receivers[index].aee)
    }

    fn sent(&self) -> f64 {
        over_runs(&self.runs, |run| run.sent as f64)
    }
}

/// Runs figures 3.19 to 3.21.
pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let scenario = Scenario::papers(Span::ZERO, 0.09);
    let deterministic = |weights| PolicyKind::DeterministicBudget { weights };
    let policies = [
        ("base", PolicyKind::BASE),
        ("1/3 base", PolicyKind::Base { every: THIRD }),
        ("deterministic (PA)", deterministic(Weights::PA)),
        ("deterministic (PI)", deterministic(Weights::PI)),
        ("deterministic (PT)", deterministic(Weights::PT)),
        ("deterministic (mix)", deterministic(MIX)),
    ];
    let cases = policies.map(|(_, policy)| (&scenario, policy));
    let sampling = Sampling { from: Span::ZERO, until: scenario.duration, every: EVERY };
    let results = setup.run(&cases, Some(sampling))?;
    let measured: Vec<Measured> =
        policies.iter().zip(results).map(|((name, _), runs)| Measured { name, runs }).collect();
    let caption = format!(
        "800 / 500 / 200 ms without variation, random motion, threshold 0.09, heartbeat 1 s, 20 ms ticks, 300 s; \
         budget 1 DR vector per trigger; {}.",
        setup.seeds_in_words()
    );
    let figure = |name: &str, title: &str, plot, claims| Figure {
        key: format!("banavar05/{name}"),
        title: title.to_owned(),
        caption: caption.clone(),
        plots: vec![plot],
        columns: 1,
        table: table(&measured, &scenario),
        claims,
    };
    Ok(vec![
        figure(
            "fig3.19",
            "The deterministic budget algorithm spreads the error more evenly than either base case",
            over_time(&measured, "spread of accumulated error (units·s)", population_sd),
            spread_claims(&measured),
        ),
        figure(
            "fig3.20",
            "The deterministic budget algorithm keeps the mean error near that of 1/3 base",
            over_time(&measured, "mean accumulated error (units·s)", mean),
            mean_claims(&measured),
        ),
        figure(
            "fig3.21",
            "Under the deterministic budget algorithm the far player gains what the near player pays",
            by_receiver(&measured, &scenario),
            receiver_claims(&measured),
        ),
    ])
}

fn over_time(measured: &[Measured], label: &str, figure: impl Fn(&[f64]) -> f64) -> Plot {
    let curves = measured[..3].iter().map(|policy| curve_over_time(policy.name, &policy.runs, &figure));
    Plot {
        title: String::new(),
        x_label: "time (s)".to_owned(),
        y_label: label.to_owned(),
        drawing: Drawing::Curves(curves.collect()),
    }
}

fn by_receiver(measured: &[Measured], scenario: &Scenario) -> Plot {
    let name = |receiver: &crate::scenario::Receiver| {
        format!("{}, {:.0} ms", receiver.name, receiver.delay().as_millis_f64())
    };
    let bars = |policy: &Measured| Bars {
        name: policy.name.to_owned(),
        heights: (0..scenario.receivers.len()).map(|index| policy.receiver(index)).collect(),
    };
    Plot {
        title: String::new(),
        x_label: "player".to_owned(),
        y_label: "accumulated error after 300 s (units·s)".to_owned(),
        drawing: Drawing::Bars {
            categories: scenario.receivers.iter().map(name).collect(),
            groups: measured[..3].iter().map(bars).collect(),
        },
    }
}

fn table(measured: &[Measured], scenario: &Scenario) -> Table {
    let third = &measured[1];
    let mut head = vec![
        "policy".to_owned(),
        "spread / 1/3 base".to_owned(),
        "mean / 1/3 base".to_owned(),
        "sent / 1/3 base".to_owned(),
    ];
    head.extend(scenario.receivers.iter().map(|receiver| format!("{} (units·s)", receiver.name)));
    let row = |policy: &Measured| {
        let mut row = vec![
            policy.name.to_owned(),
            format!("{:.2}", policy.std() / third.std()),
            format!("{:.2}", policy.mean() / third.mean()),
            format!("{:.2}", policy.sent() / third.sent()),
        ];
        row.extend((0..scenario.receivers.len()).map(|index| format!("{:.0}", policy.receiver(index))));
        row
    };
    Table { head, rows: measured.iter().map(row).collect() }
}

fn claim(
    figure: &str,
    number: u32,
    statement: &str,
    measured: String,
    verdict: Verdict,
    expected: Verdict,
) -> Claim {
    let (id, source) = (format!("banavar05/{figure}/{number}"), format!("{SOURCE}, 3.4.2.2"));
    Claim::new(id, source, statement, measured, verdict, expected)
}

fn spread_claims(measured: &[Measured]) -> Vec<Claim> {
    let [base, third, pa, pi, pt, mix] = measured else { return Vec::new() };
    let keeps_mean = |policy: &Measured| policy.mean() <= 1.1 * third.mean();
    let others = [pi, pt, mix];
    let best = others.iter().all(|other| pa.std() <= other.std());
    let best_with_mean = keeps_mean(pa)
        && others.iter().filter(|other| keeps_mean(other)).all(|other| pa.std() <= other.std());
    vec![
        claim(
            "fig3.19",
            1,
            "The spread under the deterministic algorithm is lower than under base and under 1/3 base.",
            format!(
                "spread after 300 s: {:.0}, base {:.0}, 1/3 base {:.0} units·s",
                pa.std(),
                base.std(),
                third.std()
            ),
            Verdict::of(pa.std() < base.std() && pa.std() < third.std()),
            Verdict::Holds,
        ),
        claim(
            "fig3.19",
            2,
            "Of all weights, accumulated export error alone performs best.",
            format!(
                "spread / mean relative to 1/3 base: PA {}, PI {}, PT {}, equal mix {}. PI spreads less at a much \
                 higher mean, so it holds only among those that keep the mean within 10 % (PI with waits bounded at \
                 four times an equal share; unbounded, as printed, it starves receivers)",
                ratio_pair(pa, third),
                ratio_pair(pi, third),
                ratio_pair(pt, third),
                ratio_pair(mix, third)
            ),
            Verdict::read(best, best_with_mean),
            Verdict::Differs,
        ),
    ]
}

fn ratio_pair(policy: &Measured, third: &Measured) -> String {
    format!("{:.2} / {:.2}", policy.std() / third.std(), policy.mean() / third.mean())
}

fn mean_claims(measured: &[Measured]) -> Vec<Claim> {
    let [_, third, pa, ..] = measured else { return Vec::new() };
    let ratio = pa.mean() / third.mean();
    vec![claim(
        "fig3.20",
        1,
        "The mean under the deterministic algorithm is almost the same as under 1/3 base.",
        format!("{ratio:.3} of it (almost the same: within 10 %)"),
        Verdict::of((ratio - 1.0).abs() <= 0.1),
        Verdict::Holds,
    )]
}

fn receiver_claims(measured: &[Measured]) -> Vec<Claim> {
    let [_, third, pa, ..] = measured else { return Vec::new() };
    let change: Vec<f64> = (0..3).map(|index| pa.receiver(index) / third.receiver(index)).collect();
    let changes =
        format!("far / middle / near: {:.2} / {:.2} / {:.2} of 1/3 base", change[0], change[1], change[2]);
    vec![
        claim(
            "fig3.21",
            1,
            "Somebody's error falls against 1/3 base and somebody's rises.",
            changes.clone(),
            Verdict::of(change.iter().any(|c| *c < 1.0) && change.iter().any(|c| *c > 1.0)),
            Verdict::Holds,
        ),
        claim(
            "fig3.21",
            2,
            "The highest error is brought down.",
            changes,
            Verdict::of(change[0] < 1.0),
            Verdict::Holds,
        ),
    ]
}
