//! How entities move, from still to impossible.

use evenkeel_core::{Draws, Seed, Span, Vec3};
use evenkeel_dr::MotionState;

use crate::stage::TICK;

/// One entity's way of moving.
#[derive(Clone, Copy, Debug)]
enum Style {
    Still,
    Steered,
    Weaving,
    Jumping,
    /// Far from the origin and fast.
    Far,
}

/// An entity of a player.
#[derive(Clone, Debug)]
pub(super) struct Mover {
    style: Style,
    seed: Seed,
    pub(super) state: MotionState,
    pub(super) is_alive: bool,
    /// The tick from which it may begin another life.
    pub(super) rests_until: u64,
}

impl Mover {
    pub(super) fn new(seed: Seed) -> Self {
        let styles =
            [Style::Still, Style::Steered, Style::Steered, Style::Weaving, Style::Jumping, Style::Far];
        let mut draws = seed.draws();
        let style = styles[draws.below(styles.len() as u64) as usize];
        let scale = if matches!(style, Style::Far) { 1e6 } else { 100.0 };
        let position = Vec3::new(draws.uniform(-scale, scale), draws.uniform(-scale, scale), 0.0);
        let state = MotionState { position, ..MotionState::default() };
        Self { style, seed, state, is_alive: false, rests_until: 0 }
    }

    /// An entity that somebody steers.
    pub(super) fn steered(seed: Seed) -> Self {
        Self { style: Style::Steered, ..Self::new(seed) }
    }

    /// Moves for a tick.
    pub(super) fn step(&mut self, tick: u64) {
        let mut draws = self.seed.child(1 + tick).draws();
        let state = &mut self.state;
        state.position = state.position + state.velocity * TICK.as_secs_f64();
        match self.style {
            Style::Still => {}
            Style::Steered => {
                if draws.chance(0.2) {
                    steer(state, 25.0, &mut draws);
                }
            }
            Style::Weaving => {
                let t = TICK.times(tick as i64).as_secs_f64();
                let (sin, cos) = libm::sincos(1.3 * t);
                state.velocity = Vec3::xy(15.0 * cos, 8.0 * sin);
            }
            Style::Jumping => {
                if draws.chance(0.1) {
                    let jump = Vec3::xy(draws.uniform(-50.0, 50.0), draws.uniform(-50.0, 50.0));
                    state.position = state.position + jump;
                }
            }
            Style::Far => {
                if draws.chance(0.2) {
                    steer(state, 5_000.0, &mut draws);
                }
            }
        }
    }

    /// Stands still from now on.
    pub(super) fn stop(&mut self) {
        self.state = MotionState { position: self.state.position, ..MotionState::default() };
    }
}

fn steer(state: &mut MotionState, speed: f64, draws: &mut Draws) {
    let mut between = |limit: f64| draws.uniform(-limit, limit);
    state.velocity = Vec3::new(between(speed), between(speed), between(0.1 * speed));
    state.acceleration = Vec3::new(between(5.0), between(5.0), 0.0);
    state.turn_rate = between(0.8);
}

/// How long an entity that ended rests at most.
pub(super) const REST_MAX: Span = Span::from_millis(400);
