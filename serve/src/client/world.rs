//! A snapshot of everything that a player has in scope, which a game reads without waiting for the network's thread.
//!
//! The network's thread applies events to two copies in turn: while it changes one, readers take the other. A reader takes a
//! reference and is done, so it never waits for an event to be applied, however much happens.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use evenkeel_core::{LocalTime, PeerId, SessionTime, Span, Vec3};
use evenkeel_dr::{DrEvent, DrVector, EntityId};
use evenkeel_game::PlayerEvent;
use evenkeel_objects::{Object, ObjectEvent, ObjectId, Owner, Value};

/// An object as this player sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct WorldObject {
    /// Its name.
    pub object: ObjectId,
    /// Its kind.
    pub kind: u16,
    /// Its owner.
    pub owner: Owner,
    /// The values of its fields.
    pub values: Vec<Value>,
    /// The vector by which it moves, if it has any: placed for others' objects, exported for the player's own.
    pub motion: Option<DrVector>,
}

/// Everything that a player has in scope, at one moment.
#[derive(Clone, Debug, Default)]
pub struct World {
    objects: BTreeMap<ObjectId, WorldObject>,
    /// Motion that came before its object.
    motions: BTreeMap<ObjectId, DrVector>,
    /// The vectors that place the others' entities.
    placed: BTreeMap<EntityId, DrVector>,
    player: Option<PeerId>,
    /// Session time minus local time.
    offset: Option<Span>,
}

/// Motions that wait for their objects. Beyond, the first is forgotten.
const MOTIONS_MAX: usize = 8_192;

impl World {
    /// This player's number; `None` before the relay has accepted its game.
    #[must_use]
    pub const fn player(&self) -> Option<PeerId> {
        self.player
    }

    /// The session time at a time of the client's clock; `None` before it is known.
    #[must_use]
    pub fn session(&self, now: LocalTime) -> Option<SessionTime> {
        self.offset.map(|offset| SessionTime::from_nanos(now.as_nanos()) + offset)
    }

    /// Every object, by name.
    pub fn objects(&self) -> impl Iterator<Item = &WorldObject> {
        self.objects.values()
    }

    /// An object.
    #[must_use]
    pub fn object(&self, object: ObjectId) -> Option<&WorldObject> {
        self.objects.get(&object)
    }

    /// An object of a game's own type.
    #[must_use]
    pub fn read<T: Object>(&self, object: ObjectId) -> Option<T> {
        self.object(object)?.read()
    }

    /// Every object of a game's own type.
    pub fn all<T: Object>(&self) -> impl Iterator<Item = (&WorldObject, T)> {
        self.objects.values().filter_map(|object| Some((object, object.read()?)))
    }

    /// The vectors that place the others' entities, objects among them, by entity.
    pub fn placed(&self) -> impl Iterator<Item = (EntityId, &DrVector)> {
        self.placed.iter().map(|(entity, vector)| (*entity, vector))
    }

    fn apply(&mut self, event: &PlayerEvent) {
        match event {
            PlayerEvent::Object(event) => self.apply_object(event),
            PlayerEvent::Clock { offset } => self.offset = Some(*offset),
            PlayerEvent::Motion(event) => self.apply_motion(event),
            _ => {}
        }
    }

    fn apply_object(&mut self, event: &ObjectEvent) {
        match event {
            ObjectEvent::Ready { player, .. } => self.player = Some(*player),
            ObjectEvent::Created { object, kind, owner, values } => {
                let motion = self.motions.remove(object);
                let (object, kind, owner) = (*object, *kind, *owner);
                let created = WorldObject { object, kind, owner, values: values.clone(), motion };
                self.objects.insert(object, created);
            }
            ObjectEvent::Changed { object, values } => {
                let Some(known) = self.objects.get_mut(object) else { return };
                for (field, value) in values {
                    if let Some(known) = known.values.get_mut(usize::from(*field)) {
                        known.clone_from(value);
                    }
                }
            }
            ObjectEvent::Owned { object, owner } => {
                if let Some(known) = self.objects.get_mut(object) {
                    known.owner = *owner;
                }
            }
            ObjectEvent::Gone { object, .. } => {
                self.objects.remove(object);
            }
            _ => {}
        }
    }

    fn apply_motion(&mut self, event: &DrEvent) {
        match *event {
            DrEvent::Arrived { entity, placed: Some(vector), .. } => drop(self.placed.insert(entity, vector)),
            DrEvent::Ended { entity, .. } => drop(self.placed.remove(&entity)),
            _ => {}
        }
        match *event {
            DrEvent::Arrived { entity, placed: Some(vector), .. }
            | DrEvent::Generated { entity, vector, .. } => {
                let object = ObjectId(entity.0);
                if let Some(known) = self.objects.get_mut(&object) {
                    known.motion = Some(vector);
                } else if object.is_object() {
                    if self.motions.len() >= MOTIONS_MAX {
                        self.motions.pop_first();
                    }
                    self.motions.insert(object, vector);
                }
            }
            // The last motion goes on until the object is gone, or its next owner reports another.
            DrEvent::Ended { entity, .. } => {
                self.motions.remove(&ObjectId(entity.0));
            }
            _ => {}
        }
    }
}

impl WorldObject {
    /// The object as a game's own type; `None` if it is of another.
    #[must_use]
    pub fn read<T: Object>(&self) -> Option<T> {
        (self.kind == T::KIND).then(|| T::from_values(&self.values).ok()).flatten()
    }

    /// Where it is at a session time.
    #[must_use]
    pub fn position(&self, at: SessionTime) -> Option<Vec3> {
        self.motion.map(|vector| vector.project(at))
    }

    /// Its velocity at a session time.
    #[must_use]
    pub fn velocity(&self, at: SessionTime) -> Option<Vec3> {
        self.motion.map(|vector| vector.velocity(at))
    }
}

/// A world that one thread changes and others read.
#[derive(Debug, Default)]
pub(crate) struct SharedWorld {
    copies: [Mutex<Arc<World>>; 2],
    current: AtomicUsize,
}

impl SharedWorld {
    /// Applies an event. Only one thread does.
    pub(crate) fn apply(&self, event: &PlayerEvent) {
        if !matches!(event, PlayerEvent::Object(_) | PlayerEvent::Motion(_) | PlayerEvent::Clock { .. }) {
            return;
        }
        let current = self.current.load(Ordering::Relaxed);
        for copy in [1 - current, current] {
            let mut world = self.copies[copy].lock().unwrap_or_else(PoisonError::into_inner);
            // Copies the world if a reader still holds it.
            Arc::make_mut(&mut world).apply(event);
            drop(world);
            if copy != current {
                self.current.store(copy, Ordering::Release);
            }
        }
    }

    /// The world as of the last event.
    pub(crate) fn read(&self) -> Arc<World> {
        let mut copy = self.current.load(Ordering::Acquire);
        loop {
            match self.copies[copy].try_lock() {
                Ok(world) => return world.clone(),
                Err(TryLockError::Poisoned(world)) => return world.into_inner().clone(),
                // It is being changed, or another reader is taking it: the other copy is as good.
                Err(TryLockError::WouldBlock) => copy = 1 - copy,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(number: u32) -> PlayerEvent {
        let object = ObjectId(number);
        let values = vec![vec![1; 8].into(), vec![2; 8].into()];
        PlayerEvent::Object(ObjectEvent::Created { object, kind: 0, owner: Owner::Server, values })
    }

    fn changed(number: u32, value: u8) -> PlayerEvent {
        let values = vec![(0, vec![value; 8].into()), (1, vec![value; 8].into())];
        PlayerEvent::Object(ObjectEvent::Changed { object: ObjectId(number), values })
    }

    #[test]
    fn snapshot_stays_as_it_was() {
        let world = SharedWorld::default();
        world.apply(&created(7));
        let before = world.read();
        world.apply(&changed(7, 9));
        assert_eq!(*before.objects().next().expect("it is there").values[0], [1; 8]);
        assert_eq!(*world.read().objects().next().expect("it is there").values[0], [9; 8]);
    }

    #[test]
    fn reader_never_sees_an_event_half_applied() {
        let world = Arc::new(SharedWorld::default());
        (0..100).for_each(|number| {
            world.apply(&created(number));
            world.apply(&changed(number, 0));
        });
        let writer = world.clone();
        let stop = Arc::new(AtomicUsize::new(0));
        let stopped = stop.clone();
        let writing = std::thread::spawn(move || {
            let mut value = 0u8;
            while stopped.load(Ordering::Relaxed) == 0 {
                value = value.wrapping_add(1);
                (0..100).for_each(|number| writer.apply(&changed(number, value)));
            }
        });
        for _ in 0..20_000 {
            let seen = world.read();
            let object = seen.object(ObjectId(50)).expect("it is there");
            assert_eq!(object.values[0], object.values[1]);
        }
        stop.store(1, Ordering::Relaxed);
        writing.join().expect("no panic");
    }

    #[test]
    fn reader_does_not_wait_for_the_writer() {
        let world = SharedWorld::default();
        world.apply(&created(7));
        // As while an event is applied to the other copy.
        let other = 1 - world.current.load(Ordering::Relaxed);
        let _changing = world.copies[other].lock().expect("nobody panicked");
        assert_eq!(world.read().objects().count(), 1);
        // As right after the copies have changed places.
        world.current.store(other, Ordering::Relaxed);
        assert_eq!(world.read().objects().count(), 1);
    }
}
