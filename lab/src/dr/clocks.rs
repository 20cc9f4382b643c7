//! The errors of a run's session clocks: once per tick they are measured, passed to the [`Truth`] and sampled.

use evenkeel_core::{PeerId, Span};
use evenkeel_dr::EntityId;
use evenkeel_link::TrueTime;

use super::truth::Truth;
use super::world::SimSession;
use crate::scenario::{Scenario, ScenarioClock};
use crate::stats::p95;

/// The most errors kept per receiver. Longer runs keep only every n-th.
const ERRORS_MAX: i64 = 4096;

/// The accuracy of a receiver's session clock.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClockFigures {
    /// The 95th percentile of its error in milliseconds; `None` if it never had a session time.
    pub error_ms: Option<f64>,
    /// How long the receiver was present without a session time.
    pub absent: Span,
}

/// The first entity at its owner and at a receiver at one instant, each by its own clock.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PlacementSample {
    /// The distance between the exported and the placed position; `None` while one of them is missing.
    pub distance: Option<f64>,
    /// Whether the newest DR vector has arrived, so that only the clocks cause the distance.
    pub is_newest: bool,
    /// The speed of the newest DR vector.
    pub speed: f64,
    /// The sum of the two clocks' error bounds.
    pub error_max: Option<Span>,
}

impl PlacementSample {
    /// The distance caused by the clocks alone, and its bound by their error bounds.
    #[must_use]
    pub fn after_arrival(&self) -> Option<(f64, f64)> {
        let distance = self.distance.filter(|_| self.is_newest)?;
        Some((distance, self.speed * self.error_max?.as_secs_f64()))
    }
}

/// Samples the errors of all clocks of a run.
pub(super) struct ClockMonitor {
    ticks: i64,
    kept_every: i64,
    receivers: Vec<ClockErrors>,
}

#[derive(Clone, Default)]
struct ClockErrors {
    errors_ms: Vec<f64>,
    absent: Span,
}

impl ClockMonitor {
    /// Creates a monitor; `None` under synchronized clocks.
    pub(super) fn new(scenario: &Scenario) -> Option<Self> {
        let ScenarioClock::Session(_) = scenario.clock else { return None };
        let ticks = scenario.duration.as_nanos() / scenario.tick.as_nanos();
        let receivers = vec![ClockErrors::default(); scenario.receivers.len()];
        Some(Self { ticks: 0, kept_every: ticks / ERRORS_MAX + 1, receivers })
    }

    /// Measures all clocks. Called once per tick.
    pub(super) fn measure(&mut self, scenario: &Scenario, sim: &SimSession, truth: &mut Truth, at: Span) {
        let now = TrueTime::from_nanos(at.as_nanos());
        let mut error_of = |node| {
            let error = sim.clock_error(node, now).map(|(error, _)| error);
            truth.set_clock_error(node, error, now);
            error
        };
        error_of(sim.owner);
        let is_kept = self.ticks % self.kept_every == 0;
        self.ticks += 1;
        for ((clock, node), receiver) in
            self.receivers.iter_mut().zip(&sim.receivers).zip(&scenario.receivers)
        {
            let error = error_of(*node);
            let absence = receiver.absence;
            let is_present =
                at >= absence.joins.max(scenario.warmup) && at < absence.leaves.unwrap_or(scenario.duration);
            match error {
                _ if !is_present => {}
                None => clock.absent += scenario.tick,
                Some(error) if is_kept => clock.errors_ms.push(error.abs().as_millis_f64()),
                Some(_) => {}
            }
        }
    }

    /// The accuracy of a receiver's clock.
    pub(super) fn figures(&self, receiver: usize) -> ClockFigures {
        let ClockErrors { errors_ms, absent } = &self.receivers[receiver];
        ClockFigures { error_ms: p95(errors_ms.clone()), absent: *absent }
    }
}

/// Samples an entity's placement at each receiver.
pub(super) fn placements(
    sim: &SimSession,
    truth: &Truth,
    entity: EntityId,
    now: TrueTime,
) -> Vec<PlacementSample> {
    let local = |node| sim.world.clock(node).local(now);
    let exported = sim.world.node(sim.owner).exported(local(sim.owner), entity);
    let owner_max = sim.clock_error(sim.owner, now).map(|(_, error_max)| error_max);
    let placement = |node| {
        let Some((newest, is_newest)) = truth.newest(node, entity) else { return PlacementSample::default() };
        let placed = sim.world.node(node).placed(local(node), PeerId::from(sim.sender), entity);
        let receiver_max = sim.clock_error(node, now).map(|(_, error_max)| error_max);
        PlacementSample {
            distance: exported.zip(placed).map(|(exported, placed)| exported.distance(placed)),
            is_newest,
            speed: newest.state.velocity.length(),
            error_max: owner_max.zip(receiver_max).map(|(owner, receiver)| owner + receiver),
        }
    };
    sim.receivers.iter().map(|node| placement(*node)).collect()
}
