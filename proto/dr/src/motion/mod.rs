//! How entities move: DR vectors, their kinds, and the error between two of them.

pub mod content;
pub mod divergence;
pub mod fading;
pub mod linear;
pub mod quantize;
pub mod vector;

pub use content::Content;
pub use divergence::{Divergence, export_error};
pub use vector::{DrSeq, DrVector, EntityId, EntityMap, MotionKind, MotionState};
