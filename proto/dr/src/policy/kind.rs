//! The names of the policies: one arm here and everything that lists, parses or runs policies follows.

use core::fmt;
use core::num::NonZeroU32;
use core::str::FromStr;

use super::FairnessPolicy;
use super::base::{Base, Probabilistic};
use super::consistent::Netgames05Consistent;
use super::deterministic_budget::DeterministicBudget;
use super::even::{Even, EvenSettings};
use super::frequency::Weights;
use super::netgames05::Netgames05;
use super::probabilistic_budget::ProbabilisticBudget;
use super::scheduling::{Leftover, Scheduling};
use crate::ledger::Flight;

/// A policy by name.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PolicyKind {
    /// `base`, `base-1/K`.
    Base {
        /// K.
        every: NonZeroU32,
    },
    /// `probabilistic-1/K`.
    Probabilistic {
        /// K.
        every: NonZeroU32,
    },
    /// `netgames05`.
    Netgames05,
    /// `netgames05-consistent`.
    Netgames05Consistent,
    /// `scheduling-1`, `scheduling-1-estimate`.
    Scheduling1 {
        /// How long what is in flight is taken to travel.
        flight: Flight,
    },
    /// `scheduling-2`, `scheduling-2-newest`.
    Scheduling2 {
        /// Whether the newest is sent in place of the held one.
        newest: bool,
    },
    /// `probabilistic-budget`.
    ProbabilisticBudget {
        /// What counts.
        weights: Weights,
        /// Whether exactly one receiver is picked.
        pick_one: bool,
    },
    /// `deterministic-budget`.
    DeterministicBudget {
        /// What counts.
        weights: Weights,
    },
    /// `even`.
    Even(EvenSettings),
    /// One of your own.
    Own(OwnPolicy),
}

/// A policy that is not of this crate, by a name that none of ours has.
///
/// It goes wherever a [`PolicyKind`] goes: into a peer, a relay, a scenario of the lab. Only its name is written into
/// recordings, and a program that reads one does not know it.
#[derive(Clone, Copy)]
pub struct OwnPolicy {
    name: &'static str,
    build: fn() -> Box<dyn FairnessPolicy>,
}

impl PartialEq for OwnPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for OwnPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)
    }
}

impl Default for PolicyKind {
    fn default() -> Self {
        Self::Even(EvenSettings::default())
    }
}

impl PolicyKind {
    /// The papers' base case: every vector to everybody at once.
    pub const BASE: Self = Self::Base { every: NonZeroU32::MIN };

    /// A policy of your own; `build` makes a fresh one.
    #[must_use]
    pub const fn own(name: &'static str, build: fn() -> Box<dyn FairnessPolicy>) -> Self {
        Self::Own(OwnPolicy { name, build })
    }

    /// A fresh policy of this kind.
    #[must_use]
    pub fn build(self) -> Box<dyn FairnessPolicy> {
        match self {
            Self::Base { every } => Box::new(Base { every }),
            Self::Probabilistic { every } => Box::new(Probabilistic { every }),
            Self::Netgames05 => Box::new(Netgames05::default()),
            Self::Netgames05Consistent => Box::new(Netgames05Consistent::default()),
            Self::Scheduling1 { flight } => Box::new(Scheduling::new(Leftover::Dropped, flight)),
            Self::Scheduling2 { newest } => {
                let leftover = if newest { Leftover::Newest } else { Leftover::Sent };
                // Where the thesis describes #2, it takes the delay estimate to be known.
                Box::new(Scheduling::new(leftover, Flight::Estimated))
            }
            Self::ProbabilisticBudget { weights, pick_one } => {
                Box::new(ProbabilisticBudget::new(weights, pick_one))
            }
            Self::DeterministicBudget { weights } => Box::new(DeterministicBudget::new(weights)),
            Self::Even(settings) => Box::new(Even::new(settings)),
            Self::Own(own) => (own.build)(),
        }
    }

    /// The names that [`FromStr`] takes, for messages and completion.
    pub const NAMES: [&str; 12] = [
        "base",
        "base-1/K",
        "probabilistic-1/K",
        "netgames05",
        "netgames05-consistent",
        "scheduling-1",
        "scheduling-1-estimate",
        "scheduling-2",
        "scheduling-2-newest",
        "probabilistic-budget[:pa|:pi|:pt|:mix=A1,A2,A3][:pick-one]",
        "deterministic-budget[:pa|:pi|:pt|:mix=A1,A2,A3]",
        "even[:phi=PHI|:kappa=KAPPA|:phi=PHI,kappa=KAPPA]",
    ];

    /// One of each policy: the papers', then our own.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let names = [
            "base",
            "base-1/3",
            "probabilistic-1/3",
            "netgames05",
            "netgames05-consistent",
            "scheduling-1",
            "scheduling-1-estimate",
            "scheduling-2",
            "scheduling-2-newest",
            "probabilistic-budget:pa",
            "probabilistic-budget:pi",
            "probabilistic-budget:pt",
            "deterministic-budget",
            "even",
        ];
        names.iter().map(|name| name.parse().expect("the names are ours")).collect()
    }
}

/// Not the name of a policy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnknownPolicy {
    /// There is none of that name.
    #[error("there is no policy \"{name}\"; the policies are {}", PolicyKind::NAMES.join(", "))]
    Name {
        /// What was asked for.
        name: String,
    },
    /// There is one, but not with that option.
    #[error("policy \"{name}\" has no option \"{option}\"; {hint}")]
    Option {
        /// The policy.
        name: String,
        /// The option.
        option: String,
        /// What would be right.
        hint: &'static str,
    },
}

impl FromStr for PolicyKind {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let unknown = || UnknownPolicy::Name { name: text.to_owned() };
        let (name, options) = match text.split_once(':') {
            Some((name, options)) => (name, options.split(':').collect()),
            None => (text, Vec::new()),
        };
        let plain = |kind: Self| match options.first() {
            None => Ok(kind),
            Some(option) => Err(UnknownPolicy::Option {
                name: name.to_owned(),
                option: (*option).to_owned(),
                hint: "it has none at all",
            }),
        };
        match name {
            "base" => plain(Self::BASE),
            "netgames05" => plain(Self::Netgames05),
            "netgames05-consistent" => plain(Self::Netgames05Consistent),
            "scheduling-1" => plain(Self::Scheduling1 { flight: Flight::Instant }),
            "scheduling-1-estimate" => plain(Self::Scheduling1 { flight: Flight::Estimated }),
            "scheduling-2" => plain(Self::Scheduling2 { newest: false }),
            "scheduling-2-newest" => plain(Self::Scheduling2 { newest: true }),
            "probabilistic-budget" => {
                let (weights, pick_one) = parse_options(name, &options, true)?;
                Ok(Self::ProbabilisticBudget { weights, pick_one })
            }
            "deterministic-budget" => {
                let (weights, _) = parse_options(name, &options, false)?;
                Ok(Self::DeterministicBudget { weights })
            }
            "even" => parse_even(name, &options).map(Self::Even),
            _ => {
                let every = |prefix| {
                    let digits =
                        name.strip_prefix(prefix).filter(|k| k.bytes().all(|byte| byte.is_ascii_digit()))?;
                    let every = digits.parse::<NonZeroU32>().ok()?;
                    (every.get() <= 1000).then_some(every)
                };
                if let Some(every) = every("base-1/") {
                    plain(Self::Base { every })
                } else if let Some(every) = every("probabilistic-1/") {
                    plain(Self::Probabilistic { every })
                } else {
                    Err(unknown())
                }
            }
        }
    }
}

fn parse_options(name: &str, options: &[&str], may_pick: bool) -> Result<(Weights, bool), UnknownPolicy> {
    let (mut weights, mut pick_one) = (Weights::PA, false);
    for option in options {
        match (*option, option.strip_prefix("mix=").and_then(parse_mix)) {
            ("pa", _) => weights = Weights::PA,
            ("pi", _) => weights = Weights::PI,
            ("pt", _) => weights = Weights::PT,
            ("pick-one", _) if may_pick => pick_one = true,
            (_, Some(mix)) => weights = mix,
            _ => {
                return Err(UnknownPolicy::Option {
                    name: name.to_owned(),
                    option: (*option).to_owned(),
                    hint: "it takes pa, pi, pt or mix=A1,A2,A3 with three shares that sum to 1 (and, if \
                           probabilistic, pick-one)",
                });
            }
        }
    }
    Ok((weights, pick_one))
}

fn parse_even(name: &str, options: &[&str]) -> Result<EvenSettings, UnknownPolicy> {
    let mut settings = EvenSettings::default();
    for option in options.iter().flat_map(|options| options.split(',')) {
        let number = |key| option.strip_prefix(key).and_then(|number| number.parse::<f64>().ok());
        let phi = number("phi=").and_then(|phi| EvenSettings::new(phi, settings.kappa()));
        let kappa = || number("kappa=").and_then(|kappa| EvenSettings::new(settings.phi(), Some(kappa)));
        settings = phi.or_else(kappa).ok_or_else(|| UnknownPolicy::Option {
            name: name.to_owned(),
            option: option.to_owned(),
            hint: "it takes phi=PHI, 0 (as without it) to 1 (all alike), and kappa=KAPPA, 1 to 1000 (how many times \
                   what it would be without it anybody's error may be), with a comma between",
        })?;
    }
    Ok(settings)
}

fn parse_mix(text: &str) -> Option<Weights> {
    let shares: Vec<f64> = text.split(',').map(|share| share.parse().ok()).collect::<Option<_>>()?;
    let [accumulated, instantaneous, time] = shares[..] else { return None };
    let valid = shares.iter().all(|share| (0.0..=1.0).contains(share));
    let sums = (accumulated + instantaneous + time - 1.0).abs() < 1e-3;
    (valid && sums).then_some(Weights { accumulated, instantaneous, time })
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base { every } if every.get() == 1 => write!(f, "base"),
            Self::Base { every } => write!(f, "base-1/{every}"),
            Self::Probabilistic { every } => write!(f, "probabilistic-1/{every}"),
            Self::Netgames05 => write!(f, "netgames05"),
            Self::Netgames05Consistent => write!(f, "netgames05-consistent"),
            Self::Scheduling1 { flight: Flight::Instant } => write!(f, "scheduling-1"),
            Self::Scheduling1 { flight: Flight::Estimated } => write!(f, "scheduling-1-estimate"),
            Self::Scheduling2 { newest: false } => write!(f, "scheduling-2"),
            Self::Scheduling2 { newest: true } => write!(f, "scheduling-2-newest"),
            Self::ProbabilisticBudget { weights, pick_one } => {
                let pick = if *pick_one { ":pick-one" } else { "" };
                write!(f, "probabilistic-budget{weights}{pick}")
            }
            Self::DeterministicBudget { weights } if *weights == Weights::PA => {
                write!(f, "deterministic-budget")
            }
            Self::DeterministicBudget { weights } => write!(f, "deterministic-budget{weights}"),
            Self::Even(settings) => write!(f, "even{settings}"),
            Self::Own(own) => write!(f, "{}", own.name),
        }
    }
}

impl fmt::Display for EvenSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phi = (self.phi() != Self::PHI).then(|| format!("phi={}", self.phi()));
        let kappa = self.kappa().map(|kappa| format!("kappa={kappa}"));
        let said: Vec<String> = phi.into_iter().chain(kappa).collect();
        if said.is_empty() { Ok(()) } else { write!(f, ":{}", said.join(",")) }
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::PA => write!(f, ":pa"),
            Self::PI => write!(f, ":pi"),
            Self::PT => write!(f, ":pt"),
            Self { accumulated, instantaneous, time } => {
                write!(f, ":mix={accumulated},{instantaneous},{time}")
            }
        }
    }
}
