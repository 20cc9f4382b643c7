//! Finds what must be known before the runs: the threshold at which base sends as many vectors as another policy, and
//! the budget with which another threshold sends as many.

use core::ops::Range;

use evenkeel_core::SessionTime;
use evenkeel_dr::owner::{Generated, Owner};
use evenkeel_dr::{Budget, EntityId, Threshold};
use evenkeel_games::STEP;

use super::contender::{BASE_THIRD, named};
use super::setting::ExperimentSetting;
use crate::dr::{movers, run_unless};
use crate::parallel::Progress;
use crate::scenario::Scenario;

/// Seeds for a search. The motion determines the result, and four seeds are accurate enough for the papers' figures.
const SEEDS: u64 = 4;
/// Seeds for a search in the study of `even`: those of its runs by default, because base must send no more vectors
/// than `even`. The number of vectors over four seeds differs from that over twenty by a few percent, as much as the
/// effect to be measured.
const SEEDS_OF_EVEN: u64 = 20;
/// Seeds for the share of vectors that many players are sent.
const SEEDS_OF_MANY: u64 = 1;
const BISECTIONS: usize = 14;

/// A value to search for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Search {
    /// The budget of a setting.
    Budget(ExperimentSetting),
    /// The threshold at which base sends as many vectors in a setting as this policy.
    Coarser(ExperimentSetting, &'static str),
}

impl Search {
    /// Returns the setting to search in.
    pub(crate) const fn setting(self) -> ExperimentSetting {
        match self {
            Self::Budget(setting) | Self::Coarser(setting, _) => setting,
        }
    }

    /// Returns the setting's scenario with the value found; `None` if the search was cancelled.
    pub(crate) fn find(self, scenario: &Scenario, progress: &Progress) -> Option<Scenario> {
        let seeds = self.seeds();
        match self {
            Self::Budget(setting) => {
                let usual = setting.usual_threshold();
                let per_trigger = triggers(scenario, usual, &seeds, progress)?
                    / triggers(scenario, scenario.threshold, &seeds, progress)?;
                let budget = Budget::new(per_trigger).unwrap_or(Budget::ONE);
                Some(Scenario { budget, ..scenario.clone() })
            }
            Self::Coarser(_, BASE_THIRD) => raised(scenario, 1.0 / 3.0, &seeds, progress),
            Self::Coarser(setting, policy) => {
                let few =
                    if matches!(setting, ExperimentSetting::Receivers(_)) { SEEDS_OF_MANY } else { SEEDS };
                let share = share_sent(scenario, policy, seeds.start..seeds.start + few, progress)?;
                raised(scenario, share, &seeds, progress)
            }
        }
    }

    /// Returns the seeds with which vectors are counted.
    const fn seeds(self) -> Range<u64> {
        let first = self.setting().first_seed();
        let count = match self.setting() {
            // Recorded motion does not depend on the seed.
            setting if setting.is_recorded() => 1,
            ExperimentSetting::Even(_) => SEEDS_OF_EVEN,
            _ => SEEDS,
        };
        first..first + count
    }
}

/// Returns how many DR vectors the owner makes with a threshold in a run, on average.
fn triggers(
    scenario: &Scenario,
    threshold: Threshold,
    seeds: &Range<u64>,
    progress: &Progress,
) -> Option<f64> {
    let ticks = scenario.duration.as_nanos() / scenario.tick.as_nanos();
    let mut made = 0_u64;
    for seed in seeds.clone() {
        if progress.is_cancelled() {
            return None;
        }
        let mut owner = Owner::new(threshold, scenario.kind, usize::MAX);
        let mut movers = movers(scenario, seed);
        let mut lives = vec![None; movers.len()];
        for tick in 0..ticks {
            let now = scenario.tick.times(tick);
            let step = (now.as_nanos() / STEP.as_nanos()) as u64;
            for (index, mover) in movers.iter_mut().enumerate() {
                let entity = EntityId(index as u32);
                let sample = mover.at(step);
                let life = sample.map(|sample| sample.life);
                if lives[index] != life && lives[index].is_some() {
                    owner.end(entity);
                }
                lives[index] = life;
                let Some(sample) = sample else { continue };
                let at = SessionTime::from_nanos(now.as_nanos());
                let generated = owner.observe(entity, &sample.state, at);
                // An introduction does not count as sent.
                made += u64::from(matches!(generated, Some(Generated::Next(_))));
            }
        }
    }
    Some(made as f64 / (seeds.end - seeds.start) as f64)
}

/// Returns the share of base's vectors that a policy sends.
fn share_sent(scenario: &Scenario, policy: &str, seeds: Range<u64>, progress: &Progress) -> Option<f64> {
    let (mut sent, mut all) = (0, 0);
    for seed in seeds {
        let run = run_unless(scenario, named(policy), seed, None, progress)?;
        sent += run.sent;
        all += run.triggers * scenario.receivers.len() as u64;
    }
    Some(sent as f64 / all as f64)
}

/// Returns the scenario with a threshold coarse enough that only this share of the vectors is made; without a
/// heartbeat if the heartbeat alone makes more.
fn raised(scenario: &Scenario, share: f64, seeds: &Range<u64>, progress: &Progress) -> Option<Scenario> {
    let wanted = triggers(scenario, scenario.threshold, seeds, progress)? * share;
    let (mut low, mut high) = (scenario.threshold.distance, 1000.0 * scenario.threshold.distance);
    let coarsest = Threshold { distance: high, ..scenario.threshold };
    let beats = triggers(scenario, coarsest, seeds, progress)?;
    let time = scenario.threshold.time.filter(|_| beats <= wanted);
    for _ in 0..BISECTIONS {
        let middle = (low * high).sqrt();
        let made = triggers(scenario, Threshold { distance: middle, time }, seeds, progress)?;
        if made > wanted { low = middle } else { high = middle }
    }
    let threshold = Threshold { distance: (low * high).sqrt(), time };
    Some(Scenario { threshold, ..scenario.clone() })
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Span;

    use super::*;

    #[test]
    fn coarser_base_sends_as_many_vectors_as_the_policy() {
        let scenario = Scenario { duration: Span::from_secs(40), ..ExperimentSetting::Modern.scenario() };
        let progress = Progress::default();
        for policy in [BASE_THIRD, "netgames05-consistent"] {
            let search = Search::Coarser(ExperimentSetting::Modern, policy);
            let coarser = search.find(&scenario, &progress).expect("not cancelled");
            let share = |scenario: &Scenario, policy| share_sent(scenario, policy, search.seeds(), &progress);
            let ratio = share(&coarser, "base").zip(share(&scenario, policy));
            let made = |scenario: &Scenario| {
                triggers(scenario, scenario.threshold, &search.seeds(), &progress).expect("not cancelled")
            };
            let (all, some) = ratio.expect("not cancelled");
            let sent = all * made(&coarser) / (some * made(&scenario));
            assert!((sent - 1.0).abs() < 0.05, "{policy}: {sent}");
        }
    }

    #[test]
    fn a_cancelled_search_finds_nothing() {
        let setting = ExperimentSetting::Threshold(5);
        let progress = Progress::default();
        progress.cancel();
        for search in [
            Search::Budget(setting),
            Search::Coarser(setting, BASE_THIRD),
            Search::Coarser(setting, "scheduling-1"),
        ] {
            assert!(search.find(&setting.scenario(), &progress).is_none(), "{search:?}");
        }
    }
}
