//! The configuration of peers and relays.

use core::fmt;
use core::str::FromStr;

use evenkeel_core::{Malformed, PeerId, Reader, Seed, Span, Wire};

use crate::command::{emit_policy, parse_policy};
use crate::ledger::Compensation;
use crate::motion::Content;
use crate::owner::Threshold;
use crate::policy::PolicyKind;
use crate::receiver::Placement;
use crate::relay::Limits;

/// Who runs the policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Topology {
    /// Each owner, for its own entities, as in the papers.
    #[default]
    Direct,
    /// This relay: owners send it every trigger, and it keeps the ledger.
    Relay(PeerId),
}

/// What a policy may send, on average.
///
/// Its text form is a bandwidth per receiver, like `64 kbit/s`, a number of DR vectors per second to each receiver, like `30 /s`,
/// a number of DR vectors per trigger, like `1.5`, or a part of the receivers, like `40%`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Budget(BudgetUnit);

#[derive(Clone, Copy, PartialEq, Debug)]
enum BudgetUnit {
    /// Vectors per trigger.
    Trigger(f64),
    /// Vectors per trigger and receiver.
    Receiver(f64),
    /// A limit per second.
    Second(SecondLimit),
}

/// What may leave for the average receiver in a second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SecondLimit {
    /// Bits, with the headers of the datagrams.
    Bits(f64),
    /// DR vectors.
    Vectors(f64),
}

impl SecondLimit {
    /// What remains if other protocols use this many bits per second: at least a tenth.
    #[must_use]
    pub const fn without(self, bits_per_second: f64) -> Self {
        match self {
            Self::Bits(bits) => Self::Bits((bits - bits_per_second).max(0.1 * bits)),
            Self::Vectors(_) => self,
        }
    }
}

impl Budget {
    /// One vector per trigger.
    pub const ONE: Self = Self(BudgetUnit::Trigger(1.0));
    /// One vector per trigger and receiver: everything goes to everybody.
    pub const ALL: Self = Self(BudgetUnit::Receiver(1.0));

    /// A number of vectors per trigger; `None` unless it is between 0 and 1e9.
    #[must_use]
    pub fn new(per_trigger: f64) -> Option<Self> {
        (0.0..=1e9).contains(&per_trigger).then_some(Self(BudgetUnit::Trigger(per_trigger)))
    }

    /// A part of the receivers; `None` unless it is between 0 and 1.
    #[must_use]
    pub fn of_receivers(part: f64) -> Option<Self> {
        (0.0..=1.0).contains(&part).then_some(Self(BudgetUnit::Receiver(part)))
    }

    /// Bits per second to the average receiver, with the headers of the datagrams: everything is sent to everybody as long as
    /// it fits, and the policy shares what does not. `None` unless it is between 1 and 1e12.
    #[must_use]
    pub fn bits_per_second(bits: f64) -> Option<Self> {
        (1.0..=1e12).contains(&bits).then_some(Self(BudgetUnit::Second(SecondLimit::Bits(bits))))
    }

    /// DR vectors per second to the average receiver, of all entities together: everything is sent to everybody as long as it
    /// fits, and the policy shares what does not. `None` unless it is between 0.1 and 1e9.
    #[must_use]
    pub fn vectors_per_second(vectors: f64) -> Option<Self> {
        (0.1..=1e9).contains(&vectors).then_some(Self(BudgetUnit::Second(SecondLimit::Vectors(vectors))))
    }

    /// Vectors per trigger of an entity with this many receivers, if everything fits a [limit per second](Self::per_second).
    #[must_use]
    pub const fn per_trigger(self, receivers: usize) -> f64 {
        match self.0 {
            BudgetUnit::Trigger(vectors) => vectors,
            BudgetUnit::Receiver(part) => part * receivers as f64,
            BudgetUnit::Second(_) => receivers as f64,
        }
    }

    /// The limit per second, if it is one.
    #[must_use]
    pub const fn per_second(self) -> Option<SecondLimit> {
        match self.0 {
            BudgetUnit::Second(limit) => Some(limit),
            BudgetUnit::Trigger(_) | BudgetUnit::Receiver(_) => None,
        }
    }
}

/// The units of a bandwidth.
const BANDWIDTHS: [(&str, f64); 3] = [("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)];

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            BudgetUnit::Trigger(vectors) => write!(f, "{vectors}"),
            BudgetUnit::Receiver(part) => write!(f, "{}%", 100.0 * part),
            BudgetUnit::Second(SecondLimit::Vectors(vectors)) => write!(f, "{vectors} /s"),
            BudgetUnit::Second(SecondLimit::Bits(bits)) => {
                let fits = |(_, unit): &&(&str, f64)| bits >= *unit;
                let (name, unit) = BANDWIDTHS.iter().find(fits).unwrap_or(&BANDWIDTHS[2]);
                write!(f, "{} {name}", bits / unit)
            }
        }
    }
}

/// The error for text that is no budget.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "\"{0}\" is no budget: give a bandwidth per player, like \"64 kbit/s\", a number of DR vectors per second and player, like \
     \"30 /s\", a number per trigger, like 1.5, or a part of the receivers, like 40%"
)]
pub struct BadBudget(String);

impl FromStr for Budget {
    type Err = BadBudget;

    fn from_str(text: &str) -> Result<Self, BadBudget> {
        let bandwidth = BANDWIDTHS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)));
        let number = |number: &str| number.trim_end().parse::<f64>().ok();
        let budget = if let Some((text, unit)) = bandwidth {
            number(text).and_then(|number| Self::bits_per_second(number * unit))
        } else if let Some(text) = text.strip_suffix("/s") {
            number(text).and_then(Self::vectors_per_second)
        } else if let Some(part) = text.strip_suffix('%') {
            part.parse().ok().and_then(|part: f64| Self::of_receivers(part / 100.0))
        } else {
            text.parse().ok().and_then(Self::new)
        };
        budget.ok_or_else(|| BadBudget(text.to_owned()))
    }
}

impl Wire for Budget {
    fn emit(&self, bytes: &mut Vec<u8>) {
        let (tag, number) = match self.0 {
            BudgetUnit::Trigger(vectors) => (0, vectors),
            BudgetUnit::Receiver(part) => (1, part),
            BudgetUnit::Second(SecondLimit::Bits(bits)) => (2, bits),
            BudgetUnit::Second(SecondLimit::Vectors(vectors)) => (3, vectors),
        };
        bytes.push(tag);
        number.emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.read::<u8>()? {
            0 => Self::new(reader.read()?),
            1 => Self::of_receivers(reader.read()?),
            2 => Self::bits_per_second(reader.read()?),
            3 => Self::vectors_per_second(reader.read()?),
            _ => None,
        }
        .ok_or(Malformed::Field)
    }
}

/// The configuration of one peer or relay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DrConfig {
    /// Who runs the policy.
    pub topology: Topology,
    /// The threshold at which this peer's entities get a new DR vector.
    pub threshold: Threshold,
    /// The kind of motion of their DR vectors. At a relay, `Auto` sends each receiver the best kind for its delay;
    /// otherwise vectors keep their kind.
    pub kind: Content,
    /// How this peer places vectors of others, and expects others to place its own.
    pub placement: Placement,
    /// The fairness policy. Used by the relay in the relay topology.
    pub policy: PolicyKind,
    /// The policy's budget, which some policies ignore.
    pub budget: Budget,
    /// How far reports of long delays are believed; `None` to believe them fully, as the papers do.
    pub compensation: Option<Compensation>,
    /// The shortest time between two datagrams to a peer, unless one is full. With zero, every frame leaves at once.
    pub tick: Span,
    /// What a relay accepts from owners.
    pub limits: Limits,
    /// The source of randomness, for policies and nonces. Keep it secret on a real network.
    pub seed: Seed,
}

impl Default for DrConfig {
    fn default() -> Self {
        Self {
            topology: Topology::Direct,
            threshold: Threshold::default(),
            kind: Content::default(),
            placement: Placement::Global,
            policy: PolicyKind::default(),
            budget: Budget::ALL,
            compensation: Some(Compensation::default()),
            tick: Span::ZERO,
            limits: Limits::default(),
            seed: Seed::new(0),
        }
    }
}

/// The form in transcripts, which is exact.
impl Wire for DrConfig {
    fn emit(&self, bytes: &mut Vec<u8>) {
        let relay = match self.topology {
            Topology::Direct => None,
            Topology::Relay(relay) => Some(relay),
        };
        emit_option(relay.map(|relay| i64::from(relay.0)), bytes);
        self.threshold.distance.emit(bytes);
        emit_option(self.threshold.time.map(Span::as_nanos), bytes);
        bytes.push(Content::ALL.iter().position(|kind| *kind == self.kind).unwrap_or_default() as u8);
        bytes
            .push(PLACEMENTS.iter().position(|placement| *placement == self.placement).unwrap_or_default()
                as u8);
        emit_policy(self.policy, bytes);
        self.budget.emit(bytes);
        emit_option(self.compensation.map(|bound| bound.delay_max.as_nanos()), bytes);
        emit_option(self.compensation.map(|bound| bound.growth_per_second.as_nanos()), bytes);
        self.tick.as_nanos().emit(bytes);
        let Limits { position_max, speed_max, acceleration_max, turn_rate_max, .. } = self.limits;
        let Limits { vectors_per_second, births_per_second, own_names, .. } = self.limits;
        let kinematic = [position_max, speed_max, acceleration_max, turn_rate_max];
        for limit in kinematic.into_iter().chain([vectors_per_second, births_per_second]) {
            limit.emit(bytes);
        }
        bytes.push(u8::from(own_names));
        self.seed.number().emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let relay = parse_option(reader)?.map(u32::try_from).transpose().map_err(|_| Malformed::Field)?;
        let distance = reader.read()?;
        let time = parse_option(reader)?.map(Span::from_nanos);
        let kind = *Content::ALL.get(usize::from(reader.read::<u8>()?)).ok_or(Malformed::Field)?;
        let placement = *PLACEMENTS.get(usize::from(reader.read::<u8>()?)).ok_or(Malformed::Field)?;
        let (policy, budget) = (parse_policy(reader)?, reader.read()?);
        let compensation = match (parse_option(reader)?, parse_option(reader)?) {
            (Some(delay_max), Some(growth)) => Some(Compensation {
                delay_max: Span::from_nanos(delay_max),
                growth_per_second: Span::from_nanos(growth),
            }),
            (None, None) => None,
            _ => return Err(Malformed::Field),
        };
        Ok(Self {
            topology: relay.map_or(Topology::Direct, |relay| Topology::Relay(PeerId(relay))),
            threshold: Threshold { distance, time },
            kind,
            placement,
            policy,
            budget,
            compensation,
            tick: Span::from_nanos(reader.read()?),
            limits: Limits {
                position_max: reader.read()?,
                speed_max: reader.read()?,
                acceleration_max: reader.read()?,
                turn_rate_max: reader.read()?,
                vectors_per_second: reader.read()?,
                births_per_second: reader.read()?,
                own_names: match reader.read::<u8>()? {
                    0 => false,
                    1 => true,
                    _ => return Err(Malformed::Field),
                },
            },
            seed: Seed::from_key(reader.read()?),
        })
    }
}

const PLACEMENTS: [Placement; 3] = [Placement::Global, Placement::Local, Placement::OneWayDelay];

fn emit_option(value: Option<i64>, bytes: &mut Vec<u8>) {
    bytes.push(u8::from(value.is_some()));
    if let Some(value) = value {
        value.emit(bytes);
    }
}

fn parse_option(reader: &mut Reader<'_>) -> Result<Option<i64>, Malformed> {
    match reader.read::<u8>()? {
        0 => Ok(None),
        1 => Ok(Some(reader.read()?)),
        _ => Err(Malformed::Field),
    }
}
