//! How a dead-reckoning session is set up.

use evenkeel_core::{PeerId, Seed};

use crate::fairness::PolicyKind;
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

/// The settings of one peer.
#[derive(Clone, Copy, Debug)]
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
    /// DR vectors per trigger, for the policies that have a budget.
    pub budget: f64,
    /// The randomness of the policies that draw.
    pub seed: Seed,
}

impl Default for DrConfig {
    fn default() -> Self {
        Self {
            topology: Topology::Direct,
            threshold: Threshold::default(),
            kind: MotionKind::Linear,
            placement: Placement::Global,
            policy: PolicyKind::default(),
            budget: 1.0,
            seed: Seed::new(0),
        }
    }
}
