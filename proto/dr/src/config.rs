//! How a dead-reckoning session is set up.

use core::fmt;
use core::str::FromStr;

use evenkeel_core::{Malformed, PeerId, Reader, Seed, Span, Wire};

use crate::command::{emit_policy, parse_policy};
use crate::content::Content;
use crate::fairness::PolicyKind;
use crate::ledger::Compensation;
use crate::limits::Limits;
use crate::placement::Placement;
use crate::threshold::Threshold;

/// Who runs the policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Topology {
    /// The papers': each owner sends to its receivers.
    #[default]
    Direct,
    /// What players use: owners send every trigger to this relay, which keeps the ledger and decides per receiver.
    Relay(PeerId),
}

/// DR vectors that may be sent per trigger, averaged over time, by the policies that have a budget.
///
/// As text it is a number of vectors, `1.5`, or a part of the receivers, `40%`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Budget(Per);

#[derive(Clone, Copy, PartialEq, Debug)]
enum Per {
    /// So many vectors.
    Trigger(f64),
    /// So many for each receiver.
    Receiver(f64),
}

impl Budget {
    /// One vector per trigger.
    pub const ONE: Self = Self(Per::Trigger(1.0));
    /// One vector per trigger and receiver: enough to send everything to everybody.
    pub const ALL: Self = Self(Per::Receiver(1.0));

    /// So many vectors per trigger; `None` unless that is between 0 and a thousand million.
    #[must_use]
    pub fn new(per_trigger: f64) -> Option<Self> {
        (0.0..=1e9).contains(&per_trigger).then_some(Self(Per::Trigger(per_trigger)))
    }

    /// So many vectors per trigger and receiver; `None` unless that is between 0 and 1.
    #[must_use]
    pub fn of_receivers(part: f64) -> Option<Self> {
        (0.0..=1.0).contains(&part).then_some(Self(Per::Receiver(part)))
    }

    /// Vectors per trigger of an entity with so many receivers.
    #[must_use]
    pub const fn per_trigger(self, receivers: usize) -> f64 {
        match self.0 {
            Per::Trigger(vectors) => vectors,
            Per::Receiver(part) => part * receivers as f64,
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Per::Trigger(vectors) => write!(f, "{vectors}"),
            Per::Receiver(part) => write!(f, "{}%", 100.0 * part),
        }
    }
}

/// Not a budget.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "\"{0}\" is no budget; one is a number of DR vectors per trigger, as 1.5, or a part of the receivers, as 40%"
)]
pub struct BadBudget(String);

impl FromStr for Budget {
    type Err = BadBudget;

    fn from_str(text: &str) -> Result<Self, BadBudget> {
        let budget = match text.strip_suffix('%') {
            Some(part) => part.parse().ok().and_then(|part: f64| Self::of_receivers(part / 100.0)),
            None => text.parse().ok().and_then(Self::new),
        };
        budget.ok_or_else(|| BadBudget(text.to_owned()))
    }
}

impl Wire for Budget {
    fn emit(&self, bytes: &mut Vec<u8>) {
        let (which, number) = match self.0 {
            Per::Trigger(vectors) => (0, vectors),
            Per::Receiver(part) => (1, part),
        };
        bytes.push(which);
        number.emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.read::<u8>()? {
            0 => Self::new(reader.read()?),
            1 => Self::of_receivers(reader.read()?),
            _ => None,
        }
        .ok_or(Malformed::Field)
    }
}

/// The settings of one peer or relay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DrConfig {
    /// Who runs the policy.
    pub topology: Topology,
    /// When this peer's entities get a new DR vector.
    pub threshold: Threshold,
    /// How their DR vectors are projected. At a relay `Auto` means that it sends each receiver the kind that serves best at
    /// its distance, and any other that vectors go on as they came.
    pub kind: Content,
    /// How this peer places others' vectors, and expects others to place its own.
    pub placement: Placement,
    /// Who is sent what, and when (at the relay in the relay topology).
    pub policy: PolicyKind,
    /// For the policies that have one.
    pub budget: Budget,
    /// How far receivers are believed who say that they are far away; `None`: wholly, as in the papers.
    pub compensation: Option<Compensation>,
    /// At most one datagram leaves for a peer in this time, where what it has to say fits; nought: each when it comes.
    pub tick: Span,
    /// What a relay takes from owners.
    pub limits: Limits,
    /// The randomness of the policies that draw, and of nonces; on a real network it is a secret.
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

/// As transcripts keep it: to the last bit.
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
        bytes.push(PLACEMENTS.iter().position(|way| *way == self.placement).unwrap_or_default() as u8);
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
