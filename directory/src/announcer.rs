//! Keeps a relay registered: at a directory, and on the local network.

use std::time::Duration;

use evenkeel_net::token::Name;
use evenkeel_serve::{AnnounceConfig, RelayServer, ServedRoom};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::client::{DirectoryClient, DirectoryError};
use crate::lan::{Announcement, LanError, Reach, Service, find_directory};
use crate::model::{LIFETIME, Registration, RoomListing};

/// Three registrations may be lost before the relay is forgotten.
const EVERY: Duration = Duration::from_secs(LIFETIME.as_secs() / 3);
/// How long a directory is looked for on the local network before the next try.
const SEARCH: Duration = Duration::from_secs(3);
/// How long leaving may take.
const LEAVE_MAX: Duration = Duration::from_secs(1);

/// Keeps a relay registered until it is stopped or dropped.
#[derive(Debug)]
pub struct Announcer {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    /// Taken back when dropped.
    _announcement: Option<Announcement>,
}

impl Announcer {
    /// Announces the relay as its settings say. `describe` is asked before each registration; [`describe()`] is one. Must be
    /// called on a tokio runtime.
    ///
    /// A directory that refuses or does not answer is a warning in the log, at the first time, and is tried again.
    ///
    /// # Errors
    /// [`LanError`] if the local network is wanted and cannot be used.
    pub fn start(
        config: AnnounceConfig,
        describe: impl Fn() -> Registration + Send + Sync + 'static,
    ) -> Result<Self, LanError> {
        Self::start_within(config, describe, Reach::Network)
    }

    /// Announces the relay within this reach.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    #[doc(hidden)]
    pub fn start_within(
        config: AnnounceConfig,
        describe: impl Fn() -> Registration + Send + Sync + 'static,
        reach: Reach,
    ) -> Result<Self, LanError> {
        let announcement = if config.lan {
            let Registration { name, address, certificate, .. } = describe();
            let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or_default();
            let hash = certificate.first().map_or("", String::as_str);
            Some(Announcement::start(Service::Relay, &name, port, &[("sha256", hash)], reach)?)
        } else {
            None
        };
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(keep_registered(config, describe, stopped, reach));
        Ok(Self { stop, task, _announcement: announcement })
    }

    /// Takes the relay off the list.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        let _ = timeout(LEAVE_MAX, &mut self.task).await;
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Describes a running relay.
#[must_use]
pub fn describe<R: ServedRoom>(relay: &RelayServer<R>, config: &AnnounceConfig) -> Registration {
    let port = relay.addresses().first().map_or(0, std::net::SocketAddr::port);
    let rooms = relay.rooms().into_iter();
    Registration {
        name: config.name.clone(),
        address: config.address.clone().unwrap_or_else(|| format!(":{port}")),
        certificate: relay.hashes().iter().map(ToString::to_string).collect(),
        issuer: relay.issuer().to_string(),
        open: relay.is_open(),
        rooms: rooms
            .map(|(name, players, players_max)| RoomListing { name: name.to_string(), players, players_max })
            .collect(),
    }
}

async fn keep_registered(
    config: AnnounceConfig,
    describe: impl Fn() -> Registration + Send + Sync + 'static,
    mut stopped: watch::Receiver<bool>,
    reach: Reach,
) {
    let mut directory = None;
    let mut said = None;
    loop {
        if directory.is_none() {
            directory = find(&config, reach).await;
        }
        if let Some(client) = &directory {
            let outcome = client.register(&describe()).await.map(|_| ());
            say(&mut said, &outcome);
            // A directory on the local network may come back at another address.
            if matches!(outcome, Err(DirectoryError::NoAnswer { .. })) && config.url.is_none() {
                directory = None;
            }
        }
        tokio::select! {
            () = sleep(EVERY) => {}
            _ = stopped.wait_for(|stopped| *stopped) => break,
        }
    }
    if let (Some(client), Ok(name)) = (directory, Name::new(&config.name)) {
        let _ = client.leave(&name).await;
    }
}

/// The directory of the settings, or one on the local network.
async fn find(config: &AnnounceConfig, reach: Reach) -> Option<DirectoryClient> {
    let url = match &config.url {
        Some(url) => Some(url.clone()),
        None => find_directory(SEARCH, reach).await.ok().flatten(),
    };
    DirectoryClient::new(&url?).ok().map(|client| client.with_secret(config.secret.clone()))
}

/// Logs what has changed since the last time.
fn say(said: &mut Option<Result<(), DirectoryError>>, outcome: &Result<(), DirectoryError>) {
    if said.as_ref() == Some(outcome) {
        return;
    }
    match outcome {
        Ok(()) => tracing::info!("the relay is in the directory"),
        Err(error) => tracing::warn!("the relay is not in the directory: {error}"),
    }
    *said = Some(outcome.clone());
}
