//! Runs independent jobs on all cores; the order of the results does not depend on the threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Progress of a piece of work, which another thread can watch and cancel.
#[derive(Debug, Default)]
pub struct Progress {
    total: AtomicUsize,
    done: AtomicUsize,
    cancelled: AtomicBool,
}

/// The work was cancelled before its end; there are no results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("stopped after {done} of {total} runs")]
pub struct Cancelled {
    /// Jobs done by then.
    pub done: usize,
    /// Jobs in all.
    pub total: usize,
}

impl Progress {
    /// Announces jobs, so that the total is known before the first is done.
    pub fn expect(&self, jobs: usize) {
        self.total.fetch_add(jobs, Ordering::Relaxed);
    }

    /// Returns the number of jobs done.
    #[must_use]
    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Returns the number of announced jobs.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    /// Counts an announced job as done.
    pub fn finished(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Asks the work to stop. Long jobs check for this at every step.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether the work was asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Returns the error to report if the work stops now.
    #[must_use]
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { done: self.done(), total: self.total() }
    }
}

/// Runs every job, on as many threads as there are cores, and returns the results in the order of the jobs. A job
/// that returns `None` was cancelled. The jobs must have been announced with [`Progress::expect`].
///
/// # Errors
/// [`Cancelled`] if the progress was cancelled before all jobs were done.
pub fn map<J: Sync, T: Send>(
    jobs: &[J],
    progress: &Progress,
    job: impl Fn(&J) -> Option<T> + Sync,
) -> Result<Vec<T>, Cancelled> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut results = Vec::new();
        while !progress.is_cancelled() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(result) = jobs.get(index).and_then(&job) else { break };
            results.push((index, result));
            progress.finished();
        }
        results
    };
    let cores = thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    let mut results: Vec<(usize, T)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a job does not panic")).collect()
    });
    if results.len() < jobs.len() {
        return Err(progress.cancelled());
    }
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}
