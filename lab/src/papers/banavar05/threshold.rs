//! The effect of a lower threshold at a constant number of vectors sent (equation 3.5).

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::dr::RunFigures;
use crate::figure::{Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::cells::{Cell, Cells, Contender, Ratio, in_words, product, ratios_in_words};
use crate::papers::judgement::Test;
use crate::papers::setting::ExperimentSetting;
use crate::papers::study::Setup;
use crate::papers::view::Claims;
use crate::stats::{mean, population_sd};

/// Thresholds in hundredths, all with the same number of vectors sent.
const THRESHOLDS: [u16; 5] = [2, 5, 9, 20, 40];

/// Returns the cells of the figure.
pub(super) fn cells() -> Vec<Cell> {
    let settings = THRESHOLDS.map(ExperimentSetting::Threshold);
    product(&settings, &[Contender::PROBABILISTIC_PA, Contender::DETERMINISTIC_PA])
}

/// Draws the figure.
pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    let at = |hundredths: u16, contender| cells.of(ExperimentSetting::Threshold(hundredths), contender);
    let curve = |contender, figure: fn(&RunFigures) -> f64| Curve {
        name: Contender::label(contender),
        points: THRESHOLDS
            .iter()
            .map(|hundredths| {
                let values = at(*hundredths, contender).by_run(figure);
                CurvePoint {
                    x: f64::from(*hundredths) / 100.0,
                    y: mean(&values),
                    spread: population_sd(&values),
                }
            })
            .collect(),
    };
    let plot = |label: &str, figure: fn(&RunFigures) -> f64| Plot {
        title: String::new(),
        x_label: "distance threshold (units)".to_owned(),
        y_label: label.to_owned(),
        drawing: Drawing::Curves(vec![
            curve(Contender::PROBABILISTIC_PA, figure),
            curve(Contender::DETERMINISTIC_PA, figure),
        ]),
    };
    let row = |hundredths: &u16| {
        let (pa, deterministic) =
            (at(*hundredths, Contender::PROBABILISTIC_PA), at(*hundredths, Contender::DETERMINISTIC_PA));
        let scenario = cells.scenario(ExperimentSetting::Threshold(*hundredths));
        let budget = scenario.budget.per_trigger(scenario.receivers.len());
        let mut row = vec![format!("{:.2}", f64::from(*hundredths) / 100.0), format!("{budget:.2}")];
        for one in [pa, deterministic] {
            row.extend([one.spread(), one.mean(), one.sent()].map(|figure| format!("{figure:.0}")));
        }
        row
    };
    let head = [
        "threshold (units)",
        "budget",
        "prob.: spread (units·s)",
        "mean (units·s)",
        "sent",
        "det.: spread (units·s)",
        "mean (units·s)",
        "sent",
    ];
    vec![Figure {
        key: "banavar05/threshold".to_owned(),
        title: "With as many vectors, a lower threshold is not always better".to_owned(),
        caption: format!(
            "800 / 500 / 200 ms, each ±100 ms uniform, random motion, heartbeat 1 s, 100 s; budget chosen to send as many DR vectors as \
             threshold 0.09 with one per trigger (equation 3.5); {}. Bands: one standard deviation over the seeds.",
            setup.seeds_in_words()
        ),
        plots: vec![
            plot("spread of accumulated error (units·s)", RunFigures::std_aee),
            plot("mean accumulated error (units·s)", RunFigures::mean_aee),
        ],
        columns: 2,
        table: Table { head: head.map(str::to_owned).to_vec(), rows: THRESHOLDS.iter().map(row).collect() },
        claims: claims(cells),
    }]
}

/// Judges each pair of neighbouring thresholds: the lower one should have the lower figure.
fn claims(cells: &Cells) -> Vec<Claim> {
    let say = |claims: Claims, what: &str, figure: fn(&RunFigures) -> f64| {
        let at =
            |hundredths: u16| cells.of(ExperimentSetting::Threshold(hundredths), Contender::DETERMINISTIC_PA);
        let figures = THRESHOLDS.map(|hundredths| Ratio::mean(&at(hundredths).by_run(figure)));
        let steps: Vec<Ratio> =
            THRESHOLDS.windows(2).map(|pair| at(pair[0]).ratio(&at(pair[1]), figure)).collect();
        claims.add(
            &format!("The lower the threshold, the lower the {what}."),
            format!(
                "deterministic budget at thresholds of 0.02 / 0.05 / 0.09 / 0.20 / 0.40, as many vectors: {} units·s; each relative to the \
                 next: {}",
                in_words(&figures, 0),
                ratios_in_words(&steps)
            ),
            Test::all(steps.iter().map(|step| Test::below(*step, 1.0))),
            Verdict::Fails,
        )
    };
    let claims = Claims::about(SOURCE, "threshold", "3.4.1.1 and 3.5");
    let claims = say(claims, "spread", RunFigures::std_aee);
    say(claims, "mean error", RunFigures::mean_aee).all()
}
