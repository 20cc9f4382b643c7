//! Soaks: a relay in a process of its own, under load or under attack for as long as one likes, measured from outside.
//!
//! - [`load`]: bots in rooms, some of whom crash and come back every minute. Judges memory, deadlines, queues, losses, and
//!   whether every bot sees the others of its room.
//! - [`saturate`]: how many bots are too many. [`capacity`]: what rooms cost, by policy, budget and threads.
//! - [`hostile`]: strangers and members who send noise, lies and floods, beside two honest players whose error must not
//!   grow.
//! - [`sync_ms`]: a game's own traffic through the proxies: is it shown at once, and served in fair order?
//!
//! The relay runs in a child process, so that its memory and processor time can be told from those of the bots, which run
//! in this process.
//!
//! ```
//! use evenkeel_soak::load::Load;
//!
//! // 32 rooms of 16 bots. A trigger reaches a quarter of the 15 others.
//! let load = Load::new(32, 16, "even".parse().unwrap());
//! assert_eq!(load.budget, 3.75);
//! ```

mod bots;
pub mod capacity;
mod child;
mod group;
pub mod hostile;
pub mod judge;
pub mod load;
mod metrics;
mod relay_process;
pub mod saturate;
pub mod sync_ms;
mod usage;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use evenkeel_net::transport::ConnectError;
use serde::Serialize;

/// Why a soak could not be run.
#[derive(Debug, thiserror::Error)]
pub enum SoakError {
    /// The relay's process did not start, or did not announce its addresses.
    #[error("the relay did not start: {0}")]
    RelayNotStarted(String),
    /// The relay did not answer an HTTP request.
    #[error("the relay did not answer at {path}: {reason}")]
    NoAnswer {
        /// The requested path.
        path: String,
        /// Why there is no answer.
        reason: String,
    },
    /// The relay did not admit a bot that the soak depends on.
    #[error("a bot could not join: {0}")]
    BotNotAdmitted(#[from] ConnectError),
    /// The system refused something.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// What every soak runs with.
#[derive(Clone)]
pub struct Harness {
    /// The `evenkeel` program, whose `relay` command is run.
    pub program: PathBuf,
    /// Receives a line of progress from time to time.
    pub progress: Arc<dyn Fn(&str) + Send + Sync>,
    /// Set to end the soak early, with what is measured so far.
    pub stop: Arc<AtomicBool>,
}

impl Harness {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn report(&self, line: &str) {
        (self.progress)(line);
    }

    /// Sleeps until then, or until the soak is stopped.
    async fn sleep_until(&self, until: Instant) {
        while !self.is_stopped() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(Duration::from_millis(200))).await;
        }
    }
}

/// A condition that must hold, and whether it did.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Check {
    /// The condition.
    pub what: String,
    /// The measurement, in words.
    pub measured: String,
    /// Whether the condition held.
    pub passed: bool,
}

impl Check {
    fn new(what: impl Into<String>, passed: bool, measured: impl Into<String>) -> Self {
        Self { what: what.into(), measured: measured.into(), passed }
    }
}

/// The result of a soak, or of one of its loads.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// What was run, with its settings.
    pub title: String,
    /// The judged conditions.
    pub checks: Vec<Check>,
    /// Figures that are not judged: name and value, in words.
    pub figures: Vec<(String, String)>,
    /// Whether the soak was stopped before its time.
    pub stopped_early: bool,
}

impl Verdict {
    /// Whether every check passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }
}
