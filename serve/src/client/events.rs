//! The events that wait for a game.
//!
//! A game that never asks for events must not grow memory, and one that asks rarely must not lose track of who is gone. So
//! each kind has its own bound, and what is lost is said.

use std::collections::VecDeque;

use evenkeel_core::{Channel, LocalTime, SessionTime, Span};
use evenkeel_dr::DrEvent;
use evenkeel_game::PlayerEvent;
use evenkeel_objects::ObjectEvent;

/// Events of one kind that wait for the game.
pub const EVENTS_MAX: usize = 8_192;
/// Bytes of messages, and bytes of updates, that wait for the game.
pub const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// What a waiting message or update costs beside its bytes.
const MESSAGE_COST: usize = 64;

/// What happened to a player.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ClientEvent {
    /// In its motion and that of others: an entity arrived or ended, a vector was made, the session clock changed.
    Motion(DrEvent),
    /// The game's logic at the relay sent a message.
    Message {
        /// How it travelled.
        channel: Channel,
        /// The message.
        bytes: Vec<u8>,
    },
    /// Show this update of the game now: everybody else shows it at the same time. What the player does from now on reacts
    /// to it.
    Update {
        /// When the relay sent it.
        stamp: SessionTime,
        /// How much later than for everybody else it came; zero if it came in time.
        late: Span,
        /// The update.
        bytes: Vec<u8>,
    },
    /// Something happened to an object, or a typed message arrived. What became of an object is in the
    /// [snapshot](crate::Client::world).
    Object(ObjectEvent),
    /// More happened than was kept since the last call. Comes before all other events.
    Missed(MissedEvents),
}

impl ClientEvent {
    /// The event as a game gets it; `None` if only the snapshot needs it.
    pub(crate) fn of(event: PlayerEvent) -> Option<Self> {
        Some(match event {
            PlayerEvent::Motion(event) => Self::Motion(event),
            PlayerEvent::Message { channel, bytes } => Self::Message { channel, bytes },
            PlayerEvent::Update { stamp, late, bytes } => Self::Update { stamp, late, bytes },
            PlayerEvent::Object(event) => Self::Object(event),
            _ => return None,
        })
    }
}

/// What a game missed by asking too rarely.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MissedEvents {
    /// Arrivals, own vectors and changes of the clock.
    pub motion: u64,
    /// Messages of the game, the oldest.
    pub messages: u64,
    /// Updates of the game, the oldest.
    pub updates: u64,
    /// Events of objects and typed messages, the oldest.
    pub objects: u64,
    /// Ends of entities. If there are any, every entity that `others` does not list is gone.
    pub ended: u64,
}

type Stamped = (u64, LocalTime, ClientEvent);

/// The events that wait for a game, in bounds.
#[derive(Debug, Default)]
pub(crate) struct ClientEvents {
    /// Each kind by itself, so that none pushes out another: motion, ends, messages, updates, objects.
    queues: [VecDeque<Stamped>; 5],
    /// What waits of each kind, in bytes.
    bytes: [usize; 5],
    missed: MissedEvents,
    /// Numbers the events, to return them in order.
    next: u64,
}

impl ClientEvents {
    pub(crate) fn push(&mut self, at: LocalTime, event: ClientEvent) {
        let kind = kind(&event);
        self.next += 1;
        self.bytes[kind] += cost(&event);
        self.queues[kind].push_back((self.next, at, event));
        while self.queues[kind].len() > EVENTS_MAX || self.bytes[kind] > MESSAGE_BYTES_MAX {
            let Some((.., event)) = self.queues[kind].pop_front() else { return };
            self.bytes[kind] -= cost(&event);
            let missed = &mut self.missed;
            let counts = [
                &mut missed.motion,
                &mut missed.ended,
                &mut missed.messages,
                &mut missed.updates,
                &mut missed.objects,
            ];
            *counts.into_iter().nth(kind).expect("a count per kind") += 1;
        }
    }

    /// Takes all events, in order.
    pub(crate) fn take(&mut self) -> Vec<(LocalTime, ClientEvent)> {
        let missed = std::mem::take(&mut self.missed);
        self.bytes = [0; 5];
        let mut events: Vec<Stamped> = self.queues.iter_mut().flat_map(std::mem::take).collect();
        events.sort_unstable_by_key(|(number, ..)| *number);
        let at = events.first().map_or(LocalTime::MIN, |(_, at, _)| *at);
        let missed = (missed != MissedEvents::default()).then_some((at, ClientEvent::Missed(missed)));
        missed.into_iter().chain(events.into_iter().map(|(_, at, event)| (at, event))).collect()
    }
}

/// The queue that an event waits in.
const fn kind(event: &ClientEvent) -> usize {
    match event {
        ClientEvent::Motion(DrEvent::Ended { .. }) => 1,
        ClientEvent::Message { .. } => 2,
        ClientEvent::Update { .. } => 3,
        ClientEvent::Object(_) => 4,
        ClientEvent::Motion(_) | ClientEvent::Missed(_) => 0,
    }
}

/// What an event costs of the bytes that may wait.
const fn cost(event: &ClientEvent) -> usize {
    match event {
        ClientEvent::Message { bytes, .. } | ClientEvent::Update { bytes, .. } => bytes.len() + MESSAGE_COST,
        ClientEvent::Object(ObjectEvent::Call { bytes, .. }) => bytes.len() + MESSAGE_COST,
        ClientEvent::Object(_) => MESSAGE_COST,
        ClientEvent::Motion(_) | ClientEvent::Missed(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::{PeerId, SessionTime};
    use evenkeel_dr::{DrSeq, EntityId};

    use super::*;

    fn at(nanos: u64) -> LocalTime {
        LocalTime::from_nanos(nanos as i64)
    }

    fn ended(entity: u32) -> ClientEvent {
        ClientEvent::Motion(DrEvent::Ended { from: PeerId(0), entity: EntityId(entity) })
    }

    fn arrived(seq: u32) -> ClientEvent {
        let generated = SessionTime::from_nanos(0);
        let (from, entity) = (PeerId(0), EntityId(0));
        ClientEvent::Motion(DrEvent::Arrived {
            from,
            entity,
            seq: DrSeq(seq),
            generated,
            placed: None,
            introduction: false,
        })
    }

    fn message(len: usize) -> ClientEvent {
        ClientEvent::Message { channel: Channel::Reliable, bytes: vec![7; len] }
    }

    #[test]
    fn events_come_in_order_and_once() {
        let mut events = ClientEvents::default();
        let all = [arrived(1), ended(3), message(2), arrived(2)];
        all.iter().cloned().zip(1..).for_each(|(event, nanos)| events.push(at(nanos), event));
        let taken: Vec<_> = events.take().into_iter().map(|(_, event)| event).collect();
        assert_eq!(taken, all);
        assert_eq!(events.take(), []);
    }

    #[test]
    fn arrivals_and_messages_never_push_out_the_end_of_an_entity() {
        let mut events = ClientEvents::default();
        events.push(at(0), ended(7));
        let beyond = 100;
        for number in 0..EVENTS_MAX as u64 + beyond {
            events.push(at(number), arrived(number as u32));
            events.push(at(number), message(1));
        }
        let taken = events.take();
        assert_eq!(taken.len(), 1 + 1 + 2 * EVENTS_MAX);
        let missed = MissedEvents { motion: beyond, messages: beyond, ..MissedEvents::default() };
        assert_eq!(taken[0].1, ClientEvent::Missed(missed));
        assert_eq!(taken[1].1, ended(7));
    }

    #[test]
    fn ends_beyond_the_bound_are_reported_as_missed() {
        let mut events = ClientEvents::default();
        (0..=EVENTS_MAX as u32).for_each(|entity| events.push(at(0), ended(entity)));
        let taken = events.take();
        let missed = MissedEvents { ended: 1, ..MissedEvents::default() };
        assert_eq!((taken.len(), &taken[0].1), (EVENTS_MAX + 1, &ClientEvent::Missed(missed)));
    }

    #[test]
    fn updates_never_push_out_messages_and_come_in_their_order() {
        let mut events = ClientEvents::default();
        let update = |len| ClientEvent::Update {
            stamp: SessionTime::from_nanos(0),
            late: Span::ZERO,
            bytes: vec![8; len],
        };
        events.push(at(0), message(7));
        (0..100).for_each(|number| events.push(at(number), update(60_000)));
        let kept = MESSAGE_BYTES_MAX / (60_000 + MESSAGE_COST);
        let taken = events.take();
        let missed = MissedEvents { updates: 100 - kept as u64, ..MissedEvents::default() };
        assert_eq!((taken.len(), &taken[0].1), (kept + 2, &ClientEvent::Missed(missed)));
        assert_eq!((&taken[1].1, &taken[2].1), (&message(7), &update(60_000)));
    }

    #[test]
    fn messages_are_bounded_by_their_bytes_and_the_newest_stay() {
        let mut events = ClientEvents::default();
        let (len, count) = (60_000, 200);
        (0..count).for_each(|number| events.push(at(number), message(len)));
        let kept = MESSAGE_BYTES_MAX / (len + MESSAGE_COST);
        let taken = events.take();
        let missed = MissedEvents { messages: count - kept as u64, ..MissedEvents::default() };
        assert_eq!((taken.len(), &taken[0].1), (kept + 1, &ClientEvent::Missed(missed)));
        assert_eq!(taken[kept].0, at(count - 1));
        events.push(at(1), message(len));
        assert_eq!(events.take().len(), 1, "the count of bytes starts anew");
    }
}
