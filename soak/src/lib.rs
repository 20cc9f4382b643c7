//! Soaks: a relay as a process of its own under load, or under attack, for as long as one likes; measured from outside.
//!
//! - [`load`]: bots in rooms, some of whom crash and come back every minute. Memory, processor time, deadlines, queues and
//!   whether everybody sees everybody.
//! - [`saturate`]: how many bots are too many.
//! - [`hostile`]: strangers and members who send nonsense and floods, beside two honest players whose error must not grow.
//!
//! The relay runs in a child process so that its memory and its processor time are its own; the bots run in this one.

mod child;
pub mod hostile;
pub mod judge;
pub mod load;
mod metrics;
mod proc;
pub mod saturate;
mod squad;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use evenkeel_net::transport::ConnectError;
use serde::Serialize;

/// Why a soak could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SoakError {
    /// The relay's process did not start, or said nothing.
    #[error("the relay did not start: {0}")]
    NoRelay(String),
    /// The relay did not answer what it was asked over HTTP.
    #[error("the relay did not answer at {path}: {words}")]
    NoAnswer {
        /// What was asked for.
        path: String,
        /// Why there is no answer.
        words: String,
    },
    /// A bot that must come in did not.
    #[error("a bot was not let in: {0}")]
    NotLetIn(#[from] ConnectError),
    /// The system refused something.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// What a soak is run with: the program that has a relay in it, whom to tell how it goes, and when to end early.
#[derive(Clone)]
pub struct Bench {
    /// The `evenkeel` program.
    pub program: PathBuf,
    /// Is told a line from time to time.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
    /// Ends the soak with what is measured so far.
    pub stop: Arc<AtomicBool>,
}

impl Bench {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn tell(&self, words: &str) {
        (self.tell)(words);
    }

    /// Sleeps, but no longer than until it is stopped.
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

/// One thing that must hold, and whether it did.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Check {
    /// What must hold.
    pub what: String,
    /// What was measured.
    pub measured: String,
    /// Whether it held.
    pub passed: bool,
}

impl Check {
    fn new(what: impl Into<String>, passed: bool, measured: impl Into<String>) -> Self {
        Self { what: what.into(), measured: measured.into(), passed }
    }
}

/// What became of a soak, or of a part of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// What was run, with its settings.
    pub title: String,
    /// What was judged.
    pub checks: Vec<Check>,
    /// What was measured beside it: a name, and the figure in words.
    pub figures: Vec<(String, String)>,
    /// Whether it was stopped before its time.
    pub stopped_early: bool,
}

impl Verdict {
    /// Whether everything held.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }
}
