//! A bot's way to its relay: the task that dials, and the status that it reports.

use std::time::Duration;

use evenkeel_net::transport::ConnectError;
use evenkeel_serve::Status;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A task that keeps a bot connected.
#[derive(Debug)]
pub(crate) struct DialTask {
    status: watch::Receiver<Status>,
    task: JoinHandle<Result<(), ConnectError>>,
}

impl DialTask {
    /// Spawns the task that `dial` returns; it reports to the given channel.
    pub(crate) fn spawn<F>(dial: impl FnOnce(watch::Sender<Status>) -> F) -> Self
    where
        F: Future<Output = Result<(), ConnectError>> + Send + 'static,
    {
        let (sender, status) = watch::channel(Status::Connecting(None));
        Self { status, task: tokio::spawn(dial(sender)) }
    }

    /// Waits for the end of the first attempt; returns whether the relay admitted the bot.
    pub(crate) fn admitted(&self) -> impl Future<Output = bool> + Send + use<> {
        let mut status = self.status.clone();
        async move {
            let attempted = status.wait_for(|status| !matches!(status, Status::Connecting(None))).await;
            attempted.is_ok_and(|status| !matches!(&*status, Status::Over(_)))
        }
    }

    pub(crate) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// The reason why the bot was not admitted.
    pub(crate) async fn failure(self) -> ConnectError {
        let error = self.task.await.ok().and_then(Result::err);
        error.unwrap_or(ConnectError::Broken("the relay closed the connection".to_owned()))
    }

    /// Ends the task at once.
    pub(crate) fn abort(&self) {
        self.task.abort();
    }

    /// Lets the task end by itself, but waits for at most `timeout`.
    pub(crate) async fn leave(self, timeout: Duration) {
        // The task ends when nobody listens to its status.
        drop(self.status);
        let _ = tokio::time::timeout(timeout, self.task).await;
    }
}
