//! The lab: scenarios, the papers' figures and claims, and the report, all run by real protocol machines.
//!
//! - [`scenario`]: a scenario file, checked; [`batch`] runs all of its policies and seeds.
//! - [`dr`]: one run: a world from a scenario, and the simulator's own truth beside the sender's ledger.
//! - [`clock`]: one run of a session clock beside the true time.
//! - [`papers`]: figure by figure, with the [`claims`] that the papers make and what became of them.
//! - `even`: our own policy, beside what could be had by knowing the future ([`bounds`]).
//! - [`report`]: one folder that opens offline in a browser.
//!
//! ```
//! use evenkeel_core::Span;
//! use evenkeel_lab::dr::run;
//! use evenkeel_lab::scenario::Scenario;
//!
//! // Ten seconds of the papers' experiment: the farthest of three receivers has the largest error.
//! let mut scenario = Scenario::papers(Span::ZERO, 0.09);
//! scenario.duration = Span::from_secs(10);
//! let figures = run(&scenario, "base".parse().unwrap(), 1, None);
//! assert!(figures.receivers[0].aee > figures.receivers[2].aee);
//! // The sender's ledger knows it, without having seen the receivers' screens.
//! assert!((figures.receivers[0].known_aee / figures.receivers[0].aee - 1.0).abs() < 1e-9);
//! ```

pub mod batch;
pub mod bounds;
pub mod claims;
pub mod clock;
pub mod dr;
pub(crate) mod even;
pub mod figure;
pub mod files;
pub mod papers;
pub mod parallel;
pub mod report;
pub mod scenario;

use evenkeel_core::stats;
