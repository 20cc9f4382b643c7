//! The directory: HTTP, what it keeps, and its limits.

mod api;
mod config;
mod connections;
mod limits;
mod names;
mod state;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use evenkeel_net::token::{IssuerId, IssuerKey, KeyFileError};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::lan::{Announcement, LanError, Reach, Service};
pub use config::DirectoryConfig;
use state::DirectoryState;

/// Why a directory did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The settings cannot be read.
    #[error("{}: {message}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The key file is unusable.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; is another directory running?")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The local network cannot be used.
    #[error(transparent)]
    Lan(#[from] LanError),
}

/// A running directory. Dropping it stops it.
pub struct Directory {
    state: Arc<DirectoryState>,
    addresses: Vec<SocketAddr>,
    /// Aborted when dropped.
    _tasks: JoinSet<()>,
    _announcement: Option<Announcement>,
}

impl Directory {
    /// Starts a directory; must be called on a tokio runtime. A missing key file is created.
    ///
    /// # Errors
    /// [`StartError`] says what failed.
    pub async fn start(config: DirectoryConfig) -> Result<Self, StartError> {
        Self::start_within(config, Reach::Network).await
    }

    /// Starts a directory that announces itself within this reach, if it does.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    #[doc(hidden)]
    pub async fn start_within(config: DirectoryConfig, reach: Reach) -> Result<Self, StartError> {
        let key = match IssuerKey::load(&config.key) {
            Err(KeyFileError::Missing { .. }) => {
                let key = IssuerKey::generate();
                key.save(&config.key)?;
                key
            }
            key => key?,
        };
        let (mut sockets, mut addresses) = (Vec::new(), Vec::new());
        for &address in &config.listen {
            let failed = |source| StartError::Listen { address, source };
            let socket = TcpListener::bind(address).await.map_err(failed)?;
            addresses.push(socket.local_addr().map_err(failed)?);
            sockets.push(socket);
        }
        let port = addresses.first().map_or(0, SocketAddr::port);
        let announcement = match config.lan {
            true => Some(Announcement::start(Service::Directory, &config.name, port, &[], reach)?),
            false => None,
        };
        let state = Arc::new(DirectoryState::new(config, key));
        let tasks = connections::serve(sockets, &api::router(&state));
        Ok(Self { state, addresses, _tasks: tasks, _announcement: announcement })
    }

    /// Returns a directory's answers without its sockets, for tests. A request has its caller's address as an extension, axum's
    /// `ConnectInfo`.
    #[doc(hidden)]
    pub fn requests(config: DirectoryConfig, key: IssuerKey) -> axum::Router {
        api::router(&Arc::new(DirectoryState::new(config, key)))
    }

    /// Returns the addresses it listens on.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the public key that relays need as `issuer`.
    #[must_use]
    pub fn issuer(&self) -> IssuerId {
        self.state.issuer()
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Directory({:?})", self.addresses)
    }
}
