//! Seeded drivers, which steer a tank by changing its controls from time to time.
//!
//! The papers give no motion, so these distributions are ours, and the ratios between policies depend on
//! them.
//!
//! | driver | changes every | speed | turn rate |
//! | --- | --- | --- | --- |
//! | random | 0.3 + Exp(mean 1.2) s | drawn | 0 (40 %), +-pi/4 (40 %), uniform between (20 %) |
//! | linear | 2 + Exp(mean 6) s | drawn | 0 |
//! | circular | 2 + Exp(mean 6) s | drawn | +-pi/4, its sign drawn once at the start |
//!
//! A drawn speed is 25 (55 %), 0 (15 %), uniform in 5..25 (15 %) or -12.5 (15 %). The circular driver keeps
//! its sign, because a turn that changes sides is no circle; the side differs between seeds.

use evenkeel_core::{Draws, Seed, Span};

use crate::tank::{Controls, SPEED_BACKWARDS_MAX, SPEED_MAX, TURN_RATE_MAX};

/// Lower end of the uniform part of the speed distribution.
const SPEED_DRAWN_MIN: f64 = 5.0;

/// How a tank is driven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Driver {
    /// Changes speed and turn rate every 1.5 s on average.
    Random,
    /// Drives straight ahead and back, with a new speed every 8 s on average.
    Linear,
    /// Drives in circles to one side, with a new speed every 8 s on average.
    Circular,
}

impl Driver {
    /// Draws the time until the next change.
    fn pause(self, draws: &mut Draws) -> Span {
        let (least, mean) = match self {
            Self::Random => (0.3, 1.2),
            Self::Linear | Self::Circular => (2.0, 6.0),
        };
        Span::from_secs_f64(least + draws.exponential(mean))
    }
}

/// The controls that a driver sets over time. Each setting holds until the next; the first one begins at time
/// zero.
#[derive(Clone, Debug)]
pub struct ControlSchedule {
    driver: Driver,
    draws: Draws,
    /// The turn rate of the circular driver; unused by the others.
    circle: f64,
    controls: Controls,
    next_at: Span,
}

impl ControlSchedule {
    /// Makes the schedule of a driver with this seed.
    #[must_use]
    pub fn new(driver: Driver, seed: Seed) -> Self {
        let mut draws = seed.draws();
        let circle = fair_sign(&mut draws) * TURN_RATE_MAX;
        let mut schedule = Self { driver, draws, circle, controls: Controls::default(), next_at: Span::ZERO };
        schedule.renew();
        schedule
    }

    /// Returns the controls at a time since the start. Times must not decrease from call to call; an earlier
    /// one gets the controls of the latest.
    pub fn at(&mut self, since_start: Span) -> Controls {
        while self.next_at <= since_start {
            self.renew();
        }
        self.controls
    }

    /// Returns when the current controls change.
    #[must_use]
    pub const fn next_at(&self) -> Span {
        self.next_at
    }

    fn renew(&mut self) {
        // The order of the draws is part of the motion: pause, speed, turn rate.
        self.next_at += self.driver.pause(&mut self.draws);
        let speed = speed(&mut self.draws);
        let turn_rate = match self.driver {
            Driver::Random => turn_rate(&mut self.draws),
            Driver::Linear => 0.0,
            Driver::Circular => self.circle,
        };
        self.controls = Controls { speed, turn_rate };
    }
}

fn speed(draws: &mut Draws) -> f64 {
    match draws.unit() {
        ..0.55 => SPEED_MAX,
        ..0.70 => 0.0,
        ..0.85 => draws.uniform(SPEED_DRAWN_MIN, SPEED_MAX),
        _ => -SPEED_BACKWARDS_MAX,
    }
}

fn turn_rate(draws: &mut Draws) -> f64 {
    match draws.unit() {
        ..0.4 => 0.0,
        ..0.8 => fair_sign(draws) * TURN_RATE_MAX,
        _ => draws.uniform(-TURN_RATE_MAX, TURN_RATE_MAX),
    }
}

fn fair_sign(draws: &mut Draws) -> f64 {
    if draws.chance(0.5) { 1.0 } else { -1.0 }
}
