//! The way to the server's proxy: opens each player's tunnel, and opens it again whenever it breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use evenkeel_core::Reader;
use evenkeel_net::transport::tunnel::{TunnelDialer, TunnelError, TunnelStream};
use evenkeel_net::transport::{CloseCode, Closed, Connection};

use super::ClientState;
use super::players::LocalPlayer;
use crate::counters::count;
use crate::hello::{self, Hello};
use crate::notice::{Notice, Notify};
use crate::udp;

/// The pause before the first new attempt; it doubles with each,
const PAUSE_FIRST: Duration = Duration::from_millis(50);
/// up to this.
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// A tunnel that lasted this long resets the pause.
const LASTING: Duration = Duration::from_secs(3);

const UNKNOWN: u8 = 0;
const FOUND: u8 = 1;
const LOST: u8 = 2;

/// The way to the server's proxy, and whether it is open.
pub(crate) struct ServerLink {
    server: String,
    dialer: TunnelDialer,
    notify: Notify,
    state: AtomicU8,
}

impl ServerLink {
    pub(super) fn new(server: String, dialer: TunnelDialer, notify: Notify) -> Self {
        Self { server, dialer, notify, state: AtomicU8::new(UNKNOWN) }
    }

    pub(super) fn notify(&self, notice: Notice) {
        (self.notify)(notice);
    }

    pub(super) async fn connect(&self, hello: &[u8]) -> Result<Connection, TunnelError> {
        self.dialer.connect(self.resolve().await?, hello).await
    }

    pub(super) async fn connect_stream(&self, hello: &[u8]) -> Result<TunnelStream, TunnelError> {
        self.dialer.connect_stream(self.resolve().await?, hello).await
    }

    async fn resolve(&self) -> Result<std::net::SocketAddr, TunnelError> {
        let unknown = || TunnelError::Broken(format!("{} has no address", self.server));
        udp::resolve(&self.server).await.ok_or_else(unknown)
    }

    /// Says so, unless it was known.
    pub(super) fn on_connected(&self) {
        if self.state.swap(FOUND, Ordering::Relaxed) != FOUND {
            self.notify(Notice::ServerFound { server: self.server.clone() });
        }
    }

    /// Says so, unless it was known.
    pub(super) fn on_lost(&self, why: &str) {
        if self.state.swap(LOST, Ordering::Relaxed) != LOST {
            self.notify(Notice::ServerLost { server: self.server.clone(), why: why.to_owned() });
        }
    }

    pub(super) fn is_connected(&self) -> Option<bool> {
        match self.state.load(Ordering::Relaxed) {
            UNKNOWN => None,
            state => Some(state == FOUND),
        }
    }
}

/// Why the server's proxy is not reached any more, for operators.
fn why_lost(closed: &Closed) -> String {
    match closed.code() {
        Some(CloseCode::ShuttingDown) => "it was stopped".to_owned(),
        _ => closed.to_string(),
    }
}

/// Keeps a player's tunnel open until the task is aborted.
pub(super) async fn run(state: Arc<ClientState>, player: Arc<LocalPlayer>) {
    let mut pause = PAUSE_FIRST;
    let counters = &state.players.counters;
    loop {
        let since = Instant::now();
        let hello = hello::bytes(&Hello::Player { id: player.id, port: player.port() });
        match state.link.connect(&hello).await {
            Ok(connection) => {
                let port = Reader::new(connection.greeting()).read().unwrap_or_default();
                player.attach(&state.crank, counters, connection.clone(), &state.config, port);
                count(&counters.connected);
                state.link.on_connected();
                let closed = connection.closed().await;
                count(&counters.lost);
                state.link.on_lost(&why_lost(&closed));
                if since.elapsed() > LASTING {
                    pause = PAUSE_FIRST;
                }
            }
            Err(error) => {
                count(&counters.attempts_failed);
                state.link.on_lost(&error.to_string());
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}
