//! What a bot does in a quick draw: it holds its fire while the beacon gets ready, and fires as fast as a person after it is
//! lit.

use evenkeel_core::{Draws, LocalTime, Seed};

use super::message::{ArenaMessage, Light};
use super::reaction::ReactionTimes;

/// A bot's part in quick draws.
#[derive(Clone, Debug)]
pub(crate) struct Gunfighter {
    times: ReactionTimes,
    draws: Draws,
    light: Light,
    /// When it has reacted.
    due_at: Option<LocalTime>,
}

impl Gunfighter {
    /// A bot that reacts like most people, at times that depend on the seed.
    pub(crate) fn new(seed: Seed) -> Self {
        Self::with_times(ReactionTimes::default(), seed)
    }

    /// A bot with these reaction times.
    pub(crate) const fn with_times(times: ReactionTimes, seed: Seed) -> Self {
        Self { times, draws: seed.draws(), light: Light::Off, due_at: None }
    }

    /// Sees what the referee shows. A beacon that goes out again is answered all the same.
    pub(crate) fn see(&mut self, now: LocalTime, message: &ArenaMessage) {
        let light = match message {
            ArenaMessage::Beacon { light, .. } => *light,
            ArenaMessage::Won { .. } => Light::Off,
            _ => return,
        };
        if light == Light::Fire && self.light != light {
            self.due_at = Some(now + self.times.draw(&mut self.draws));
        }
        self.light = light;
    }

    /// When it fires.
    pub(crate) const fn due_at(&self) -> Option<LocalTime> {
        self.due_at
    }

    /// Whether it fires now; if so, once.
    pub(crate) fn is_due(&mut self, now: LocalTime) -> bool {
        let is_due = self.due_at.is_some_and(|at| at <= now);
        if is_due {
            self.due_at = None;
        }
        is_due
    }

    /// Whether it fires at nothing else now.
    pub(crate) fn holds_fire(&self) -> bool {
        self.light == Light::Ready || self.due_at.is_some()
    }
}
