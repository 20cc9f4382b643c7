//! A player in a room, for game developers. The example connects to `evenkeel relay` on this machine with a token from
//! `evenkeel token --room arena --name ada`.
//!
//! ```no_run
//! use evenkeel_core::Vec3;
//! use evenkeel_dr::MotionState;
//! use evenkeel_serve::{Client, ClientConfig};
//!
//! let client = Client::connect(ClientConfig::new("https://127.0.0.1:7878/arena", "the token"))?;
//! loop {
//!     let tank = MotionState { position: Vec3::xy(1.0, 2.0), ..MotionState::default() };
//!     client.observe(&[(0, tank)])?;
//!     for other in client.others() {
//!         println!("player {} is at {:?}", other.player.0, other.position);
//!     }
//!     std::thread::sleep(std::time::Duration::from_millis(20));
//!     # break;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config;
mod error;
mod events;
mod machine;
mod messages;
mod objects;
mod world;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use evenkeel_core::{LocalTime, PeerId, SessionClock, Span, Vec3};
use evenkeel_dr::relay::OWNER_ENTITIES_MAX;
use evenkeel_dr::relay::limits::LOCAL_MAX;
use evenkeel_dr::{DrCommand, DrVector, EntityId, MotionState};
use evenkeel_game::{GameConfig, PlayerCommand, PlayerEvent};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use config::ClientConfig;
pub use error::{ClientError, EntityError, MessageError};
pub use events::{ClientEvent, EVENTS_MAX, MESSAGE_BYTES_MAX, MissedEvents};
pub use machine::{PlayerMachine, player_config, player_machine};
pub use world::{World, WorldObject};

use crate::dial::{Dial, Status};
use crate::welcome::Welcome;
use evenkeel_net::clock::LocalClock;
use evenkeel_net::crank::{Crank, CrankHandle, NodeId};
use evenkeel_net::record::Recording;
use evenkeel_net::transport::ConnectError;
use events::ClientEvents;
use world::SharedWorld;

/// How long leaving may take,
const GOODBYE_MAX: Duration = Duration::from_millis(400);
/// and how long ending the recording may take after it.
const STOP_MAX: Duration = Duration::from_secs(2);
const NODE: NodeId = NodeId(0);
/// The configuration in a player's recording.
pub const PLAYER_RECORDING: &[u8] = b"player";

/// Another player's entity as this player sees it now.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RemoteEntity {
    /// Its player.
    pub player: PeerId,
    /// Its id, unique in the room. Its player's own number for it is `entity.local()`.
    pub entity: EntityId,
    /// Its placed position.
    pub position: Vec3,
    /// Its velocity there.
    pub velocity: Vec3,
}

/// A player in a room. Dropping it leaves the room. Threads can share it by reference.
pub struct Client {
    crank: CrankHandle<PlayerMachine>,
    status: watch::Receiver<Status>,
    /// The player of its machine, whether connected or not.
    known: watch::Receiver<Option<PeerId>>,
    events: Arc<Mutex<ClientEvents>>,
    world: Arc<SharedWorld>,
    clock: LocalClock,
    dialling: Option<JoinHandle<Result<(), ConnectError>>>,
    /// Drives the sockets.
    runtime: Option<Runtime>,
}

impl Client {
    /// Enters the room and reconnects whenever the connection breaks. Blocks until the relay has answered. In a game's loop
    /// or on an async runtime, where it must not be called, use [`start`](Self::start).
    ///
    /// # Errors
    /// [`ClientError`], worded for the player.
    pub fn connect(config: ClientConfig) -> Result<Self, ClientError> {
        let mut client = Self::start(config)?;
        let handle = client.runtime.as_ref().map(|runtime| runtime.handle().clone());
        handle.map_or(Ok(()), |handle| handle.block_on(client.connected()))?;
        Ok(client)
    }

    /// Starts to connect and returns at once. [`status`](Self::status) tells how far it is, and
    /// [`connected`](Self::connected) waits.
    ///
    /// # Errors
    /// [`ClientError`] if a thread or the recording cannot start.
    pub fn start(config: ClientConfig) -> Result<Self, ClientError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("evenkeel-net")
            .enable_all()
            .build()?;
        let ClientConfig { target, threshold, kind, emulation, record, clock, schema } = config;
        let events = Arc::new(Mutex::new(ClientEvents::default()));
        let sink = events.clone();
        let world = Arc::new(SharedWorld::default());
        let mirror = world.clone();
        let mut crank = Crank::new().with_clock(clock).on_event(move |_, at, event: PlayerEvent| {
            mirror.apply(&event);
            if let Some(event) = ClientEvent::of(event) {
                sink.lock().unwrap_or_else(PoisonError::into_inner).push(at, event);
            }
        });
        if let Some(writer) = record {
            crank = crank.record(Recording::start(writer, PLAYER_RECORDING, 0)?);
        }
        let crank = crank.start()?;
        let (announce, status) = watch::channel(Status::Connecting(None));
        let (know, known) = watch::channel(None);
        let build = move |welcome: &Welcome| {
            know.send_replace(Some(welcome.player));
            let config = GameConfig::from(player_config(welcome, threshold, kind));
            (player_machine(&config).with_schema(schema), config)
        };
        let emulation = move || emulation.as_ref().map(|emulation| emulation());
        let dial = Dial { target, node: NODE, build, emulation };
        let dialling = runtime.spawn(dial.run(crank.clone(), announce));
        Ok(Self {
            crank,
            status,
            known,
            events,
            world,
            clock,
            dialling: Some(dialling),
            runtime: Some(runtime),
        })
    }

    /// Waits until the relay has admitted the player, on any async runtime.
    ///
    /// # Errors
    /// [`ClientError::Connect`] if it does not, worded for the player.
    pub async fn connected(&mut self) -> Result<(), ClientError> {
        let mut status = self.status.clone();
        let _ = status.wait_for(|status| !matches!(status, Status::Connecting(None))).await;
        let Status::Over(message) = self.status() else { return Ok(()) };
        let failed = match self.dialling.take() {
            Some(dialling) => dialling.await.ok().and_then(Result::err),
            None => None,
        };
        Err(failed.unwrap_or(ConnectError::Broken(message)).into())
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

    /// Sets the motion of this player's entities, which the game numbers from 0; call it every tick. The first report of a
    /// number creates the entity. An entity that is left out is neither ended nor stopped: the others see it go on as last
    /// exported, until it is reported again or [ended](Self::end). Does nothing while disconnected.
    ///
    /// # Errors
    /// [`EntityError`] names the first entity that was not reported, because its number or its motion is not valid. The
    /// others see it go on as last exported. All other entities are reported.
    pub fn observe(&self, entities: &[(u32, MotionState)]) -> Result<(), EntityError> {
        let mut refused = Ok(());
        let mut valid: Vec<&(u32, MotionState)> = entities
            .iter()
            .filter(|(local, state)| {
                let checked = check_entity(*local, state);
                refused = refused.and(checked);
                checked.is_ok()
            })
            .collect();
        if let Some((local, _)) = valid.get(OWNER_ENTITIES_MAX) {
            refused = refused.and(Err(EntityError::TooMany(*local)));
            valid.truncate(OWNER_ENTITIES_MAX);
        }
        if let Some(player) = self.player() {
            let states = valid.iter().map(|(local, state)| (EntityId::of(player, *local), *state)).collect();
            let _ = self.crank.command(NODE, DrCommand::ObserveAll { states }.into());
        }
        refused
    }

    /// Removes one of this player's entities. While disconnected, the others learn of it on reconnection.
    ///
    /// # Errors
    /// [`EntityError::Number`] if no entity has such a number.
    pub fn end(&self, entity: u32) -> Result<(), EntityError> {
        check_number(entity)?;
        let known = *self.known.borrow();
        if let Some(player) = known {
            let end = DrCommand::End { entity: EntityId::of(player, entity) };
            let _ = self.crank.command(NODE, PlayerCommand::Motion(end));
        }
        Ok(())
    }

    /// Returns everybody else's entities, each where it is now; none before there is a session time. Never waits for the
    /// network's thread.
    #[must_use]
    pub fn others(&self) -> Vec<RemoteEntity> {
        let world = self.world.read();
        let Some(at) = world.session(self.clock.now()) else { return Vec::new() };
        let other = |(entity, vector): (EntityId, &DrVector)| RemoteEntity {
            player: entity.player(),
            entity,
            position: vector.project(at),
            velocity: vector.velocity(at),
        };
        world.placed().map(other).collect()
    }

    /// Returns a bound on the session clock's error; `None` while there is no session time. Waits for the network's thread,
    /// usually for some microseconds.
    #[must_use]
    pub fn clock_error_max(&self) -> Option<Span> {
        let error = |machine: &mut PlayerMachine, now| machine.dr().clock().error_max(now);
        self.crank.with_blocking(NODE, error).ok().flatten()
    }

    /// Takes the events since the last call, the relay's messages among them, each with the time of the
    /// [clock](ClientConfig::clock). At most [`EVENTS_MAX`] of a kind are kept; [`ClientEvent::Missed`] says what was not.
    #[must_use]
    pub fn events(&self) -> Vec<(LocalTime, ClientEvent)> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns the crank that drives the machine, to read more of its state.
    #[must_use]
    pub const fn crank(&self) -> &CrankHandle<PlayerMachine> {
        &self.crank
    }
}

impl Drop for Client {
    /// Leaves the room and ends the recording, within a time limit. On a runtime's thread, which must not block, a thread of
    /// its own does so.
    fn drop(&mut self) {
        // With its receiver dropped, the dialling task ends.
        self.status = watch::channel(Status::Over("left".to_owned())).1;
        let Some(runtime) = self.runtime.take() else { return };
        let (dialling, crank) = (self.dialling.take(), self.crank.clone());
        let leave = move || {
            if let Some(dialling) = dialling {
                runtime.block_on(async {
                    let _ = tokio::time::timeout(GOODBYE_MAX, dialling).await;
                    let _ = tokio::time::timeout(STOP_MAX, crank.stop(Duration::ZERO)).await;
                    tokio::time::sleep(GOODBYE_MAX / 20).await;
                });
            }
        };
        if Handle::try_current().is_err() {
            return leave();
        }
        let leaving = std::thread::Builder::new().name("evenkeel-leave".to_owned()).spawn(leave);
        drop(leaving);
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Client({:?})", self.status())
    }
}

const fn check_number(local: u32) -> Result<(), EntityError> {
    if local > LOCAL_MAX { Err(EntityError::Number(local)) } else { Ok(()) }
}

fn check_entity(local: u32, state: &MotionState) -> Result<(), EntityError> {
    check_number(local)?;
    if state.is_sane() { Ok(()) } else { Err(EntityError::Motion(local)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_can_be_shared_between_threads() {
        const fn check<T: Send + Sync>() {}
        check::<Client>();
    }

    #[test]
    fn numbers_that_would_alias_and_motion_without_numbers_are_refused() {
        let state = MotionState::default();
        assert_eq!(check_entity(LOCAL_MAX, &state), Ok(()));
        assert_eq!(check_entity(LOCAL_MAX + 1, &state), Err(EntityError::Number(LOCAL_MAX + 1)));
        let player = PeerId(1023);
        assert_eq!(EntityId::of(player, LOCAL_MAX).local(), LOCAL_MAX);
        assert_eq!(EntityId::of(player, LOCAL_MAX + 1), EntityId::of(player, 0), "it would alias");
        let nowhere = MotionState { position: Vec3::xy(f64::NAN, 0.0), ..state };
        assert_eq!(check_entity(0, &nowhere), Err(EntityError::Motion(0)));
    }
}
