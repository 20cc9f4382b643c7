//! Policies by name: how they are listed, parsed, printed and built.

use core::fmt;
use core::num::NonZeroU32;
use core::str::FromStr;

use super::FairnessPolicy;
use super::base::{Base, Probabilistic};
use super::base_matched::BaseMatched;
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
    /// `base-matched`.
    BaseMatched,
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
        /// How long vectors in flight are assumed to travel.
        flight: Flight,
    },
    /// `scheduling-2`, `scheduling-2-newest`.
    Scheduling2 {
        /// Whether the newest vector replaces the held one.
        newest: bool,
    },
    /// `probabilistic-budget`.
    ProbabilisticBudget {
        /// The weights of the measures.
        weights: Weights,
        /// Whether exactly one receiver is picked.
        pick_one: bool,
    },
    /// `deterministic-budget`.
    DeterministicBudget {
        /// The weights of the measures.
        weights: Weights,
    },
    /// `even`.
    Even(EvenSettings),
    /// A policy from outside this crate.
    Own(OwnPolicy),
}

/// The policies whose names have no parameters.
const PLAIN: [(&str, PolicyKind); 8] = [
    ("base", PolicyKind::BASE),
    ("base-matched", PolicyKind::BaseMatched),
    ("netgames05", PolicyKind::Netgames05),
    ("netgames05-consistent", PolicyKind::Netgames05Consistent),
    ("scheduling-1", PolicyKind::Scheduling1 { flight: Flight::Instant }),
    ("scheduling-1-estimate", PolicyKind::Scheduling1 { flight: Flight::Estimated }),
    ("scheduling-2", PolicyKind::Scheduling2 { newest: false }),
    ("scheduling-2-newest", PolicyKind::Scheduling2 { newest: true }),
];

/// A policy from outside this crate, under a name that no built-in one has.
///
/// Recordings hold only its name, which a program that reads them can't resolve.
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
    /// The papers' base case: every vector to every receiver at once.
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
            Self::BaseMatched => Box::<BaseMatched>::default(),
            Self::Probabilistic { every } => Box::new(Probabilistic { every }),
            Self::Netgames05 => Box::new(Netgames05::default()),
            Self::Netgames05Consistent => Box::new(Netgames05Consistent::default()),
            Self::Scheduling1 { flight } => Box::new(Scheduling::new(Leftover::Dropped, flight)),
            Self::Scheduling2 { newest } => {
                let leftover = if newest { Leftover::Newest } else { Leftover::Sent };
                // The thesis describes #2 with a known delay estimate.
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

    /// The forms that [`FromStr`] takes.
    pub const NAMES: [&str; 13] = [
        "base",
        "base-1/K",
        "base-matched",
        "probabilistic-1/K",
        "netgames05",
        "netgames05-consistent",
        "scheduling-1",
        "scheduling-1-estimate",
        "scheduling-2",
        "scheduling-2-newest",
        "probabilistic-budget[:pa|:pi|:pt|:mix=A1,A2,A3][:pick-one]",
        "deterministic-budget[:pa|:pi|:pt|:mix=A1,A2,A3]",
        "even[:phi=PHI|:kappa=KAPPA|:keep=KEEP|:phi=PHI,kappa=KAPPA,keep=KEEP]",
    ];

    /// One of each policy: the papers', then `even`.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let names = "base base-1/3 base-matched probabilistic-1/3 netgames05 netgames05-consistent scheduling-1 \
                     scheduling-1-estimate scheduling-2 scheduling-2-newest probabilistic-budget:pa \
                     probabilistic-budget:pi probabilistic-budget:pt deterministic-budget even";
        names.split(' ').map(|name| name.parse().expect("the names are ours")).collect()
    }
}

/// Not the name of a policy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnknownPolicy {
    /// No policy has this name.
    #[error("there is no policy \"{name}\"; the policies are {}", PolicyKind::NAMES.join(", "))]
    Name {
        /// The name.
        name: String,
    },
    /// The policy does not have this option.
    #[error("policy \"{name}\" has no option \"{option}\"; {hint}")]
    Option {
        /// The policy.
        name: String,
        /// The option.
        option: String,
        /// The valid options.
        hint: &'static str,
    },
}

const NO_OPTIONS: &str = "it has none at all";
const BUDGET_OPTIONS: &str = "it takes pa, pi, pt or mix=A1,A2,A3 with three shares that sum to 1 (and, if \
                              probabilistic, pick-one)";
const EVEN_OPTIONS: &str = "it takes phi=PHI, 0 (the spread of 1/m base) to 1 (no spread), kappa=KAPPA, 1 to 1000 (the cap \
                            on any error, as a multiple of that under 1/m base), and keep=KEEP, 0 to 1 (the part of an \
                            equal share of the messages that the others keep), separated by commas";

impl FromStr for PolicyKind {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let (name, options) = match text.split_once(':') {
            Some((name, options)) => (name, options.split(':').collect()),
            None => (text, Vec::new()),
        };
        let wrong = |hint| {
            let name = name.to_owned();
            move |option: &str| UnknownPolicy::Option { name, option: option.to_owned(), hint }
        };
        match name {
            "probabilistic-budget" => {
                let (weights, pick_one) = parse_budget(&options, true).map_err(wrong(BUDGET_OPTIONS))?;
                Ok(Self::ProbabilisticBudget { weights, pick_one })
            }
            "deterministic-budget" => {
                let (weights, _) = parse_budget(&options, false).map_err(wrong(BUDGET_OPTIONS))?;
                Ok(Self::DeterministicBudget { weights })
            }
            "even" => parse_even(&options).map(Self::Even).map_err(wrong(EVEN_OPTIONS)),
            _ => {
                let plain = PLAIN.iter().find(|(plain, _)| *plain == name).map(|(_, kind)| *kind);
                let base = || parse_every(name, "base-1/").map(|every| Self::Base { every });
                let probabilistic =
                    || parse_every(name, "probabilistic-1/").map(|every| Self::Probabilistic { every });
                let kind = plain.or_else(base).or_else(probabilistic);
                let kind = kind.ok_or_else(|| UnknownPolicy::Name { name: text.to_owned() })?;
                options.first().map_or(Ok(kind), |option| Err(wrong(NO_OPTIONS)(option)))
            }
        }
    }
}

fn parse_every(name: &str, prefix: &str) -> Option<NonZeroU32> {
    let digits = name.strip_prefix(prefix).filter(|k| k.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok().filter(|every: &NonZeroU32| every.get() <= 1000)
}

/// Parses the weights and `pick-one`, or returns the option that is not one.
fn parse_budget<'a>(options: &[&'a str], may_pick: bool) -> Result<(Weights, bool), &'a str> {
    let (mut weights, mut pick_one) = (Weights::PA, false);
    for option in options {
        match (*option, option.strip_prefix("mix=").and_then(parse_mix)) {
            ("pa", _) => weights = Weights::PA,
            ("pi", _) => weights = Weights::PI,
            ("pt", _) => weights = Weights::PT,
            ("pick-one", _) if may_pick => pick_one = true,
            (_, Some(mix)) => weights = mix,
            _ => return Err(option),
        }
    }
    Ok((weights, pick_one))
}

/// Parses the settings of `even`, or returns the option that is not one.
fn parse_even<'a>(options: &[&'a str]) -> Result<EvenSettings, &'a str> {
    let (mut settings, mut keep) = (EvenSettings::default(), None);
    for option in options.iter().flat_map(|options| options.split(',')) {
        let number = |key| option.strip_prefix(key).and_then(|number| number.parse::<f64>().ok());
        if let Some(kept) = number("keep=") {
            settings.keeping(kept).ok_or(option)?;
            keep = Some(kept);
            continue;
        }
        let phi = number("phi=").and_then(|phi| EvenSettings::new(phi, settings.kappa()));
        let kappa = || number("kappa=").and_then(|kappa| EvenSettings::new(settings.phi(), Some(kappa)));
        settings = phi.or_else(kappa).ok_or(option)?;
    }
    Ok(keep.and_then(|keep| settings.keeping(keep)).unwrap_or(settings))
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
        if let Some((name, _)) = PLAIN.iter().find(|(_, kind)| kind == self) {
            return write!(f, "{name}");
        }
        match self {
            Self::Base { every } => write!(f, "base-1/{every}"),
            Self::Probabilistic { every } => write!(f, "probabilistic-1/{every}"),
            Self::ProbabilisticBudget { weights, pick_one } => {
                write!(f, "probabilistic-budget{weights}{}", if *pick_one { ":pick-one" } else { "" })
            }
            Self::DeterministicBudget { weights: Weights::PA } => write!(f, "deterministic-budget"),
            Self::DeterministicBudget { weights } => write!(f, "deterministic-budget{weights}"),
            Self::Even(settings) => write!(f, "even{settings}"),
            Self::Own(own) => write!(f, "{}", own.name),
            _ => unreachable!("its name has no parameters"),
        }
    }
}

impl fmt::Display for EvenSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phi = (self.phi() != Self::PHI).then(|| format!("phi={}", self.phi()));
        let kappa = self.kappa().map(|kappa| format!("kappa={kappa}"));
        let keep = self.keep().map(|keep| format!("keep={keep}"));
        let set: Vec<String> = phi.into_iter().chain(kappa).chain(keep).collect();
        if set.is_empty() { Ok(()) } else { write!(f, ":{}", set.join(",")) }
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
