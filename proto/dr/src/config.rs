//! How a dead-reckoning session is set up.

use evenkeel_core::{Key, Malformed, PeerId, Reader, Seed, Span, Wire};

use crate::fairness::PolicyKind;
use crate::ledger::Compensation;
use crate::limits::Limits;
use crate::placement::Placement;
use crate::threshold::Threshold;
use crate::vector::MotionKind;

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
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Budget(f64);

impl Budget {
    /// One vector per trigger.
    pub const ONE: Self = Self(1.0);

    /// So many vectors per trigger; `None` unless that is a finite number and not negative.
    #[must_use]
    pub fn new(per_trigger: f64) -> Option<Self> {
        (per_trigger.is_finite() && per_trigger >= 0.0).then_some(Self(per_trigger))
    }

    /// Vectors per trigger.
    #[must_use]
    pub const fn per_trigger(self) -> f64 {
        self.0
    }
}

impl Wire for Budget {
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.0.emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Self::new(reader.read()?).ok_or(Malformed::Field)
    }
}

/// The settings of one peer or relay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DrConfig {
    /// Who runs the policy.
    pub topology: Topology,
    /// When this peer's entities get a new DR vector.
    pub threshold: Threshold,
    /// How their DR vectors are projected.
    pub kind: MotionKind,
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

const NONCES: u64 = 0x6e6f_6e63_6573;

impl DrConfig {
    /// The key of the nonces.
    pub(crate) fn nonce_key(&self) -> Key {
        let mut draws = self.seed.child(NONCES).draws();
        Key::new(draws.bits(), draws.bits())
    }
}

impl Default for DrConfig {
    fn default() -> Self {
        Self {
            topology: Topology::Direct,
            threshold: Threshold::default(),
            kind: MotionKind::Linear,
            placement: Placement::Global,
            policy: PolicyKind::default(),
            budget: Budget::ONE,
            compensation: Some(Compensation::default()),
            tick: Span::ZERO,
            limits: Limits::default(),
            seed: Seed::new(0),
        }
    }
}
