//! Shared parts of the commands that use the network: runtime, logs, and stopping on Ctrl-C or SIGTERM.

use evenkeel_net::transport::{ConnectError, LOG_FILTER};
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// Creates the runtime of the sockets and sends logs to standard error: warnings, or what `RUST_LOG` selects.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    let wanted = match std::env::var("RUST_LOG") {
        Ok(wanted) => format!("{wanted},{LOG_FILTER}"),
        // This crate warns whenever a peer disappears.
        Err(_) => "warn,web_transport_quinn=error".to_owned(),
    };
    let filter =
        EnvFilter::try_new(wanted).map_err(|error| Failure::mistake(format!("RUST_LOG: {error}")))?;
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
    let failed = |error| Failure::failed(format!("cannot start the network's threads: {error}"));
    Builder::new_multi_thread().enable_all().build().map_err(failed)
}

/// Waits for Ctrl-C or SIGTERM.
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

/// Classifies a connection error as the user's mistake or a failure.
pub(crate) fn not_connected(error: &ConnectError) -> Failure {
    match error {
        ConnectError::NobodyTells { .. } => Failure::failed(format!("{error} (--pin)")),
        ConnectError::NobodyAnswers { .. } | ConnectError::Broken(_) => Failure::failed(error),
        _ => Failure::mistake(error),
    }
}
