//! A running relay: listener, crank, rooms and API, from start to graceful stop.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use evenkeel_core::clock::ServerClock;
use evenkeel_core::{PeerId, Seed};
use evenkeel_dr::{Budget, DrRelay, PolicyKind};
use evenkeel_sync_ms::Order;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::budget_watch::watch_budgets;
use crate::config::{ConfigError, RelayConfig};
use crate::cranks::Cranks;
use crate::game::{Game, ServedRoom};
use crate::http::{self, HttpError};
use crate::pages;
use crate::report::RoomReport;
use crate::rooms::Rooms;
use crate::served_certificate::{ServedCertificate, renew_certificates};
use crate::state::RelayState;
use evenkeel_net::certificate::{CertificateError, CertificateHash};
use evenkeel_net::clock::LocalClock;
use evenkeel_net::crank::{Crank, CrankHandle, NodeId};
use evenkeel_net::record::{Recording, RecordingError, RecordingStatus};
use evenkeel_net::token::{IssuerId, IssuerKey, KeyFileError, Name};
use evenkeel_net::transport::{BindError, CloseCode, Closed, Limits, Listener};

/// The time limit for each step of a graceful stop.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// Why a relay did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The issuer's key file is unusable.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// The certificate is unusable.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The listener could not start.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The API could not listen.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The recording could not start.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The system refused to start a thread.
    #[error("the relay's thread could not be started: {0}")]
    Thread(std::io::Error),
}

/// A running relay.
pub struct RelayServer<R: ServedRoom = DrRelay<ServerClock>> {
    state: Arc<RelayState<R>>,
    tasks: Vec<JoinHandle<()>>,
    http: Vec<SocketAddr>,
    https: Vec<SocketAddr>,
}

impl RelayServer {
    /// Starts a relay; must be called on a tokio runtime. With a writer, it records every call.
    ///
    /// # Errors
    /// [`StartError`] says what failed.
    pub async fn start(
        config: RelayConfig,
        record: Option<Box<dyn Write + Send>>,
    ) -> Result<Self, StartError> {
        Self::start_with(config, record, Game::default()).await
    }
}

impl<R: ServedRoom> RelayServer<R> {
    /// Starts a relay whose rooms run a game.
    ///
    /// # Errors
    /// [`StartError`] says what failed.
    pub async fn start_with(
        config: RelayConfig,
        record: Option<Box<dyn Write + Send>>,
        game: Game<R>,
    ) -> Result<Self, StartError> {
        let Game { recording_name, seed: game_seed, make_room, pages } = game;
        let settings = Path::new("the relay's settings");
        config.check(settings)?;
        config.check_folders(settings)?;
        let issuer = load_issuer(&config)?;
        let certificate = ServedCertificate::load(&config)?;
        let limits = Limits { connections_max: config.connections_max, ..Limits::default() };
        let mut listener = Listener::bind(&config.listen, certificate.current(), limits)?;
        let port = listener.local_addresses().first().map_or(0, SocketAddr::port);
        let sockets = http::bind(&config.http_addresses(port))?;
        let page_sockets = match &config.pages {
            Some(pages) => http::bind(&pages.https)?,
            None => Vec::new(),
        };
        let (http, https) = (local_addresses(&sockets), local_addresses(&page_sockets));
        let seed = Seed::new(evenkeel_net::random());
        let record = record.map(|writer| Recording::start(writer, recording_name, game_seed)).transpose()?;
        // A recording is one sequence of calls.
        let threads = if record.is_some() { 1 } else { config.threads };
        let rooms = Arc::new(Mutex::new(Rooms::new(config.clone(), seed, threads)));
        let (cranks, stalled) = start_cranks(&rooms, threads, record)?;
        let files = config.pages.as_ref().map(|pages| pages::router(&pages.folder));
        let pages = match &files {
            Some(files) => Some(pages.0.unwrap_or_default().merge(files.clone())),
            None => pages.0,
        };
        let pages_certificate = certificate.pages();
        let state = Arc::new(RelayState {
            config,
            cranks,
            rooms,
            make_room,
            game_seed,
            issuer,
            listener: listener.handle(),
            certificate: Mutex::new(certificate),
            admitted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        });
        let mut tasks = http::serve(sockets, &state, pages);
        if let Some((files, certificate)) = files.zip(pages_certificate) {
            let unusable = |error: rustls::Error| CertificateError::Unusable(error.to_string());
            tasks.extend(pages::serve(page_sockets, certificate, &files).map_err(unusable)?);
        }
        let admitting = state.clone();
        tasks.push(tokio::spawn(async move {
            while let Some(request) = listener.accept().await {
                tokio::spawn(admitting.clone().admit(request));
            }
        }));
        tasks.push(tokio::spawn(detach_stalled(state.clone(), stalled)));
        tasks.push(tokio::spawn(renew_certificates(state.clone())));
        tasks.push(tokio::spawn(watch_budgets(state.clone())));
        Ok(Self { state, tasks, http, https })
    }

    /// Returns the addresses it listens on for players.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.state.listener.local_addresses()
    }

    /// Returns the addresses of its API.
    #[must_use]
    pub fn http_addresses(&self) -> &[SocketAddr] {
        &self.http
    }

    /// Returns the addresses of its pages over HTTPS.
    #[must_use]
    pub fn https_addresses(&self) -> &[SocketAddr] {
        &self.https
    }

    /// Returns the hashes that clients may pin; none for a certificate from files.
    #[must_use]
    pub fn hashes(&self) -> Vec<CertificateHash> {
        self.state.hashes()
    }

    /// Returns the issuer whose tokens it accepts.
    #[must_use]
    pub fn issuer(&self) -> IssuerId {
        self.state.issuer
    }

    /// Returns its rooms with how many players are in each, and how many fit: those that exist, and those of the settings.
    #[must_use]
    pub fn rooms(&self) -> Vec<(Name, usize, usize)> {
        let listed = self.state.config.rooms.iter();
        let listed = listed.filter_map(|(name, room)| Some((Name::new(name).ok()?, (0, room.players_max))));
        let mut rooms: BTreeMap<Name, (usize, usize)> = listed.collect();
        for (name, room) in self.state.rooms().iter() {
            rooms.insert(name.clone(), (room.players().count(), room.players_max()));
        }
        rooms.into_iter().map(|(name, (players, players_max))| (name, players, players_max)).collect()
    }

    /// Returns whether a token for a new room creates the room.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state.config.open
    }

    /// Returns the crank that drives a room's machine.
    #[must_use]
    pub fn crank(&self, room: NodeId) -> &CrankHandle<R> {
        self.state.cranks.of(room)
    }

    /// Returns the state of the recording, if there is one.
    #[must_use]
    pub fn recording(&self) -> Option<RecordingStatus> {
        self.state.cranks.recording()
    }

    /// Returns the node of a room's machine; `None` if there is no such room.
    #[must_use]
    pub fn node(&self, room: &Name) -> Option<NodeId> {
        self.state.rooms().get(room).map(|room| room.node)
    }

    /// Switches a room's policy. Returns false if there is no such room, or the relay is busy.
    pub fn switch(&self, room: &Name, policy: PolicyKind, budget: Budget) -> bool {
        self.state.switch(room, policy, budget).unwrap_or(false)
    }

    /// Switches the order in which a room's game gets actions, and whether everybody sees its updates at once. Returns false
    /// if there is no such room, it has no game, or the relay is busy.
    pub fn switch_order(&self, room: &Name, order: Order, sync_out: bool) -> bool {
        self.state.switch_order(room, order, sync_out).unwrap_or(false)
    }

    /// Reports on a room; `None` if there is no such room.
    pub async fn report(&self, room: &Name) -> Option<RoomReport> {
        self.state.report(room).await
    }

    /// Stops gracefully: admits nobody else, sends queued reliable messages, closes all connections and completes the
    /// recording.
    pub async fn stop(&self) {
        self.state.listener.stop_accepting();
        self.state.cranks.stop(DRAIN_MAX).await;
        let _ = tokio::time::timeout(DRAIN_MAX, self.state.listener.wait_idle()).await;
        self.state.listener.close();
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl<R: ServedRoom> fmt::Debug for RelayServer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RelayServer({:?})", self.addresses())
    }
}

fn local_addresses(sockets: &[TcpListener]) -> Vec<SocketAddr> {
    sockets.iter().filter_map(|socket| socket.local_addr().ok()).collect()
}

/// A peer whose reliable queue in the machine is full.
type StalledPeer = (NodeId, PeerId);

fn start_cranks<R: ServedRoom>(
    rooms: &Arc<Mutex<Rooms>>,
    threads: usize,
    mut record: Option<Recording>,
) -> Result<(Cranks<R>, mpsc::UnboundedReceiver<StalledPeer>), StartError> {
    // Unbounded, but a peer stalls at most once per attachment.
    let (sender, stalled) = mpsc::unbounded_channel();
    let clock = LocalClock::start();
    let cranks = (0..threads).map(|_| {
        let mut crank = crank(rooms.clone(), sender.clone()).with_clock(clock);
        if let Some(recording) = record.take() {
            crank = crank.record(recording);
        }
        crank.start().map_err(StartError::Thread)
    });
    Ok((Cranks::new(cranks.collect::<Result<_, _>>()?), stalled))
}

fn crank<R: ServedRoom>(rooms: Arc<Mutex<Rooms>>, sender: mpsc::UnboundedSender<StalledPeer>) -> Crank<R> {
    Crank::new()
        .on_event(move |node, _, event| {
            if let Some(peer) = R::stalled(&event) {
                let _ = sender.send((node, peer));
            }
        })
        .on_detached(move |node, peer, closed: &Closed, counters| {
            let mut rooms = rooms.lock().unwrap_or_else(PoisonError::into_inner);
            // Only this side's codes indicate a lost machine: a player may close with any code.
            match closed {
                Closed::ByUs(reason)
                    if matches!(reason.code, CloseCode::Internal | CloseCode::RoomClosed) =>
                {
                    rooms.remove(node);
                }
                _ => rooms.leave(node, peer, counters),
            }
        })
}

async fn detach_stalled<R: ServedRoom>(
    state: Arc<RelayState<R>>,
    mut stalled: mpsc::UnboundedReceiver<StalledPeer>,
) {
    while let Some((node, peer)) = stalled.recv().await {
        let _ = state.cranks.of(node).detach(node, peer, CloseCode::TooSlow);
    }
}

/// Loads the issuer. A missing key file is created, so that a relay starts without preparation.
fn load_issuer(config: &RelayConfig) -> Result<IssuerId, StartError> {
    if let Some(issuer) = config.issuer.as_deref().and_then(|issuer| IssuerId::parse(issuer).ok()) {
        return Ok(issuer);
    }
    match IssuerKey::load(&config.token_key) {
        Err(KeyFileError::Missing { .. }) => {
            let key = IssuerKey::generate();
            key.save(&config.token_key)?;
            Ok(key.id())
        }
        key => Ok(key?.id()),
    }
}
