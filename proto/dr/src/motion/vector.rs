//! DR vectors: the state of an entity at a session time, and how it moves on from there.
//!
//! Linear, quadratic and circular DR vectors are the thesis' (sections 1.2 and 2.3); damped ones are new here. All four
//! kinds share one flat type, because every vector carries turn rate and acceleration whatever its kind: a policy at
//! a relay then knows as much as one at the owner.

use evenkeel_core::{SessionTime, Vec3};
use evenkeel_session::envelope::is_sane_time;
use evenkeel_session::{IdMap, Numbered};

use super::fading;

/// An entity's number, unique among those of its owner, or in its room if there is a relay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct EntityId(pub u32);

impl Numbered for EntityId {
    #[inline]
    fn number(self) -> u32 {
        self.0
    }
}

/// A map from entities.
pub type EntityMap<T> = IdMap<EntityId, T>;

/// The number of a DR vector of one entity. Consecutive triggers get consecutive numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DrSeq(pub u32);

impl DrSeq {
    /// The next number.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// How an entity moves at an instant, as its owner knows it.
///
/// The change of velocity has two parts, because dead reckoning extrapolates them differently: the rate at which the
/// velocity turns about the vertical axis, and the rest, which for a vehicle is its change of speed. Turning is planar: a
/// turn about any other axis goes into the acceleration.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[repr(C)]
pub struct MotionState {
    /// Its position.
    pub position: Vec3,
    /// Its velocity, per second.
    pub velocity: Vec3,
    /// The part of the velocity's derivative that the turn rate does not explain.
    pub acceleration: Vec3,
    /// The rate at which its velocity turns about the vertical axis, in radians per second. Positive turns left.
    pub turn_rate: f64,
}

impl MotionState {
    /// The whole derivative of the velocity: the acceleration plus the centripetal part that the turn rate implies.
    #[must_use]
    pub fn velocity_derivative(&self) -> Vec3 {
        let Vec3 { x, y, .. } = self.velocity;
        self.acceleration + Vec3::xy(-y, x) * self.turn_rate
    }

    /// Whether every number is finite and small enough that arithmetic never overflows.
    #[must_use]
    pub fn is_sane(&self) -> bool {
        self.position.within(MAGNITUDE_MAX)
            && self.velocity.within(MAGNITUDE_MAX)
            && self.acceleration.within(MAGNITUDE_MAX)
            && self.turn_rate.abs() <= TURN_RATE_MAX
    }
}

/// How a DR vector is projected.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum MotionKind {
    /// At constant velocity.
    #[default]
    Linear,
    /// At constant acceleration.
    Quadratic,
    /// At constant speed and turn rate: on a circle of radius speed / turn rate.
    Circular,
    /// At constant turn rate, while the acceleration turns along and decays with a time constant of
    /// [`DAMPING`](fading::DAMPING) seconds. Circular if there is no acceleration.
    Damped,
}

impl MotionKind {
    /// Every kind, in the order of their tags on the wire.
    pub const ALL: [Self; 4] = [Self::Linear, Self::Quadratic, Self::Circular, Self::Damped];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Quadratic => "quadratic",
            Self::Circular => "circular",
            Self::Damped => "damped",
        }
    }
}

/// The largest coordinate of a position, velocity or acceleration.
pub const MAGNITUDE_MAX: f64 = 1e9;
/// The largest turn rate: 16 turns per second.
pub const TURN_RATE_MAX: f64 = 100.0;

/// A dead-reckoning vector: the state of an entity at a session time and the kind of path it follows from there.
// Field order matters: everything that a linear path needs comes first and fills a cache line.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct DrVector {
    /// How it is projected.
    pub kind: MotionKind,
    /// T: when the owner generated it.
    pub generated: SessionTime,
    /// The entity's state then.
    pub state: MotionState,
}

impl DrVector {
    /// The vector that an owner generates from its entity's state.
    #[must_use]
    pub const fn generate(now: SessionTime, state: &MotionState, kind: MotionKind) -> Self {
        Self { generated: now, state: *state, kind }
    }

    /// The constant acceleration that it is projected with.
    #[must_use]
    pub fn acceleration(&self) -> Vec3 {
        if self.kind == MotionKind::Quadratic { self.state.velocity_derivative() } else { Vec3::ZERO }
    }

    /// The turn rate that it is projected with.
    #[must_use]
    pub fn turn_rate(&self) -> f64 {
        let turns = matches!(self.kind, MotionKind::Circular | MotionKind::Damped);
        if turns { self.state.turn_rate } else { 0.0 }
    }

    /// The rest of its decaying acceleration at a session time; zero unless it is damped.
    #[must_use]
    pub fn fading(&self, at: SessionTime) -> Vec3 {
        let MotionState { acceleration, turn_rate, .. } = self.state;
        if self.kind != MotionKind::Damped || acceleration == Vec3::ZERO {
            return Vec3::ZERO;
        }
        fading::remaining(turn_rate, (at - self.generated).as_secs_f64()).applied_to(acceleration)
    }

    /// The position at a session time. Owner and receivers call this function with identical vectors, so their
    /// positions are identical, too.
    #[inline]
    #[must_use]
    pub fn project(&self, at: SessionTime) -> Vec3 {
        let t = (at - self.generated).as_secs_f64();
        match self.kind {
            MotionKind::Linear => self.state.position + self.state.velocity * t,
            _ => self.project_bent(t),
        }
    }

    // Out of line, because sines take a lot of code.
    #[inline(never)]
    fn project_bent(&self, t: f64) -> Vec3 {
        let MotionState { position, velocity, acceleration, turn_rate } = self.state;
        match self.kind {
            MotionKind::Linear => position + velocity * t,
            MotionKind::Quadratic => position + velocity * t + self.acceleration() * (0.5 * t * t),
            MotionKind::Circular => position + arc(velocity, turn_rate, t),
            MotionKind::Damped => {
                let added = fading::displacement(turn_rate, t).applied_to(acceleration);
                position + arc(velocity, turn_rate, t) + added
            }
        }
    }

    /// The velocity at a session time.
    #[inline]
    #[must_use]
    pub fn velocity(&self, at: SessionTime) -> Vec3 {
        let seconds = || (at - self.generated).as_secs_f64();
        let MotionState { velocity, acceleration, turn_rate, .. } = self.state;
        match self.kind {
            MotionKind::Linear => velocity,
            MotionKind::Quadratic => velocity + self.acceleration() * seconds(),
            MotionKind::Circular | MotionKind::Damped => {
                let (sin, cos) = libm::sincos(turn_rate * seconds());
                let turned = velocity.turned(cos, sin);
                if self.kind == MotionKind::Circular {
                    return turned;
                }
                turned + fading::velocity(turn_rate, seconds()).applied_to(acceleration)
            }
        }
    }

    /// Whether its state and its time are sane.
    #[must_use]
    pub fn is_sane(&self) -> bool {
        self.state.is_sane() && is_sane_time(self.generated)
    }
}

/// The displacement after `t` seconds at a velocity that turns at a constant rate. It is the chord, which has the
/// length `t sinc(angle / 2)` and points aside by half the angle. It never divides by the turn rate, so a rate of 0
/// gives exactly the straight line.
#[must_use]
pub fn arc(velocity: Vec3, turn_rate: f64, t: f64) -> Vec3 {
    let (sin, cos, sinc) = half_angle(turn_rate * t);
    let chord = velocity.turned(cos, sin) * (t * sinc);
    Vec3::new(chord.x, chord.y, velocity.z * t)
}

/// Sine, cosine and sinc of half an angle.
#[must_use]
pub fn half_angle(angle: f64) -> (f64, f64, f64) {
    let half = 0.5 * angle;
    let (sin, cos) = libm::sincos(half);
    // Below 1e-4 the series is exact to the last bit, and at 0 the quotient is undefined.
    let sinc = if half.abs() < 1e-4 { 1.0 - half * half / 6.0 } else { sin / half };
    (sin, cos, sinc)
}
