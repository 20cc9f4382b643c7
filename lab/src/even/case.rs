//! The settings of the study of `even`.

use evenkeel_core::Span;
use evenkeel_dr::{Budget, Compensation, Content};
use evenkeel_link::{DelayStep, Jitter, TrueTime};

use crate::papers::setting::{Belief, ExperimentSetting, Lie, tell, third_budget};
use crate::scenario::{Absence, Receiver, Scenario, ScenarioTopology};

/// A setting of the study. Thresholds are in hundredths of a unit; unless noted otherwise, it is the papers' setting
/// with ±100 ms and a threshold of 0.3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum EvenCase {
    /// The papers' delays, with a threshold.
    Papers(u16),
    /// The papers' delays through a relay that runs the policy, with a threshold.
    Relay(u16),
    /// Today's delays, with a threshold.
    Broadband(u16),
    /// Tanks recorded in a real game, with a threshold.
    Tanks(u16),
    /// Today's delays with a budget for every vector to everybody, threshold 0.09.
    FullBudget,
    /// Two players, 120 and 15 ms away, threshold 0.09.
    Pair,
    /// Three players, each 40 ms away, threshold 0.09.
    SameDelay,
    /// Two players, each 40 ms away, threshold 0.09.
    SamePair,
    /// A budget, in hundredths of a DR vector per trigger.
    Budget(u16),
    /// This many players between 10 and 400 ms, threshold 0.09.
    Receivers(u16),
    /// The percentage of packets lost each way, and a threshold.
    Loss(u16, u16),
    /// The near player's delay steps up.
    Step,
    /// A player joins, and another one leaves.
    Visitors,
    /// Twenty minutes, threshold 0.09.
    Long,
    /// A liar among four players.
    Lying(Lie, Belief),
    /// Five players behind a relay, threshold 0.09, and what the nearest reports.
    Room(RoomDelays, Lie),
    /// Four near players behind a relay, threshold 0.09, and whether a fifth that no policy can serve is there.
    Unserved(bool),
    /// The content of vectors, with a threshold.
    Content(Content, u16),
}

/// The delays in a room of five players.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum RoomDelays {
    /// 180, 130, 70, 45 and 25 ms.
    Spaced,
    /// 200, 80, 20, 5 and 0 ms.
    OneFar,
}

impl RoomDelays {
    const fn millis(self) -> [i64; 5] {
        match self {
            Self::Spaced => [180, 130, 70, 45, 25],
            Self::OneFar => [200, 80, 20, 5, 0],
        }
    }
}

/// When the near player's delay steps up, and to what.
pub(super) const STEP_AT: Span = Span::from_secs(100);
const STEP_TO: Span = Span::from_millis(600);
/// When a player joins, and when another one leaves.
pub(super) const COMES_AT: Span = Span::from_secs(100);
pub(super) const LEAVES_AT: Span = Span::from_secs(200);
/// Delays of the nearest and of the farthest of many players, in milliseconds.
const MANY_MS: (f64, f64) = (10.0, 400.0);
const JITTER: Span = Span::from_millis(100);

/// Converts a threshold from hundredths.
pub(super) fn distance(hundredths: u16) -> f64 {
    f64::from(hundredths) / 100.0
}

impl EvenCase {
    /// Returns its scenario.
    pub(crate) fn scenario(self) -> Scenario {
        let papers = Scenario::papers(JITTER, self.threshold());
        match self {
            Self::Papers(_) => papers,
            Self::Relay(_) => Scenario { topology: ScenarioTopology::Relay { uplink: Span::ZERO }, ..papers },
            Self::Broadband(_) => like(ExperimentSetting::Modern, &papers),
            Self::FullBudget => {
                let budget = Budget::new(3.0).unwrap_or(Budget::ONE);
                Scenario { budget, ..like(ExperimentSetting::Modern, &papers) }
            }
            Self::Pair => at_delays(&[("far", 120), ("near", 15)], papers),
            Self::SameDelay => at_delays(&[("first", 40), ("second", 40), ("third", 40)], papers),
            Self::SamePair => at_delays(&[("first", 40), ("second", 40)], papers),
            Self::Tanks(_) => like(ExperimentSetting::Tanks, &papers),
            Self::Budget(hundredths) => {
                let budget = Budget::new(distance(hundredths)).unwrap_or(Budget::ONE);
                Scenario { budget, ..papers }
            }
            Self::Receivers(count) => {
                let receiver = |index: u16| {
                    let part = f64::from(index) / f64::from(count - 1);
                    let millis = MANY_MS.0 + part * (MANY_MS.1 - MANY_MS.0);
                    let jitter = Jitter::Gamma { sd: Span::from_millis_f64(millis / 10.0) };
                    Receiver::at(&format!("{millis:.0} ms"), Span::from_millis_f64(millis), jitter)
                };
                let budget = third_budget(usize::from(count));
                Scenario { receivers: (0..count).map(receiver).collect(), budget, ..papers }
            }
            Self::Loss(percent, _) => {
                let losing = |receiver: Receiver| receiver.losing(distance(percent));
                Scenario { receivers: papers.receivers.into_iter().map(losing).collect(), ..papers }
            }
            Self::Step => {
                let mut receivers = papers.receivers;
                let step = DelayStep { at: TrueTime::default() + STEP_AT, delay: STEP_TO };
                receivers[2] = receivers[2].clone().stepping(vec![step]);
                Scenario { receivers, ..papers }
            }
            Self::Visitors => {
                let visitor = |name, millis, joins, leaves| {
                    let jitter = Jitter::Uniform { half_width: JITTER };
                    let absence = Absence { joins, leaves };
                    Receiver { absence, ..Receiver::at(name, Span::from_millis(millis), jitter) }
                };
                let mut receivers = papers.receivers;
                receivers.push(visitor("comes", 350, COMES_AT, None));
                receivers.push(visitor("leaves", 650, Span::ZERO, Some(LEAVES_AT)));
                Scenario { budget: third_budget(receivers.len()), receivers, ..papers }
            }
            Self::Long => Scenario { duration: Span::from_secs(1200), ..papers },
            Self::Lying(lie, belief) => like(ExperimentSetting::Lying(lie, belief), &papers),
            Self::Content(kind, _) => Scenario { kind, ..papers },
            Self::Room(delays, lie) => {
                let mut receivers = delays.millis().map(room_player).to_vec();
                tell(&mut receivers[NEAREST], lie);
                room(receivers, papers)
            }
            Self::Unserved(is_there) => {
                let mut receivers = NEAR_MS.map(room_player).to_vec();
                if is_there {
                    receivers.push(room_player(UNSERVED_MS).losing(0.5));
                }
                room(receivers, papers)
            }
        }
    }

    fn threshold(self) -> f64 {
        match self {
            Self::Papers(hundredths)
            | Self::Relay(hundredths)
            | Self::Broadband(hundredths)
            | Self::Loss(_, hundredths)
            | Self::Content(_, hundredths)
            | Self::Tanks(hundredths) => distance(hundredths),
            Self::FullBudget | Self::Pair | Self::SameDelay | Self::SamePair => 0.09,
            Self::Receivers(_) | Self::Long | Self::Lying(..) | Self::Room(..) | Self::Unserved(_) => 0.09,
            Self::Budget(_) | Self::Step | Self::Visitors => 0.3,
        }
    }

    /// Returns its sampling interval, if it is sampled.
    pub(crate) const fn sample_interval(self) -> Option<Span> {
        match self {
            Self::Papers(_) | Self::Broadband(_) | Self::Step | Self::Visitors => Some(Span::from_secs(1)),
            Self::Long => Some(Span::from_secs(10)),
            _ => None,
        }
    }

    /// Returns whether the clairvoyant bounds are computed for it.
    pub(crate) const fn is_bounded(self) -> bool {
        matches!(self, Self::Papers(_) | Self::Broadband(_) | Self::Tanks(_) | Self::Budget(_))
    }

    /// Returns its delays, for tables of settings that differ only in them.
    pub(crate) const fn delays(self) -> &'static str {
        match self {
            Self::Broadband(_) => "120/40/15 ms",
            _ => "800/500/200 ms",
        }
    }

    /// Returns its name in figures and tables.
    pub(crate) fn label(self) -> String {
        let at = |what: &str, hundredths| format!("{what}, threshold {}", distance(hundredths));
        match self {
            Self::Papers(hundredths) => at("800/500/200 ms", hundredths),
            Self::Relay(hundredths) => at("relay", hundredths),
            Self::Broadband(hundredths) => at("120/40/15 ms", hundredths),
            Self::Tanks(hundredths) => at("recorded tanks", hundredths),
            Self::FullBudget => "120/40/15 ms, full budget".to_owned(),
            Self::Pair => "two players, 120/15 ms".to_owned(),
            Self::SameDelay => "three players, 40 ms each".to_owned(),
            Self::SamePair => "two players, 40 ms each".to_owned(),
            Self::Budget(hundredths) => format!("budget {}", distance(hundredths)),
            Self::Receivers(count) => format!("{count} players"),
            Self::Loss(percent, hundredths) => at(&format!("{percent} % loss"), hundredths),
            Self::Step => "a delay that steps up".to_owned(),
            Self::Visitors => "coming and going".to_owned(),
            Self::Long => "20 minutes".to_owned(),
            Self::Lying(..) => "a liar among four".to_owned(),
            Self::Room(delays, _) => {
                format!("{} ms, a relay", delays.millis().map(|one| one.to_string()).join("/"))
            }
            Self::Unserved(_) => "60/40/30/20 ms, a relay".to_owned(),
            Self::Content(kind, hundredths) => at(&format!("{kind:?}"), hundredths),
        }
    }
}

/// Returns the setting with these players, gamma jitter of a tenth, and a budget of a third of them per trigger.
fn at_delays(players: &[(&str, i64)], papers: Scenario) -> Scenario {
    let receiver = |(name, millis): &(&str, i64)| {
        let jitter = Jitter::Gamma { sd: Span::from_millis_f64(*millis as f64 / 10.0) };
        Receiver::at(name, Span::from_millis(*millis), jitter)
    };
    let budget = third_budget(players.len());
    Scenario { receivers: players.iter().map(receiver).collect(), budget, ..papers }
}

/// The delays of players near a relay, and that of one who can't be served, in milliseconds.
const NEAR_MS: [i64; 4] = [60, 40, 30, 20];
const UNSERVED_MS: i64 = 2000;
/// Index of the nearest of five.
const NEAREST: usize = 4;

fn room_player(millis: i64) -> Receiver {
    let jitter = Jitter::Gamma { sd: Span::from_millis(millis).part(10) };
    Receiver::at(&format!("{millis} ms"), Span::from_millis(millis), jitter)
}

/// Players behind a relay 20 ms from the owner, with a fifth of all messages.
fn room(receivers: Vec<Receiver>, papers: Scenario) -> Scenario {
    let topology = ScenarioTopology::Relay { uplink: Span::from_millis(20) };
    let budget = Budget::of_receivers(0.2).unwrap_or(Budget::ONE);
    Scenario { topology, budget, compensation: Some(Compensation::default()), receivers, ..papers }
}

/// Returns another study's setting with the duration and threshold of this one.
fn like(setting: ExperimentSetting, papers: &Scenario) -> Scenario {
    let Scenario { duration, threshold, .. } = *papers;
    Scenario { duration, threshold, ..setting.scenario() }
}
