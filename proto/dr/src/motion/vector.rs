//! DR vectors: where an entity was, at what session time, and how it goes on from there.
//!
//! They are the thesis' linear, quadratic and circular DR vectors (sections 1.2 and 2.3), and damped ones. One flat type
//! serves all four kinds, because every vector carries turn rate and acceleration whatever its kind: a policy at a relay
//! then knows what one at the owner knows.

use evenkeel_core::{SessionTime, Vec3};
use evenkeel_session::envelope::is_sane_time;
use evenkeel_session::{IdMap, Numbered};

use crate::fading;

/// An entity, unique among those of its owner (in the relay topology, in its room).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct EntityId(pub u32);

impl Numbered for EntityId {
    #[inline]
    fn number(self) -> u32 {
        self.0
    }
}

/// One value for each entity.
pub type EntityMap<T> = IdMap<EntityId, T>;

/// The number of a DR vector of one entity; consecutive, from trigger to trigger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DrSeq(pub u32);

impl DrSeq {
    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// How an entity moves at an instant, as its owner knows it.
///
/// The change of velocity is told in two parts, because dead reckoning extrapolates them in two ways: how fast the
/// velocity turns about the vertical axis, and the rest, which for a vehicle is its change of speed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[repr(C)]
pub struct MotionState {
    /// Where it is.
    pub position: Vec3,
    /// Where to, per second.
    pub velocity: Vec3,
    /// The part of the velocity's derivative that the turn rate does not explain: the change of speed along the way.
    pub acceleration: Vec3,
    /// How fast its velocity turns about the vertical axis, in radians per second, to the left when positive.
    pub turn_rate: f64,
}

impl MotionState {
    /// The whole derivative of the velocity: the acceleration and the centripetal part that the turn rate stands for.
    #[must_use]
    pub fn velocity_derivative(&self) -> Vec3 {
        let Vec3 { x, y, .. } = self.velocity;
        self.acceleration + Vec3::xy(-y, x) * self.turn_rate
    }

    /// Whether every number is finite and of a size that no arithmetic of ours overflows with.
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
    /// At constant turn rate, while the acceleration turns along and dies away with a time constant of
    /// [`DAMPING`](crate::fading::DAMPING) seconds. Without an acceleration it is circular.
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

/// No coordinate of a position, velocity or acceleration may be larger.
pub const MAGNITUDE_MAX: f64 = 1e9;
/// No turn rate may be larger: 16 turns per second.
pub const TURN_RATE_MAX: f64 = 100.0;

/// A dead-reckoning vector: the state of an entity at a session time and the kind of path it follows from there.
// In this order: what a linear path needs comes first and fills a line of memory.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct DrVector {
    /// How to go on.
    pub kind: MotionKind,
    /// T: when the owner made it.
    pub generated: SessionTime,
    /// The entity's state then.
    pub state: MotionState,
}

impl DrVector {
    /// The vector that the owner makes of its entity's state.
    #[must_use]
    pub const fn generate(now: SessionTime, state: &MotionState, kind: MotionKind) -> Self {
        Self { generated: now, state: *state, kind }
    }

    /// The constant acceleration that its kind projects with.
    #[must_use]
    pub fn acceleration(&self) -> Vec3 {
        if self.kind == MotionKind::Quadratic { self.state.velocity_derivative() } else { Vec3::ZERO }
    }

    /// The turn rate that its kind projects with.
    #[must_use]
    pub fn turn_rate(&self) -> f64 {
        let turns = matches!(self.kind, MotionKind::Circular | MotionKind::Damped);
        if turns { self.state.turn_rate } else { 0.0 }
    }

    /// What is left at a session time of the acceleration that its kind lets die away.
    #[must_use]
    pub fn fading(&self, at: SessionTime) -> Vec3 {
        let MotionState { acceleration, turn_rate, .. } = self.state;
        if self.kind != MotionKind::Damped || acceleration == Vec3::ZERO {
            return Vec3::ZERO;
        }
        fading::left(turn_rate, (at - self.generated).as_secs_f64()).of(acceleration)
    }

    /// The position at a session time, by this vector. Owner and receivers call this very function with the same
    /// bits, so that their positions agree to the bit.
    #[inline]
    #[must_use]
    pub fn project(&self, at: SessionTime) -> Vec3 {
        let t = (at - self.generated).as_secs_f64();
        match self.kind {
            MotionKind::Linear => self.state.position + self.state.velocity * t,
            _ => self.project_bent(t),
        }
    }

    /// Apart: sines are no small matter.
    #[inline(never)]
    fn project_bent(&self, t: f64) -> Vec3 {
        let MotionState { position, velocity, acceleration, turn_rate } = self.state;
        match self.kind {
            MotionKind::Linear => position + velocity * t,
            MotionKind::Quadratic => position + velocity * t + self.acceleration() * (0.5 * t * t),
            MotionKind::Circular => position + arc(velocity, turn_rate, t),
            MotionKind::Damped => {
                let added = fading::way(turn_rate, t).of(acceleration);
                position + arc(velocity, turn_rate, t) + added
            }
        }
    }

    /// The velocity at a session time, by this vector.
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
                turned + fading::velocity(turn_rate, seconds()).of(acceleration)
            }
        }
    }

    /// Whether its state is sane, and its time too.
    #[must_use]
    pub fn is_sane(&self) -> bool {
        self.state.is_sane() && is_sane_time(self.generated)
    }
}

/// The way gone in `t` seconds from a velocity that turns at a constant rate: the chord, which is `t sinc(half the
/// angle)` long and points half the angle to the side. No division by the turn rate, so a rate of 0 is the straight
/// line to the bit.
#[must_use]
pub fn arc(velocity: Vec3, turn_rate: f64, t: f64) -> Vec3 {
    let (sin, cos, sinc) = half_angle(turn_rate * t);
    let chord = velocity.turned(cos, sin) * (t * sinc);
    Vec3::new(chord.x, chord.y, velocity.z * t)
}

/// Sine, cosine and sine over angle of half of an angle.
#[must_use]
pub fn half_angle(angle: f64) -> (f64, f64, f64) {
    let half = 0.5 * angle;
    let (sin, cos) = libm::sincos(half);
    // Below 1e-4 the series is exact to the last bit, and there is nothing to divide by at 0.
    let sinc = if half.abs() < 1e-4 { 1.0 - half * half / 6.0 } else { sin / half };
    (sin, cos, sinc)
}
