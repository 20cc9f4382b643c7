//! Many integrals between linear paths at once, coordinate by coordinate, so that SIMD lanes compute several side by side.
//!
//! One kernel is compiled for any processor, for AVX2 and for AVX-512, which are detected at run time. Each lane does the operations of
//! [`integral`](super::integral) in the same order, and none of them is fused, so the results are bit-identical.

// Only calls of functions compiled for some processors need `unsafe` here.
#![allow(unsafe_code)]

use evenkeel_core::Vec3;

use super::{SERIES_RANGE, series};

/// Integrals that are computed side by side. With more, the padding of short lists would cost more than it saves.
const LANES: usize = 8;
type Lanes = [f64; LANES];

/// A SIMD width that this processor has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Width(InstructionSet);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InstructionSet {
    Any,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Width {
    /// The portable width.
    pub const ANY: Self = Self(InstructionSet::Any);

    /// AVX2, if this processor has it.
    #[must_use]
    #[inline]
    pub fn avx2() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return std::arch::is_x86_feature_detected!("avx2").then_some(Self(InstructionSet::Avx2));
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// AVX-512, if this processor has what the kernel needs of it.
    #[must_use]
    #[inline]
    pub fn avx512() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            (has!("avx512f") && has!("avx512dq")).then_some(Self(InstructionSet::Avx512))
        }
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// The widest that this processor has.
    #[must_use]
    #[inline]
    pub fn widest() -> Self {
        Self::avx512().or_else(Self::avx2).unwrap_or(Self::ANY)
    }
}

/// The differences of position and velocity at the start of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start([f64; 6]);

impl Start {
    /// A start with these differences.
    #[must_use]
    #[inline]
    pub const fn new(position: Vec3, velocity: Vec3) -> Self {
        let (Vec3 { x, y, z }, Vec3 { x: u, y: v, z: w }) = (position, velocity);
        Self([x, y, z, u, v, w])
    }

    /// The start this many seconds later.
    #[must_use]
    #[inline]
    pub fn after(&self, seconds: f64) -> Self {
        let Self([x, y, z, u, v, w]) = *self;
        let velocity = Vec3::new(u, v, w);
        Self::new(Vec3::new(x, y, z) + velocity * seconds, velocity)
    }
}

/// Intervals to integrate over: each has a length in seconds, and the place of its start in a list of starts.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    /// The place of each interval's start.
    pub starts: Vec<u32>,
    /// The length of each interval, in seconds.
    pub lengths: Vec<f64>,
}

impl Intervals {
    /// Adds an interval.
    #[inline]
    pub fn push(&mut self, start: u32, length: f64) {
        self.starts.push(start);
        self.lengths.push(length);
    }

    /// Keeps the first intervals only.
    pub fn truncate(&mut self, len: usize) {
        self.starts.truncate(len);
        self.lengths.truncate(len);
    }

    /// Computes the [`integral`](super::integral) over each interval, replacing the contents of `errors`. Pads the intervals
    /// with zeros.
    ///
    /// # Panics
    /// An interval names a start that is not in `starts`.
    #[inline]
    pub fn integrate(&mut self, starts: &[Start], errors: &mut Vec<f64>) {
        self.integrate_by(Width::widest(), starts, errors);
    }

    /// [`integrate`](Self::integrate) at a given SIMD width.
    ///
    /// # Panics
    /// An interval names a start that is not in `starts`.
    pub fn integrate_by(&mut self, width: Width, starts: &[Start], errors: &mut Vec<f64>) {
        match width.0 {
            InstructionSet::Any => self.integrate_portably(starts, errors),
            // SAFETY: there is no such width unless the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => unsafe { self.integrate_avx2(starts, errors) },
            // SAFETY: there is no such width unless the processor has AVX-512.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => unsafe { self.integrate_avx512(starts, errors) },
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn integrate_avx512(&mut self, starts: &[Start], errors: &mut Vec<f64>) {
        self.integrate_portably(starts, errors);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn integrate_avx2(&mut self, starts: &[Start], errors: &mut Vec<f64>) {
        self.integrate_portably(starts, errors);
    }

    #[inline(always)]
    fn integrate_portably(&mut self, starts: &[Start], errors: &mut Vec<f64>) {
        let len = self.lengths.len();
        let padded = len.next_multiple_of(LANES);
        self.lengths.resize(padded, 0.0);
        self.starts.resize(padded, 0);
        errors.clear();
        errors.resize(padded, 0.0);
        let all = errors.as_chunks_mut().0.iter_mut().zip(self.starts.as_chunks::<LANES>().0);
        for ((error, places), h) in all.zip(self.lengths.as_chunks().0) {
            let mut chunk = [[0.0; LANES]; 6];
            for (lane, place) in places.iter().enumerate() {
                let Start(start) = starts[*place as usize];
                chunk.iter_mut().zip(start).for_each(|(lanes, number)| lanes[lane] = number);
            }
            let [x, y, z, u, v, w] = &chunk;
            *error = side_by_side([x, y, z, u, v, w, h]);
        }
        errors.truncate(len);
    }
}

/// [`integral`](super::integral) for every lane. Compilers turn loops without branches into vector instructions.
#[inline(always)]
fn side_by_side([x, y, z, u, v, w, h]: [&Lanes; 7]) -> Lanes {
    let [mut r, mut inverse, mut middle, mut c, mut rest] = [[0.0; LANES]; 5];
    for i in 0..LANES {
        let (p, v) = (Vec3::new(x[i], y[i], z[i]), Vec3::new(u[i], v[i], w[i]));
        let p1 = p + v * h[i];
        middle[i] = ((p + p1) * 0.5).length_squared();
        r[i] = p.length() + p1.length();
        inverse[i] = 1.0 / r[i].max(f64::MIN_POSITIVE);
        let squared = h[i] * h[i];
        c[i] = p.cross(v).length_squared() * squared * inverse[i] * inverse[i];
        rest[i] = (v.length_squared() * squared * inverse[i] * inverse[i]).min(1.0 - f64::EPSILON / 2.0);
    }
    let g = g(rest);
    let mut errors = [0.0; LANES];
    for i in 0..LANES {
        let error = 0.5 * h[i] * (0.5 * r[i] + 2.0 * (middle[i] + c[i] * g[i]) * inverse[i]);
        errors[i] = if h[i] <= 0.0 { 0.0 } else { error };
    }
    errors
}

/// [`super::g`] for every lane. A lane that needs fewer rounds than another keeps its value.
#[inline(always)]
fn g(mut x: Lanes) -> Lanes {
    let (mut sums, mut factors) = ([0.0; LANES], [1.0; LANES]);
    while x.iter().fold(false, |any, x| any | (*x > SERIES_RANGE)) {
        let mut inverse = [0.0; LANES];
        for i in 0..LANES {
            inverse[i] = 1.0 / (1.0 + (1.0 - x[i]).sqrt());
        }
        for i in 0..LANES {
            let squared = inverse[i] * inverse[i];
            let more = if x[i] > SERIES_RANGE { u64::MAX } else { 0 };
            sums[i] = either(more, sums[i] + factors[i] * squared, sums[i]);
            factors[i] = either(more, factors[i] * (2.0 * inverse[i] * squared), factors[i]);
            x[i] = either(more, x[i] * squared, x[i]);
        }
    }
    let mut g = [0.0; LANES];
    for i in 0..LANES {
        g[i] = sums[i] + factors[i] * series(x[i]);
    }
    g
}

/// Selects one of two numbers, without a branch.
#[inline(always)]
fn either(first: u64, one: f64, other: f64) -> f64 {
    f64::from_bits((one.to_bits() & first) | (other.to_bits() & !first))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::motion::linear::integral;

    /// Ordinary numbers and special ones.
    fn number() -> impl Strategy<Value = f64> {
        const SPECIAL: [f64; 12] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            1e-308,
            5e-324,
            1e9,
            -1e9,
            f64::MAX,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        prop_oneof![4 => -30.0..30.0, 1 => -1e-9..1e-9, 1 => prop::sample::select(&SPECIAL[..])]
    }

    fn piece() -> impl Strategy<Value = (Vec3, Vec3, f64)> {
        let vector = || [number(), number(), number()].prop_map(|[x, y, z]| Vec3::new(x, y, z));
        let collinear = (vector(), -40.0..40.0).prop_map(|(p, k)| (p, p * k));
        let any = (vector(), vector());
        (prop_oneof![3 => any, 1 => collinear], prop_oneof![4 => 0.0..2.0, 1 => number()])
            .prop_map(|((p, v), h)| (p, v, h))
    }

    /// The bits of a number, the same for all NaNs.
    fn bits(error: f64) -> u64 {
        if error.is_nan() { f64::NAN.to_bits() } else { error.to_bits() }
    }

    proptest! {
        #[test]
        fn every_width_is_bit_identical_to_the_scalar_integral(all in prop::collection::vec(piece(), 0..60)) {
            let starts: Vec<Start> = all.iter().map(|(p, v, _)| Start::new(*p, *v)).collect();
            let place = |index: usize| (index * index + 1) % all.len();
            for width in [Some(Width::ANY), Width::avx2(), Width::avx512(), None] {
                let (mut intervals, mut errors) = (Intervals::default(), vec![7.0]);
                (0..all.len()).for_each(|index| intervals.push(place(index) as u32, all[index].2));
                match width {
                    Some(width) => intervals.integrate_by(width, &starts, &mut errors),
                    None => intervals.integrate(&starts, &mut errors),
                }
                prop_assert_eq!(errors.len(), all.len());
                for (index, (error, (_, _, h))) in errors.iter().zip(&all).enumerate() {
                    let (p, v, _) = &all[place(index)];
                    prop_assert_eq!(bits(*error), bits(integral(*p, *v, *h)), "{:?} {:?} {}", p, v, h);
                }
            }
        }
    }
}
