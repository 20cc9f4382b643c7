//! What the objects of a room tell its relay: who owns which motion, and who sees it. And back: where everything is.

use evenkeel_core::{Endpoint, LocalTime, PeerId, SessionClock, Span};
use evenkeel_dr::{DrRelay, EntityId, MotionSpace, PairWeight, RelayCommand};
use evenkeel_objects::{LOCAL_MIN, ObjectId, ObjectMotion, ObjectRoom, ObjectRoomEvent};

/// The headers around a datagram, in bits: IPv4, UDP, QUIC with its tag, and QUIC's frame.
const OVERHEAD_BITS: f64 = 8.0 * (20.0 + 8.0 + 27.0 + 3.0);
/// The weight of the last measurement in what objects use of a bandwidth.
const GAIN: f64 = 0.2;

/// The dead-reckoned entity that is the motion of an object.
pub(crate) const fn entity(object: ObjectId) -> EntityId {
    EntityId(object.0)
}

/// Scopes the motion of objects at a relay.
pub(crate) fn scope<C: SessionClock>(dr: &mut DrRelay<C>) {
    dr.scope_from(LOCAL_MIN);
}

/// Where objects that move so move.
pub(crate) const fn space(motion: ObjectMotion) -> MotionSpace {
    match motion {
        ObjectMotion::Still => MotionSpace::Nowhere,
        ObjectMotion::Planar => MotionSpace::Plane,
        ObjectMotion::Spatial => MotionSpace::Space,
        _ => MotionSpace::Any,
    }
}

/// Where an object of the room moves; nowhere if there is none.
pub(crate) fn space_of(objects: &ObjectRoom, object: ObjectId) -> MotionSpace {
    let kind = objects.object(object).and_then(|view| objects.config().schema.object(view.kind));
    kind.map_or(MotionSpace::Nowhere, |kind| space(kind.motion))
}

/// Sets how much an object's motion matters to a player.
pub(crate) fn weigh<C: SessionClock>(
    dr: &mut DrRelay<C>,
    now: LocalTime,
    (object, receiver, weight): (ObjectId, PeerId, f32),
) {
    if let Some(weight) = PairWeight::new(f64::from(weight)) {
        dr.handle_command(now, RelayCommand::Weigh { entity: entity(object), receiver, weight });
    }
}

/// Applies an event of the objects to their motion.
pub(crate) fn apply<C: SessionClock>(
    dr: &mut DrRelay<C>,
    now: LocalTime,
    event: &ObjectRoomEvent,
    objects: &ObjectRoom,
) {
    if let ObjectRoomEvent::Created { object, .. } | ObjectRoomEvent::Owned { object, .. } = *event {
        dr.confine(entity(object), space_of(objects, object));
    }
    match *event {
        ObjectRoomEvent::Created { object, owner } => dr.grant(now, entity(object), Some(owner)),
        ObjectRoomEvent::Owned { object, owner } => dr.grant(now, entity(object), owner.player()),
        ObjectRoomEvent::Destroyed { object } => dr.end(now, entity(object)),
        ObjectRoomEvent::Entered { player, object } => dr.show(now, entity(object), player),
        ObjectRoomEvent::Exited { player, object } => dr.hide(now, entity(object), player),
        _ => {}
    }
}

/// Tells the objects where they are.
pub(crate) fn place<C: SessionClock>(dr: &DrRelay<C>, now: LocalTime, objects: &mut ObjectRoom) {
    let Some(at) = dr.clock().session(now) else { return };
    for (entity, vector) in dr.newest() {
        objects.place(ObjectId(entity.0), vector.project(at));
    }
}

/// Measures what objects use of the room's bandwidth.
#[derive(Debug, Default)]
pub(crate) struct ObjectBandwidth {
    before: Option<(LocalTime, u64, u64)>,
    rate: f64,
}

impl ObjectBandwidth {
    /// Takes the counters. Returns the bits per second that leave for the average player.
    pub(crate) fn measure(&mut self, now: LocalTime, objects: &ObjectRoom) -> f64 {
        let (bytes, packets) = (objects.bytes_sent(), objects.packets_sent());
        let players = objects.players().count().max(1) as f64;
        if let Some((at, bytes_before, packets_before)) = self.before.replace((now, bytes, packets)) {
            let elapsed = (now - at).max(Span::from_millis(1)).as_secs_f64();
            let bits = 8.0 * bytes.saturating_sub(bytes_before) as f64
                + OVERHEAD_BITS * packets.saturating_sub(packets_before) as f64;
            self.rate += GAIN * (bits / elapsed / players - self.rate);
        }
        self.rate
    }
}

/// Whether an event of the objects concerns the driver.
pub(crate) const fn concerns_driver(event: &ObjectRoomEvent) -> Option<PeerId> {
    match event {
        ObjectRoomEvent::Stalled { player } | ObjectRoomEvent::Refused { player, .. } => Some(*player),
        _ => None,
    }
}
