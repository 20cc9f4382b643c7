//! The limits of a scenario, and the lists that the command line may replace.

use evenkeel_dr::PolicyKind;

use super::Scenario;

/// The longest run: a day.
pub const DURATION_MAX_S: f64 = 86_400.0;
/// The longest delay.
pub const DELAY_MAX_MS: f64 = 60_000.0;
/// The largest offset of a clock, and its largest step: a day.
pub const CLOCK_MAX_MS: f64 = 86_400_000.0;
/// The largest skew of a clock.
pub const SKEW_MAX_PPM: f64 = 1_000.0;
/// The most receivers.
pub const RECEIVERS_MAX: usize = 1_000;
/// The most seeds.
pub const SEEDS_MAX: usize = 1_000;
/// The most policies.
pub const POLICIES_MAX: usize = 100;
/// The most recorded tanks in a run.
pub const TANKS_MAX: usize = 1_000;
/// The most DR vectors per trigger.
pub const BUDGET_MAX: f64 = 1_000.0;
/// The longest scenario file, in bytes.
pub const FILE_BYTES_MAX: u64 = 1 << 20;
/// The longest recording, and the total of all that a scenario names, in bytes.
pub const TRACE_BYTES_MAX: u64 = 64 << 20;

/// Why a list of seeds or policies is rejected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ListError {
    /// No seeds or too many.
    #[error("{found} seeds; a scenario has 1 to {SEEDS_MAX}")]
    Seeds {
        /// The length of the list.
        found: usize,
    },
    /// No policies or too many.
    #[error("{found} policies; a scenario compares 1 to {POLICIES_MAX}")]
    Policies {
        /// The length of the list.
        found: usize,
    },
    /// A policy is listed twice, possibly under two names.
    #[error("the policy {policy} is listed twice")]
    Repeated {
        /// The policy's name.
        policy: String,
    },
}

impl Scenario {
    /// Replaces the seeds.
    ///
    /// # Errors
    /// [`ListError`], with the scenario unchanged.
    pub fn replace_seeds(&mut self, seeds: Vec<u64>) -> Result<(), ListError> {
        check_seeds(&seeds)?;
        self.seeds = seeds;
        Ok(())
    }

    /// Replaces the policies.
    ///
    /// # Errors
    /// [`ListError`], with the scenario unchanged.
    pub fn replace_policies(&mut self, policies: Vec<PolicyKind>) -> Result<(), ListError> {
        check_policies(&policies)?;
        self.policies = policies;
        Ok(())
    }
}

pub(super) fn check_seeds(seeds: &[u64]) -> Result<(), ListError> {
    let found = seeds.len();
    if (1..=SEEDS_MAX).contains(&found) { Ok(()) } else { Err(ListError::Seeds { found }) }
}

pub(super) fn check_policies(policies: &[PolicyKind]) -> Result<(), ListError> {
    let found = policies.len();
    if !(1..=POLICIES_MAX).contains(&found) {
        return Err(ListError::Policies { found });
    }
    let repeated = policies.iter().enumerate().find(|(index, policy)| policies[..*index].contains(policy));
    repeated.map_or(Ok(()), |(_, policy)| Err(ListError::Repeated { policy: policy.to_string() }))
}
