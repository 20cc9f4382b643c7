//! Independent jobs on all cores, in an order that does not depend on who finishes first.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// How far a piece of work is, and whether it should stop. Shared with whoever shows it.
#[derive(Debug, Default)]
pub struct Progress {
    total: AtomicUsize,
    done: AtomicUsize,
    cancelled: AtomicBool,
}

/// The work was cancelled before it was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl Progress {
    /// Announces more jobs.
    pub fn expect(&self, jobs: usize) {
        self.total.fetch_add(jobs, Ordering::Relaxed);
    }

    /// Jobs that are done, and jobs in all.
    #[must_use]
    pub fn state(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }

    /// Asks for an early end.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether an early end was asked for.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// Does every job, on as many threads as there are cores; the results are in the jobs' order. The jobs must have been
/// announced with [`Progress::expect`].
///
/// # Errors
/// [`Cancelled`] if the progress was cancelled before all were done.
pub fn map<J: Sync, T: Send>(
    jobs: &[J],
    progress: &Progress,
    work: impl Fn(&J) -> T + Sync,
) -> Result<Vec<T>, Cancelled> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<T>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !progress.is_cancelled() {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { break };
                    let result = work(job);
                    *results[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                    progress.done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    results
        .into_iter()
        .map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect::<Option<_>>()
        .ok_or(Cancelled)
}
