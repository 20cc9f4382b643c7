//! Quantization: a state of motion in 27 bytes.
//!
//! The owner quantizes when it generates a vector, and all peers, itself included, compute with the quantized
//! vector. So exported and placed path stay identical, and quantization only costs the owner a small part of its
//! threshold.
//!
//! | quantity | form | largest error per axis |
//! | --- | --- | --- |
//! | position | three 24-bit numbers with one exponent, as fine as an `f32` | 2⁻²³ of the largest coordinate |
//! | velocity, acceleration | three 16-bit numbers with one exponent | 2⁻¹⁵ of the largest component |
//! | turn rate | 24 bits | 2⁻¹⁷ rad/s |
//! | generation time | whole microseconds, rounded down; the position is moved back accordingly | none |
//!
//! Each number has exactly one form, the one with the smallest exponent, so `emit(parse(x)) = x`.

use evenkeel_core::{Malformed, Reader, SessionTime, Vec3};

use super::{DrVector, MotionState};

/// The size of a state of motion on the wire, in bytes.
pub const STATE_LEN: usize = TURN_RATE_AT + 3;
/// Offsets of its parts; the position is the first.
const VELOCITY_AT: usize = 9 + 1;
const ACCELERATION_AT: usize = VELOCITY_AT + 6 + 1;
const TURN_RATE_AT: usize = ACCELERATION_AT + 6 + 1;

const MICRO: i64 = 1_000;
/// Numbers below 2^-64 are rounded to zero.
const EXPONENT_MIN: i32 = -64;
/// Far above what sane vectors need.
const EXPONENT_MAX: i32 = 64;
const POSITION_BITS: u32 = 24;
const RATE_BITS: u32 = 16;
const TURN_RATE_UNIT: f64 = 1.0 / 65_536.0;
const TURN_RATE_BITS: u32 = 24;

/// 2^e, for exponents in range.
fn power(e: i32) -> f64 {
    f64::from_bits(((1023 + e) as u64) << 52)
}

/// The largest e with 2^e <= x, for a positive normal x.
fn exponent(x: f64) -> i32 {
    (x.to_bits() >> 52) as i32 - 1023
}

/// Rounds to the nearest integer. `f64::round` would be a function call.
#[inline]
fn nearest(x: f64) -> i32 {
    (x + 0.5f64.copysign(x)) as i32
}

/// Three integers with a shared exponent.
#[derive(Clone, Copy, PartialEq, Debug)]
struct SharedExponent {
    numbers: [i32; 3],
    exponent: i32,
}

impl SharedExponent {
    #[inline]
    fn of(v: Vec3, bits: u32) -> Self {
        let largest = v.x.abs().max(v.y.abs()).max(v.z.abs());
        // Insane vectors give arbitrary numbers here, but are never sent.
        let finest = exponent(largest.max(f64::MIN_POSITIVE)) - (bits as i32 - 2);
        let finest = finest.clamp(EXPONENT_MIN, EXPONENT_MAX - 1);
        let at = |e: i32| {
            let unit = power(-e);
            Self { numbers: [nearest(v.x * unit), nearest(v.y * unit), nearest(v.z * unit)], exponent: e }
        };
        let fine = at(finest);
        // Rounding up may have made the largest one bit longer.
        if fine.largest() >> (bits - 1) != 0 { at(finest + 1) } else { fine }
    }

    #[inline]
    fn largest(&self) -> u32 {
        let [x, y, z] = self.numbers;
        x.unsigned_abs().max(y.unsigned_abs()).max(z.unsigned_abs())
    }

    #[inline]
    fn vec3(&self) -> Vec3 {
        let ([x, y, z], unit) = (self.numbers, power(self.exponent));
        Vec3::new(f64::from(x) * unit, f64::from(y) * unit, f64::from(z) * unit)
    }

    /// Writes the exponent and the three numbers.
    #[inline]
    fn emit(&self, bits: u32, bytes: &mut [u8]) {
        bytes[0] = self.exponent as i8 as u8;
        let [x, y, z] = self.numbers.map(i32::to_le_bytes);
        let len = bits as usize / 8;
        bytes[1..][..len].copy_from_slice(&x[..len]);
        bytes[1 + len..][..len].copy_from_slice(&y[..len]);
        bytes[1 + 2 * len..][..len].copy_from_slice(&z[..len]);
    }

    #[inline]
    fn parse(bits: u32, bytes: &[u8]) -> Result<Self, Malformed> {
        let len = bits as usize / 8;
        let exponent = i32::from(bytes[0] as i8);
        let axis = |place: usize| signed(bits, &bytes[1 + place * len..][..len]);
        let shared = Self { numbers: [axis(0), axis(1), axis(2)], exponent };
        let largest = shared.largest();
        let is_finest = exponent == EXPONENT_MIN || largest >> (bits - 2) != 0;
        let in_range = (EXPONENT_MIN..=EXPONENT_MAX).contains(&exponent) && largest >> (bits - 1) == 0;
        if is_finest && in_range { Ok(shared) } else { Err(Malformed::Field) }
    }
}

/// Reads a signed integer of `bits` bits.
#[inline]
fn signed(bits: u32, bytes: &[u8]) -> i32 {
    let wide = bytes.iter().rev().fold(0u32, |wide, byte| wide << 8 | u32::from(*byte));
    (wide << (32 - bits)) as i32 >> (32 - bits)
}

/// A turn rate in units of [`TURN_RATE_UNIT`].
fn turn_rate(rate: f64) -> i32 {
    nearest(rate / TURN_RATE_UNIT)
}

/// Quantizes a state of motion. One that is quantized already comes back unchanged from [`parse_state`].
#[must_use]
pub fn encode_state(state: &MotionState) -> [u8; STATE_LEN] {
    let mut all = [0; STATE_LEN];
    SharedExponent::of(state.position, POSITION_BITS).emit(POSITION_BITS, &mut all[..VELOCITY_AT]);
    SharedExponent::of(state.velocity, RATE_BITS).emit(RATE_BITS, &mut all[VELOCITY_AT..ACCELERATION_AT]);
    SharedExponent::of(state.acceleration, RATE_BITS)
        .emit(RATE_BITS, &mut all[ACCELERATION_AT..TURN_RATE_AT]);
    let turn_rate = turn_rate(state.turn_rate).to_le_bytes();
    all[TURN_RATE_AT..].copy_from_slice(&turn_rate[..STATE_LEN - TURN_RATE_AT]);
    all
}

/// Reads a state of motion.
///
/// # Errors
/// [`Malformed`] if the bytes end early or a number is not in its canonical form.
pub fn parse_state(reader: &mut Reader<'_>) -> Result<MotionState, Malformed> {
    let bytes: &[u8; STATE_LEN] = reader.take_array()?;
    Ok(MotionState {
        position: SharedExponent::parse(POSITION_BITS, &bytes[..VELOCITY_AT])?.vec3(),
        velocity: SharedExponent::parse(RATE_BITS, &bytes[VELOCITY_AT..ACCELERATION_AT])?.vec3(),
        acceleration: SharedExponent::parse(RATE_BITS, &bytes[ACCELERATION_AT..TURN_RATE_AT])?.vec3(),
        turn_rate: f64::from(signed(TURN_RATE_BITS, &bytes[TURN_RATE_AT..])) * TURN_RATE_UNIT,
    })
}

/// A time in whole microseconds, rounded down.
#[must_use]
pub const fn micros(at: SessionTime) -> i64 {
    at.as_nanos().div_euclid(MICRO)
}

/// The time at a number of microseconds.
#[must_use]
pub const fn from_micros(micros: i64) -> SessionTime {
    SessionTime::from_nanos(micros.saturating_mul(MICRO))
}

impl DrVector {
    /// The vector as it travels. Quantizing is idempotent.
    #[must_use]
    pub fn quantized(&self) -> Self {
        let MotionState { position, velocity, acceleration, turn_rate: rate } = self.state;
        let generated = from_micros(micros(self.generated));
        let early = (self.generated - generated).as_secs_f64();
        let state = MotionState {
            position: SharedExponent::of(position - velocity * early, POSITION_BITS).vec3(),
            velocity: SharedExponent::of(velocity, RATE_BITS).vec3(),
            acceleration: SharedExponent::of(acceleration, RATE_BITS).vec3(),
            turn_rate: f64::from(turn_rate(rate)) * TURN_RATE_UNIT,
        };
        Self { generated, state, kind: self.kind }
    }

    /// The vector as it travels, unless rounding makes it too large to be sane.
    pub(crate) fn quantized_if_sane(&self) -> Option<Self> {
        Some(self.quantized()).filter(Self::is_sane)
    }
}
