//! A tank for tests.

use evenkeel_core::{Draws, Seed, Span, Vec3};
use evenkeel_dr::MotionState;

pub(crate) const TICK: Span = Span::from_millis(20);

/// A tank that turns now and then.
pub(crate) struct Tank {
    draws: Draws,
    pub(crate) state: MotionState,
    heading: f64,
    wish: f64,
    ticks_left: u32,
}

impl Tank {
    pub(crate) fn new(seed: u64) -> Self {
        let draws = Seed::new(seed).draws();
        Self { draws, state: MotionState::default(), heading: 0.0, wish: 0.0, ticks_left: 0 }
    }

    pub(crate) fn drive(&mut self) -> MotionState {
        let seconds = TICK.as_secs_f64();
        if self.ticks_left == 0 {
            self.ticks_left = 15 + self.draws.below(100) as u32;
            self.wish = [0.0, 0.0, 0.7, -0.7][self.draws.below(4) as usize];
        }
        self.ticks_left -= 1;
        let turn = self.state.turn_rate;
        self.state.turn_rate = turn + (self.wish - turn).clamp(-seconds, seconds);
        self.heading += self.state.turn_rate * seconds;
        let (sin, cos) = libm::sincos(self.heading);
        self.state.velocity = Vec3::xy(20.0 * cos, 20.0 * sin);
        self.state.position = self.state.position + self.state.velocity * seconds;
        self.state
    }
}
