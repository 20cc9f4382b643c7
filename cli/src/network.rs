//! Shared parts of the commands that use the network: runtime, logs, and stopping on Ctrl-C or SIGTERM.

use evenkeel_net::transport::{ConnectError, LOG_FILTER};
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// The exit status after a second signal.
const INTERRUPTED: i32 = 130;

/// The logs that are shown by default. `web_transport_quinn` warns whenever a peer disappears.
const WARNINGS: &str = "warn,web_transport_quinn=error";

/// Creates the runtime of the sockets and sends logs to standard error: warnings, or what `RUST_LOG` selects.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    runtime_with(WARNINGS)
}

/// Like [`runtime`], for rooms whose budget is small on purpose: does not warn of it.
pub(crate) fn runtime_with_small_budgets() -> Result<Runtime, Failure> {
    runtime_with(&format!("{WARNINGS},evenkeel_serve::budget_watch=error"))
}

fn runtime_with(warnings: &str) -> Result<Runtime, Failure> {
    let wanted = match std::env::var("RUST_LOG") {
        Ok(wanted) => format!("{wanted},{LOG_FILTER}"),
        Err(_) => warnings.to_owned(),
    };
    let filter =
        EnvFilter::try_new(wanted).map_err(|error| Failure::mistake(format!("RUST_LOG: {error}")))?;
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
    let failed = |error| Failure::failed(format!("cannot start the network's threads: {error}"));
    Builder::new_multi_thread().enable_all().build().map_err(failed)
}

/// Runs a command on the runtime of the sockets. At its end nothing is waited for that may block, like reading a file.
pub(crate) fn run(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    run_on(runtime()?, command)
}

/// Like [`run`], on this runtime.
pub(crate) fn run_on(
    runtime: Runtime,
    command: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    let done = runtime.block_on(command);
    runtime.shutdown_background();
    done
}

/// Waits for Ctrl-C or SIGTERM. From then on, a second one ends the program at once.
pub(crate) async fn until_stopped() {
    stop_signal().await;
    tokio::spawn(async {
        stop_signal().await;
        std::process::exit(INTERRUPTED);
    });
}

async fn stop_signal() {
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
        ConnectError::NoPublishedHash { .. } => Failure::failed(format!("{error} (--pin)")),
        ConnectError::NoAnswer { .. } | ConnectError::Broken(_) => Failure::failed(error),
        _ => Failure::mistake(error),
    }
}
