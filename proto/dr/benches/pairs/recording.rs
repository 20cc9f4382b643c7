//! Recordings of the messages that an owner receives, played back to another owner. That one runs alone, like one whose
//! receivers are on other machines; in a room with them, they evict most of the caches between two ticks. Its output is
//! identical to the byte.

use evenkeel_dr::DrConfig;

use crate::room::{Figures, OwnerSide, RecordedTick, Room, config, digest, even};

/// The messages that an owner received, tick by tick.
pub(crate) struct Recording {
    size: (usize, usize),
    config: DrConfig,
    ticks: Vec<RecordedTick>,
}

impl Recording {
    pub(crate) fn new(entities: usize, receivers: usize, distance: f64, ticks: usize) -> Self {
        let mut room = Room::new(entities, receivers, even(), distance);
        let tick = |_| {
            let states = room.side.states();
            room.step_with(states)
        };
        let ticks = (0..ticks).map(tick).collect();
        Self { size: (entities, receivers), config: config(receivers, even(), distance), ticks }
    }

    /// Plays the recording to another owner. Figures begin after `warm_up` ticks.
    pub(crate) fn play(&self, warm_up: usize) -> Figures {
        let mut side = OwnerSide::new(self.size.0, self.size.1, &self.config);
        for (tick, RecordedTick { messages, arrived, sent }) in self.ticks.iter().enumerate() {
            if tick == warm_up {
                side.begin();
            }
            let states = side.states();
            let again = side.step(messages, states);
            assert_eq!(digest(&again), *sent, "the owner is deterministic");
            side.figures.settled += arrived;
        }
        side.figures
    }
}
