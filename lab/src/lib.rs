//! The lab.
pub mod claims;
pub mod dr;
pub mod figure;
pub mod papers;
pub mod parallel;
pub mod scenario;
pub mod stats;
