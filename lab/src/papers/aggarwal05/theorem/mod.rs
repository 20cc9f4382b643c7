//! Theorem 4.1: with feedback in time, the accumulated errors of all receivers are equal at every scheduling instant.
//!
//! What is equal is the sum of what the vectors so far really cost and of what the next one is estimated to. If delays
//! are fixed the estimate is right and the errors themselves are equal. If they vary they are off by what the last vector
//! was misjudged by, which the next one makes up for.
//!
//! The assumptions are met by triggers that are four seconds apart, so that each DR vector has arrived and been
//! acknowledged before the next one is made; until one is held for so long that it is flushed (section 4.6). What comes
//! after that is told apart.

mod measured;

use evenkeel_core::Span;
use evenkeel_dr::PolicyKind;

use self::measured::{
    FIRST_LIFE, Sums, differences, flushed, instants, relative_spread, sampling, sums, under_assumptions,
};
use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::dr::{RunFigures, RunSample};
use crate::figure::{Bars, Curve, Drawing, Figure, Plot, Point, Table};
use crate::papers::bars::{EQUAL, GROWS, NEARLY_ALL};
use crate::papers::cells::Ratio;
use crate::papers::judged::{Judged, Test};
use crate::papers::setting::{ELSEWHERE, ELSEWHERE_WORDS, Setting, Variation, elsewhere_seeds};
use crate::papers::study::Setup;
use crate::papers::view::Claims;
use crate::parallel::Cancelled;
use crate::scenario::Scenario;
use crate::stats::{mean, population_sd};

const DRAWN: [Setting; 2] = [Setting::Papers(Variation::None), Setting::Papers(Variation::Moderate)];

/// Single runs: those that are drawn, and those beyond the paper, each under base as well.
pub(super) fn jobs(setup: &Setup<'_>) -> usize {
    let elsewhere = ELSEWHERE.map(|setting| setting.runs(setup.runs)).into_iter().sum::<usize>();
    2 * (DRAWN.len() * setup.runs + elsewhere)
}

/// One setting, over the seeds.
struct Measured {
    setting: Setting,
    scenario: Scenario,
    runs: Vec<RunFigures>,
    /// The same vectors, to everybody at once.
    base: Vec<RunFigures>,
}

/// The relative spread at the last trigger, on average.
fn at_last(runs: &[RunFigures]) -> Ratio {
    let last = |run: &RunFigures| instants(run).last().map_or(0.0, |sample| relative_spread(&sample.aee));
    Ratio::mean(&runs.iter().map(last).collect::<Vec<_>>())
}

impl Measured {
    /// With these seeds, for so long if it is said.
    fn run(setting: Setting, duration: Option<Span>, setup: &Setup<'_>) -> Result<Self, Cancelled> {
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

    /// The relative spreads of the theorem's sums: up to the first flush, and after it.
    fn as_estimated(&self) -> [Estimated; 2] {
        [false, true].map(|after| {
            let sums = self.runs.iter().flat_map(sums).filter(|one| one.is_after_flush == after);
            Estimated(sums.map(|one| one.spread).collect())
        })
    }

    /// The share of triggers at which the theorem's sums are equal, of those that are counted; none of nothing.
    fn share_equal(&self, is_counted: fn(&Sums) -> bool, of: fn(&RunFigures) -> usize) -> Ratio {
        let equal = |run: &RunFigures| sums(run).filter(|one| is_counted(one) && one.spread <= EQUAL).count();
        let pairs = self.runs.iter().map(|run| (equal(run) as f64, of(run) as f64));
        let pairs: Vec<_> = pairs.filter(|(_, all)| *all > 0.0).collect();
        if pairs.is_empty() { Ratio::default() } else { Ratio::of(&pairs) }
    }

    /// The largest relative spread of the actual errors.
    fn worst(&self) -> f64 {
        let spreads = self.runs.iter().flat_map(instants).map(|sample| relative_spread(&sample.aee));
        spreads.fold(0.0, f64::max)
    }

    /// The mean spread of each run's actual errors in a third of the triggers.
    fn spreads_in(&self, third: usize) -> Vec<f64> {
        let part = |run: &RunFigures| {
            let spreads: Vec<f64> = instants(run).map(|sample| population_sd(&sample.aee)).collect();
            mean(&spreads[spreads.len() * third / 3..spreads.len() * (third + 1) / 3])
        };
        self.runs.iter().map(part).collect()
    }
}

/// Relative spreads of the theorem's sums at some triggers.
struct Estimated(Vec<f64>);

impl Estimated {
    fn triggers(&self) -> usize {
        self.0.len()
    }

    /// The largest; none of nothing.
    fn worst(&self) -> Option<f64> {
        self.0.iter().copied().reduce(f64::max)
    }

    fn mean(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| mean(&self.0))
    }
}

/// Runs the theorem, and the same elsewhere.
pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let [fixed, varying] = DRAWN.map(|setting| Measured::run(setting, None, setup));
    let (fixed, varying) = (fixed?, varying?);
    let elsewhere: Result<Vec<_>, _> =
        ELSEWHERE.into_iter().map(|setting| Measured::run(setting, Some(FIRST_LIFE), setup)).collect();
    Ok(vec![theorem(setup, &fixed, &varying), beyond(setup, &elsewhere?)])
}

fn theorem(setup: &Setup<'_>, fixed: &Measured, varying: &Measured) -> Figure {
    Figure {
        key: "aggarwal05/theorem4.1".to_owned(),
        title: "Under the theorem's assumptions nobody's error runs away: what one vector is misjudged by, the next makes up for"
            .to_owned(),
        caption: format!(
            "Differences between each player's accumulated error and the mean of all, just before each trigger. 800 / \
             500 / 200 ms, random motion, a DR vector every 4 s, feedback after 2 s; {}, of which seed 1 is drawn. A \
             vector is flushed if the next one is made before it was sent to everybody (4.6); what comes after one that is sent in the last \
             second before that is counted as after a flush, because the next vector may overtake it.",
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

fn plot(one: &Measured, title: &str) -> Plot {
    let curve = |index: usize| {
        let point =
            |sample: &RunSample| Point { x: sample.at, y: differences(&sample.aee)[index], spread: 0.0 };
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

fn table(measured: &[&Measured]) -> Table {
    let head = [
        "setting",
        "triggers",
        "actual: worst spread / mean",
        "at the end: spread / mean",
        "the same under base",
        "up to the first flush: triggers",
        "worst sum / mean",
        "after it: triggers",
        "mean sum / mean",
    ];
    let row = |one: &&Measured| {
        let [up_to, after] = one.as_estimated();
        let or_none =
            |figure: Option<f64>| figure.map_or_else(|| "none".to_owned(), |one| format!("{one:.1e}"));
        vec![
            one.setting.words(),
            one.instants().to_string(),
            format!("{:.1e}", one.worst()),
            format!("{:.1e}", at_last(&one.runs).value),
            format!("{:.1e}", at_last(&one.base).value),
            up_to.triggers().to_string(),
            or_none(up_to.worst()),
            after.triggers().to_string(),
            or_none(after.mean()),
        ]
    };
    Table { head: head.map(str::to_owned).to_vec(), rows: measured.iter().map(row).collect() }
}

fn claims(fixed: &Measured, varying: &Measured) -> Vec<Claim> {
    let (worst, triggers) = (fixed.worst(), fixed.instants());
    let claims = Claims::about(SOURCE, "theorem4.1", "4.2").say(
        "When a vector's schedule is computed, the accumulated errors of all receivers are equal.",
        format!("fixed delays: spread at most {worst:.1e} of the mean over {triggers} triggers"),
        Test::fact(worst <= EQUAL && triggers > 0),
        Verdict::Holds,
    );
    let claims = say_sums(claims, varying);
    let [first, last] = [0, 2].map(|third| Ratio::mean(&varying.spreads_in(third)));
    let pairs = varying.spreads_in(2).into_iter().zip(varying.spreads_in(0));
    let growth = Ratio::of(&pairs.collect::<Vec<_>>());
    claims
        .at("4.2")
        .say(
            "So everybody's actual error is equalized with each vector.",
            format!(
                "±100 ms: actual errors spread by {} units·s in the first third of the triggers and by {} in the last, {} times as much, at \
                 the end by {} % of the mean: not equal, because the last vector was misjudged and some were flushed, but it does not grow \
                 (grows: {GROWS} times)",
                first.in_words(2),
                last.in_words(2),
                growth.in_words(2),
                at_last(&varying.runs).times(100.0).in_words(1)
            ),
            Judged::read(Test::fact(varying.worst() <= EQUAL), Test::below(growth, GROWS)),
            Verdict::Differs,
        )
        .all()
}

/// What is said of the sums: up to the first vector that is flushed, and after it.
fn say_sums(claims: Claims, varying: &Measured) -> Claims {
    let percent = |share: Option<f64>| {
        share.map_or_else(|| "nothing".to_owned(), |one| format!("{:.2} %", 100.0 * one))
    };
    let [up_to, after] = varying.as_estimated();
    let all = varying.share_equal(|_| true, |run| instants(run).count());
    let after_flush = varying
        .share_equal(|one| one.is_after_flush, |run| sums(run).filter(|one| one.is_after_flush).count());
    let dropped: usize = varying.runs.iter().map(flushed).sum();
    let told = up_to.triggers() + after.triggers();
    claims
        .say(
            "When delays vary, what the vectors so far really cost and what this one is estimated to are equal in sum.",
            format!(
                "±100 ms: until the first vector is flushed, at {} of {} triggers, the sums spread by at most {:.1e} of their mean; after \
                 it, at {}, by {} on average. Of all triggers they are seen to be equal at {} % (it holds: at more than {:.0} %), so it holds \
                 only as long as nothing is flushed. Vectors that are sent late, and those after them, are not judged: {} triggers",
                up_to.triggers(),
                varying.instants(),
                up_to.worst().unwrap_or(0.0),
                after.triggers(),
                percent(after.mean()),
                all.times(100.0).in_words(0),
                100.0 * NEARLY_ALL,
                varying.instants() - told - dropped
            ),
            Judged::read(
                Test::above(all, NEARLY_ALL),
                Test::fact(up_to.worst().is_some_and(|worst| worst <= EQUAL)),
            ),
            Verdict::Differs,
        )
        .at("4.6")
        .say(
            "If a vector is flushed before it is sent to everybody, counting its error to the next one keeps the sums equal.",
            format!(
                "±100 ms: {dropped} of {} vectors are flushed. At the {} triggers after the first of them the sums spread by {} of their mean \
                 on average and by {} at worst; they are equal at {} % of them (it holds: at more than {:.0} %). Who was sent the vector that was \
                 flushed has used up its R, although the others have not come up to it",
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

fn beyond(setup: &Setup<'_>, measured: &[Measured]) -> Figure {
    // Of nothing there is no mark.
    let marks = |name: &str, figure: fn(&Measured) -> Option<f64>| Bars {
        name: name.to_owned(),
        heights: measured
            .iter()
            .map(|one| figure(one).map_or(f64::NAN, |share| 100.0 * share.max(f64::EPSILON)))
            .collect(),
    };
    Figure {
        key: "aggarwal05/theorem4.1-elsewhere".to_owned(),
        title: "The theorem beyond the paper: the sums are equal until a vector is flushed, and not after it"
            .to_owned(),
        caption: format!(
            "As above, a DR vector every 4 s. {ELSEWHERE_WORDS}. There is one recorded tank; it lives for {:.0} s, and every row is as long. \
             Sums: the theorem's, the largest spread up to the first vector that is flushed, and the \
             spread after it, on average; actual errors: the spread at the last trigger, on average, and the same under base, which sends \
             the same vectors to everybody at once, so as many or a few more. What is exactly equal is drawn at the last bit of a number; {}.",
            FIRST_LIFE.as_secs_f64(),
            elsewhere_seeds(setup)
        ),
        plots: vec![Plot {
            title: "spread between the players".to_owned(),
            x_label: "spread (% of the mean)".to_owned(),
            y_label: String::new(),
            drawing: Drawing::Dots {
                rows: measured.iter().map(|one| one.setting.words()).collect(),
                groups: vec![
                    marks("sums, up to the first flush", |one| one.as_estimated()[0].worst()),
                    marks("sums, after it", |one| one.as_estimated()[1].mean()),
                    marks("actual errors, at the end", |one| Some(at_last(&one.runs).value)),
                    marks("the same under base, at the end", |one| Some(at_last(&one.base).value)),
                ],
                mark: None,
            },
        }],
        columns: 1,
        table: table(&measured.iter().collect::<Vec<_>>()),
        claims: Vec::new(),
    }
}
