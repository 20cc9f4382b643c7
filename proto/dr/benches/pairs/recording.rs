//! What an owner heard, so that another hears the same. That one is by itself, as it is in a room whose receivers are elsewhere: here they
//! would take most of the caches from it between two ticks. It does the same, to the byte.

use evenkeel_dr::DrConfig;

use crate::room::{Figures, Heard, Room, Side, config, digest, even};

/// What an owner heard, tick by tick.
pub(crate) struct Recording {
    size: (usize, usize),
    config: DrConfig,
    heard: Vec<Heard>,
}

impl Recording {
    pub(crate) fn new(entities: usize, receivers: usize, distance: f64, ticks: usize) -> Self {
        let mut room = Room::new(entities, receivers, even(), distance);
        let tick = |_| {
            let states = room.side.states();
            room.write_down(states)
        };
        let heard = (0..ticks).map(tick).collect();
        Self { size: (entities, receivers), config: config(receivers, even(), distance), heard }
    }

    /// Another owner hears the same, by itself. Figures are of what comes after so many ticks.
    pub(crate) fn play(&self, before: usize) -> Figures {
        let mut side = Side::new(self.size.0, self.size.1, &self.config);
        for (tick, Heard { messages, arrived, sent }) in self.heard.iter().enumerate() {
            if tick == before {
                side.begin();
            }
            let states = side.states();
            let again = side.step(messages, states);
            assert_eq!(digest(&again), *sent, "who hears the same does the same");
            side.figures.settled += arrived;
        }
        side.figures
    }
}
