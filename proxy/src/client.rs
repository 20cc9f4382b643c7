//! The proxy beside players.

mod dial;
mod players;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evenkeel_core::clock::{FollowerClock, Hull};
use evenkeel_core::{LocalTime, PeerId};
use evenkeel_net::crank::{Crank, CrankError, CrankHandle};
use evenkeel_net::metrics::MetricsText;
use evenkeel_net::stamped::StampedSocket;
use evenkeel_net::transport::Limits;
use evenkeel_net::transport::tunnel::{SharedKey, TunnelDialer, TunnelError};
use evenkeel_sync_ms::Smc;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::config::ClientConfig;
use crate::counters::{add, count};
use crate::hello::{self, Hello};
use crate::notice::{Notice, Notify};
use crate::report::ClientReport;
use crate::udp::{self, DATAGRAM_MAX};
use crate::{StartError, metrics, page, stream};
use dial::ServerLink;
use players::Players;

pub(crate) type ClientCrank = CrankHandle<Smc<FollowerClock<Hull>>>;

/// The number of the server in each player's machine.
pub(crate) const SERVER: PeerId = PeerId(0);

/// How long connections may take to end when the proxy stops.
const DRAIN_MAX: Duration = Duration::from_millis(500);

/// The proxy beside players. Dropping it stops it.
pub struct SyncClient {
    state: Arc<ClientState>,
    address: SocketAddr,
    page: Option<SocketAddr>,
    tasks: JoinSet<()>,
}

/// What the proxy's tasks share.
pub(crate) struct ClientState {
    pub(crate) config: ClientConfig,
    pub(crate) crank: ClientCrank,
    pub(crate) players: Arc<Players>,
    pub(crate) link: ServerLink,
    pub(crate) started: Instant,
}

impl SyncClient {
    /// Starts the proxy. Must be called on a multi-threaded tokio runtime. A server that does not answer yet is no error.
    ///
    /// # Errors
    /// [`StartError`] says what to do.
    pub async fn start(config: ClientConfig, key: &SharedKey, notify: Notify) -> Result<Self, StartError> {
        config.check()?;
        let listen = |source| StartError::Listen { address: config.listen, what: "players, UDP", source };
        let socket = udp::bind(config.listen).map_err(listen)?;
        let address = socket.local_addr().map_err(listen)?;
        let reading = socket.try_clone().map_err(listen)?;
        let mut forwarded = Vec::new();
        for port in &config.tcp {
            let address = SocketAddr::new(config.listen.ip(), *port);
            let bound = TcpListener::bind(address).await;
            let bound = bound.map_err(|source| StartError::Listen { address, what: "TCP", source })?;
            forwarded.push((*port, bound));
        }
        let players = Arc::new(Players::new(socket));
        let (events, ends) = (players.clone(), players.clone());
        let crank = Crank::new()
            .on_event(move |node, _, event| events.on_event(node, event))
            .on_detached(move |_, _, _, counters| ends.on_detached(counters))
            .start()
            .map_err(StartError::Thread)?;
        let reading = StampedSocket::new(reading, crank.clock()).map_err(listen)?;
        let dialer = TunnelDialer::new(key, Limits::default());
        let link = ServerLink::new(config.server.clone(), dialer, notify);
        let state = Arc::new(ClientState { config, crank, players, link, started: Instant::now() });
        state.check_admission().await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(read(state.clone(), reading));
        tasks.spawn(forget_idle(state.clone()));
        for (port, socket) in forwarded {
            let (counting, forwarding) = (state.clone(), state.clone());
            let refused = move || count(&counting.players.counters.streams_refused);
            tasks.spawn(stream::listen(socket, refused, move |tcp| forward(forwarding.clone(), tcp, port)));
        }
        let page = match state.config.page {
            Some(address) => {
                Some(page::serve(&mut tasks, address, &state.config.page_names, state.clone()).await?)
            }
            None => None,
        };
        Ok(Self { state, address, page, tasks })
    }

    /// Returns the address that players' games connect to.
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
    pub async fn report(&self) -> ClientReport {
        self.state.report().await
    }

    /// Returns the metrics in Prometheus's text format.
    pub async fn metrics(&self) -> String {
        self.state.metrics().await
    }

    /// Shows what is still held, tells the server and stops.
    pub async fn stop(mut self) {
        self.state.players.end_all();
        let _ = self.state.crank.stop(DRAIN_MAX).await;
        self.tasks.shutdown().await;
    }
}

impl Drop for SyncClient {
    fn drop(&mut self) {
        self.state.players.end_all();
    }
}

/// Reads what players' games send.
async fn read(state: Arc<ClientState>, socket: StampedSocket) {
    let mut buffer = vec![0; DATAGRAM_MAX];
    loop {
        // An error is an answer to something that was sent to a game which is gone.
        if let Ok((len, from, at)) = socket.receive(&mut buffer).await {
            state.take(from, at, &buffer[..len]);
        }
    }
}

async fn forget_idle(state: Arc<ClientState>) {
    let idle = Duration::from_secs_f64(state.config.idle_s);
    let mut ticks = interval(Duration::from_secs(1).min(idle / 2));
    loop {
        ticks.tick().await;
        for player in state.players.end_idle(idle) {
            let counts = state.crank.with(player.node, |smc, _| smc.counts()).await;
            state.players.note_gone(&player, counts.unwrap_or_default());
            let node = player.node;
            let _ = state.crank.remove(node, evenkeel_net::transport::CloseCode::Done).await;
        }
        for player in state.players.all() {
            if players::look_after(&player, &state.crank).await {
                state.link.notify(Notice::Restarted);
            }
        }
    }
}

/// Forwards a TCP connection.
async fn forward(state: Arc<ClientState>, tcp: TcpStream, port: u16) {
    let counters = &state.players.counters;
    match state.link.connect_stream(&hello::bytes(&Hello::Stream { port })).await {
        Ok(tunnel) => {
            count(&counters.streams);
            stream::carry(tcp, tunnel, &counters.stream_bytes).await;
        }
        Err(error) => {
            count(&counters.streams_refused);
            state.link.notify(Notice::StreamRefused { port, why: error.to_string() });
        }
    }
}

impl ClientState {
    /// Checks the key and the version, so that a mistake shows at the start.
    async fn check_admission(&self) -> Result<(), StartError> {
        match self.link.connect(&hello::bytes(&Hello::Check)).await {
            Ok(_) => self.link.on_connected(),
            Err(error @ (TunnelError::OtherKey { .. } | TunnelError::OtherVersion)) => {
                return Err(StartError::NotAdmitted(error));
            }
            Err(error) => self.link.on_lost(&error.to_string()),
        }
        Ok(())
    }

    /// Takes a datagram of a player's game.
    fn take(self: &Arc<Self>, from: SocketAddr, at: LocalTime, bytes: &[u8]) {
        let counters = &self.players.counters;
        count(&counters.game_received);
        add(&counters.game_received_bytes, bytes.len() as u64);
        let player = match self.players.find(from) {
            Some(player) => player,
            None => match self.players.admit(from, &self.config, &self.crank) {
                Some(player) => {
                    let dialing = tokio::spawn(dial::run(self.clone(), player.clone()));
                    player.set_dialing(dialing.abort_handle());
                    player
                }
                None => return count(&counters.no_place),
            },
        };
        player.act(&self.crank, counters, at, bytes);
    }

    /// Why the service is not there, if it is not.
    pub(crate) async fn failure(&self) -> Option<CrankError> {
        for player in self.players.all() {
            if let Err(failure) = self.crank.with(player.node, |_, _| ()).await {
                return Some(failure);
            }
        }
        None
    }

    pub(crate) async fn report(&self) -> ClientReport {
        let mut players = Vec::new();
        let mut totals = self.players.gone();
        for player in self.players.all() {
            let known = self.crank.with(player.node, |smc, now| {
                use evenkeel_core::SessionClock;
                (smc.counts(), smc.clock().error_max(now))
            });
            let (counts, error) = known.await.unwrap_or_default();
            totals.add(player.actions(), counts);
            players.push(player.report(counts, error));
        }
        ClientReport {
            role: "client",
            server: self.config.server.clone(),
            is_connected: self.link.is_connected(),
            up_s: self.started.elapsed().as_secs_f64(),
            totals,
            players,
        }
    }

    pub(crate) async fn metrics(&self) -> String {
        let mut text = MetricsText::default();
        let counts = self.crank.counts();
        text.crank(&counts, &self.crank.lateness());
        self.players.count_emulation();
        metrics::counters(&mut text, &self.players.counters.all(), counts.panics);
        metrics::local_players(&mut text, &self.report().await);
        text.finish()
    }
}
