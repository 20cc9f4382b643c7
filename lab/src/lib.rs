//! The lab.
pub mod dr;
pub mod scenario;
pub mod stats;
