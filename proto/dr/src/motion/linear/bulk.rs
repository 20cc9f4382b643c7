//! Many integrals between linear paths at once, coordinate by coordinate, so that a processor computes several side by side.
//!
//! There is one kernel. It is compiled for any processor, for those with AVX2, and for those with AVX-512, which is found out when the
//! program runs. Every lane does the operations of [`integral`](super::integral) in their order, and none of them is fused: the bytes are the same.

// To call what is compiled for some processors only is the one thing here that the compiler can't check.
#![allow(unsafe_code)]

use evenkeel_core::Vec3;

use super::{SERIES_RANGE, series};

/// As many go side by side. A register has at most half as many: a processor begins with the next ones while it waits for the roots of the
/// first.
const LANES: usize = 16;
/// So many, if there are no more.
const HALF: usize = LANES / 2;
type Lanes = [f64; LANES];

/// To do so many one after the other is cheaper.
const FEW: usize = 2;

/// How much of a processor is used: there is one of these only if the processor that runs has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Width(Set);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Set {
    Any,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Width {
    /// What every processor has.
    pub const ANY: Self = Self(Set::Any);

    /// AVX2, if this processor has it.
    #[must_use]
    #[inline]
    pub fn avx2() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            std::arch::is_x86_feature_detected!("avx2").then_some(Self(Set::Avx2))
        }
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// AVX-512, as far as is needed, if this processor has it.
    #[must_use]
    #[inline]
    pub fn avx512() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            (has!("avx512f") && has!("avx512dq")).then_some(Self(Set::Avx512))
        }
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// The most that this processor has.
    #[must_use]
    #[inline]
    pub fn widest() -> Self {
        Self::avx512().or_else(Self::avx2).unwrap_or(Self::ANY)
    }
}

/// Coordinates of a position, those of a velocity, and a length, of several pieces.
type Chunk = [Lanes; 7];

/// Differences of positions and velocities at the beginning of intervals, and the lengths of these in seconds.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    /// As many as were ever needed. What is beyond the last piece is left of others, and nobody asks what comes of it.
    chunks: Vec<Chunk>,
    len: usize,
}

impl Pieces {
    /// No pieces; the room for them is kept.
    pub const fn clear(&mut self) {
        self.len = 0;
    }

    /// One more.
    #[inline]
    pub fn push(&mut self, position: Vec3, velocity: Vec3, length: f64) {
        let (place, lane) = (self.len / LANES, self.len % LANES);
        if place == self.chunks.len() {
            self.grow();
        }
        self.len += 1;
        let Some(chunk) = self.chunks.get_mut(place) else { return };
        let Vec3 { x, y, z } = position;
        let Vec3 { x: u, y: v, z: w } = velocity;
        for (lanes, number) in chunk.iter_mut().zip([x, y, z, u, v, w, length]) {
            lanes[lane] = number;
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.chunks.push([[0.0; LANES]; 7]);
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The [`integral`](super::integral) of each, in their order, in place of what is in `errors`.
    pub fn integrate(&self, errors: &mut Vec<f64>) {
        if self.len > FEW {
            return self.integrate_by(Width::widest(), errors);
        }
        errors.clear();
        let [first, ..] = &self.chunks[..] else { return };
        errors.extend((0..self.len).map(|lane| one(first.each_ref().map(|lanes| lanes[lane]))));
    }

    /// The same by so much of a processor.
    pub fn integrate_by(&self, width: Width, errors: &mut Vec<f64>) {
        match width.0 {
            // SAFETY: there is no such width where the processor does not have it.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { integrate_avx512(self, errors) },
            // SAFETY: the same.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { integrate_avx2(self, errors) },
            Set::Any => integrate(self, errors),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn integrate_avx512(pieces: &Pieces, errors: &mut Vec<f64>) {
    integrate(pieces, errors);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn integrate_avx2(pieces: &Pieces, errors: &mut Vec<f64>) {
    integrate(pieces, errors);
}

#[inline(always)]
fn integrate(pieces: &Pieces, errors: &mut Vec<f64>) {
    // What is there is overwritten.
    errors.resize(pieces.len.next_multiple_of(LANES), 0.0);
    let (places, _) = errors.as_chunks_mut();
    let mut left = pieces.len;
    for (place, chunk) in places.iter_mut().zip(&pieces.chunks) {
        if left <= HALF {
            *first_half_mut(place) = side_by_side(chunk.each_ref().map(first_half));
        } else {
            *place = side_by_side(chunk.each_ref());
        }
        left = left.saturating_sub(LANES);
    }
    errors.truncate(pieces.len);
}

#[inline(always)]
fn first_half(lanes: &Lanes) -> &[f64; HALF] {
    lanes.first_chunk().expect("half of them")
}

#[inline(always)]
fn first_half_mut(lanes: &mut Lanes) -> &mut [f64; HALF] {
    lanes.first_chunk_mut().expect("half of them")
}

/// One by itself.
fn one([x, y, z, u, v, w, h]: [f64; 7]) -> f64 {
    super::integral(Vec3::new(x, y, z), Vec3::new(u, v, w), h)
}

/// A difference of positions and one of velocities, which many intervals of different lengths may begin with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start([f64; 6]);

impl Start {
    /// From these on.
    #[must_use]
    #[inline]
    pub const fn new(position: Vec3, velocity: Vec3) -> Self {
        let (Vec3 { x, y, z }, Vec3 { x: u, y: v, z: w }) = (position, velocity);
        Self([x, y, z, u, v, w])
    }

    /// So many seconds later.
    #[must_use]
    #[inline]
    pub fn after(&self, seconds: f64) -> Self {
        let Self([x, y, z, u, v, w]) = *self;
        let velocity = Vec3::new(u, v, w);
        Self::new(Vec3::new(x, y, z) + velocity * seconds, velocity)
    }
}

/// The [`integral`](super::integral) over each of some lengths, from the start that is named by its place, in place of what is in
/// `errors`. There are as many places as lengths. Noughts may be added to both.
///
/// # Panics
/// There is no start at a place.
#[inline]
pub fn integrate_from(
    starts: &[Start],
    places: &mut Vec<u32>,
    lengths: &mut Vec<f64>,
    errors: &mut Vec<f64>,
) {
    integrate_from_by(Width::widest(), starts, places, lengths, errors);
}

/// The same by so much of a processor.
///
/// # Panics
/// There is no start at a place.
pub fn integrate_from_by(
    width: Width,
    starts: &[Start],
    places: &mut Vec<u32>,
    lengths: &mut Vec<f64>,
    errors: &mut Vec<f64>,
) {
    match width.0 {
        // SAFETY: there is no such width where the processor does not have it.
        #[cfg(target_arch = "x86_64")]
        Set::Avx512 => unsafe { from_avx512(starts, places, lengths, errors) },
        // SAFETY: the same.
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => unsafe { from_avx2(starts, places, lengths, errors) },
        Set::Any => from(starts, places, lengths, errors),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn from_avx512(starts: &[Start], places: &mut Vec<u32>, lengths: &mut Vec<f64>, errors: &mut Vec<f64>) {
    from(starts, places, lengths, errors);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn from_avx2(starts: &[Start], places: &mut Vec<u32>, lengths: &mut Vec<f64>, errors: &mut Vec<f64>) {
    from(starts, places, lengths, errors);
}

#[inline(always)]
fn from(starts: &[Start], places: &mut Vec<u32>, lengths: &mut Vec<f64>, errors: &mut Vec<f64>) {
    let len = lengths.len();
    let whole = len.next_multiple_of(LANES);
    lengths.resize(whole, 0.0);
    places.resize(whole, 0);
    errors.clear();
    errors.resize(whole, 0.0);
    let all = errors.as_chunks_mut().0.iter_mut().zip(places.as_chunks::<LANES>().0);
    for ((error, places), h) in all.zip(lengths.as_chunks().0) {
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

/// What [`integral`](super::integral) does, for several. Loops without branches are what a compiler makes vector instructions of.
#[inline(always)]
fn side_by_side<const N: usize>([x, y, z, u, v, w, h]: [&[f64; N]; 7]) -> [f64; N] {
    let [mut r, mut inverse, mut middle, mut c, mut rest] = [[0.0; N]; 5];
    for i in 0..N {
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
    let mut errors = [0.0; N];
    for i in 0..N {
        let error = 0.5 * h[i] * (0.5 * r[i] + 2.0 * (middle[i] + c[i] * g[i]) * inverse[i]);
        errors[i] = if h[i] <= 0.0 { 0.0 } else { error };
    }
    errors
}

/// What [`super::g`] does. A lane that needs fewer rounds than another keeps what it has.
#[inline(always)]
fn g<const N: usize>(mut x: [f64; N]) -> [f64; N] {
    let (mut sums, mut factors) = ([0.0; N], [1.0; N]);
    while x.iter().fold(false, |any, x| any | (*x > SERIES_RANGE)) {
        let mut inverse = [0.0; N];
        for i in 0..N {
            inverse[i] = 1.0 / (1.0 + (1.0 - x[i]).sqrt());
        }
        for i in 0..N {
            let squared = inverse[i] * inverse[i];
            let more = if x[i] > SERIES_RANGE { u64::MAX } else { 0 };
            sums[i] = either(more, sums[i] + factors[i] * squared, sums[i]);
            factors[i] = either(more, factors[i] * (2.0 * inverse[i] * squared), factors[i]);
            x[i] = either(more, x[i] * squared, x[i]);
        }
    }
    let mut g = [0.0; N];
    for i in 0..N {
        g[i] = sums[i] + factors[i] * series(x[i]);
    }
    g
}

/// One of two numbers, without a branch.
#[inline(always)]
fn either(first: u64, one: f64, other: f64) -> f64 {
    f64::from_bits((one.to_bits() & first) | (other.to_bits() & !first))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linear::integral;

    /// Ordinary numbers, and those that arithmetic has its troubles with.
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

    /// Of what is not a number, the sign and the rest are nobody's promise.
    fn bits(error: f64) -> u64 {
        if error.is_nan() { f64::NAN.to_bits() } else { error.to_bits() }
    }

    fn widths() -> impl Iterator<Item = Width> {
        [Some(Width::ANY), Width::avx2(), Width::avx512()].into_iter().flatten()
    }

    proptest! {
        #[test]
        fn the_bytes_are_those_of_one_at_a_time(all in prop::collection::vec(piece(), 1..60)) {
            let (mut pieces, mut errors) = (Pieces::default(), vec![7.0]);
            // What was there before must not matter.
            (0..70).for_each(|_| pieces.push(Vec3::xy(f64::NAN, f64::INFINITY), Vec3::ZERO, f64::MAX));
            pieces.clear();
            all.iter().for_each(|(p, v, h)| pieces.push(*p, *v, *h));
            let starts: Vec<Start> = all.iter().map(|(p, v, _)| Start::new(*p, *v)).collect();
            let place = |index: usize| (index * index + 1) % all.len();
            let are_those_of_one = |errors: &[f64], at: &dyn Fn(usize) -> usize| {
                prop_assert_eq!(errors.len(), all.len());
                for (index, (error, (_, _, h))) in errors.iter().zip(&all).enumerate() {
                    let (p, v, _) = &all[at(index)];
                    prop_assert_eq!(bits(*error), bits(integral(*p, *v, *h)), "{:?} {:?} {}", p, v, h);
                }
                Ok(())
            };
            let from = |width: Option<Width>, errors: &mut Vec<f64>| {
                let mut lengths: Vec<f64> = all.iter().map(|(_, _, h)| *h).collect();
                let mut places: Vec<u32> = (0..all.len()).map(|index| place(index) as u32).collect();
                match width {
                    Some(width) => integrate_from_by(width, &starts, &mut places, &mut lengths, errors),
                    None => integrate_from(&starts, &mut places, &mut lengths, errors),
                }
            };
            pieces.integrate(&mut errors);
            are_those_of_one(&errors, &|index| index)?;
            from(None, &mut errors);
            are_those_of_one(&errors, &place)?;
            for width in widths() {
                pieces.integrate_by(width, &mut errors);
                are_those_of_one(&errors, &|index| index)?;
                from(Some(width), &mut errors);
                are_those_of_one(&errors, &place)?;
            }
        }
    }

    #[test]
    fn of_nothing_there_is_no_error() {
        for width in widths() {
            let mut errors = vec![7.0];
            Pieces::default().integrate_by(width, &mut errors);
            assert!(errors.is_empty());
            errors.push(7.0);
            integrate_from_by(width, &[], &mut Vec::new(), &mut Vec::new(), &mut errors);
            assert!(errors.is_empty());
        }
    }
}
