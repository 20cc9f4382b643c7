//! The emulated delay between a player and the relay.

use evenkeel_core::Span;
use evenkeel_link::{DelayLaw, Jitter, LinkFaults};

/// The largest one-way delay that can be emulated.
pub const DELAY_MAX: Span = Span::from_secs(1);

/// An emulated delay, the same in both directions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct LinkDelay {
    /// One way.
    pub(crate) delay: Span,
    /// Half the width of the uniform jitter.
    pub(crate) jitter: Span,
}

impl LinkDelay {
    /// No emulation.
    pub(crate) const NONE: Self = Self { delay: Span::ZERO, jitter: Span::ZERO };

    /// A delay with a jitter of a tenth of it.
    pub(crate) fn new(delay: Span) -> Self {
        Self { delay, jitter: delay.part(10) }
    }

    /// What a link must do for one direction.
    pub(crate) fn faults(self) -> LinkFaults {
        let jitter = match self.jitter {
            Span::ZERO => Jitter::Constant,
            half_width => Jitter::Uniform { half_width },
        };
        LinkFaults { delay: DelayLaw { base: self.delay, jitter }, ..LinkFaults::default() }
    }
}
