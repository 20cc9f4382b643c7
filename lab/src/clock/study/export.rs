//! What a clock costs where it is used: the world of the figures about the export error, with the machines that
//! serve players.
//!
//! Owner and receivers follow a relay's clock; DR vectors travel without jitter, and all of them are sent to everybody.
//! So all that differs between two filters is the session time by which the same vectors are exported and placed.

use evenkeel_core::Span;
use evenkeel_dr::PolicyKind;
use evenkeel_link::{ClockFaults, Jitter};

use crate::clock::Filter;
use crate::dr::{RunFigures, Sampling, run_unless};
use crate::parallel::Progress;
use crate::scenario::{Receiver, Scenario, ScenarioClock, ScenarioTopology};

/// Ours and what it is compared with are no better than this: clocks that agree.
pub(super) const SYNCHRONIZED: &str = "synchronized clocks";

const EVERY: Span = Span::from_millis(100);

/// A clock that is wrong from the start.
const fn off(offset_s: i64, skew_ppm: f64) -> ClockFaults {
    ClockFaults { offset: Span::from_secs(offset_s), skew_ppm, steps: Vec::new() }
}

/// Three receivers at 20, 50 and 100 ms behind a relay that is 20 ms from the owner; the jitter is on the receivers' way
/// up only. Without a filter all clocks agree.
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

/// Runs it, looking ten times a second from a time on.
pub(super) fn run_from(
    scenario: &Scenario,
    from: Span,
    seed: u64,
    progress: &Progress,
) -> Option<RunFigures> {
    let sampling = Sampling { from, until: scenario.duration, every: EVERY, ledger: false };
    run_unless(scenario, PolicyKind::BASE, seed, Some(sampling), progress)
}
