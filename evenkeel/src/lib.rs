#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! - `Client`: a player in a room (feature `client`).
//! - `relay`: the relay and a game's own logic in it (feature `relay`).
//! - `token`: who may enter which room under which name (features `client` and `relay`).
//! - `link`: emulated links, to try a game with distant players. `sim`: the simulator (feature `sim`).
//! - [`layers`]: the crates below, whole.

#[cfg(any(feature = "client", feature = "relay", feature = "sim"))]
pub use evenkeel_link as link;
#[cfg(feature = "sim")]
pub use evenkeel_sim as sim;

pub use evenkeel_core::{Channel, LocalTime, PeerId, Seed, SessionTime, Span, Vec3};
pub use evenkeel_dr::{Content, DrEvent, DrVector, EntityId, MotionKind, MotionState, Threshold};

pub use evenkeel_objects::{
    Area, Call, Delivery, Denied, Field, GameMessage, Gone, Interest, Object, ObjectEvent, ObjectId,
    ObjectView, Orientation, Owner, Quotas, Schema, Spin, Target, schema,
};

#[cfg(any(feature = "client", feature = "relay"))]
pub use evenkeel_net::token;

#[cfg(feature = "client")]
pub use evenkeel_net::Emulation;
#[cfg(feature = "client")]
pub use evenkeel_serve::{
    Client, ClientConfig, ClientError, ClientEvent, EntityError, MessageError, MissedEvents, RemoteEntity,
    Status, World, WorldObject,
};

/// The relay, in a program of your own, and the game's logic in its rooms.
#[cfg(feature = "relay")]
pub mod relay {
    pub use evenkeel_core::{Malformed, Reader, Wire};
    pub use evenkeel_dr::{Budget, PolicyKind, RoomEntity};
    pub use evenkeel_game::{Action, GameLogic, GameOutbox, GameRoom};
    pub use evenkeel_objects::{ObjectRoom, ObjectRoomConfig, ObjectRoomEvent, Refusals};
    pub use evenkeel_serve::{
        CertificateConfig, Game, PlayerReport, RelayConfig, RelayServer, RoomConfig, RoomReport, StartError,
        SyncReport,
    };
    pub use evenkeel_sync_ms::Order;
}

/// The crates that this one consists of, whole.
pub mod layers {
    pub use evenkeel_core as core;
    pub use evenkeel_dr as dr;
    pub use evenkeel_game as game;
    #[cfg(any(feature = "client", feature = "relay"))]
    pub use evenkeel_net as net;
    pub use evenkeel_objects as objects;
    #[cfg(any(feature = "client", feature = "relay"))]
    pub use evenkeel_serve as serve;
    pub use evenkeel_session as session;
    pub use evenkeel_sync_ms as sync_ms;
}

// The guide's programs are compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guide.md")]
mod guide {}
#[cfg(doctest)]
#[doc = include_str!("../../docs/objects.md")]
mod objects {}
