//! A checked scenario: every value is within its range.

use evenkeel_core::Span;
use evenkeel_dr::{Budget, Compensation, Content, Placement, PolicyKind, Threshold};
use evenkeel_games::{Cursor, Driver};
use evenkeel_link::{ClockFaults, DelayLaw, DelayStep, Jitter, LinkFaults, Loss};

use crate::clock::Filter;

/// Who runs the policy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ScenarioTopology {
    /// The owner.
    Direct,
    /// A relay.
    Relay {
        /// One-way delay between owner and relay.
        uplink: Span,
    },
}

/// Which clocks the players use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ScenarioClock {
    /// Perfectly synchronized clocks, as the papers assume.
    #[default]
    Synchronized,
    /// The relay's clock defines the session's time; the others follow it with this filter.
    Session(Filter),
}

/// How the entities move.
#[derive(Clone, Debug)]
pub enum Motion {
    /// One tank with a driver.
    Driven(Driver),
    /// Recorded tanks.
    Recorded(Vec<Cursor>),
}

/// When a receiver joins and leaves.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Absence {
    /// When it joins.
    pub joins: Span,
    /// When it leaves, if it does.
    pub leaves: Option<Span>,
}

/// A receiver.
#[derive(Clone, PartialEq, Debug)]
pub struct Receiver {
    /// Its name in the tables.
    pub name: String,
    /// Faults of the link to the receiver.
    pub forward: LinkFaults,
    /// Faults of the link back, which carries acknowledgments.
    pub back: LinkFaults,
    /// When it joins and leaves.
    pub absence: Absence,
    /// A lie: the receiver adds this to the arrival times it reports.
    pub claims_extra: Span,
    /// A lie: the receiver delays its acknowledgments by this.
    pub holds_acks: Span,
    /// Faults of its own clock; none under synchronized clocks.
    pub clock: ClockFaults,
}

impl Receiver {
    /// Creates an honest receiver with the same delay and jitter both ways.
    #[must_use]
    pub fn at(name: &str, delay: Span, jitter: Jitter) -> Self {
        let faults = LinkFaults { delay: DelayLaw { base: delay, jitter }, ..LinkFaults::default() };
        Self {
            name: name.to_owned(),
            forward: faults.clone(),
            back: faults,
            absence: Absence::default(),
            claims_extra: Span::ZERO,
            holds_acks: Span::ZERO,
            clock: ClockFaults::default(),
        }
    }

    /// Sets the share of packets lost each way.
    #[must_use]
    pub fn losing(mut self, share: f64) -> Self {
        self.forward.loss = Loss::Independent { probability: share };
        self.back.loss = self.forward.loss;
        self
    }

    /// Sets lasting changes of the delay, both ways.
    #[must_use]
    pub fn stepping(mut self, steps: Vec<DelayStep>) -> Self {
        self.forward.steps.clone_from(&steps);
        self.back.steps = steps;
        self
    }

    /// The one-way delay to the receiver, without jitter.
    #[must_use]
    pub const fn delay(&self) -> Span {
        self.forward.delay.base
    }
}

/// A scenario: what moves, who watches over which links, and which policies are compared.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// How long it runs.
    pub duration: Span,
    /// How often the owner observes its entities.
    pub tick: Span,
    /// Errors before this time do not count.
    pub warmup: Span,
    /// The seeds of the runs.
    pub seeds: Vec<u64>,
    /// Who runs the policy.
    pub topology: ScenarioTopology,
    /// Which clocks the players use. Session clocks need a relay.
    pub clock: ScenarioClock,
    /// Faults of the owner's own clock; none under synchronized clocks.
    pub owner_clock: ClockFaults,
    /// How the entities move.
    pub motion: Motion,
    /// The threshold at which a DR vector is generated.
    pub threshold: Threshold,
    /// How DR vectors are projected.
    pub kind: Content,
    /// How receivers place DR vectors.
    pub placement: Placement,
    /// How far reported delays are compensated; `None` believes every report, as the papers do.
    pub compensation: Option<Compensation>,
    /// The receivers.
    pub receivers: Vec<Receiver>,
    /// The policies to compare.
    pub policies: Vec<PolicyKind>,
    /// The budget of the policies that have one.
    pub budget: Budget,
}

impl Scenario {
    /// The papers' experiment: receivers at 800, 500 and 200 ms with uniform jitter of this half-width, random motion, 300 s.
    #[must_use]
    pub fn papers(jitter: Span, distance: f64) -> Self {
        let receiver = |name, millis| {
            Receiver::at(name, Span::from_millis(millis), Jitter::Uniform { half_width: jitter })
        };
        Self {
            duration: Span::from_secs(300),
            tick: Span::from_millis(20),
            warmup: Span::ZERO,
            seeds: (1..=20).collect(),
            topology: ScenarioTopology::Direct,
            clock: ScenarioClock::Synchronized,
            owner_clock: ClockFaults::default(),
            motion: Motion::Driven(Driver::Random),
            threshold: Threshold { distance, ..Threshold::default() },
            kind: Content::default(),
            placement: Placement::Global,
            compensation: None,
            receivers: vec![receiver("far", 800), receiver("middle", 500), receiver("near", 200)],
            policies: PolicyKind::all(),
            budget: Budget::ONE,
        }
    }
}
