//! What every command that uses the network needs: a runtime, logs, and an end on Ctrl-C or SIGTERM.

use evenkeel_net::transport::{ConnectError, LOG_FILTER};
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// The runtime that drives the sockets. Logs go to standard error: warnings, or what `RUST_LOG` says.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    let wanted = match std::env::var("RUST_LOG") {
        Ok(wanted) => format!("{wanted},{LOG_FILTER}"),
        // It warns of every peer that goes without a word.
        Err(_) => "warn,web_transport_quinn=error".to_owned(),
    };
    let filter =
        EnvFilter::try_new(wanted).map_err(|error| Failure::mistake(format!("RUST_LOG: {error}")))?;
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
    let failed = |error| Failure::failed(format!("the network's threads could not be started: {error}"));
    Builder::new_multi_thread().enable_all().build().map_err(failed)
}

/// Comes back on Ctrl-C or SIGTERM.
pub(crate) async fn until_stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

/// What became of an attempt to connect: the user's mistake, or the network's.
pub(crate) fn not_connected(error: &ConnectError) -> Failure {
    match error {
        ConnectError::NoPublishedHash { .. } => Failure::failed(format!("{error} (--pin)")),
        ConnectError::NoAnswer { .. } | ConnectError::Broken(_) => Failure::failed(error),
        _ => Failure::mistake(error),
    }
}
