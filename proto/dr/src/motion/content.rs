//! What an owner puts into its DR vectors: one kind of motion, or whichever serves best.

use crate::vector::MotionKind;

/// How an owner's DR vectors are to be projected.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Content {
    /// All in one way.
    Kind(MotionKind),
    /// By the kind that would have served best in the last seconds, entity by entity; and whoever runs the policy sends
    /// each receiver the kind that serves best at its distance.
    Auto,
}

impl Content {
    /// Every content, `Auto` last.
    pub const ALL: [Self; 5] = [
        Self::Kind(MotionKind::Linear),
        Self::Kind(MotionKind::Quadratic),
        Self::Kind(MotionKind::Circular),
        Self::Kind(MotionKind::Damped),
        Self::Auto,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kind(kind) => kind.name(),
            Self::Auto => "auto",
        }
    }

    /// The kind of an entity's first vectors, when nothing is known of it.
    #[must_use]
    pub const fn first(self) -> MotionKind {
        match self {
            Self::Kind(kind) => kind,
            // Its turn rate says more about where an entity goes than nothing; of its acceleration nobody knows yet.
            Self::Auto => MotionKind::Circular,
        }
    }
}

impl Default for Content {
    /// The papers'.
    fn default() -> Self {
        Self::Kind(MotionKind::Linear)
    }
}

impl From<MotionKind> for Content {
    fn from(kind: MotionKind) -> Self {
        Self::Kind(kind)
    }
}
