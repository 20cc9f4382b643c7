//! Real motion, driven or recorded, through one interface.

use core::f64::consts::PI;

use evenkeel_core::{Seed, Span, Vec3};

use crate::drivers::{ControlSchedule, Driver};
use crate::motion::Sample;
use crate::tank::Tank;
use crate::trace::Cursor;

/// The step of all motion.
pub const STEP: Span = Span::from_millis(10);

/// An entity that moves: a driven tank or a recorded one.
///
/// The results of [`Mover::at`] depend only on the step's number and on the seed or the recording.
#[derive(Clone, Debug)]
pub struct Mover {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Driven(Box<Driven>),
    Recorded(Cursor),
}

#[derive(Clone, Debug)]
struct Driven {
    driver: Driver,
    seed: Seed,
    schedule: ControlSchedule,
    tank: Tank,
    step: u64,
}

impl Driven {
    fn new(driver: Driver, seed: Seed) -> Self {
        let heading = seed.child(1).draws().uniform(-PI, PI);
        let tank = Tank::standing(Vec3::ZERO, heading);
        Self { driver, seed, schedule: ControlSchedule::new(driver, seed.child(2)), tank, step: 0 }
    }

    fn at(&mut self, step: u64) -> Sample {
        if step < self.step {
            *self = Self::new(self.driver, self.seed);
        }
        while self.step < step {
            let controls = self.schedule.at(since_start(self.step));
            self.tank.step(controls, STEP);
            self.step += 1;
        }
        Sample { life: 0, state: self.tank.state() }
    }
}

impl Mover {
    /// Makes a tank with this driver. At step 0 it stands at the origin with a heading drawn from the seed.
    /// It never dies.
    #[must_use]
    pub fn tank(driver: Driver, seed: Seed) -> Self {
        Self { source: Source::Driven(Box::new(Driven::new(driver, seed))) }
    }

    /// Makes a recorded tank. Step 0 is the start of the recording, which repeats for ever.
    #[must_use]
    pub const fn trace(cursor: Cursor) -> Self {
        Self { source: Source::Recorded(cursor) }
    }

    /// Returns the motion after this many steps, or `None` while the entity is dead.
    ///
    /// Intended for steps that do not decrease, each of which costs as much as the steps in between. Going
    /// back is possible, but a driven tank then drives again from the start.
    pub fn at(&mut self, step: u64) -> Option<Sample> {
        match &mut self.source {
            Source::Driven(driven) => Some(driven.at(step)),
            Source::Recorded(cursor) => cursor.sample_at(since_start(step)),
        }
    }
}

fn since_start(step: u64) -> Span {
    STEP.times(i64::try_from(step).unwrap_or(i64::MAX))
}
