//! A player in a room, for game developers. The example connects to `evenkeel relay` on this machine with a token from
//! `evenkeel token --room arena --name ada`.
//!
//! ```no_run
//! use evenkeel_core::Vec3;
//! use evenkeel_dr::MotionState;
//! use evenkeel_serve::{Client, ClientConfig};
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

/// Events queued for the game; beyond, the newest are dropped.
const EVENTS_MAX: usize = 8192;
/// How long leaving may take,
const GOODBYE_MAX: Duration = Duration::from_millis(400);
/// and how long ending the recording may take after it.
const STOP_MAX: Duration = Duration::from_secs(2);
const NODE: NodeId = NodeId(0);
/// The configuration in a player's recording.
pub const PLAYER_RECORDING: &[u8] = b"player";

/// The settings of a player.
pub struct ClientConfig {
    /// The relay and room to connect to.
    pub target: Target,
    /// How far and for how long an entity's exported path may differ from its real one.
    pub threshold: Threshold,
    /// The kind of motion of the exported vectors.
    pub kind: Content,
    /// Links to emulate on each connection, to try how the game feels over a bad network.
    pub emulation: Option<Box<dyn Fn() -> Emulation + Send + Sync>>,
    /// Where to record every call.
    pub record: Option<Box<dyn Write + Send>>,
    /// The clock, which several players of a process can share.
    pub clock: LocalClock,
}

impl ClientConfig {
    /// Settings for a token and a URL, with the papers' thresholds. A relay on this machine is trusted by the hash that it
    /// publishes there; other relays need a certificate that the system trusts.
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

    /// Settings for a relay whose certificate has one of these hashes.
    #[must_use]
    pub fn pinned(url: &str, token: &str, hashes: &[evenkeel_net::certificate::CertificateHash]) -> Self {
        let mut config = Self::new(url, token);
        config.target.trust = Trust::Pinned(hashes.to_vec());
        config
    }
}

/// Why a player could not connect.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The relay could not be reached, or refused.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The recording could not start.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The system refused to start a thread.
    #[error("the player's threads could not be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// Another player's entity as this player sees it now.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RemoteEntity {
    /// Its player.
    pub player: PeerId,
    /// Its number.
    pub entity: EntityId,
    /// Its placed position.
    pub position: Vec3,
}

/// A player in a room. Dropping it leaves the room.
pub struct Client {
    crank: CrankHandle<PlayerMachine>,
    status: watch::Receiver<Status>,
    /// The player of its machine, whether connected or not.
    known: watch::Receiver<Option<PeerId>>,
    events: mpsc::Receiver<(LocalTime, DrEvent)>,
    dialling: Option<JoinHandle<Result<(), ConnectError>>>,
    /// Drives the sockets. The last field, so that it is dropped after everything that uses it.
    runtime: Runtime,
}

impl Client {
    /// Enters the room and reconnects whenever the connection breaks. Blocks until the relay has answered, so it must not be
    /// called inside an async runtime.
    ///
    /// # Errors
    /// [`ClientError`], worded for the player.
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
            crank = crank.record(Recording::start(writer, PLAYER_RECORDING, 0)?);
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
        if let Status::Over(message) = status.borrow().clone() {
            let failed = runtime.block_on(dialling).ok().and_then(Result::err);
            return Err(failed.unwrap_or(ConnectError::Broken(message)).into());
        }
        Ok(Self { crank, status, known, events, dialling: Some(dialling), runtime })
    }

    /// Returns the state of the connection.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// Returns this player's number in its room; `None` while disconnected.
    #[must_use]
    pub fn player(&self) -> Option<PeerId> {
        match &*self.status.borrow() {
            Status::Connected(welcome) => Some(welcome.player),
            _ => None,
        }
    }

    /// Sets the motion of this player's entities, which the game numbers from 0; call it every tick. Does nothing while
    /// disconnected.
    pub fn observe(&mut self, entities: &[(u32, MotionState)]) {
        let Some(player) = self.player() else { return };
        let states = entities.iter().map(|(local, state)| (EntityId::of(player, *local), *state)).collect();
        let _ = self.crank.command(NODE, DrCommand::ObserveAll { states });
    }

    /// Removes one of this player's entities. While disconnected, the others learn of it on reconnection.
    pub fn end(&mut self, entity: u32) {
        let known = *self.known.borrow();
        if let Some(player) = known {
            let _ = self.crank.command(NODE, DrCommand::End { entity: EntityId::of(player, entity) });
        }
    }

    /// Returns everybody else's entities at their current positions.
    #[must_use]
    pub fn others(&self) -> Vec<RemoteEntity> {
        let seen = |machine: &mut PlayerMachine, now| {
            let other = |(_, entity, position): (_, EntityId, _)| RemoteEntity {
                player: entity.player(),
                entity,
                position,
            };
            machine.copies(now).map(other).collect()
        };
        self.crank.with_blocking(NODE, seen).unwrap_or_default()
    }

    /// Returns a bound on the session clock's error; `None` while there is no session time.
    #[must_use]
    pub fn clock_error_max(&self) -> Option<Span> {
        self.crank.with_blocking(NODE, |machine, now| machine.clock().error_max(now)).ok().flatten()
    }

    /// Returns the events since the last call.
    pub fn events(&mut self) -> impl Iterator<Item = (LocalTime, DrEvent)> + '_ {
        self.events.try_iter()
    }

    /// Returns the crank that drives the machine, to read more of its state.
    #[must_use]
    pub const fn crank(&self) -> &CrankHandle<PlayerMachine> {
        &self.crank
    }
}

impl Drop for Client {
    /// Leaves the room and ends the recording, within a time limit.
    fn drop(&mut self) {
        // With its receiver dropped, the dialling task ends.
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

/// Returns the settings of a player's machine in the room that welcomed it.
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
