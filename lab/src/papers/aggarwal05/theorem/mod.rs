//! Theorem 4.1: with feedback in time, the accumulated errors of all receivers are equal at every scheduling instant.
//!
//! The sums that are equal consist of the actual errors of the vectors so far and the estimated error of the next
//! one. With fixed delays the estimate is exact, and the errors themselves are equal. With varying delays they differ
//! by the estimation error of the last vector, which the next vector makes up for.
//!
//! Triggers four seconds apart meet the assumptions, because each DR vector has arrived and been acknowledged before
//! the next one is made, until one is held so long that it is flushed (section 4.6). The triggers after a flush are
//! reported separately.

mod triggers;

use evenkeel_core::Span;
use evenkeel_dr::PolicyKind;

use self::triggers::{
    FIRST_LIFE, Sums, differences, flushed, instants, relative_spread, sampling, sums, under_assumptions,
};
use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::dr::{RunFigures, RunSample};
use crate::figure::{Bars, Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::bars::{EQUAL, GROWS, NEARLY_ALL};
use crate::papers::cells::Ratio;
use crate::papers::judgement::{Judgement, Test};
use crate::papers::setting::{ELSEWHERE, ELSEWHERE_WORDS, ExperimentSetting, Variation, elsewhere_seeds};
use crate::papers::study::Setup;
use crate::papers::view::Claims;
use crate::parallel::Cancelled;
use crate::scenario::Scenario;
use crate::stats::{mean, population_sd};

const DRAWN: [ExperimentSetting; 2] =
    [ExperimentSetting::Papers(Variation::None), ExperimentSetting::Papers(Variation::Moderate)];

/// Returns the number of single runs: those that are drawn and those beyond the paper, each also under base.
pub(super) fn jobs(setup: &Setup<'_>) -> usize {
    let elsewhere = ELSEWHERE.map(|setting| setting.runs(setup.runs)).into_iter().sum::<usize>();
    2 * (DRAWN.len() * setup.runs + elsewhere)
}

/// The runs of a setting, one per seed.
struct TheoremRuns {
    setting: ExperimentSetting,
    scenario: Scenario,
    runs: Vec<RunFigures>,
    /// Runs that send the same vectors to every receiver at once.
    base: Vec<RunFigures>,
}

/// Returns the relative spread at the last trigger, averaged over the runs.
fn final_spread(runs: &[RunFigures]) -> Ratio {
    let last = |run: &RunFigures| instants(run).last().map_or(0.0, |sample| relative_spread(&sample.aee));
    Ratio::mean(&runs.iter().map(last).collect::<Vec<_>>())
}

impl TheoremRuns {
    /// Runs a setting with the setup's seeds, with another duration if given.
    fn run(setting: ExperimentSetting, duration: Option<Span>, setup: &Setup<'_>) -> Result<Self, Cancelled> {
        let setup = Setup { runs: setting.runs(setup.runs), ..*setup };
        let scenario = under_assumptions(setting.scenario());
        let scenario = Scenario { duration: duration.unwrap_or(scenario.duration), ..scenario };
        let cases = [PolicyKind::Netgames05, PolicyKind::BASE].map(|policy| (&scenario, policy));
        let mut runs = setup.run(&cases, Some(sampling(&scenario)))?;
        let base = runs.pop().unwrap_or_default();
        Ok(Self { setting, runs: runs.pop().unwrap_or_default(), base, scenario })
    }

    fn instants(&self) -> usize {
        self.runs.iter().map(|run| instants(run).count()).sum()
    }

    /// Returns the relative spreads of the theorem's sums up to the first flush, and after it.
    fn as_estimated(&self) -> [SumSpreads; 2] {
        [false, true].map(|after| {
            let sums = self.runs.iter().flat_map(sums).filter(|one| one.is_after_flush == after);
            SumSpreads(sums.map(|one| one.spread).collect())
        })
    }

    /// Returns the share of counted triggers at which the theorem's sums are equal; 0 if there are none.
    fn share_equal(&self, is_counted: fn(&Sums) -> bool, of: fn(&RunFigures) -> usize) -> Ratio {
        let equal = |run: &RunFigures| sums(run).filter(|one| is_counted(one) && one.spread <= EQUAL).count();
        let pairs = self.runs.iter().map(|run| (equal(run) as f64, of(run) as f64));
        let pairs: Vec<_> = pairs.filter(|(_, all)| *all > 0.0).collect();
        if pairs.is_empty() { Ratio::default() } else { Ratio::of(&pairs) }
    }

    /// Returns the largest relative spread of the actual errors.
    fn worst(&self) -> f64 {
        let spreads = self.runs.iter().flat_map(instants).map(|sample| relative_spread(&sample.aee));
        spreads.fold(0.0, f64::max)
    }

    /// Returns the mean spread of each run's actual errors in a third of the triggers.
    fn spreads_in(&self, third: usize) -> Vec<f64> {
        let part = |run: &RunFigures| {
            let spreads: Vec<f64> = instants(run).map(|sample| population_sd(&sample.aee)).collect();
            mean(&spreads[spreads.len() * third / 3..spreads.len() * (third + 1) / 3])
        };
        self.runs.iter().map(part).collect()
    }
}

/// Relative spreads of the theorem's sums at some triggers.
struct SumSpreads(Vec<f64>);

impl SumSpreads {
    fn triggers(&self) -> usize {
        self.0.len()
    }

    /// Returns the largest spread, if there is any.
    fn worst(&self) -> Option<f64> {
        self.0.iter().copied().reduce(f64::max)
    }

    fn mean(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| mean(&self.0))
    }
}

/// Runs the theorem in the paper's settings and beyond them.
pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let [fixed, varying] = DRAWN.map(|setting| TheoremRuns::run(setting, None, setup));
    let (fixed, varying) = (fixed?, varying?);
    let elsewhere: Result<Vec<_>, _> =
        ELSEWHERE.into_iter().map(|setting| TheoremRuns::run(setting, Some(FIRST_LIFE), setup)).collect();
    Ok(vec![theorem(setup, &fixed, &varying), beyond(setup, &elsewhere?)])
}

fn theorem(setup: &Setup<'_>, fixed: &TheoremRuns, varying: &TheoremRuns) -> Figure {
    Figure {
        key: "aggarwal05/theorem4.1".to_owned(),
        title: "Under the theorem's assumptions no player's error runs away: the next vector makes up for the last one's estimation \
                error"
            .to_owned(),
        caption: format!(
            "Differences between each player's accumulated error and the mean of all, just before each trigger. 800 / \
             500 / 200 ms, random motion, a DR vector every 4 s, feedback after 2 s; {}, of which seed 1 is drawn. A vector is flushed \
             if the next one is made before it was sent to every player (4.6). Triggers after a vector that is sent less than a second \
             before the next one count as after a flush, because the next one may overtake it.",
            setup.seeds_in_words()
        ),
        plots: vec![
            plot(fixed, "fixed delays"),
            plot(varying, "delays ±100 ms"),
        ],
        columns: 2,
        table: table(&[fixed, varying]),
        claims: claims(fixed, varying),
    }
}

fn plot(one: &TheoremRuns, title: &str) -> Plot {
    let curve = |index: usize| {
        let point =
            |sample: &RunSample| CurvePoint { x: sample.at, y: differences(&sample.aee)[index], spread: 0.0 };
        Curve {
            name: one.scenario.receivers[index].name.clone(),
            points: one.runs.first().into_iter().flat_map(instants).map(point).collect(),
        }
    };
    Plot {
        title: title.to_owned(),
        x_label: "time (s)".to_owned(),
        y_label: "difference from the mean (units·s)".to_owned(),
        drawing: Drawing::Curves((0..one.scenario.receivers.len()).map(curve).collect()),
    }
}

fn table(measured: &[&TheoremRuns]) -> Table {
    let head = [
        "setting",
        "triggers",
        "actual: worst spread / mean",
        "at the end: spread / mean",
        "at the end under base: spread / mean",
        "up to the first flush: triggers",
        "worst spread of sums / mean",
        "after the first flush: triggers",
        "mean spread of sums / mean",
    ];
    let row = |one: &&TheoremRuns| {
        let [up_to, after] = one.as_estimated();
        let or_none =
            |figure: Option<f64>| figure.map_or_else(|| "none".to_owned(), |one| format!("{one:.1e}"));
        vec![
            one.setting.label(),
            one.instants().to_string(),
            format!("{:.1e}", one.worst()),
            format!("{:.1e}", final_spread(&one.runs).value),
            format!("{:.1e}", final_spread(&one.base).value),
            up_to.triggers().to_string(),
            or_none(up_to.worst()),
            after.triggers().to_string(),
            or_none(after.mean()),
        ]
    };
    Table { head: head.map(str::to_owned).to_vec(), rows: measured.iter().map(row).collect() }
}

fn claims(fixed: &TheoremRuns, varying: &TheoremRuns) -> Vec<Claim> {
    let (worst, triggers) = (fixed.worst(), fixed.instants());
    let claims = Claims::about(SOURCE, "theorem4.1", "4.2").add(
        "When a vector's schedule is computed, the accumulated errors of all receivers are equal.",
        format!("fixed delays: spread at most {worst:.1e} of the mean over {triggers} triggers"),
        Test::fact(worst <= EQUAL && triggers > 0),
        Verdict::Holds,
    );
    let claims = add_sums(claims, varying);
    let [first, last] = [0, 2].map(|third| Ratio::mean(&varying.spreads_in(third)));
    let pairs = varying.spreads_in(2).into_iter().zip(varying.spreads_in(0));
    let growth = Ratio::of(&pairs.collect::<Vec<_>>());
    claims
        .at("4.2")
        .add(
            "So every receiver's actual error is equalized with each vector.",
            format!(
                "±100 ms: actual errors spread by {} units·s in the first third of the triggers and by {} in the last, {} times as much; \
                 at the end by {} % of the mean. They are not equal, because the last vector's estimate was off and some vectors were \
                 flushed, but the spread does not grow (grows: {GROWS} times)",
                first.in_words(2),
                last.in_words(2),
                growth.in_words(2),
                final_spread(&varying.runs).times(100.0).in_words(1)
            ),
            Judgement::read(Test::fact(varying.worst() <= EQUAL), Test::below(growth, GROWS)),
            Verdict::Differs,
        )
        .all()
}

/// Adds the claims about the sums, up to the first flushed vector and after it.
fn add_sums(claims: Claims, varying: &TheoremRuns) -> Claims {
    let percent = |share: Option<f64>| {
        share.map_or_else(|| "nothing".to_owned(), |one| format!("{:.2} %", 100.0 * one))
    };
    let [up_to, after] = varying.as_estimated();
    let all = varying.share_equal(|_| true, |run| instants(run).count());
    let after_flush = varying
        .share_equal(|one| one.is_after_flush, |run| sums(run).filter(|one| one.is_after_flush).count());
    let dropped: usize = varying.runs.iter().map(flushed).sum();
    let judged = up_to.triggers() + after.triggers();
    claims
        .add(
            "When delays vary, the actual errors of the vectors so far plus the estimated error of this one are equal for all \
             receivers.",
            format!(
                "±100 ms: until the first vector is flushed, at {} of {} triggers, the sums spread by at most {:.1e} of their mean; \
                 after it, at {}, by {} on average. They are observed to be equal at {} % of all triggers (it holds: at more than {:.0} \
                 %), so it holds only until a vector is flushed. Vectors that are sent late, and those right after them, are not judged: \
                 {} triggers",
                up_to.triggers(),
                varying.instants(),
                up_to.worst().unwrap_or(0.0),
                after.triggers(),
                percent(after.mean()),
                all.times(100.0).in_words(0),
                100.0 * NEARLY_ALL,
                varying.instants() - judged - dropped
            ),
            Judgement::read(
                Test::above(all, NEARLY_ALL),
                Test::fact(up_to.worst().is_some_and(|worst| worst <= EQUAL)),
            ),
            Verdict::Differs,
        )
        .at("4.6")
        .add(
            "If a vector is flushed before it is sent to every receiver, adding its error to that of the next one keeps the sums \
             equal.",
            format!(
                "±100 ms: {dropped} of {} vectors are flushed. At the {} triggers after the first flush the sums spread by {} of their \
                 mean on average and by {} at worst; they are equal at {} % of these triggers (it holds: at more than {:.0} %). A \
                 receiver that was sent the flushed vector has used up its R, although the others have not caught up with it",
                varying.instants(),
                after.triggers(),
                percent(after.mean()),
                percent(after.worst()),
                after_flush.times(100.0).in_words(0),
                100.0 * NEARLY_ALL
            ),
            Test::above(after_flush, NEARLY_ALL).and(Test::fact(after.triggers() > 0)),
            Verdict::Fails,
        )
}

fn beyond(setup: &Setup<'_>, measured: &[TheoremRuns]) -> Figure {
    // Without a value there is no mark.
    let marks = |name: &str, figure: fn(&TheoremRuns) -> Option<f64>| Bars {
        name: name.to_owned(),
        heights: measured
            .iter()
            .map(|one| figure(one).map_or(f64::NAN, |share| 100.0 * share.max(f64::EPSILON)))
            .collect(),
    };
    Figure {
        key: "aggarwal05/theorem4.1-elsewhere".to_owned(),
        title:
            "The theorem beyond the paper: the sums are equal until a vector is flushed, but not afterwards"
                .to_owned(),
        caption: format!(
            "As above, a DR vector every 4 s. {ELSEWHERE_WORDS}. Only one recorded tank is used, which lives for {:.0} s; every row has \
             that duration. Sums: the theorem's sums, with the largest spread up to the first flushed vector and the average spread \
             after it. Actual errors: the average spread at the last trigger, also under base, which sends the same vectors to every \
             player at once, so as many or a few more. Exact equality is drawn at floating-point precision; {}.",
            FIRST_LIFE.as_secs_f64(),
            elsewhere_seeds(setup)
        ),
        plots: vec![Plot {
            title: "spread between the players".to_owned(),
            x_label: "spread (% of the mean)".to_owned(),
            y_label: String::new(),
            drawing: Drawing::Dots {
                rows: measured.iter().map(|one| one.setting.label()).collect(),
                groups: vec![
                    marks("sums, up to the first flush", |one| one.as_estimated()[0].worst()),
                    marks("sums, after the first flush", |one| one.as_estimated()[1].mean()),
                    marks("actual errors, at the end", |one| Some(final_spread(&one.runs).value)),
                    marks("actual errors under base, at the end", |one| Some(final_spread(&one.base).value)),
                ],
                mark: None,
            },
        }],
        columns: 1,
        table: table(&measured.iter().collect::<Vec<_>>()),
        claims: Vec::new(),
    }
}
