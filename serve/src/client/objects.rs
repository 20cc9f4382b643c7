//! A player's objects and typed messages, and the snapshot from which it reads everybody's.

use std::sync::Arc;

use evenkeel_core::{LocalTime, SessionTime};
use evenkeel_dr::{DrCommand, EntityId, MotionState};
use evenkeel_game::PlayerCommand;
use evenkeel_objects::{
    Call, Delivery, GameMessage, LOCAL_MAX, LOCAL_MIN, Object, ObjectCommand, ObjectId, Owner, Target,
};

use super::world::World;
use super::{Client, MessageError, NODE};

impl Client {
    /// Creates an object of this player's. The others see it as soon as it is in their scope; one that moves, once it is
    /// [moved](Self::move_objects).
    ///
    /// # Errors
    /// [`MessageError`] if it was not created.
    pub fn create<T: Object>(&self, object: &T) -> Result<ObjectId, MessageError> {
        let player = self.player().ok_or(MessageError::NotConnected)?;
        // Random, so that no name tells how many other objects there are.
        let local = LOCAL_MIN + (evenkeel_net::random() % u64::from(LOCAL_MAX - LOCAL_MIN)) as u32;
        let id = ObjectId::of(player, local);
        let create = ObjectCommand::Create { object: id, kind: T::KIND, values: object.values() };
        self.ask(create)?;
        Ok(id)
    }

    /// Changes an object of this player's. Fields that do not differ cost nothing, and those that the server writes stay as they
    /// are.
    ///
    /// # Errors
    /// [`MessageError`] if it was not changed.
    pub fn set<T: Object>(&self, object: ObjectId, value: &T) -> Result<(), MessageError> {
        let values = (0u8..).zip(value.values()).collect();
        self.ask(ObjectCommand::Set { object, values })
    }

    /// Destroys an object of this player's.
    ///
    /// # Errors
    /// [`MessageError`] if it was not destroyed.
    pub fn destroy(&self, object: ObjectId) -> Result<(), MessageError> {
        self.ask(ObjectCommand::Destroy { object })
    }

    /// Passes an object of this player's on. Its next owner learns of it by an event.
    ///
    /// # Errors
    /// [`MessageError`] if it was not passed on.
    pub fn give(&self, object: ObjectId, to: Owner) -> Result<(), MessageError> {
        self.ask(ObjectCommand::Give { object, to })
    }

    /// Sends a typed message. Reliable ones wait while there is no connection.
    ///
    /// # Errors
    /// [`MessageError`] if it was not taken.
    pub fn tell<T: GameMessage>(
        &self,
        to: Target,
        delivery: Delivery,
        message: &T,
    ) -> Result<(), MessageError> {
        let bytes = message.to_bytes();
        if bytes.len() > delivery.bytes_max() {
            return Err(MessageError::TooLong { len: bytes.len(), len_max: delivery.bytes_max() });
        }
        self.ask(ObjectCommand::Call(Call { delivery, party: to, kind: T::KIND, bytes }))
    }

    /// Sets the motion of this player's objects; call it every tick. Those that are left out go on as last reported.
    ///
    /// # Errors
    /// [`MessageError::Busy`] if too many calls wait.
    pub fn move_objects(&self, objects: &[(ObjectId, MotionState)]) -> Result<(), MessageError> {
        let valid = objects.iter().filter(|(_, state)| state.is_sane());
        let states = valid.map(|(object, state)| (EntityId(object.0), *state)).collect();
        let command = PlayerCommand::Motion(DrCommand::ObserveAll { states });
        self.crank.command(NODE, command).map_err(|_| MessageError::Busy)
    }

    /// Returns everything that this player has in scope, as of the last event. Takes a reference to a snapshot, in well under a
    /// microsecond, and waits for nobody.
    #[must_use]
    pub fn world(&self) -> Arc<World> {
        self.world.read()
    }

    /// Returns the session time, by which [`World`] places objects; `None` before it is known.
    #[must_use]
    pub fn session_time(&self) -> Option<SessionTime> {
        self.world().session(self.local_time())
    }

    /// Returns the time of the client's clock.
    #[must_use]
    pub fn local_time(&self) -> LocalTime {
        self.clock.now()
    }

    fn ask(&self, command: ObjectCommand) -> Result<(), MessageError> {
        self.crank.command(NODE, PlayerCommand::Object(command)).map_err(|_| MessageError::Busy)
    }
}
