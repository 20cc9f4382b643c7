//! How large a scenario may be, and the lists that the command line may replace.

use evenkeel_dr::PolicyKind;

use super::Scenario;

/// The longest run, in seconds: a day.
pub const DURATION_MAX_S: f64 = 86_400.0;
/// The longest delay, in milliseconds.
pub const DELAY_MAX_MS: f64 = 60_000.0;
/// The farthest that a clock is off, and the largest step of it, in milliseconds: a day.
pub const CLOCK_MAX_MS: f64 = 86_400_000.0;
/// The most that a clock is too fast or too slow, in parts per million.
pub const SKEW_MAX_PPM: f64 = 1_000.0;
/// The most receivers.
pub const RECEIVERS_MAX: usize = 1_000;
/// The most seeds.
pub const SEEDS_MAX: usize = 1_000;
/// The most policies.
pub const POLICIES_MAX: usize = 100;
/// The most recorded tanks at once.
pub const TANKS_MAX: usize = 1_000;
/// The most DR vectors per trigger.
pub const BUDGET_MAX: f64 = 1_000.0;
/// The longest scenario file, in bytes.
pub const FILE_BYTES_MAX: u64 = 1 << 20;
/// The longest recording, and all that a scenario names together, in bytes.
pub const TRACE_BYTES_MAX: u64 = 64 << 20;

/// A list that cannot be run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ListError {
    /// None or too many seeds.
    #[error("{found} seeds; a scenario has 1 to {SEEDS_MAX}")]
    Seeds {
        /// How many there are.
        found: usize,
    },
    /// None or too many policies.
    #[error("{found} policies; a scenario compares 1 to {POLICIES_MAX}")]
    Policies {
        /// How many there are.
        found: usize,
    },
    /// One policy twice, perhaps by two names.
    #[error("the policy {policy} is there twice; name it once")]
    Repeated {
        /// Its name.
        policy: String,
    },
}

impl Scenario {
    /// Runs it with other seeds.
    ///
    /// # Errors
    /// [`ListError`]; the scenario is unchanged then.
    pub fn replace_seeds(&mut self, seeds: Vec<u64>) -> Result<(), ListError> {
        check_seeds(&seeds)?;
        self.seeds = seeds;
        Ok(())
    }

    /// Compares other policies.
    ///
    /// # Errors
    /// [`ListError`]; the scenario is unchanged then.
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
