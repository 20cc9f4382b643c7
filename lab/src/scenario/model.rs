//! A scenario after it has been checked: nothing in here can be out of its range.

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
    /// A relay, so far from the owner one way.
    Relay {
        /// One-way delay between owner and relay.
        uplink: Span,
    },
}

/// By which clocks the players live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ScenarioClock {
    /// All clocks agree already, as the papers assume.
    #[default]
    Synchronized,
    /// The relay's clock is the session's, and the others follow it with this filter.
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

/// When a receiver is not there.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Absence {
    /// It joins then.
    pub joins: Span,
    /// It leaves then, if ever.
    pub leaves: Option<Span>,
}

/// One who watches.
#[derive(Clone, PartialEq, Debug)]
pub struct Receiver {
    /// Its name in the tables.
    pub name: String,
    /// The way there.
    pub forward: LinkFaults,
    /// The way back.
    pub back: LinkFaults,
    /// When it is not there.
    pub absence: Absence,
    /// A liar: adds this to the arrival times it reports.
    pub claims_extra: Span,
    /// And delays its acknowledgments by this.
    pub holds_acks: Span,
    /// What is wrong with its own clock; nothing under synchronized clocks.
    pub clock: ClockFaults,
}

impl Receiver {
    /// An honest receiver at a distance, with the same jitter both ways.
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

    /// The same, losing this share of the packets each way.
    #[must_use]
    pub fn losing(mut self, share: f64) -> Self {
        self.forward.loss = Loss::Independent { probability: share };
        self.back.loss = self.forward.loss;
        self
    }

    /// The same, with lasting changes of the delay.
    #[must_use]
    pub fn stepping(mut self, steps: Vec<DelayStep>) -> Self {
        self.forward.steps.clone_from(&steps);
        self.back.steps = steps;
        self
    }

    /// The one-way delay there, without jitter.
    #[must_use]
    pub const fn delay(&self) -> Span {
        self.forward.delay.base
    }
}

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// How long it runs.
    pub duration: Span,
    /// How often the owner looks at its entities.
    pub tick: Span,
    /// Nothing before this counts.
    pub warmup: Span,
    /// The seeds of the runs.
    pub seeds: Vec<u64>,
    /// Who runs the policy.
    pub topology: ScenarioTopology,
    /// By which clocks the players live; only with a relay there is one to follow.
    pub clock: ScenarioClock,
    /// What is wrong with the owner's own clock; nothing under synchronized clocks.
    pub owner_clock: ClockFaults,
    /// How the entities move.
    pub motion: Motion,
    /// When a DR vector is made.
    pub threshold: Threshold,
    /// How it is projected.
    pub kind: Content,
    /// How it is placed.
    pub placement: Placement,
    /// How far receivers are believed who say that they are far away; `None`: wholly, as in the papers.
    pub compensation: Option<Compensation>,
    /// Who watches.
    pub receivers: Vec<Receiver>,
    /// What is compared.
    pub policies: Vec<PolicyKind>,
    /// DR vectors per trigger, for the policies that have a budget.
    pub budget: Budget,
}

impl Scenario {
    /// The papers' experiment: 800/500/200 ms with this half-width of the uniform jitter, random motion, 300 s.
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
