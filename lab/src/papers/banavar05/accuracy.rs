//! Figure 2.2: how far a tank is shown from where it really is, with local and with global clocks.
//!
//! The thesis' setting: fixed delays of 100, 300 and 800 ms; linear, circular and random motion; circular motion with
//! circular DR vectors.

use evenkeel_core::Span;
use evenkeel_dr::{MotionKind, Placement, PolicyKind};
use evenkeel_games::{Driver, LENGTH, WIDTH};
use evenkeel_link::Jitter;

use super::SOURCE;
use crate::claims::{Claim, Verdict};
use crate::dr::{RunFigures, Sampling};
use crate::figure::{Curve, Drawing, Figure, Plot, Point, Table};
use crate::papers::study::{Setup, over_runs};
use crate::parallel::Cancelled;
use crate::scenario::{Motion, Receiver, Scenario};

const DELAYS: [i64; 3] = [100, 300, 800];
const MOTIONS: [(&str, Driver, MotionKind); 3] = [
    ("linear", Driver::Linear, MotionKind::Linear),
    ("circular", Driver::Circular, MotionKind::Circular),
    ("random", Driver::Random, MotionKind::Linear),
];
const DURATION: Span = Span::from_secs(120);
const WINDOW: Sampling = Sampling { from: Span::from_secs(5), until: DURATION, every: Span::from_millis(20) };
/// The seconds that are shown. The thesis shows 25 to 30 of a game of its own.
const SHOWN: core::ops::RangeInclusive<f64> = 20.0..=40.0;

fn scenario(driver: Driver, kind: MotionKind, placement: Placement) -> Scenario {
    let receiver =
        |millis| Receiver::at(&format!("{millis} ms"), Span::from_millis(millis), Jitter::Constant);
    Scenario {
        duration: DURATION,
        motion: Motion::Driven(driver),
        kind,
        placement,
        receivers: DELAYS.map(receiver).to_vec(),
        ..Scenario::papers(Span::ZERO, 0.09)
    }
}

/// One kind of motion under both placements.
struct Measured {
    name: &'static str,
    local: Vec<RunFigures>,
    global: Vec<RunFigures>,
}

impl Measured {
    /// Mean distance over time and runs at the receiver with this index.
    fn mean_distance(runs: &[RunFigures], receiver: usize) -> f64 {
        over_runs(runs, |run| run.receivers[receiver].real_error / DURATION.as_secs_f64())
    }

    fn max_distance(runs: &[RunFigures], receiver: usize) -> f64 {
        let samples = runs.iter().flat_map(|run| &run.samples);
        samples.map(|sample| sample.real_distance[receiver]).filter(|d| d.is_finite()).fold(0.0, f64::max)
    }

    fn ratio(&self, receiver: usize) -> f64 {
        Self::mean_distance(&self.local, receiver) / Self::mean_distance(&self.global, receiver)
    }

    /// The share of the samples at which the global clock's copy is farther off.
    fn global_worse(&self, receiver: usize) -> f64 {
        let pairs = self.local.iter().zip(&self.global);
        let samples = pairs.flat_map(|(local, global)| local.samples.iter().zip(&global.samples));
        let (mut worse, mut all) = (0u32, 0u32);
        for (local, global) in samples {
            all += 1;
            worse += u32::from(global.real_distance[receiver] > local.real_distance[receiver]);
        }
        f64::from(worse) / f64::from(all.max(1))
    }

    fn ratios_in_words(&self) -> String {
        let [near, middle, far] = [0, 1, 2].map(|receiver| self.ratio(receiver));
        format!("{} {near:.1} / {middle:.1} / {far:.1}", self.name)
    }

    fn triggers_per_second(&self) -> f64 {
        over_runs(&self.global, |run| run.triggers as f64) / DURATION.as_secs_f64()
    }
}

/// Runs figure 2.2.
pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let scenarios: Vec<Scenario> = MOTIONS
        .iter()
        .flat_map(|(_, driver, kind)| {
            [Placement::Local, Placement::Global].map(|placement| scenario(*driver, *kind, placement))
        })
        .collect();
    let cases: Vec<_> = scenarios.iter().map(|scenario| (scenario, PolicyKind::BASE)).collect();
    let mut results = setup.run(&cases, Some(WINDOW))?.into_iter();
    let measured: Vec<Measured> = MOTIONS
        .iter()
        .map(|(name, ..)| Measured {
            name,
            local: results.next().unwrap_or_default(),
            global: results.next().unwrap_or_default(),
        })
        .collect();
    Ok(vec![Figure {
        key: "banavar05/fig2.2".to_owned(),
        title: "A copy placed by the session's clock is where its owner says; one placed on arrival trails"
            .to_owned(),
        caption: format!(
            "Distance between real and placed position. Fixed one-way delays; threshold 0.09, heartbeat 1 s, 20 ms \
             ticks; circular motion with circular DR vectors. Curves: seconds 20 to 40 of seed 1; table: {}, 120 s.",
            setup.seeds_in_words()
        ),
        plots: plots(&measured),
        columns: 3,
        table: table(&measured),
        claims: claims(&measured),
    }])
}

fn plots(measured: &[Measured]) -> Vec<Plot> {
    let curve = |name: &str, runs: &[RunFigures], receiver: usize| {
        let samples = runs.first().into_iter().flat_map(|run| &run.samples);
        let shown = samples.filter(|sample| SHOWN.contains(&sample.at));
        let points =
            shown.map(|sample| Point { x: sample.at, y: sample.real_distance[receiver], spread: 0.0 });
        Curve { name: name.to_owned(), points: points.collect() }
    };
    let mut plots = Vec::new();
    for motion in measured {
        for (receiver, delay) in DELAYS.iter().enumerate() {
            let curves = vec![
                curve("local clock", &motion.local, receiver),
                curve("global clock", &motion.global, receiver),
            ];
            plots.push(Plot {
                title: format!("{} motion, {delay} ms", motion.name),
                x_label: "time (s)".to_owned(),
                y_label: "distance (units)".to_owned(),
                drawing: Drawing::Curves(curves),
            });
        }
    }
    plots
}

fn table(measured: &[Measured]) -> Table {
    let head = ["motion", "delay (ms)", "local, mean (units)", "global, mean (units)", "local / global"];
    let mut rows = Vec::new();
    for motion in measured {
        for (receiver, delay) in DELAYS.iter().enumerate() {
            rows.push(vec![
                motion.name.to_owned(),
                delay.to_string(),
                format!("{:.3}", Measured::mean_distance(&motion.local, receiver)),
                format!("{:.3}", Measured::mean_distance(&motion.global, receiver)),
                format!("{:.1}", motion.ratio(receiver)),
            ]);
        }
    }
    Table { head: head.map(str::to_owned).to_vec(), rows }
}

fn claim(number: u32, statement: &str, measured: String, verdict: Verdict, expected: Verdict) -> Claim {
    let (id, source) = (format!("banavar05/fig2.2/{number}"), format!("{}, 2.3", SOURCE.words));
    Claim::new(id, source, statement, measured, verdict, expected)
}

fn claims(measured: &[Measured]) -> Vec<Claim> {
    let [linear, circular, random] = measured else { return Vec::new() };
    let ratios: Vec<String> = measured.iter().map(Measured::ratios_in_words).collect();
    let smaller = measured.iter().all(|motion| (0..3).all(|receiver| motion.ratio(receiver) >= 2.0));
    let worse = random.global_worse(1);
    let error = |motion: &Measured, receiver| Measured::mean_distance(&motion.global, receiver);
    let grows =
        measured.iter().all(|motion| (0..2).all(|near| error(motion, near) < error(motion, near + 1)));
    let rates = [linear, circular, random].map(Measured::triggers_per_second);
    vec![
        claim(
            1,
            "In all cases the global error is much smaller than the local error.",
            format!(
                "mean local / global at 100 / 300 / 800 ms: {} (much smaller: at most half)",
                ratios.join("; ")
            ),
            Verdict::of(smaller),
            Verdict::Holds,
        ),
        tank_units(linear),
        claim(
            3,
            "In random motion there are a few instances in which the global error is the larger one.",
            format!("at 300 ms in {:.1} % of the samples (a few: above 0, below 15 %)", 100.0 * worse),
            Verdict::of(worse > 0.0 && worse < 0.15),
            Verdict::Holds,
        ),
        claim(
            4,
            "As the delay increases, so does the global error.",
            format!(
                "mean global error, random motion, 100 / 300 / 800 ms: {:.2} / {:.2} / {:.2} units",
                error(random, 0),
                error(random, 1),
                error(random, 2)
            ),
            Verdict::of(grows),
            Verdict::Holds,
        ),
        claim(
            5,
            "Linear and circular motion make few DR vectors, random motion many.",
            format!(
                "DR vectors per second: linear {:.2}, circular {:.2}, random {:.2} (many: more than twice as many)",
                rates[0], rates[1], rates[2]
            ),
            Verdict::of(rates[2] > 2.0 * rates[0].max(rates[1])),
            Verdict::Holds,
        ),
    ]
}

/// The thesis speaks of two tank units; a tank is 6.0 long and 2.8 wide.
fn tank_units(linear: &Measured) -> Claim {
    let local_max = Measured::max_distance(&linear.local, 1);
    let (lengths, widths) = (local_max / LENGTH, local_max / WIDTH);
    let global_share = 1.0 / linear.ratio(1);
    claim(
        2,
        "At 300 ms in linear motion the local error reaches two tank units, the global one is close to zero.",
        format!(
            "local at most {local_max:.2} units: {lengths:.2} tank lengths or {widths:.2} widths; global {:.1} % of \
             local on average. Top speed x 300 ms is 7.5 units, so it holds only if a tank unit is its width (close to zero: below 5 %)",
            100.0 * global_share
        ),
        Verdict::read(lengths >= 2.0 && global_share < 0.05, widths >= 2.0 && global_share < 0.05),
        Verdict::Differs,
    )
}
