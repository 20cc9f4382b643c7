//! The threads that drive a relay's rooms. Each room stays on the thread that its machine was added to.

use std::time::Duration;

use evenkeel_core::Endpoint;
use evenkeel_net::crank::{CrankCounts, CrankHandle, LatenessCounts, NodeId};
use evenkeel_net::record::RecordingStatus;

/// Which of so many threads drives a room's machine.
pub(crate) const fn thread_of(node: NodeId, threads: usize) -> usize {
    node.0 as usize % threads
}

/// One crank per thread.
pub(crate) struct Cranks<E>(Box<[CrankHandle<E>]>)
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static;

impl<E> Cranks<E>
where
    E: Endpoint + Send + 'static,
    E::Command: Send + 'static,
{
    /// Takes at least one crank. All must show the same time.
    pub(crate) fn new(cranks: Vec<CrankHandle<E>>) -> Self {
        assert!(!cranks.is_empty(), "rooms need a crank");
        Self(cranks.into())
    }

    /// Returns the crank of a room's machine.
    pub(crate) fn of(&self, node: NodeId) -> &CrankHandle<E> {
        &self.0[thread_of(node, self.0.len())]
    }

    /// Returns the counts of all threads together.
    pub(crate) fn counts(&self) -> CrankCounts {
        self.0.iter().fold(CrankCounts::default(), |sum, crank| sum + crank.counts())
    }

    /// Returns how late timeouts were handled, on all threads together.
    pub(crate) fn lateness(&self) -> LatenessCounts {
        self.0.iter().fold(LatenessCounts::default(), |sum, crank| sum + crank.lateness())
    }

    /// Returns the state of the recording, if there is one. A recorded relay has one thread.
    pub(crate) fn recording(&self) -> Option<RecordingStatus> {
        self.0[0].recording()
    }

    /// Stops all threads at the same time.
    pub(crate) async fn stop(&self, drain_max: Duration) {
        let stop = |crank: &CrankHandle<E>| {
            let crank = crank.clone();
            tokio::spawn(async move { crank.stop(drain_max).await.map(drop) })
        };
        let stopping: Vec<_> = self.0.iter().map(stop).collect();
        for stopped in stopping {
            let _ = stopped.await;
        }
    }
}
