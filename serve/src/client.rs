//! What a game developer uses: a player in a room, in a few calls. Here the relay is `evenkeel relay` on the same machine,
//! and the token what `evenkeel token --room arena --name ada` prints.
//!
//! ```no_run
//! use evenkeel_core::Vec3;
//! use evenkeel_dr::MotionState;
//! use evenkeel_net::{Client, ClientConfig};
//!
//! let mut client = Client::connect(ClientConfig::new("https://127.0.0.1:7878/arena", "the token"))?;
//! loop {
//!     let tank = MotionState { position: Vec3::xy(1.0, 2.0), ..MotionState::default() };
//!     client.observe(&[(0, tank)]);
//!     for other in client.others() {
//!         println!("player {} is at {:?}", other.player.0, other.position);
//!     }
//!     std::thread::sleep(std::time::Duration::from_millis(20));
//!     # break;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::Write;
use std::sync::mpsc;
use std::time::Duration;

use evenkeel_core::clock::FollowerClock;
use evenkeel_core::{LocalTime, PeerId, Seed, SessionClock, Span, Vec3};
use evenkeel_dr::{
    Content, DrCommand, DrConfig, DrEvent, DrPeer, EntityId, MotionState, Threshold, Topology,
};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::dial::{Dial, Status, Target};
use crate::welcome::{RELAY, Welcome};
use evenkeel_net::clock::LocalClock;
use evenkeel_net::crank::{Crank, CrankHandle, NodeId};
use evenkeel_net::emulate::Emulation;
use evenkeel_net::record::{Recording, RecordingError};
use evenkeel_net::transport::{ConnectError, Trust};

/// The machine of a player.
pub type PlayerMachine = DrPeer<FollowerClock>;

/// Events that wait for the game; when there are more, the newest are dropped.
const EVENTS_MAX: usize = 8192;
/// How long leaving may take,
const GOODBYE_MAX: Duration = Duration::from_millis(400);
/// and how long the end of the recording behind it.
const STOP_MAX: Duration = Duration::from_secs(2);
const NODE: NodeId = NodeId(0);
/// What a recording of a player says that it is.
pub const RECORDED: &[u8] = b"player";

/// How a player plays.
pub struct ClientConfig {
    /// Where to, and as whom.
    pub target: Target,
    /// How far and for how long an entity's exported path may differ from its real one.
    pub threshold: Threshold,
    /// How entities are dead-reckoned.
    pub kind: Content,
    /// Links to emulate on each connection: for trying out how it feels from afar.
    pub emulation: Option<Box<dyn Fn() -> Emulation + Send + Sync>>,
    /// Records every call to it.
    pub record: Option<Box<dyn Write + Send>>,
    /// Shares a clock with others of this process.
    pub clock: LocalClock,
}

impl ClientConfig {
    /// A player with this token at this address, with the papers' thresholds. A relay on this machine is asked for the
    /// hash of its certificate; the certificate of any other must be one that the system trusts, unless `target.trust`
    /// says otherwise.
    #[must_use]
    pub fn new(url: &str, token: &str) -> Self {
        let target = Target { url: url.to_owned(), token: token.to_owned(), seat: None, trust: Trust::Local };
        Self {
            target,
            threshold: Threshold::default(),
            kind: Content::default(),
            emulation: None,
            record: None,
            clock: LocalClock::start(),
        }
    }

    /// The same, trusting the self-signed certificate with this hash.
    #[must_use]
    pub fn pinned(url: &str, token: &str, hashes: &[evenkeel_net::certificate::CertificateHash]) -> Self {
        let mut config = Self::new(url, token);
        config.target.trust = Trust::Pinned(hashes.to_vec());
        config
    }
}

/// Why a player could not begin.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The relay could not be reached, or said no.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The recording could not begin.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The system has no thread for it.
    #[error("the player's threads could not be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// Somebody else's entity as this player sees it now.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Other {
    /// Whose.
    pub player: PeerId,
    /// Which.
    pub entity: EntityId,
    /// Where.
    pub position: Vec3,
}

/// A player in a room. Dropping it leaves the room.
pub struct Client {
    crank: CrankHandle<PlayerMachine>,
    status: watch::Receiver<Status>,
    /// Whom its machine plays, connected or not.
    known: watch::Receiver<Option<PeerId>>,
    events: mpsc::Receiver<(LocalTime, DrEvent)>,
    dialling: Option<JoinHandle<Result<(), ConnectError>>>,
    /// What drives the sockets; last, so that it outlives what uses it.
    runtime: Runtime,
}

impl Client {
    /// Enters the room, and comes back to it by itself whenever the connection breaks. Blocks until the relay has
    /// answered: not for use inside of an async runtime.
    ///
    /// # Errors
    /// [`ClientError`] says why not, in words that can be shown to the player.
    pub fn connect(config: ClientConfig) -> Result<Self, ClientError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("evenkeel-net")
            .enable_all()
            .build()?;
        let ClientConfig { target, threshold, kind, emulation, record, clock } = config;
        let (sender, events) = mpsc::sync_channel(EVENTS_MAX);
        let mut crank = Crank::new().with_clock(clock).on_event(move |_, at, event| {
            let _ = sender.try_send((at, event));
        });
        if let Some(writer) = record {
            crank = crank.record(Recording::start(writer, RECORDED, 0)?);
        }
        let crank = crank.start()?;
        let (announce, mut status) = watch::channel(Status::Connecting(None));
        let (know, known) = watch::channel(None);
        let build = move |welcome: &Welcome| {
            know.send_replace(Some(welcome.player));
            let config = player_config(welcome, threshold, kind);
            (DrPeer::with_clock(&config, FollowerClock::new(RELAY)), config)
        };
        let emulation = move || emulation.as_ref().map(|emulation| emulation());
        let dial = Dial { target, node: NODE, build, emulation };
        let dialling = runtime.spawn(dial.run(crank.clone(), announce));
        runtime.block_on(status.wait_for(|status| !matches!(status, Status::Connecting(None)))).ok();
        if let Status::Over(words) = status.borrow().clone() {
            let failed = runtime.block_on(dialling).ok().and_then(Result::err);
            return Err(failed.unwrap_or(ConnectError::Broken(words)).into());
        }
        Ok(Self { crank, status, known, events, dialling: Some(dialling), runtime })
    }

    /// How it stands with the connection.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// Who this player is in its room; `None` before the relay said so.
    #[must_use]
    pub fn player(&self) -> Option<PeerId> {
        match &*self.status.borrow() {
            Status::Connected(welcome) => Some(welcome.player),
            _ => None,
        }
    }

    /// This player's entities are here and move like this; to be said at every tick of the game. They are numbered by
    /// the game, from 0 on. Nothing happens while there is no connection.
    pub fn observe(&mut self, entities: &[(u32, MotionState)]) {
        let Some(player) = self.player() else { return };
        let states = entities.iter().map(|(local, state)| (EntityId::of(player, *local), *state)).collect();
        let _ = self.crank.command(NODE, DrCommand::ObserveAll { states });
    }

    /// One of this player's entities is no more. Without a connection the others hear of it when there is one again.
    pub fn end(&mut self, entity: u32) {
        let known = *self.known.borrow();
        if let Some(player) = known {
            let _ = self.crank.command(NODE, DrCommand::End { entity: EntityId::of(player, entity) });
        }
    }

    /// Everybody else's entities, where they are now.
    #[must_use]
    pub fn others(&self) -> Vec<Other> {
        let seen = |machine: &mut PlayerMachine, now| {
            let other =
                |(_, entity, position): (_, EntityId, _)| Other { player: entity.player(), entity, position };
            machine.copies(now).map(other).collect()
        };
        self.crank.with_blocking(NODE, seen).unwrap_or_default()
    }

    /// How far the session's clock may be from the truth here; `None` while there is no session time.
    #[must_use]
    pub fn clock_error_max(&self) -> Option<Span> {
        self.crank.with_blocking(NODE, |machine, now| machine.clock().error_max(now)).ok().flatten()
    }

    /// What happened since the last time that this was asked.
    pub fn events(&mut self) -> impl Iterator<Item = (LocalTime, DrEvent)> + '_ {
        self.events.try_iter()
    }

    /// What turns the machine: for reading more of its state than there are methods for here.
    #[must_use]
    pub const fn crank(&self) -> &CrankHandle<PlayerMachine> {
        &self.crank
    }
}

impl Drop for Client {
    /// Says goodbye and ends the recording, if that does not take long.
    fn drop(&mut self) {
        // Nobody listens to the old one any more, so that the dialling ends.
        self.status = watch::channel(Status::Over("left".to_owned())).1;
        if let Some(dialling) = self.dialling.take() {
            self.runtime.block_on(async {
                let _ = tokio::time::timeout(GOODBYE_MAX, dialling).await;
                let _ = tokio::time::timeout(STOP_MAX, self.crank.stop(Duration::ZERO)).await;
                tokio::time::sleep(GOODBYE_MAX / 20).await;
            });
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Client({:?})", self.status())
    }
}

/// The settings of a player's machine in the room that welcomed it.
#[must_use]
pub fn player_config(welcome: &Welcome, threshold: Threshold, kind: Content) -> DrConfig {
    DrConfig {
        topology: Topology::Relay(RELAY),
        threshold,
        kind,
        tick: welcome.tick,
        seed: Seed::new(evenkeel_net::random()),
        ..DrConfig::default()
    }
}
