//! The proxy beside the game server.

mod admission;
mod game_side;
mod seats;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evenkeel_core::clock::ServerClock;
use evenkeel_core::{PeerId, Seed, Span};
use evenkeel_net::crank::{Crank, CrankError, CrankHandle, NodeId};
use evenkeel_net::metrics::MetricsText;
use evenkeel_net::transport::tunnel::{SharedKey, TunnelHandle, TunnelListener};
use evenkeel_net::transport::{Closed, Limits};
use evenkeel_sync_ms::{Sms, SyncConfig};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::interval;

use crate::config::ServerConfig;
use crate::metrics;
use crate::notice::{Notice, Notify};
use crate::page;
use crate::report::{ServerReport, ServerTotals};
use crate::stream::STREAMS_MAX;
use crate::{StartError, udp};
use admission::Admission;
use game_side::GameSide;

pub(crate) type ServerCrank = CrankHandle<Sms<ServerClock>>;

/// The number of the one machine.
pub(crate) const NODE: NodeId = NodeId(1);

/// How fast updates are held for less time again, per second,
const HOLD_FALL: Span = Span::from_millis(10);
/// and for more, for the sake of one player.
const HOLD_RISE: Span = Span::from_millis(10);

/// Clients at a time that only check that they are let in.
const CHECKS_MAX: usize = 32;
/// How often the machine is looked after.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// How long connections may take to end when the proxy stops.
const DRAIN_MAX: Duration = Duration::from_millis(500);

/// The proxy beside the game server. Dropping it stops it.
pub struct SyncServer {
    state: Arc<ServerState>,
    tunnels: TunnelHandle,
    address: SocketAddr,
    page: Option<SocketAddr>,
    tasks: JoinSet<()>,
}

/// What the proxy's tasks share.
pub(crate) struct ServerState {
    pub(crate) config: ServerConfig,
    pub(crate) crank: ServerCrank,
    pub(crate) side: Arc<GameSide>,
    pub(crate) slots: Slots,
    pub(crate) started: Instant,
}

/// How many tunnels there may be that are no players'.
pub(crate) struct Slots {
    pub(crate) streams: Semaphore,
    pub(crate) checks: Semaphore,
}

impl Default for Slots {
    fn default() -> Self {
        Self { streams: Semaphore::new(STREAMS_MAX), checks: Semaphore::new(CHECKS_MAX) }
    }
}

impl SyncServer {
    /// Starts the proxy. Must be called on a multi-threaded tokio runtime.
    ///
    /// # Errors
    /// [`StartError`] says what to do.
    pub async fn start(config: ServerConfig, key: &SharedKey, notify: Notify) -> Result<Self, StartError> {
        config.check()?;
        let game = udp::resolve(&config.game).await;
        let game = game.ok_or_else(|| StartError::UnknownHost { name: config.game.clone() })?;
        let limits = Limits {
            connections_max: 2 * config.players_max + STREAMS_MAX + CHECKS_MAX,
            ..Limits::default()
        };
        let mut listener = TunnelListener::bind(config.listen, key, limits)?;
        let (address, tunnels) = (listener.local_address(), listener.handle());
        let side = Arc::new(GameSide::new(game, config.players_max, notify));
        let crank = start_crank(&config, &side)?;
        let state =
            Arc::new(ServerState { config, crank, side, slots: Slots::default(), started: Instant::now() });
        let mut tasks = JoinSet::new();
        let admission = Admission::new(state.clone());
        tasks.spawn(async move {
            while let Some(request) = listener.accept().await {
                tokio::spawn(admission.clone().answer(request));
            }
        });
        tasks.spawn(forget_the_gone(state.clone()));
        tasks.spawn(look_after(state.clone()));
        let page = match state.config.page {
            Some(address) => {
                Some(page::serve(&mut tasks, address, &state.config.page_names, state.clone()).await?)
            }
            None => None,
        };
        Ok(Self { state, tunnels, address, page, tasks })
    }

    /// Returns the address that clients' proxies connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the page, if there is one.
    #[must_use]
    pub fn page(&self) -> Option<SocketAddr> {
        self.page
    }

    /// Reports on the players.
    pub async fn report(&self) -> ServerReport {
        self.state.report().await
    }

    /// Returns the metrics in Prometheus's text format.
    pub async fn metrics(&self) -> String {
        self.state.metrics().await
    }

    /// Serves what is still waiting, tells the clients and stops.
    pub async fn stop(mut self) {
        let _ = self.state.crank.stop(DRAIN_MAX).await;
        self.tunnels.close();
        self.tunnels.wait_idle().await;
        self.tasks.shutdown().await;
    }
}

impl Drop for SyncServer {
    fn drop(&mut self) {
        self.tunnels.close();
        self.state.side.seats().clear();
    }
}

fn start_crank(config: &ServerConfig, side: &Arc<GameSide>) -> Result<ServerCrank, StartError> {
    let (events, ends) = (side.clone(), side.clone());
    let crank = Crank::new()
        .on_event(move |_, _, event| events.on_event(event))
        .on_detached(move |_, peer, closed, counters| ends.on_detached(peer, closed, counters))
        .start()
        .map_err(StartError::Thread)?;
    let _ = crank.add(NODE, machine(config));
    Ok(crank)
}

fn machine(config: &ServerConfig) -> Sms<ServerClock> {
    let settings = SyncConfig {
        order: config.order.clone(),
        sync_out: config.out,
        cap: config.cap(),
        hold_fall: Some(HOLD_FALL),
        hold_rise: Some(HOLD_RISE),
        seed: Seed::new(evenkeel_net::random()),
        ..SyncConfig::default()
    };
    Sms::with_clock(&settings, ServerClock::default())
}

/// Puts a new machine in place of one that has failed. Its clients were disconnected, and come back by themselves.
async fn look_after(state: Arc<ServerState>) {
    let mut ticks = interval(WATCH_INTERVAL);
    loop {
        ticks.tick().await;
        if state.crank.with(NODE, |_, _| ()).await == Err(CrankError::NoSuchNode) {
            let _ = state.crank.add(NODE, machine(&state.config));
            (state.side.notify)(Notice::Restarted);
        }
    }
}

/// Frees the sockets of players that do not come back.
async fn forget_the_gone(state: Arc<ServerState>) {
    let idle = Duration::from_secs_f64(state.config.idle_s);
    let mut ticks = interval(Duration::from_secs(1).min(idle / 2));
    loop {
        ticks.tick().await;
        state.side.forget_the_gone(idle);
    }
}

/// Whether a tunnel has ended for good: the client said so.
pub(crate) fn is_done(closed: &Closed) -> bool {
    use evenkeel_net::transport::CloseCode;
    matches!(closed, Closed::ByPeer(reason) if matches!(reason.code, CloseCode::Done | CloseCode::ShuttingDown))
}

/// Why a player has left, for operators.
pub(crate) fn why_left(closed: &Closed) -> String {
    use evenkeel_net::transport::CloseCode;
    match closed.code() {
        Some(CloseCode::Done) => "its game was silent for too long".to_owned(),
        Some(CloseCode::ShuttingDown) => "its proxy was stopped".to_owned(),
        _ => closed.to_string(),
    }
}

impl ServerState {
    /// Why the service is not there, if it is not.
    pub(crate) async fn failure(&self) -> Option<CrankError> {
        self.crank.with(NODE, |_, _| ()).await.err()
    }

    pub(crate) async fn report(&self) -> ServerReport {
        let known = self.crank.with(NODE, |sms, _| (sms.reports().collect::<Vec<_>>(), sms.totals())).await;
        let (known, counts) = known.unwrap_or_default();
        let (mut players, admitted) = {
            let seats = self.side.seats();
            (seats.reports(), seats.admitted())
        };
        for known in known {
            if let Some(player) = players.iter_mut().find(|player| PeerId(player.player) == known.peer) {
                player.fill(&known);
            }
        }
        ServerReport {
            role: "server",
            game: self.side.game.to_string(),
            order: self.config.order.to_string(),
            out: self.config.out,
            cap_ms: self.config.cap_ms,
            up_s: self.started.elapsed().as_secs_f64(),
            totals: ServerTotals::of(admitted, counts),
            players,
        }
    }

    pub(crate) async fn metrics(&self) -> String {
        let mut text = MetricsText::default();
        let counts = self.crank.counts();
        text.crank(&counts, &self.crank.lateness());
        metrics::counters(&mut text, &self.side.counters.all(), counts.panics);
        metrics::players(&mut text, &self.report().await);
        text.finish()
    }
}

/// A task that is aborted on drop.
#[derive(Debug)]
pub(crate) struct Aborting(pub(crate) AbortHandle);

impl Drop for Aborting {
    fn drop(&mut self) {
        self.0.abort();
    }
}
