//! The scenario of the figures about placement: what a clock's error costs with real players' machines.
//!
//! Owner and receivers follow a relay's clock. DR vectors travel without jitter and all are sent to every receiver, so two
//! filters differ only in the session times by which the same vectors are exported and placed.

use evenkeel_core::Span;
use evenkeel_dr::PolicyKind;
use evenkeel_link::{ClockFaults, Jitter};

use crate::clock::Filter;
use crate::dr::{RunFigures, Sampling, run_unless};
use crate::parallel::Progress;
use crate::scenario::{Receiver, Scenario, ScenarioClock, ScenarioTopology};

/// The name of the reference: no filter can do better.
pub(super) const SYNCHRONIZED: &str = "synchronized clocks";

const EVERY: Span = Span::from_millis(100);

/// A clock with a constant offset and skew.
const fn off(offset_s: i64, skew_ppm: f64) -> ClockFaults {
    ClockFaults { offset: Span::from_secs(offset_s), skew_ppm, steps: Vec::new() }
}

/// Three receivers at 20, 50 and 100 ms from a relay that is 20 ms from the owner, with jitter on the receivers' way up
/// only. Without a filter, clocks are synchronized.
pub(super) fn scenario(filter: Option<Filter>, jitter_ms: f64, duration: Span) -> Scenario {
    let jitter = Jitter::Exponential { mean: Span::from_millis_f64(jitter_ms) };
    let receiver = |name, delay_ms, clock| {
        let mut receiver = Receiver::at(name, Span::from_millis(delay_ms), Jitter::Constant);
        receiver.back.delay.jitter = jitter.clone();
        receiver.clock = if filter.is_some() { clock } else { ClockFaults::default() };
        receiver
    };
    Scenario {
        duration,
        topology: ScenarioTopology::Relay { uplink: Span::from_millis(20) },
        clock: filter.map_or(ScenarioClock::Synchronized, ScenarioClock::Session),
        owner_clock: if filter.is_some() { off(3, -30.0) } else { ClockFaults::default() },
        receivers: vec![
            receiver("near", 20, off(-5, 30.0)),
            receiver("middle", 50, off(60, -30.0)),
            receiver("far", 100, off(-3_600, 60.0)),
        ],
        policies: vec![PolicyKind::BASE],
        ..Scenario::papers(Span::ZERO, 0.09)
    }
}

/// Runs a scenario, sampled ten times a second from `from` on.
pub(super) fn run_from(
    scenario: &Scenario,
    from: Span,
    seed: u64,
    progress: &Progress,
) -> Option<RunFigures> {
    let sampling = Sampling { from, until: scenario.duration, every: EVERY, ledger: false };
    run_unless(scenario, PolicyKind::BASE, seed, Some(sampling), progress)
}
