//! Where a receiver places an entity when a DR vector arrives.

use evenkeel_core::{SessionTime, Span};

use crate::motion::DrVector;

/// How a received DR vector is placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// The papers' accuracy model: project from the generation time, by the session's clock. After arrival, placed and
    /// exported path are identical, unless [`Content::Auto`](crate::Content::Auto) sends this receiver another kind of
    /// motion.
    #[default]
    Global,
    /// Without synchronized clocks: project from the arrival time. The copy always trails by speed x delay.
    Local,
    /// As in OpenTNL, for links without synchronized clocks: advance by the age that the sender states plus half the
    /// round trip that the receiver measured.
    OneWayDelay,
}

impl Placement {
    /// The vector as placed: with the generation time that this receiver assumes. `sent` is the sender's stamp,
    /// `one_way` the receiver's own estimate of the delay.
    #[must_use]
    pub fn place(
        self,
        vector: &DrVector,
        sent: SessionTime,
        arrived: SessionTime,
        one_way: Span,
    ) -> DrVector {
        let generated = match self {
            Self::Global => vector.generated,
            Self::Local => arrived,
            Self::OneWayDelay => arrived - one_way - (sent - vector.generated),
        };
        DrVector { generated, ..*vector }
    }
}
