//! The lab: scenarios, the papers' figures and claims, and the report, all run by real protocol machines.
//!
//! - [`scenario`]: scenario files, parsed and checked; [`batch`] runs all policies and seeds of one.
//! - [`dr`]: one run of a scenario, with the simulator's true errors beside the sender's ledger.
//! - [`clock`]: one run of a session clock, compared with the true time.
//! - [`papers`]: the papers' figures, and the [`claims`] made about them with their verdicts.
//! - `even`: our own policy, compared with the clairvoyant optimum ([`bounds`]).
//! - `comparison`: our own policy beside what a game would do without it, at as many messages.
//! - [`report`]: a folder of HTML, SVG and CSV that opens offline in a browser.
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
//! // The sender's ledger arrives at the same error from the receivers' reports.
//! assert!((figures.receivers[0].known_aee / figures.receivers[0].aee - 1.0).abs() < 1e-9);
//! ```

pub mod batch;
pub mod bounds;
pub(crate) mod budgets;
pub mod claims;
pub mod clock;
pub(crate) mod comparison;
pub mod dr;
pub(crate) mod even;
pub mod figure;
pub mod files;
pub(crate) mod neo;
pub mod papers;
pub mod parallel;
pub mod report;
pub mod scenario;
pub(crate) mod sync_ms;

use evenkeel_core::stats;
