//! One peer: its machine on a crank, its connections to the others, and its page.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evenkeel_core::Seed;
use evenkeel_games::eater::{EaterCommand, EaterId, EaterNode, EaterNodeConfig, EaterPlayer, Forager};
use evenkeel_link::{Link, LinkFaults};
use evenkeel_neo::cheat::{Cheat, CheatingPeer};
use evenkeel_neo::{Identity as NeoIdentity, NeoConfig, NeoPeer, PublicKey, Session};
use evenkeel_net::key_file::KeyFileError;
use evenkeel_net::transport::Connection;
use evenkeel_net::{Allowance, Attachment, Crank, CrankError, CrankHandle, Emulation, LocalClock};
use evenkeel_p2p::{ConnectError, Identity, Mesh, MeshConfig, NetworkError, PeerKey, PeerNode, Ticket};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::api;
use crate::cheater::Machine;
use crate::config::{EaterPeerConfig, Page, Player, game_of};
use crate::summary::Summary;
use crate::watch::{self, NODE, NOTICES_MAX, Node, Shared};

/// How much one peer may send: several times what 64 peers' rounds take.
const ALLOWANCE: Allowance = Allowance { messages_per_second: 400, bytes_per_second: 256 * 1_024 };
const GOODBYE: Duration = Duration::from_millis(300);
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// 2026-01-01 00:00 UTC: where the session's time begins at all peers. The game counts its steps of 50 ms in 32 bits, which
/// last for six years.
const ORIGIN_UNIX_SECONDS: u64 = 1_767_225_600;

/// Why a peer could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its socket cannot be opened.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// Its key cannot be read or written.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// Its page's address cannot be bound.
    #[error("cannot serve the page at {address}: {source}; choose another port")]
    Page {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The system refuses a thread.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The host cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The crank stopped.
    #[error(transparent)]
    Crank(#[from] CrankError),
}

/// What the page and the peer share.
pub(crate) struct PeerState {
    pub(crate) config: EaterPeerConfig,
    pub(crate) key: PeerKey,
    pub(crate) crank: CrankHandle<Node>,
    pub(crate) mesh: Mesh,
    pub(crate) shared: Shared,
    started: Instant,
}

/// A running peer. Dropping it ends it at once; [`stop`](Self::stop) tells the others.
pub struct EaterPeer {
    state: Arc<PeerState>,
    page: Option<SocketAddr>,
    tasks: JoinSet<()>,
}

impl EaterPeer {
    /// Starts a peer, alone in its session. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`StartError`] says what to do.
    pub async fn start(config: EaterPeerConfig) -> Result<Self, StartError> {
        let identity = match &config.key_file {
            Some(path) => Identity::load_or_create(path)?,
            None => Identity::generate(),
        };
        let key = identity.key();
        let node = PeerNode::bind(&identity, &config.network).await?;
        let shared = Shared::default();
        shared.lock().learn_name(&key, config.name.as_bytes());
        let (sender, notices) = mpsc::channel(NOTICES_MAX);
        let observing = shared.clone();
        let crank: CrankHandle<Node> = Crank::new()
            .with_clock(LocalClock::start_since(ORIGIN_UNIX_SECONDS))
            .on_event(move |_, now, event| observing.handle_event(now, event, &sender))
            .start()
            .map_err(StartError::Thread)?;
        crank.add(NODE, machine(&config, &identity))?;
        let mesh = connect(&config, node, &crank, &shared);
        let mut tasks = JoinSet::new();
        tasks.spawn(watch::act(notices, crank.clone(), mesh.clone()));
        tasks.spawn(watch::sample(shared.clone(), crank.clone(), mesh.clone()));
        let page = config.page;
        let state = Arc::new(PeerState { config, key, crank, mesh, shared, started: Instant::now() });
        let page = match page {
            Page::None => None,
            Page::At(address) => {
                let served = api::serve(&mut tasks, address, state.clone()).await;
                Some(served.map_err(|source| StartError::Page { address, source })?)
            }
        };
        Ok(Self { state, page, tasks })
    }

    /// Joins the session of a ticket, which must be the configured one.
    ///
    /// # Errors
    /// [`ConnectError`], worded for people.
    pub async fn join(&self, ticket: &Ticket) -> Result<(), ConnectError> {
        self.state.mesh.join(&ticket.host).await
    }

    /// Returns the ticket with which others join through this peer.
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        self.state.mesh.ticket()
    }

    /// Returns this peer's key.
    #[must_use]
    pub fn key(&self) -> PeerKey {
        self.state.key
    }

    /// Returns the page's address, if there is one.
    #[must_use]
    pub fn page(&self) -> Option<SocketAddr> {
        self.page
    }

    /// Returns what has been measured so far.
    pub async fn summary(&self) -> Summary {
        self.state.summary().await
    }

    /// Says good-bye, closes everything, and returns what was measured.
    pub async fn stop(mut self) -> Summary {
        let summary = self.state.summary().await;
        let leave = EaterCommand::Peer(evenkeel_neo::NeoCommand::Leave);
        let _ = self.state.crank.command(NODE, leave);
        // Emulated links hold the good-bye back, too.
        tokio::time::sleep(GOODBYE).await;
        let _ = self.state.crank.stop(DRAIN_MAX).await;
        self.tasks.abort_all();
        self.state.mesh.close().await;
        while self.tasks.join_next().await.is_some() {}
        summary
    }
}

impl std::fmt::Debug for EaterPeer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EaterPeer({:?})", self.state.mesh)
    }
}

impl PeerState {
    pub(crate) fn session(&self) -> Session {
        Session(self.config.session.0)
    }

    pub(crate) async fn summary(&self) -> Summary {
        let read =
            |node: &mut Node, _| (node.peer().stats(), node.board().stones().scores(), node.eaters().count());
        let (stats, mut scores, peers) = self.crank.with(NODE, read).await.unwrap_or_default();
        scores.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
        let me = EaterId::of(&PublicKey(*self.key.as_bytes()));
        let observed = self.shared.lock();
        let mut summary = Summary {
            name: self.config.name.clone(),
            key: self.key.to_string(),
            seconds: self.started.elapsed().as_secs_f64(),
            peers,
            score: scores.iter().find(|(eater, _)| *eater == me).map_or(0, |(_, score)| *score),
            scores: scores.iter().map(|(eater, score)| (observed.name(*eater), *score)).collect(),
            committed: stats.committed,
            playout_p99_ms: observed.meters.playout_quantile_ms(0.99),
            payload_bytes: stats.datagram_bytes + stats.reliable_bytes,
            wire_bytes: self.mesh.wire_bytes().0,
            punctual: self.crank.lateness().share_within(1_000),
            caught: observed.caught.iter().map(|caught| crate::caught::hex(&caught.key)).collect(),
            comings: observed
                .comings
                .iter()
                .map(|coming| (coming.key.clone(), coming.what.to_owned(), coming.at_unix_ms))
                .collect(),
            ..Summary::default()
        };
        summary.set_window(&observed.meters.total());
        summary
    }
}

fn machine(config: &EaterPeerConfig, identity: &Identity) -> Node {
    let neo = NeoConfig::new(Session(config.session.0));
    let secret = NeoIdentity::from_secret(identity.secret());
    let key = secret.key();
    let machine = match &config.player {
        Player::Cheater(others) => {
            let cheat = Cheat::Inconsistency(others.clone());
            Machine::Cheater(Box::new(CheatingPeer::new(&neo, secret, cheat)))
        }
        Player::Person | Player::Bot => Machine::Honest(Box::new(NeoPeer::new(&neo, secret))),
    };
    let forager = Forager::new(Seed::new(evenkeel_net::random()));
    let game = game_of(config.session);
    EaterNode::new(
        EaterNodeConfig { game, has_areas: false, player: EaterPlayer::Bot(forager) },
        machine,
        &key,
    )
}

/// Connects the machine to whoever joins.
fn connect(config: &EaterPeerConfig, node: PeerNode, crank: &CrankHandle<Node>, shared: &Shared) -> Mesh {
    let (crank, shared, faults) = (crank.clone(), shared.clone(), config.faults.clone());
    let mesh = MeshConfig { session: config.session, hello: config.name.clone().into_bytes() };
    Mesh::start(node, mesh, move |key: PeerKey, hello: &[u8], connection: Connection| {
        shared.lock().learn_name(&key, hello);
        let emulation = (faults != LinkFaults::default()).then(|| {
            let seed = Seed::new(evenkeel_net::random());
            let outgoing = Link::new(faults.clone(), seed.child(0));
            Emulation { outgoing, incoming: Link::new(LinkFaults::default(), seed.child(1)) }
        });
        let attachment = Attachment { connection, emulation, allowance: Some(ALLOWANCE) };
        crank.attach(NODE, key.peer_id(), attachment).ok()
    })
}
