//! The kind of motion that an owner exports: a fixed one, or the one that predicts best.

use super::MotionKind;

/// The kind of motion of an owner's DR vectors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Content {
    /// Always this kind.
    Kind(MotionKind),
    /// For each entity the kind that would have predicted it best in the last seconds. The sender also picks the best
    /// kind for each receiver's delay.
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

    /// The kind of an entity's first vectors, before anything is known about it.
    #[must_use]
    pub const fn first(self) -> MotionKind {
        match self {
            Self::Kind(kind) => kind,
            // A turn rate helps from the start; whether an acceleration lasts is still unknown.
            Self::Auto => MotionKind::Circular,
        }
    }
}

impl Default for Content {
    /// Linear, as in the papers.
    fn default() -> Self {
        Self::Kind(MotionKind::Linear)
    }
}

impl From<MotionKind> for Content {
    fn from(kind: MotionKind) -> Self {
        Self::Kind(kind)
    }
}
