//! Figure 2.2: the distance between a tank's real and placed position, with local and with global clocks.
//!
//! The thesis' setting: fixed delays of 100, 300 and 800 ms; linear, circular and random motion; circular DR vectors
//! for circular motion. Beyond it: other delays and jitter, a relay, recorded tanks, more players, and fewer vectors.

mod claims;
mod elsewhere;
mod placement_runs;

use evenkeel_core::Span;
use evenkeel_dr::{MotionKind, Placement, PolicyKind};
use evenkeel_games::Driver;
use evenkeel_link::{ClockFaults, Jitter};

use self::placement_runs::PlacementRuns;
use crate::clock::Filter;
use crate::dr::{RunFigures, Sampling};
use crate::figure::{Curve, CurvePoint, Drawing, Figure, Plot, Table};
use crate::papers::study::Setup;
use crate::parallel::Cancelled;
use crate::scenario::{Motion, Receiver, Scenario, ScenarioClock, ScenarioTopology};

const DELAYS: [i64; 3] = [100, 300, 800];
const MOTIONS: [(&str, Driver, MotionKind); 3] = [
    ("linear", Driver::Linear, MotionKind::Linear),
    ("circular", Driver::Circular, MotionKind::Circular),
    ("random", Driver::Random, MotionKind::Linear),
];
const DURATION: Span = Span::from_secs(120);
const WINDOW: Sampling =
    Sampling { from: Span::from_secs(5), until: DURATION, every: Span::from_millis(20), ledger: false };
/// The seconds shown. The thesis shows 25 to 30 of its own game.
const SHOWN: core::ops::RangeInclusive<f64> = 20.0..=40.0;

/// Returns the number of single runs: every motion with either clock under both placements, and those beyond the
/// thesis.
pub(super) fn jobs(setup: &Setup<'_>) -> usize {
    2 * 2 * MOTIONS.len() * setup.runs + elsewhere::jobs(setup)
}

fn scenario(driver: Driver, kind: MotionKind) -> Scenario {
    let receiver =
        |millis| Receiver::at(&format!("{millis} ms"), Span::from_millis(millis), Jitter::Constant);
    Scenario {
        duration: DURATION,
        motion: Motion::Driven(driver),
        kind: kind.into(),
        receivers: DELAYS.map(receiver).to_vec(),
        ..Scenario::papers(Span::ZERO, 0.09)
    }
}

/// Changes a scenario to session clocks as players have them: a relay's clock, 20 ms from the owner, followed over
/// links with jitter on the way up. The way down has none, so that vectors travel as long as before.
fn by_session_clocks(scenario: Scenario) -> Scenario {
    let off =
        |offset_s, skew_ppm| ClockFaults { offset: Span::from_secs(offset_s), skew_ppm, steps: Vec::new() };
    let faults = [off(-5, 30.0), off(60, -30.0), off(-3_600, 60.0)];
    let mut receivers = scenario.receivers;
    for (receiver, clock) in receivers.iter_mut().zip(faults) {
        receiver.back.delay.jitter = Jitter::Exponential { mean: Span::from_millis(20) };
        receiver.clock = clock;
    }
    Scenario {
        receivers,
        duration: Span::from_secs(60),
        topology: ScenarioTopology::Relay { uplink: Span::from_millis(20) },
        clock: ScenarioClock::Session(Filter::Hull),
        owner_clock: off(3, -30.0),
        ..scenario
    }
}

/// A scenario to run under both placements.
struct AccuracyCase {
    name: String,
    scenario: Scenario,
    /// The policy.
    policy: PolicyKind,
}

/// Runs cases under both placements.
fn measure(
    setup: &Setup<'_>,
    cases: Vec<AccuracyCase>,
    sampling: Option<Sampling>,
) -> Result<Vec<PlacementRuns>, Cancelled> {
    let placed: Vec<(Scenario, PolicyKind)> = cases
        .iter()
        .flat_map(|case| {
            [Placement::Local, Placement::Global]
                .map(|placement| (Scenario { placement, ..case.scenario.clone() }, case.policy))
        })
        .collect();
    let runs: Vec<_> = placed.iter().map(|(scenario, policy)| (scenario, *policy)).collect();
    let mut results = setup.run(&runs, sampling)?.into_iter();
    let both = |AccuracyCase { name, scenario, .. }| PlacementRuns {
        name,
        scenario,
        local: results.next().unwrap_or_default(),
        global: results.next().unwrap_or_default(),
    };
    Ok(cases.into_iter().map(both).collect())
}

/// Runs figure 2.2, and the figure of the settings beyond the thesis.
pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let motions = |change: fn(Scenario) -> Scenario| {
        let case = |(name, driver, kind): (&str, Driver, MotionKind)| AccuracyCase {
            name: name.to_owned(),
            scenario: change(scenario(driver, kind)),
            policy: PolicyKind::BASE,
        };
        MOTIONS.into_iter().map(case).collect()
    };
    let measured = measure(setup, motions(|scenario| scenario), Some(WINDOW))?;
    let by_session_clocks = measure(setup, motions(by_session_clocks), None)?;
    let figure = Figure {
        key: "banavar05/fig2.2".to_owned(),
        title:
            "A copy placed by the session's clock is where its owner says; one placed on arrival lags behind"
                .to_owned(),
        caption: format!(
            "Distance between real and placed position. Fixed one-way delays; threshold 0.09, heartbeat 1 s, 20 ms ticks; circular \
             motion with circular DR vectors; clocks that agree exactly. Curves: seconds 20 to 40 of seed 1; table: {}, 120 s.",
            setup.seeds_in_words()
        ),
        plots: plots(&measured),
        columns: 3,
        table: table(&measured),
        claims: claims::claims(&measured, &by_session_clocks),
    };
    Ok(vec![figure, elsewhere::figure(setup)?])
}

fn plots(measured: &[PlacementRuns]) -> Vec<Plot> {
    let curve = |name: &str, runs: &[RunFigures], receiver: usize| {
        let samples = runs.first().into_iter().flat_map(|run| &run.samples);
        let shown = samples.filter(|sample| SHOWN.contains(&sample.at));
        let points =
            shown.map(|sample| CurvePoint { x: sample.at, y: sample.real_distance[receiver], spread: 0.0 });
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

fn table(measured: &[PlacementRuns]) -> Table {
    let head = ["motion", "delay (ms)", "local, mean (units)", "global, mean (units)", "local / global"];
    let mut rows = Vec::new();
    for motion in measured {
        for (receiver, delay) in DELAYS.iter().enumerate() {
            let mut row = vec![motion.name.clone(), delay.to_string()];
            row.extend(motion.distances(receiver).map(|distance| format!("{distance:.3}")));
            row.push(format!("{:.1}", motion.distance_ratio(receiver).value));
            rows.push(row);
        }
    }
    Table { head: head.map(str::to_owned).to_vec(), rows }
}
