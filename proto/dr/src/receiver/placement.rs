//! Where a receiver puts an entity when a DR vector has arrived.

use evenkeel_core::{SessionTime, Span};

use crate::vector::DrVector;

/// The three ways of placing a received DR vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// The accuracy model: count from the generation time, by the session's clock. After arrival, exported and placed
    /// path are the same; unless the receiver is sent another kind of motion than is exported
    /// ([`Content::Auto`](crate::Content::Auto)).
    #[default]
    Global,
    /// What games do without it: start at the received position at the arrival time. The copy trails for ever by
    /// speed x delay.
    Local,
    /// Open TNL's way, for links without synchronized clocks: advance by the age that the sender states and by half of
    /// the round trip that the receiver measured.
    OneWayDelay,
}

impl Placement {
    /// The vector as it is placed: its generation time as this receiver takes it. `sent` is the sender's stamp,
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
