//! One simulated run: a scenario under one policy with one seed.

use evenkeel_core::{PeerId, Span};
use evenkeel_dr::{DrCommand, EntityId, PolicyKind};
use evenkeel_games::{Mover, STEP, Sample as MotionSample};
use evenkeel_link::TrueTime;
use evenkeel_sim::NodeId;

use super::clocks::{ClockFigures, ClockMonitor, PlacementSample, placements};
use super::node::NodeCommand;
use super::truth::{Truth, session};
use super::world::{DATAGRAM_MAX, SimSession, movers};
use crate::bounds::ExportedPath;
use crate::parallel::Progress;
use crate::scenario::Scenario;
use crate::stats::{mean, population_sd};

/// The results of one receiver.
#[derive(Clone, PartialEq, Debug)]
pub struct ReceiverFigures {
    /// True accumulated export error.
    pub aee: f64,
    /// The after export error: the part of `aee` that accumulated while the receiver had the newest DR vector.
    pub after_error: f64,
    /// Accumulated error against the real path.
    pub real_error: f64,
    /// DR vectors sent to it.
    pub sent: u64,
    /// DR vectors that reached it.
    pub delivered: u64,
    /// Accumulated export error by the sender's ledger.
    pub known_aee: f64,
    /// The share of the counted time in which it was present.
    pub present: f64,
    /// The accuracy of its session clock, if it has one.
    pub clock: Option<ClockFigures>,
}

/// The results of one run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunFigures {
    /// The policy.
    pub policy: PolicyKind,
    /// The seed.
    pub seed: u64,
    /// DR vectors generated.
    pub triggers: u64,
    /// DR vectors sent.
    pub sent: u64,
    /// The receivers, in the scenario's order.
    pub receivers: Vec<ReceiverFigures>,
    /// The samples, if the run was sampled.
    pub samples: Vec<RunSample>,
    /// Events that the simulator handled.
    pub events: u64,
}

impl RunFigures {
    /// Mean accumulated export error over the receivers. The error of a receiver that was absent for some time is scaled to
    /// the full time.
    #[must_use]
    pub fn mean_aee(&self) -> f64 {
        mean(&self.of(|receiver| receiver.aee))
    }

    /// Standard deviation of the accumulated export error over the receivers: the measure of unfairness.
    #[must_use]
    pub fn std_aee(&self) -> f64 {
        population_sd(&self.of(|receiver| receiver.aee))
    }

    /// Mean error against the real path over the receivers.
    #[must_use]
    pub fn mean_real_error(&self) -> f64 {
        mean(&self.of(|receiver| receiver.real_error))
    }

    /// Standard deviation of the error against the real path over the receivers.
    #[must_use]
    pub fn std_real_error(&self) -> f64 {
        population_sd(&self.of(|receiver| receiver.real_error))
    }

    fn of(&self, figure: impl Fn(&ReceiverFigures) -> f64) -> Vec<f64> {
        let present = self.receivers.iter().filter(|receiver| receiver.present > 0.0);
        present.map(|receiver| figure(receiver) / receiver.present).collect()
    }
}

/// A sample of a run at one instant.
#[derive(Clone, PartialEq, Debug)]
pub struct RunSample {
    /// Seconds since the start.
    pub at: f64,
    /// Each receiver's accumulated export error.
    pub aee: Vec<f64>,
    /// Each receiver's accumulated error against the real path.
    pub real_error: Vec<f64>,
    /// Each receiver's accumulated export error by the sender's ledger, and the DR vectors sent to it; empty unless
    /// [`Sampling::ledger`] is set.
    pub known: Vec<(f64, u64)>,
    /// The speed of the first entity on the real path.
    pub real_speed: f64,
    /// The distance between the real and the placed position of the first entity at each receiver.
    pub real_distance: Vec<f64>,
    /// The first entity's placement at each receiver; empty under synchronized clocks.
    pub placements: Vec<PlacementSample>,
}

/// Which part of a run to sample, and how often.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampling {
    /// The time of the first sample.
    pub from: Span,
    /// No samples after this time.
    pub until: Span,
    /// The time between samples, rounded to ticks.
    pub every: Span,
    /// Whether to sample the sender's ledger, too.
    pub ledger: bool,
}

/// Runs a scenario under one policy with one seed.
#[must_use]
pub fn run(scenario: &Scenario, policy: PolicyKind, seed: u64, sampling: Option<Sampling>) -> RunFigures {
    run_unless(scenario, policy, seed, sampling, &Progress::default())
        .expect("this progress is never cancelled")
}

/// Runs a scenario like [`run`], or returns `None` if `progress` is cancelled, which is checked once per tick.
#[must_use]
pub fn run_unless(
    scenario: &Scenario,
    policy: PolicyKind,
    seed: u64,
    sampling: Option<Sampling>,
    progress: &Progress,
) -> Option<RunFigures> {
    let mut run = Run::new(scenario, policy, seed);
    let ticks = (scenario.duration.as_nanos() + scenario.tick.as_nanos() - 1) / scenario.tick.as_nanos();
    let mut next_sample = sampling.map_or(Span::MAX, |sampling| sampling.from);
    let mut samples = Vec::new();
    for tick in 0..=ticks {
        if progress.is_cancelled() {
            return None;
        }
        let at = scenario.tick.times(tick).min(scenario.duration);
        run.advance(at);
        run.measure_clocks(at);
        if let Some(sampling) = sampling
            && at >= next_sample
            && at <= sampling.until
        {
            samples.push(run.sample(at, sampling.ledger));
            next_sample += sampling.every;
        }
        if at < scenario.duration {
            run.observe(at);
        }
    }
    Some(RunFigures { samples, ..run.finish() })
}

/// The paths that the owner exports in a scenario with one seed. They do not depend on receivers or policy.
#[must_use]
pub fn exported(scenario: &Scenario, seed: u64) -> Vec<ExportedPath> {
    let without_receivers = Scenario { receivers: Vec::new(), ..scenario.clone() };
    let mut run = Run::new(&without_receivers, PolicyKind::BASE, seed);
    let ticks = scenario.duration.as_nanos() / scenario.tick.as_nanos();
    for tick in 0..=ticks {
        let at = scenario.tick.times(tick);
        run.advance(at);
        if at < scenario.duration {
            run.observe(at);
        }
    }
    run.truth.into_paths()
}

/// An entity and its motion.
struct DrivenEntity {
    entity: EntityId,
    mover: Mover,
    life: Option<u64>,
    /// Its state at the last motion step and at the next.
    here: Option<MotionSample>,
    next: Option<MotionSample>,
}

/// A scheduled event of a run.
#[derive(Clone, Copy)]
enum RunEvent {
    WarmedUp,
    Joins(usize),
    Leaves(usize),
}

struct Run<'a> {
    scenario: &'a Scenario,
    policy: PolicyKind,
    seed: u64,
    sim: SimSession,
    truth: Truth,
    clocks: Option<ClockMonitor>,
    entities: Vec<DrivenEntity>,
    /// Motion steps done.
    steps: u64,
    /// Scheduled events, the next one last.
    pending: Vec<(Span, RunEvent)>,
    /// Each receiver's error by the ledger and vectors sent when counting began.
    before: Vec<(f64, u64)>,
    /// The final values of receivers that left.
    after: Vec<Option<(f64, u64)>>,
}

fn at(span: Span) -> TrueTime {
    TrueTime::from_nanos(span.as_nanos())
}

impl<'a> Run<'a> {
    fn new(scenario: &'a Scenario, policy: PolicyKind, seed: u64) -> Self {
        let sim = SimSession::new(scenario, policy, seed);
        let truth = Truth::new(sim.owner, sim.receivers.iter().copied());
        let entity = |index: usize| EntityId(u32::try_from(index).expect("few entities"));
        let entities = movers(scenario, seed)
            .into_iter()
            .enumerate()
            .map(|(index, mover)| DrivenEntity {
                entity: entity(index),
                mover,
                life: None,
                here: None,
                next: None,
            })
            .collect();
        let mut pending = vec![(scenario.warmup, RunEvent::WarmedUp)];
        for (index, receiver) in scenario.receivers.iter().enumerate() {
            pending.push((receiver.absence.joins, RunEvent::Joins(index)));
            pending.extend(receiver.absence.leaves.map(|leaves| (leaves, RunEvent::Leaves(index))));
        }
        pending.sort_by_key(|(at, _)| *at);
        pending.reverse();
        let count = scenario.receivers.len();
        let (before, after) = (vec![(0.0, 0); count], vec![None; count]);
        let clocks = ClockMonitor::new(scenario);
        Self { scenario, policy, seed, sim, truth, clocks, entities, steps: 0, pending, before, after }
    }

    /// Lets time pass, handling motion steps and scheduled events on the way.
    fn advance(&mut self, to: Span) {
        loop {
            let step_at = STEP.times(i64::try_from(self.steps).expect("a run has fewer steps"));
            let event_at = self.pending.last().map_or(Span::MAX, |(at, _)| *at);
            if step_at.min(event_at) > to {
                break;
            }
            self.sim.world.run_until(at(step_at.min(event_at)), &mut self.truth);
            if event_at <= step_at {
                self.handle_event();
            } else {
                self.drive_step(step_at);
            }
        }
        self.sim.world.run_until(at(to), &mut self.truth);
    }

    /// Measures the session clocks, if there are any.
    fn measure_clocks(&mut self, now: Span) {
        if let Some(clocks) = &mut self.clocks {
            clocks.measure(self.scenario, &self.sim, &mut self.truth, now);
        }
    }

    fn handle_event(&mut self) {
        let Some((when, event)) = self.pending.pop() else { return };
        let (sender, now) = (self.sim.sender, at(when));
        match event {
            RunEvent::WarmedUp => {
                self.truth.reset(now);
                let known = |index: usize| self.after[index].unwrap_or_else(|| self.known(index));
                self.before = (0..self.scenario.receivers.len()).map(known).collect();
            }
            RunEvent::Joins(index) => self.sim.world.join(sender, self.sim.receivers[index], DATAGRAM_MAX),
            RunEvent::Leaves(index) => {
                let receiver = self.sim.receivers[index];
                self.truth.leave(receiver, now);
                self.after[index] = Some(self.known(index));
                self.sim.world.leave(sender, receiver);
            }
        }
    }

    /// A receiver's accumulated export error by the ledger, and the vectors sent to it.
    fn known(&self, index: usize) -> (f64, u64) {
        let receiver = PeerId::from(self.sim.receivers[index]);
        let ledger = self.sim.world.node(self.sim.sender).ledger();
        let now = session(self.sim.world.now());
        ledger.map_or((0.0, 0), |ledger| (ledger.accumulated(receiver, now), ledger.sent_to(receiver)))
    }

    /// Moves the entities along the real path until the next step.
    fn drive_step(&mut self, now: Span) {
        for driven in &mut self.entities {
            driven.here = if self.steps == 0 { driven.mover.at(0) } else { driven.next };
            driven.next = driven.mover.at(self.steps + 1);
            if let (Some(here), Some(next)) = (driven.here, driven.next)
                && here.life == next.life
            {
                let (from, to) = (here.state.position, next.state.position);
                self.truth.drive(driven.entity, at(now), from, to, STEP);
            }
        }
        self.steps += 1;
    }

    /// The owner observes its entities.
    fn observe(&mut self, now: Span) {
        let step = self.steps.saturating_sub(1);
        for driven in &mut self.entities {
            let sample = driven.here;
            let life = sample.map(|sample| sample.life);
            if driven.life.is_some() && driven.life != life {
                self.sim
                    .world
                    .command(self.sim.owner, NodeCommand::Peer(DrCommand::End { entity: driven.entity }));
                self.truth.end(driven.entity, at(now));
            }
            driven.life = life;
            let Some(mut sample) = sample else { continue };
            // Between two steps the real path is a straight line.
            let late = (now - STEP.times(step as i64)).as_secs_f64() / STEP.as_secs_f64();
            if late > 0.0
                && let Some(next) = driven.next.filter(|next| next.life == sample.life)
            {
                let from = sample.state.position;
                sample.state.position = from + (next.state.position - from) * late;
            }
            let command = DrCommand::Observe { entity: driven.entity, state: sample.state };
            self.sim.world.command(self.sim.owner, NodeCommand::Peer(command));
        }
    }

    fn sample(&mut self, now: Span, ledger: bool) -> RunSample {
        self.truth.count_to(at(now));
        let first = self.entities[0].entity;
        let distance = |node: NodeId| self.truth.real_distance(node, first, at(now)).unwrap_or(f64::NAN);
        let known_count = if ledger { self.sim.receivers.len() } else { 0 };
        let placements = self.clocks.as_ref().map(|_| placements(&self.sim, &self.truth, first, at(now)));
        RunSample {
            at: now.as_secs_f64(),
            aee: self.sim.receivers.iter().map(|node| self.truth.errors(*node).aee).collect(),
            real_error: self.sim.receivers.iter().map(|node| self.truth.errors(*node).real_error).collect(),
            known: (0..known_count).map(|index| self.known(index)).collect(),
            real_speed: self.truth.real_speed(first).unwrap_or(f64::NAN),
            real_distance: self.sim.receivers.iter().map(|node| distance(*node)).collect(),
            placements: placements.unwrap_or_default(),
        }
    }

    fn finish(mut self) -> RunFigures {
        self.truth.count_to(at(self.scenario.duration));
        let receivers: Vec<_> = (0..self.scenario.receivers.len()).map(|index| self.figures(index)).collect();
        RunFigures {
            policy: self.policy,
            seed: self.seed,
            triggers: self.truth.triggers,
            sent: receivers.iter().map(|receiver| receiver.sent).sum(),
            receivers,
            samples: Vec::new(),
            events: self.sim.world.events_handled(),
        }
    }

    fn figures(&self, index: usize) -> ReceiverFigures {
        let errors = self.truth.errors(self.sim.receivers[index]);
        let (known, sent) = self.after[index].unwrap_or_else(|| self.known(index));
        let (known_before, sent_before) = self.before[index];
        let Scenario { duration, warmup, .. } = *self.scenario;
        let absence = self.scenario.receivers[index].absence;
        let present = absence.leaves.unwrap_or(duration).min(duration) - absence.joins.max(warmup);
        ReceiverFigures {
            aee: errors.aee,
            after_error: errors.after_error,
            real_error: errors.real_error,
            sent: sent.saturating_sub(sent_before),
            delivered: errors.delivered,
            known_aee: known - known_before,
            present: (present.as_secs_f64() / (duration - warmup).as_secs_f64()).max(0.0),
            clock: self.clocks.as_ref().map(|clocks| clocks.figures(index)),
        }
    }
}
