//! How entities move: DR vectors, their kinds, and the error between two of them.
//!
//! - [`vector`]: states of motion, DR vectors and the paths that they describe.
//! - [`content`]: the kind of motion that an owner exports.
//! - [`quantize`]: DR vectors as they travel.
//! - [`divergence`]: the export error between two DR vectors of any kind.
//! - [`linear`]: its closed form for two linear ones, one pair at a time or many at once.
//! - [`fading`]: the accelerations of damped vectors, which decay.

pub mod content;
pub mod divergence;
pub mod fading;
pub mod linear;
pub mod quantize;
pub mod vector;

pub use content::Content;
pub use divergence::{Divergence, export_error};
pub use vector::{DrSeq, DrVector, EntityId, EntityMap, MotionKind, MotionState};
