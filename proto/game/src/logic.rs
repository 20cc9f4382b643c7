//! A game's own logic beside the relay: who joined, what players say, a tick.

use evenkeel_core::{Malformed, PeerId, SessionTime, Span};
use evenkeel_dr::RoomEntity;
use evenkeel_objects::{Interest, ObjectRoomConfig, ObjectRoomEvent, ObjectView};
use evenkeel_sync_ms::Action;

use crate::outbox::GameOutbox;

/// A game's own logic in a room of the relay. All calls come from one thread, one after the other.
pub trait GameLogic {
    /// A player joined, under the name in its token. The name is empty if nobody told the room.
    fn joined(&mut self, player: PeerId, name: &str, outbox: &mut GameOutbox) {
        let _ = (player, name, outbox);
    }

    /// A player left. One that reconnects leaves and joins again.
    fn left(&mut self, player: PeerId, outbox: &mut GameOutbox) {
        let _ = (player, outbox);
    }

    /// A player sent a message. Its bytes are whatever the player likes: check them.
    ///
    /// # Errors
    /// [`Malformed`] if it is not a message of this game. The relay counts it for that player.
    fn message(&mut self, from: PeerId, message: &[u8], outbox: &mut GameOutbox) -> Result<(), Malformed> {
        let _ = (from, message, outbox);
        Err(Malformed::Field)
    }

    /// A player acted, and it is the action's turn: of two players, whoever reacted faster is served first, however far away.
    /// By default it is a message like any other.
    ///
    /// # Errors
    /// [`Malformed`] if it is not an action of this game. The room's report counts it.
    fn action(&mut self, action: &Action, outbox: &mut GameOutbox) -> Result<(), Malformed> {
        self.message(action.from, &action.bytes, outbox)
    }

    /// A tick while somebody is in the room: where everybody's entities are is `entity.newest.project(now)`.
    fn tick(&mut self, now: SessionTime, entities: &[RoomEntity], outbox: &mut GameOutbox) {
        let _ = (now, entities, outbox);
    }

    /// The game's objects and typed messages, and who sees what: the schema, an area of interest, what players may do. By
    /// default there are none.
    fn objects(&self) -> ObjectRoomConfig {
        ObjectRoomConfig::default()
    }

    /// Whether a player sees an object, if the area alone does not decide. Asked at every review, about what is near.
    fn interest(&self, viewer: PeerId, object: &ObjectView<'_>) -> Interest {
        let _ = (viewer, object);
        Interest::ByArea
    }

    /// Something happened to an object, or a typed message for the server arrived. Objects are at `outbox.objects()`.
    fn object_event(&mut self, event: &ObjectRoomEvent, outbox: &mut GameOutbox) {
        let _ = (event, outbox);
    }

    /// The time between ticks. Missed ticks are not made up for.
    fn tick_interval(&self) -> Span {
        Span::from_millis(20)
    }

    /// Counts that the room's report shows for a player, by name.
    fn tallies(&self, player: PeerId) -> Vec<(&'static str, u64)> {
        let _ = player;
        Vec::new()
    }
}
