//! A player in a relay's room, as components, states and messages.

use std::collections::{BTreeMap, BTreeSet};

use bevy_app::{App, Plugin, PostUpdate, PreUpdate};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::common_conditions::resource_exists;
use bevy_state::app::AppExtStates;
use bevy_state::state::{NextState, State, States};
use bevy_transform::components::Transform;
use evenkeel::{
    Channel, Client, ClientConfig, ClientError, ClientEvent, EntityError, EntityId, MessageError,
    MotionState, PeerId, RemoteEntity, Status, Vec3,
};

/// An entity of this player, under its own number for it. Needs a [`Motion`]; when it is despawned, it ends for everybody.
#[derive(Component, Clone, core::marker::Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[require(Motion)]
#[component(immutable)]
pub struct Owned(pub u32);

/// How an entity moves. Write it on your own entities every frame, read it on copies.
#[derive(Component, Clone, core::marker::Copy, PartialEq, Debug, Default)]
pub struct Motion(pub MotionState);

impl Motion {
    /// Motion in the plane.
    #[must_use]
    pub fn planar(position: (f64, f64), velocity: (f64, f64)) -> Self {
        let (position, velocity) = (Vec3::xy(position.0, position.1), Vec3::xy(velocity.0, velocity.1));
        Self(MotionState { position, velocity, ..MotionState::default() })
    }
}

/// An entity of another player. It is spawned and despawned by the plugin, with a [`Motion`] and a [`Transform`] that the
/// plugin keeps where the entity is now. Add sprites and the like when [`Added`] finds it.
#[derive(Component, Clone, core::marker::Copy, PartialEq, Eq, Debug)]
#[require(Motion, Transform)]
#[component(immutable)]
pub struct Copy {
    /// Its player.
    pub player: PeerId,
    /// Its id, unique in the room.
    pub entity: EntityId,
}

/// The connection to the relay.
#[derive(States, Clone, core::marker::Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Connection {
    /// There is no [`Room`].
    #[default]
    None,
    /// Connecting, or connecting again.
    Connecting,
    /// In the room.
    Connected,
    /// Ended for good; [`Room::why`] says why.
    Over,
}

/// Something that happened in the room.
#[derive(Message, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum RoomEvent {
    /// An entity of another player appeared.
    Appeared {
        /// Its copy.
        copy: Entity,
        /// What it is a copy of.
        of: Copy,
    },
    /// An entity of another player is gone; its copy is despawned.
    Gone {
        /// What it was a copy of.
        of: Copy,
    },
    /// The game's logic at the relay sent a message.
    Message {
        /// How it travelled.
        channel: Channel,
        /// The message.
        bytes: Vec<u8>,
    },
    /// An update that everybody shows now.
    Update {
        /// The update.
        bytes: Vec<u8>,
    },
    /// An owned entity was not reported: its number or its motion is not valid.
    NotReported {
        /// Which, and why.
        why: EntityError,
    },
    /// This app asked for events too rarely, and these many were dropped.
    Missed {
        /// Messages and updates.
        messages: u64,
    },
}

/// The room that this app plays in. Insert it to enter, remove it to leave.
#[derive(Resource, Debug)]
pub struct Room(Client);

impl Room {
    /// Starts to connect and returns at once; the state [`Connection`] tells how far it is.
    ///
    /// # Errors
    /// [`ClientError`] if a thread cannot start.
    pub fn enter(config: ClientConfig) -> Result<Self, ClientError> {
        Client::start(config).map(Self)
    }

    /// Returns the client, for actions and figures.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.0
    }

    /// Sends a message to the game's logic at the relay.
    ///
    /// # Errors
    /// [`MessageError`] if it was not sent.
    pub fn send(&self, message: &[u8]) -> Result<(), MessageError> {
        self.0.send(message)
    }

    /// Returns why there is no connection at the moment, if it is known.
    #[must_use]
    pub fn why(&self) -> Option<String> {
        match self.0.status() {
            Status::Connecting(why) => why,
            Status::Over(why) => Some(why),
            Status::Connected(_) => None,
        }
    }
}

/// When the plugin works.
#[derive(SystemSet, Clone, core::marker::Copy, PartialEq, Eq, Hash, Debug)]
pub enum EvenkeelSystems {
    /// In [`PreUpdate`]: copies are moved, spawned and despawned, and messages are written.
    Receive,
    /// In [`PostUpdate`]: the motion of owned entities is reported.
    Send,
}

/// A player in a relay's room.
#[derive(Clone, core::marker::Copy, Debug, Default)]
pub struct EvenkeelPlugin;

impl Plugin for EvenkeelPlugin {
    fn build(&self, app: &mut App) {
        app.init_state::<Connection>()
            .add_message::<RoomEvent>()
            .init_resource::<CopyOf>()
            .init_resource::<Reported>()
            .add_systems(PreUpdate, (follow_connection, receive).chain().in_set(EvenkeelSystems::Receive))
            .add_systems(PostUpdate, send.in_set(EvenkeelSystems::Send).run_if(resource_exists::<Room>));
    }
}

/// Which copy is of which entity.
#[derive(Resource, Clone, Debug, Default)]
pub struct CopyOf(BTreeMap<EntityId, Entity>);

impl CopyOf {
    /// Returns the copy of an entity.
    #[must_use]
    pub fn get(&self, entity: EntityId) -> Option<Entity> {
        self.0.get(&entity).copied()
    }
}

/// The numbers that the relay knows of.
#[derive(Resource, Debug, Default)]
struct Reported(BTreeSet<u32>);

fn follow_connection(
    room: Option<Res<Room>>,
    state: Res<State<Connection>>,
    mut next: ResMut<NextState<Connection>>,
) {
    let now = match room.as_deref().map(|room| room.0.status()) {
        None => Connection::None,
        Some(Status::Connecting(_)) => Connection::Connecting,
        Some(Status::Connected(_)) => Connection::Connected,
        Some(Status::Over(_)) => Connection::Over,
    };
    if *state.get() != now {
        next.set(now);
    }
}

fn receive(
    mut commands: Commands,
    room: Option<Res<Room>>,
    mut known: ResMut<CopyOf>,
    mut copies: Query<(&mut Motion, &mut Transform), With<Copy>>,
    mut events: MessageWriter<RoomEvent>,
) {
    let (others, happened) = match &room {
        Some(room) => (room.0.others(), room.0.events()),
        None => (Vec::new(), Vec::new()),
    };
    let present: BTreeSet<EntityId> = others.iter().map(|other| other.entity).collect();
    known.0.retain(|id, copy| {
        let stays = present.contains(id);
        if !stays {
            // A game may have despawned it already.
            if let Ok(mut entity) = commands.get_entity(*copy) {
                entity.try_despawn();
            }
            events.write(RoomEvent::Gone { of: Copy { player: id.player(), entity: *id } });
        }
        stays
    });
    for other in &others {
        let motion = motion(other);
        let copy = known.0.get(&other.entity).copied();
        match copy.and_then(|copy| copies.get_mut(copy).ok()) {
            Some((mut old, mut transform)) => {
                *old = motion;
                place(&motion, &mut transform);
            }
            None => {
                let of = Copy { player: other.player, entity: other.entity };
                let mut transform = Transform::default();
                place(&motion, &mut transform);
                let copy = commands.spawn((of, motion, transform)).id();
                known.0.insert(other.entity, copy);
                events.write(RoomEvent::Appeared { copy, of });
            }
        }
    }
    for (_, event) in happened {
        match event {
            ClientEvent::Message { channel, bytes } => {
                events.write(RoomEvent::Message { channel, bytes });
            }
            ClientEvent::Update { bytes, .. } => {
                events.write(RoomEvent::Update { bytes });
            }
            ClientEvent::Missed(missed) if missed.messages + missed.updates > 0 => {
                events.write(RoomEvent::Missed { messages: missed.messages + missed.updates });
            }
            _ => {}
        }
    }
}

fn motion(other: &RemoteEntity) -> Motion {
    Motion(MotionState { position: other.position, velocity: other.velocity, ..MotionState::default() })
}

/// Moves what is drawn. In the plane, z is the game's own: it orders sprites.
fn place(motion: &Motion, transform: &mut Transform) {
    let Vec3 { x, y, z } = motion.0.position;
    transform.translation.x = x as f32;
    transform.translation.y = y as f32;
    if z != 0.0 {
        transform.translation.z = z as f32;
    }
}

fn send(
    room: Res<Room>,
    owned: Query<(&Owned, &Motion)>,
    mut reported: ResMut<Reported>,
    mut events: MessageWriter<RoomEvent>,
) {
    let states: Vec<(u32, MotionState)> = owned.iter().map(|(owned, motion)| (owned.0, motion.0)).collect();
    let numbers: BTreeSet<u32> = states.iter().map(|(number, _)| *number).collect();
    for gone in reported.0.difference(&numbers) {
        let _ = room.0.end(*gone);
    }
    reported.0 = numbers;
    // The first in each frame is enough to find the mistake.
    if let Err(why) = room.0.observe(&states) {
        events.write(RoomEvent::NotReported { why });
    }
}
