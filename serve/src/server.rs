//! The relay as a whole: listener, crank, rooms, API; from start to a graceful end.

use std::fmt;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evenkeel_core::clock::ServerClock;
use evenkeel_core::{PeerId, Seed, Wire};
use evenkeel_dr::{Budget, DrRelay, EntityId, PairWeight, PolicyKind, RelayCommand};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::config::{ConfigError, RelayConfig};
use crate::game::{Game, MakeRoom, ServedRoom, room_seed};
use crate::http::{self, HttpError};
use crate::pages::{self, Shown};
use crate::report::RoomReport;
use crate::rooms::{Entry, Rooms};
use crate::welcome::Welcome;
use evenkeel_net::certificate::{Certificate, CertificateError, CertificateHash, Rotation};
use evenkeel_net::crank::{Attachment, Crank, CrankError, CrankHandle, NodeId};
use evenkeel_net::record::{Recording, RecordingError};
use evenkeel_net::token::{IssuerId, IssuerKey, KeyFileError, Name, TokenRefused, unix_seconds};
use evenkeel_net::transport::{
    BindError, CloseCode, CloseReason, Closed, Connection, Limits, Listener, ListenerHandle, Request,
};

/// How often certificates are looked after.
const CERTIFICATE_PERIOD: Duration = Duration::from_secs(600);
/// How long a graceful end may take.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// Why a relay did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The key of the tokens.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// The certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The listener.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The API.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The recording.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The system.
    #[error("the relay's thread could not be started: {0}")]
    Thread(std::io::Error),
}

/// The served certificate: the relay's own, renewed in time, or one from files, read again when they change.
enum Serving {
    Own(Box<Rotation>),
    Files(Box<Certificate>),
}

/// What the relay's tasks share.
pub(crate) struct Shared<R: ServedRoom> {
    pub(crate) config: RelayConfig,
    pub(crate) crank: CrankHandle<R>,
    pub(crate) rooms: Arc<Mutex<Rooms>>,
    make_room: MakeRoom<R>,
    /// What the rooms' games depend on.
    game_seed: u64,
    issuer: IssuerId,
    listener: ListenerHandle,
    serving: Mutex<Serving>,
    /// What pages are served with, if they are.
    shown: Option<Arc<Shown>>,
    /// Players that were let in, and not.
    pub(crate) admitted: AtomicU64,
    pub(crate) refused: AtomicU64,
}

impl<R: ServedRoom> Shared<R> {
    pub(crate) fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hashes that clients may pin; none if the certificate is a real one.
    pub(crate) fn hashes(&self) -> Vec<CertificateHash> {
        match &*self.serving.lock().unwrap_or_else(PoisonError::into_inner) {
            Serving::Own(rotation) => rotation.hashes(),
            Serving::Files(_) => Vec::new(),
        }
    }

    /// How a room is doing; `None` if there is none.
    pub(crate) async fn report(&self, name: &Name) -> Option<RoomReport> {
        let (node, config, roll) =
            self.rooms().get(name).map(|room| (room.node, room.config, room.roll()))?;
        self.crank.with(node, move |machine, now| RoomReport::of(machine, now, &config, roll)).await.ok()
    }

    /// Switches a room's policy; false if there is no such room.
    pub(crate) fn switch(&self, name: &Name, policy: PolicyKind, budget: Budget) -> Result<bool, CrankError> {
        let mut rooms = self.rooms();
        let Some(node) = rooms.get(name).map(|room| room.node) else { return Ok(false) };
        self.crank.command(node, RelayCommand::Switch { policy, budget }.into())?;
        rooms.switched(name, policy, budget);
        Ok(true)
    }

    /// Says how much the error of an entity at a player counts; false if there is no such player, `None` if no room.
    pub(crate) fn weigh(
        &self,
        name: &Name,
        entity: EntityId,
        player: &str,
        weight: PairWeight,
    ) -> Option<Result<bool, CrankError>> {
        let rooms = self.rooms();
        let room = rooms.get(name)?;
        let Some(receiver) = room.player(player) else { return Some(Ok(false)) };
        let command = RelayCommand::Weigh { entity, receiver, weight };
        Some(self.crank.command(room.node, command.into()).map(|()| true))
    }

    /// Somebody asks to be let in.
    async fn admit(self: Arc<Self>, request: Request) {
        match self.check(&request) {
            Ok((room, name)) => self.let_in(request, &room, &name).await,
            Err(reason) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                request.refuse(reason).await;
            }
        }
    }

    fn check(&self, request: &Request) -> Result<(Name, Name), CloseReason> {
        let refuse = |refused: TokenRefused| CloseReason::new(CloseCode::TokenRefused, refused.to_string());
        let token = request.token().unwrap_or_default();
        let room = Some(request.path().trim_matches('/')).filter(|room| !room.is_empty());
        let claims = self.issuer.verify_for(room, &token, unix_seconds()).map_err(refuse)?;
        let name = claims.player(request.query("seat").as_deref()).map_err(refuse)?;
        Ok((claims.room, name))
    }

    async fn let_in(&self, request: Request, room: &Name, name: &Name) {
        let entered = self.rooms().enter(room, name);
        let entry = match entered {
            Ok(entry) => entry,
            Err(reason) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                return request.refuse(reason).await;
            }
        };
        if !self.prepare(&entry) {
            self.rooms().failed(entry.node);
            return request.refuse(CloseCode::Internal).await;
        }
        let mut greeting = Vec::new();
        Welcome { player: entry.peer, tick: entry.config.tick }.emit(&mut greeting);
        let Ok(connection) = request.accept(&greeting).await else {
            return self.rooms().did_not_come(entry);
        };
        self.admitted.fetch_add(1, Ordering::Relaxed);
        self.attach(entry, connection);
    }

    /// Hands a player's connection to its room's machine.
    fn attach(&self, entry: Entry, connection: Connection) {
        let allowance = Some(self.config.allowance());
        let attachment = Attachment { connection: connection.clone(), emulation: None, allowance };
        let (node, peer) = (entry.node, entry.peer);
        // The books are held meanwhile, so that players come in them in the order in which the crank attaches them, and
        // go only after they came.
        let mut rooms = self.rooms();
        match self.crank.attach(node, peer, attachment) {
            Ok(counters) => rooms.came(entry, counters),
            Err(_) => {
                rooms.did_not_come(entry);
                connection.close(CloseCode::Internal);
            }
        }
    }

    /// Gives a new room its machine, and takes that of a room that had to make place. False if the crank does not take it.
    fn prepare(&self, entry: &Entry) -> bool {
        if let Some(closed) = entry.closed {
            let crank = self.crank.clone();
            tokio::spawn(async move { crank.remove(closed, CloseCode::RoomClosed).await });
        }
        let machine = || (self.make_room)(&entry.config, room_seed(self.game_seed, entry.node.0));
        !entry.is_new || self.crank.add_configured(entry.node, machine(), &entry.config).is_ok()
    }

    /// Renews the certificate if it is time, or reads it again if its files changed.
    fn look_after_certificate(&self) -> Result<(), StartError> {
        let now = unix_seconds();
        let mut serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        match (&mut *serving, &self.config.certificate) {
            (Serving::Own(rotation), _) => {
                if rotation.turn(now)? {
                    self.listener.serve(rotation.current())?;
                }
            }
            (Serving::Files(served), Some(files)) => {
                let read = Certificate::from_pem_files(&files.chain, &files.key, now)?;
                if read.hash() != served.hash() {
                    self.listener.serve(&read)?;
                    self.shown.iter().for_each(|shown| shown.set(&read));
                    **served = read;
                }
            }
            (Serving::Files(_), None) => {}
        }
        Ok(())
    }
}

/// A relay that is running.
pub struct RelayServer<R: ServedRoom = DrRelay<ServerClock>> {
    shared: Arc<Shared<R>>,
    tasks: Vec<JoinHandle<()>>,
    http: Vec<SocketAddr>,
    https: Vec<SocketAddr>,
}

impl RelayServer {
    /// Starts a relay; on a tokio runtime. If it is given somewhere to write to, it records every call.
    ///
    /// # Errors
    /// [`StartError`] says in words why not.
    pub async fn start(
        config: RelayConfig,
        record: Option<Box<dyn Write + Send>>,
    ) -> Result<Self, StartError> {
        Self::start_with(config, record, Game::default()).await
    }
}

impl<R: ServedRoom> RelayServer<R> {
    /// Starts a relay whose rooms have a game of their own.
    ///
    /// # Errors
    /// [`StartError`] says in words why not.
    pub async fn start_with(
        config: RelayConfig,
        record: Option<Box<dyn Write + Send>>,
        game: Game<R>,
    ) -> Result<Self, StartError> {
        let Game { recorded, seed: game_seed, make_room, pages } = game;
        let settings = Path::new("the relay's settings");
        config.check(settings)?;
        config.check_folders(settings)?;
        let issuer = issuer(&config)?;
        let serving = serving(&config)?;
        let limits = Limits { connections_max: config.connections_max, ..Limits::default() };
        let mut listener = match &serving {
            Serving::Own(rotation) => Listener::bind(&config.listen, rotation.current(), limits)?,
            Serving::Files(certificate) => Listener::bind(&config.listen, certificate, limits)?,
        };
        let port = listener.local_addresses().first().map_or(0, SocketAddr::port);
        let sockets = http::bind(&config.http_addresses(port))?;
        let of =
            |sockets: &[TcpListener]| sockets.iter().filter_map(|socket| socket.local_addr().ok()).collect();
        let page_sockets = match &config.pages {
            Some(pages) => http::bind(&pages.https)?,
            None => Vec::new(),
        };
        let (http, https) = (of(&sockets), of(&page_sockets));
        let seed = Seed::new(evenkeel_net::random());
        let rooms = Arc::new(Mutex::new(Rooms::new(config.clone(), seed)));
        let record = record.map(|writer| Recording::start(writer, recorded, game_seed)).transpose()?;
        let (crank, stalled) = start_crank(rooms.clone(), record)?;
        let files = config.pages.as_ref().map(|pages| pages::router(&pages.folder));
        let pages = match &files {
            Some(files) => Some(pages.merge(files.clone())),
            None => pages.has_routes().then_some(pages),
        };
        let shown = match &serving {
            Serving::Files(certificate) => Some(Shown::new(certificate)),
            Serving::Own(_) => None,
        };
        let shared = Arc::new(Shared {
            config,
            crank,
            rooms,
            make_room,
            game_seed,
            issuer,
            listener: listener.handle(),
            shown: shown.clone(),
            serving: Mutex::new(serving),
            admitted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        });
        let mut tasks = http::serve(sockets, &shared, pages);
        if let Some((files, shown)) = files.zip(shown) {
            let unusable = |error: rustls::Error| CertificateError::Unusable(error.to_string());
            tasks.extend(pages::serve(page_sockets, shown, &files).map_err(unusable)?);
        }
        let admitting = shared.clone();
        tasks.push(tokio::spawn(async move {
            while let Some(request) = listener.accept().await {
                tokio::spawn(admitting.clone().admit(request));
            }
        }));
        tasks.push(tokio::spawn(let_stalled_go(shared.clone(), stalled)));
        tasks.push(tokio::spawn(look_after_certificates(shared.clone())));
        Ok(Self { shared, tasks, http, https })
    }

    /// Where it listens for players.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.shared.listener.local_addresses()
    }

    /// Where it listens for questions about it.
    #[must_use]
    pub fn http_addresses(&self) -> &[SocketAddr] {
        &self.http
    }

    /// Where it serves pages over HTTPS.
    #[must_use]
    pub fn https_addresses(&self) -> &[SocketAddr] {
        &self.https
    }

    /// The hashes that clients may pin; none if the certificate is a real one.
    #[must_use]
    pub fn hashes(&self) -> Vec<CertificateHash> {
        self.shared.hashes()
    }

    /// Whose tokens are let in.
    #[must_use]
    pub fn issuer(&self) -> IssuerId {
        self.shared.issuer
    }

    /// What turns the rooms.
    #[must_use]
    pub fn crank(&self) -> &CrankHandle<R> {
        &self.shared.crank
    }

    /// The number of a room's machine in the crank; `None` if there is no such room.
    #[must_use]
    pub fn node(&self, room: &Name) -> Option<NodeId> {
        self.shared.rooms().get(room).map(|room| room.node)
    }

    /// Another policy decides in a room from now on; false if there is no such room, or the relay is busy.
    pub fn switch(&self, room: &Name, policy: PolicyKind, budget: Budget) -> bool {
        self.shared.switch(room, policy, budget).unwrap_or(false)
    }

    /// How a room is doing; `None` if there is none.
    pub async fn report(&self, room: &Name) -> Option<RoomReport> {
        self.shared.report(room).await
    }

    /// The graceful end: nobody is let in any more, what waits on reliable streams is sent, players are told, and the
    /// recording is complete.
    pub async fn stop(&self) {
        self.shared.listener.stop_accepting();
        let _ = self.shared.crank.stop(DRAIN_MAX).await;
        let _ = tokio::time::timeout(DRAIN_MAX, self.shared.listener.wait_idle()).await;
        self.shared.listener.close();
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl<R: ServedRoom> fmt::Debug for RelayServer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RelayServer({:?})", self.addresses())
    }
}

/// A peer that does not take what must not be lost.
type Stalled = (NodeId, PeerId);

fn start_crank<R: ServedRoom>(
    rooms: Arc<Mutex<Rooms>>,
    record: Option<Recording>,
) -> Result<(CrankHandle<R>, mpsc::UnboundedReceiver<Stalled>), StartError> {
    // Each peer is named once for each time that it joins.
    let (sender, stalled) = mpsc::unbounded_channel();
    let mut crank = Crank::new()
        .on_event(move |node, _, event| {
            if let Some(peer) = R::stalled(&event) {
                let _ = sender.send((node, peer));
            }
        })
        .on_gone(move |node, peer, closed: &Closed, counters| {
            let mut rooms = rooms.lock().unwrap_or_else(PoisonError::into_inner);
            // Only what this side says counts: a player closes with whatever code it likes.
            match closed {
                Closed::ByUs(reason)
                    if matches!(reason.code, CloseCode::Internal | CloseCode::RoomClosed) =>
                {
                    rooms.failed(node);
                }
                _ => rooms.went(node, peer, counters),
            }
        });
    if let Some(recording) = record {
        crank = crank.record(recording);
    }
    Ok((crank.start().map_err(StartError::Thread)?, stalled))
}

async fn let_stalled_go<R: ServedRoom>(
    shared: Arc<Shared<R>>,
    mut stalled: mpsc::UnboundedReceiver<Stalled>,
) {
    while let Some((node, peer)) = stalled.recv().await {
        let _ = shared.crank.detach(node, peer, CloseCode::TooSlow);
    }
}

async fn look_after_certificates<R: ServedRoom>(shared: Arc<Shared<R>>) {
    loop {
        tokio::time::sleep(CERTIFICATE_PERIOD).await;
        if let Err(error) = shared.look_after_certificate() {
            tracing::error!("the certificate could not be renewed, the former one stays: {error}");
        }
    }
}

/// Whose tokens are let in. A key file that is missing is made, so that a relay starts at once.
fn issuer(config: &RelayConfig) -> Result<IssuerId, StartError> {
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

fn serving(config: &RelayConfig) -> Result<Serving, StartError> {
    let now = unix_seconds();
    Ok(match &config.certificate {
        None => Serving::Own(Box::new(match &config.keep_certificate {
            Some(path) => Rotation::resume(Vec::new(), path.clone(), now)?,
            None => Rotation::start(Vec::new(), now)?,
        })),
        Some(files) => Serving::Files(Box::new(Certificate::from_pem_files(&files.chain, &files.key, now)?)),
    })
}
