//! Figure 4: mean and standard deviation of the accumulated error, scheduled and sent at once.
//!
//! Two curves are ours to tell apart: the algorithm as printed, and the one that its proof is about, which takes into
//! account what is still in flight.

use evenkeel_core::Span;
use evenkeel_dr::PolicyKind;

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::dr::{RunFigures, Sampling};
use crate::figure::{Drawing, Figure, Plot, Table};
use crate::papers::study::{Setup, curve_over_time, over_runs};
use crate::parallel::Cancelled;
use crate::scenario::Scenario;
use crate::stats::{mean, population_sd};

const NAMES: [&str; 3] = ["sent at once (base)", "scheduled, as printed", "scheduled, consistent"];

/// Runs figure 4.
pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let scenario = Scenario::papers(Span::from_millis(100), 0.09);
    let policies = [PolicyKind::BASE, PolicyKind::Netgames05, PolicyKind::Netgames05Consistent];
    let cases = policies.map(|policy| (&scenario, policy));
    let sampling = Sampling { from: Span::ZERO, until: scenario.duration, every: Span::from_secs(3) };
    let results = setup.run(&cases, Some(sampling))?;
    Ok(vec![Figure {
        key: "aggarwal05/fig4".to_owned(),
        title: "Scheduling evens the error out; what it costs depends on what is counted as arrived"
            .to_owned(),
        caption: format!(
            "800 / 500 / 200 ms, each ±100 ms uniform, random motion, threshold 0.09, heartbeat 1 s, 20 ms ticks; {}. \
             Bands: one standard deviation over the runs.",
            setup.seeds_in_words()
        ),
        plots: vec![
            plot(&results, "mean accumulated error (units·s)", mean),
            plot(&results, "spread of accumulated error (units·s)", population_sd),
        ],
        columns: 2,
        table: table(&results),
        claims: claims(&results),
    }])
}

fn plot(results: &[Vec<RunFigures>], label: &str, figure: impl Fn(&[f64]) -> f64) -> Plot {
    let curves = NAMES.iter().zip(results).map(|(name, runs)| curve_over_time(name, runs, &figure));
    Plot {
        title: String::new(),
        x_label: "time (s)".to_owned(),
        y_label: label.to_owned(),
        drawing: Drawing::Curves(curves.collect()),
    }
}

/// Spread, mean and vectors sent, each relative to base.
fn ratios(results: &[Vec<RunFigures>], index: usize) -> [f64; 3] {
    let ratio =
        |figure: fn(&RunFigures) -> f64| over_runs(&results[index], figure) / over_runs(&results[0], figure);
    [ratio(RunFigures::std_aee), ratio(RunFigures::mean_aee), ratio(|run| run.sent as f64)]
}

fn table(results: &[Vec<RunFigures>]) -> Table {
    let head =
        ["policy", "spread / base", "mean / base", "sent / base", "spread (units·s)", "mean (units·s)"];
    let row = |index: usize| {
        let [spread, mean, sent] = ratios(results, index);
        vec![
            NAMES[index].to_owned(),
            format!("{spread:.3}"),
            format!("{mean:.2}"),
            format!("{sent:.2}"),
            format!("{:.1}", over_runs(&results[index], RunFigures::std_aee)),
            format!("{:.1}", over_runs(&results[index], RunFigures::mean_aee)),
        ]
    };
    Table { head: head.map(str::to_owned).to_vec(), rows: (0..NAMES.len()).map(row).collect() }
}

fn claims(results: &[Vec<RunFigures>]) -> Vec<Claim> {
    let ([spread, mean, sent], [spread_consistent, mean_consistent, sent_consistent]) =
        (ratios(results, 1), ratios(results, 2));
    let claim = |number: u32, statement: &str, measured, verdict, expected| {
        let (id, source) = (format!("aggarwal05/fig4/{number}"), format!("{SOURCE}, 4.7"));
        Claim::new(id, source, statement, measured, verdict, expected)
    };
    vec![
        claim(
            1,
            "The spread with scheduling is much lower than without.",
            format!(
                "{spread:.2} of base as printed; {spread_consistent:.4} if what is in flight is counted at its \
                 estimated arrival (much lower: below half)"
            ),
            Verdict::read(spread < 0.5, spread_consistent < 0.5),
            Verdict::Differs,
        ),
        claim(
            2,
            "The mean increases multi-fold.",
            format!(
                "{mean:.2} of base as printed (multi-fold: at least 2). The consistent form, which alone evens the \
                 error out, gives everybody the farthest player's error: {mean_consistent:.2}"
            ),
            Verdict::of(mean >= 2.0),
            Verdict::Fails,
        ),
        claim(
            3,
            "Fewer DR vectors are needed.",
            format!("{sent:.2} of base's as printed, {sent_consistent:.2} consistent"),
            Verdict::of(sent < 1.0 && sent_consistent < 1.0),
            Verdict::Holds,
        ),
    ]
}
