//! Emulated distance for trials: the simulator's links on the real tunnel.

use evenkeel_core::{Seed, Span};
use evenkeel_link::{DelayLaw, Jitter, Link, LinkFaults, Loss};
use evenkeel_net::Emulation;
use serde::Deserialize;

use crate::config::{ConfigError, within};

/// Faults that are added to each player's tunnel, in both directions alike. TCP is not affected.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrialLink {
    /// One-way delays in milliseconds. With several, the players get them in turn.
    pub delay_ms: Vec<f64>,
    /// Half the width of the uniform jitter, in milliseconds. With several, the players get them in turn.
    pub jitter_ms: Vec<f64>,
    /// The percentage of datagrams lost.
    pub loss_percent: f64,
    /// The seed of the faults.
    pub seed: u64,
}

impl TrialLink {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.delay_ms.iter().try_for_each(|delay| within("link.delay_ms", *delay, 0.0, 60_000.0))?;
        self.jitter_ms.iter().try_for_each(|jitter| within("link.jitter_ms", *jitter, 0.0, 60_000.0))?;
        within("link.loss_percent", self.loss_percent, 0.0, 100.0)
    }

    /// The links of the player with this number; `None` without faults.
    pub(crate) fn emulation(&self, player: u32) -> Option<Emulation> {
        let turn = |values: &[f64]| match values {
            [] => Span::ZERO,
            values => Span::from_millis_f64(values[player as usize % values.len()]),
        };
        let (delay, half_width) = (turn(&self.delay_ms), turn(&self.jitter_ms));
        if delay == Span::ZERO && half_width == Span::ZERO && self.loss_percent == 0.0 {
            return None;
        }
        let jitter = if half_width == Span::ZERO { Jitter::Constant } else { Jitter::Uniform { half_width } };
        let loss = match self.loss_percent {
            0.0 => Loss::None,
            percent => Loss::Independent { probability: percent / 100.0 },
        };
        let faults = LinkFaults { delay: DelayLaw { base: delay, jitter }, loss, ..LinkFaults::default() };
        let seed = Seed::new(self.seed).child(u64::from(player));
        Some(Emulation {
            outgoing: Link::new(faults.clone(), seed.child(0)),
            incoming: Link::new(faults, seed.child(1)),
        })
    }
}
