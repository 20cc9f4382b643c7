//! The settings of the experiments: the papers' own, and those beyond the papers.

use evenkeel_core::Span;
use evenkeel_dr::{Budget, Compensation, Threshold};
use evenkeel_games::{TANKS_CSV, Trace};
use evenkeel_link::Jitter;

use super::study::{Setup, quarter};
use crate::even::{self, EvenCase};
use crate::scenario::{Motion, Receiver, Scenario, ScenarioTopology};

/// The variation of the delays in the papers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Variation {
    /// None.
    None,
    /// Up to 100 ms: "moderate" in the thesis, "low" in the paper.
    Moderate,
    /// Up to 180 ms: "high" in the thesis, "moderate" in the paper.
    High,
}

/// Other jitter distributions, each with a standard deviation of about 58 ms, that of ±100 ms uniform.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Law {
    Normal,
    Exponential,
    Gamma,
    LogNormal,
}

/// Everything about an experiment except the policy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum ExperimentSetting {
    /// The papers' setting: 800, 500 and 200 ms, threshold 0.09.
    Papers(Variation),
    /// The papers' setting with the duration of those beyond the papers.
    Short(Variation),
    /// Another threshold, in hundredths, with the budget that sends as many vectors, which has to be searched for.
    Threshold(u16),
    /// Another jitter distribution.
    Law(Law),
    /// Today's delays: 120, 40 and 15 ms.
    Modern,
    /// A relay that runs the policy.
    Relay,
    /// Tanks recorded in a real game.
    Tanks,
    /// This many receivers.
    Receivers(u16),
    /// A liar among four receivers.
    Lying(Lie, Belief),
    /// A setting of the study of `even`.
    Even(EvenCase),
}

/// What the nearest of four receivers reports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Lie {
    /// The truth.
    None,
    /// It reports every arrival 300 ms later than it happens.
    Stamps,
    /// It also delays its acknowledgments by 600 ms, to match a round trip that is 300 ms longer each way.
    StampsAndHolds,
}

/// How far receivers are believed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Belief {
    /// Completely, as in the papers.
    Blind,
    /// Up to what the sender measured itself, as in a relay's rooms.
    Bounded,
}

/// The settings beyond the papers, in the order in which they are listed. The first two are the papers' own, for
/// comparison.
pub(crate) const ELSEWHERE: [ExperimentSetting; 12] = [
    ExperimentSetting::Short(Variation::Moderate),
    ExperimentSetting::Short(Variation::None),
    ExperimentSetting::Law(Law::Normal),
    ExperimentSetting::Law(Law::Exponential),
    ExperimentSetting::Law(Law::Gamma),
    ExperimentSetting::Law(Law::LogNormal),
    ExperimentSetting::Modern,
    ExperimentSetting::Relay,
    ExperimentSetting::Tanks,
    ExperimentSetting::Receivers(10),
    ExperimentSetting::Receivers(30),
    ExperimentSetting::Receivers(100),
];

const THRESHOLD: f64 = 0.09;
/// The sampling interval of runs that are drawn over time.
const SAMPLE_INTERVAL: Span = Span::from_secs(3);
/// Delays of the farthest and of the nearest of many receivers.
const DELAYS_MS: (f64, f64) = (800.0, 200.0);

impl Variation {
    fn half_width(self) -> Span {
        Span::from_millis(match self {
            Self::None => 0,
            Self::Moderate => 100,
            Self::High => 180,
        })
    }
}

impl Law {
    fn jitter(self) -> Jitter {
        let sd = Span::from_millis(58);
        match self {
            Self::Normal => Jitter::Normal { sd },
            Self::Exponential => Jitter::Exponential { mean: sd },
            Self::Gamma => Jitter::Gamma { sd },
            Self::LogNormal => Jitter::LogNormal { median: Span::from_millis(45), sigma: 0.8 },
        }
    }
}

impl ExperimentSetting {
    /// Returns its scenario.
    pub(crate) fn scenario(self) -> Scenario {
        let moderate = Scenario::papers(Variation::Moderate.half_width(), THRESHOLD);
        let short = Scenario { duration: self.duration(), ..moderate.clone() };
        match self {
            Self::Papers(variation) | Self::Short(variation) => {
                let duration = self.duration();
                Scenario { duration, ..Scenario::papers(variation.half_width(), THRESHOLD) }
            }
            Self::Threshold(hundredths) => {
                let threshold = Threshold { distance: f64::from(hundredths) / 100.0, ..short.threshold };
                Scenario { threshold, ..short }
            }
            Self::Law(law) => {
                let receivers = short.receivers.iter();
                let receivers = receivers.map(|one| Receiver::at(&one.name, one.delay(), law.jitter()));
                Scenario { receivers: receivers.collect(), ..short }
            }
            Self::Modern => {
                let receiver = |name, millis: f64| {
                    let jitter = Jitter::Gamma { sd: Span::from_millis_f64(millis / 10.0) };
                    Receiver::at(name, Span::from_millis_f64(millis), jitter)
                };
                let receivers =
                    vec![receiver("far", 120.0), receiver("middle", 40.0), receiver("near", 15.0)];
                Scenario { receivers, ..short }
            }
            Self::Relay => {
                let topology = ScenarioTopology::Relay { uplink: Span::from_millis(100) };
                Scenario { topology, ..short }
            }
            Self::Tanks => {
                let trace = Trace::parse(TANKS_CSV).expect("the recording is ours");
                let tanks = trace.tanks().iter().filter_map(|number| trace.tank(*number));
                Scenario { motion: Motion::Recorded(tanks.map(|tank| tank.cursor()).collect()), ..short }
            }
            Self::Receivers(count) => {
                let jitter = Jitter::Uniform { half_width: Variation::Moderate.half_width() };
                let receiver = |index: u16| {
                    let part = f64::from(index) / f64::from(count - 1);
                    let millis = DELAYS_MS.0 + part * (DELAYS_MS.1 - DELAYS_MS.0);
                    let name = format!("{millis:.0} ms");
                    Receiver::at(&name, Span::from_millis_f64(millis), jitter.clone())
                };
                let budget = third_budget(usize::from(count));
                Scenario { receivers: (0..count).map(receiver).collect(), budget, ..short }
            }
            Self::Lying(lie, belief) => lying(lie, belief, short),
            Self::Even(case) => case.scenario(),
        }
    }

    /// Returns the threshold it would have if it did not vary the threshold.
    pub(crate) fn usual_threshold(self) -> Threshold {
        Threshold { distance: THRESHOLD, ..self.scenario().threshold }
    }

    fn duration(self) -> Span {
        Span::from_secs(match self {
            Self::Papers(_) => 300,
            Self::Threshold(_) | Self::Lying(..) => 100,
            // All settings listed side by side have the same duration.
            _ => 60,
        })
    }

    /// Returns how many of this many seeds it is run with. Many players take long and vary little, so they get fewer.
    pub(crate) const fn runs(self, runs: usize) -> usize {
        match self {
            Self::Receivers(_) => quarter(runs),
            _ => runs,
        }
    }

    /// Returns whether figures show it over time, not only at the end.
    pub(crate) const fn is_drawn_over_time(self) -> bool {
        matches!(self, Self::Papers(_))
    }

    /// Returns its sampling interval, if it is sampled.
    pub(crate) fn sample_interval(self) -> Option<Span> {
        match self {
            Self::Even(case) => case.sample_interval(),
            _ => self.is_drawn_over_time().then_some(SAMPLE_INTERVAL),
        }
    }

    /// Returns whether the clairvoyant bounds are computed for it.
    pub(crate) const fn is_bounded(self) -> bool {
        match self {
            Self::Even(case) => case.is_bounded(),
            _ => false,
        }
    }

    /// Returns whether the motion is the same with every seed.
    pub(crate) const fn is_recorded(self) -> bool {
        matches!(self, Self::Tanks | Self::Even(EvenCase::Tanks(_)))
    }

    /// Returns its first seed.
    pub(crate) const fn first_seed(self) -> u64 {
        match self {
            Self::Even(_) => even::FIRST_SEED,
            _ => 1,
        }
    }

    /// Returns its name in figures and tables.
    pub(crate) fn label(self) -> String {
        match self {
            Self::Papers(Variation::None) => "fixed delays".to_owned(),
            Self::Papers(Variation::Moderate) => "±100 ms".to_owned(),
            Self::Papers(Variation::High) => "±180 ms".to_owned(),
            Self::Short(variation) => format!("the papers' {}", Self::Papers(variation).label()),
            Self::Threshold(hundredths) => format!("threshold {:.2}", f64::from(hundredths) / 100.0),
            Self::Law(Law::Normal) => "normal jitter".to_owned(),
            Self::Law(Law::Exponential) => "exponential jitter".to_owned(),
            Self::Law(Law::Gamma) => "gamma jitter".to_owned(),
            Self::Law(Law::LogNormal) => "lognormal jitter".to_owned(),
            Self::Modern => "120 / 40 / 15 ms".to_owned(),
            Self::Relay => "through a relay".to_owned(),
            Self::Tanks => "recorded tanks".to_owned(),
            Self::Receivers(count) => format!("{count} players"),
            Self::Lying(..) => "a liar among four".to_owned(),
            Self::Even(case) => case.label(),
        }
    }

    /// Returns its description in captions.
    pub(crate) fn caption(self) -> String {
        let variation = match self {
            Self::Papers(Variation::None) => "without variation",
            Self::Papers(Variation::High) => "each ±180 ms uniform",
            _ => "each ±100 ms uniform",
        };
        format!(
            "800 / 500 / 200 ms one way, {variation}; random motion, threshold 0.09, heartbeat 1 s, 20 ms ticks, \
             {:.0} s; budget, for policies that have one, 1 DR vector per trigger",
            self.duration().as_secs_f64()
        )
    }
}

/// Returns the scenario of four players from 150 to 30 ms, of whom the nearest lies.
fn lying(lie: Lie, belief: Belief, short: Scenario) -> Scenario {
    let receiver = |millis: i64| {
        let jitter = Jitter::Gamma { sd: Span::from_millis(millis / 10) };
        Receiver::at(&format!("{millis} ms"), Span::from_millis(millis), jitter)
    };
    let mut receivers = [150, 100, 50, 30].map(receiver).to_vec();
    tell(&mut receivers[LIAR], lie);
    let compensation = (belief == Belief::Bounded).then(Compensation::default);
    Scenario { budget: third_budget(receivers.len()), receivers, compensation, ..short }
}

/// Makes a receiver tell a lie.
pub(crate) fn tell(receiver: &mut Receiver, lie: Lie) {
    if lie != Lie::None {
        receiver.claims_extra = LIE;
    }
    if lie == Lie::StampsAndHolds {
        receiver.holds_acks = LIE + LIE;
    }
}

/// Returns the budget that sends as many vectors as 1/3 base.
pub(crate) fn third_budget(receivers: usize) -> Budget {
    Budget::new(receivers as f64 / 3.0).unwrap_or(Budget::ONE)
}

/// Index of the liar among the four.
pub(crate) const LIAR: usize = 3;
const LIE: Span = Span::from_millis(300);

/// How the settings beyond the papers differ from ±100 ms, for captions.
pub(crate) const ELSEWHERE_WORDS: &str = "\
The papers' setting with ±100 ms and one change each: no jitter, or another jitter distribution (normal, exponential, gamma, lognormal, \
each with a standard deviation of about 58 ms, which is that of ±100 ms; exponential and lognormal add some 60 ms to the mean delay); \
delays of 120, 40 and 15 ms with gamma jitter of a tenth; a relay 100 ms from the owner that runs the policy; recorded tanks instead of \
random motion, the same for all seeds; 10, 30 and 100 players between 800 and 200 ms";

/// Describes the seeds of the settings beyond the papers.
pub(crate) fn elsewhere_seeds(setup: &Setup<'_>) -> String {
    let (all, few) = (setup.seeds_in_words(), setup.with_few_seeds().seeds_in_words());
    if all == few { all } else { format!("{all} (with 10, 30 and 100 players {few} only)") }
}
