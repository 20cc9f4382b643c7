//! Export error between DR vectors of any kind.
//!
//! A [`Divergence`] describes how two paths drift apart from an instant on. Two linear paths have the closed form of
//! [`linear`]; arcs, parabolas and damped paths are integrated to 1e-9 by adaptive Gauss-Kronrod quadrature.
//!
//! Deviation: the thesis integrates along the chord of an arc, which overstates a fresh divergence by half. We
//! integrate along the arc.
//!
//! Symbols: `P`, `V` differences of position and velocity at the start; `U` the second path's velocity; `A` the
//! difference of accelerations; `w1`, `w2` the turn rates. With S(w, t) the displacement of a unit velocity that
//! turns at w, the difference of the paths is `P + S(w1, t) V + (S(w1, t) - S(w2, t)) U + A t^2 / 2`: small
//! differences are computed as such instead of by subtracting large positions. Where accelerations decay, `F` is
//! their difference at the start, `G` the second path's, and K(w, t) the displacement that a unit of it adds
//! ([`fading`]); they contribute `K(w1, t) F + (K(w1, t) - K(w2, t)) G`.

use evenkeel_core::{SessionTime, Span, Vec3};

use super::fading::{self, Fading};
use super::linear;
use super::vector::{DrVector, MotionKind, half_angle};

/// The divergence of two paths from an instant on.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Divergence {
    /// P: difference of positions at the start.
    pub position: Vec3,
    /// V: difference of velocities at the start.
    pub velocity: Vec3,
    /// U: velocity of the second path at the start; matters only if a path turns.
    pub second_velocity: Vec3,
    /// A: difference of constant accelerations.
    pub acceleration: Vec3,
    /// F: difference of decaying accelerations at the start.
    pub fading: Vec3,
    /// G: decaying acceleration of the second path at the start; matters only if a path turns.
    pub second_fading: Vec3,
    /// Turn rates of the first and the second path.
    pub turn_rates: [f64; 2],
}

/// The integral of the distance between two paths over [from, to], in units x seconds.
#[must_use]
pub fn export_error(exported: &DrVector, placed: &DrVector, from: SessionTime, to: SessionTime) -> f64 {
    if to <= from {
        return 0.0;
    }
    let general = || Divergence::between(exported, placed, from).integral((to - from).as_secs_f64());
    linear_error(exported, placed, from, to).unwrap_or_else(general)
}

/// An approximate [`export_error`], exact for two linear paths. Its cost is bounded however long the interval. Good
/// enough for estimates, which rest on guessed delays anyway and are computed very often.
pub(crate) fn export_error_roughly(
    exported: &DrVector,
    placed: &DrVector,
    from: SessionTime,
    to: SessionTime,
) -> f64 {
    if [exported, placed].iter().all(|vector| vector.kind == MotionKind::Linear) {
        return export_error(exported, placed, from, to);
    }
    let span = (to - from).max(Span::ZERO);
    let count = (span.as_secs_f64() / ROUGH_PANEL).ceil().clamp(1.0, ROUGH_PANELS_MAX) as i64;
    let panel = span.part(count);
    let middles = (0..count).map(|index| from + panel.times(index) + panel.part(2));
    let distances = middles.map(|middle| (exported.project(middle) - placed.project(middle)).length());
    distances.sum::<f64>() * panel.as_secs_f64()
}

/// The [`export_error`] of two linear vectors; `None` for others.
#[inline]
pub(crate) fn linear_error(
    exported: &DrVector,
    placed: &DrVector,
    from: SessionTime,
    to: SessionTime,
) -> Option<f64> {
    let (position, velocity) = linear_divergence(exported, placed, from)?;
    Some(linear::integral(position, velocity, (to - from).as_secs_f64()))
}

/// The differences of positions and velocities of two linear vectors; `None` for others.
#[inline]
pub(crate) fn linear_divergence(
    exported: &DrVector,
    placed: &DrVector,
    from: SessionTime,
) -> Option<(Vec3, Vec3)> {
    // `DrVector::project` for linear vectors, inlined.
    let project = |vector: &DrVector| {
        vector.state.position + vector.state.velocity * (from - vector.generated).as_secs_f64()
    };
    let are_linear = exported.kind == MotionKind::Linear && placed.kind == MotionKind::Linear;
    let velocity = || exported.state.velocity - placed.state.velocity;
    are_linear.then(|| (project(exported) - project(placed), velocity()))
}

impl Divergence {
    /// The divergence of the paths of two vectors from a session time on.
    #[must_use]
    pub fn between(first: &DrVector, second: &DrVector, from: SessionTime) -> Self {
        let (second_velocity, second_fading) = (second.velocity(from), second.fading(from));
        Self {
            position: first.project(from) - second.project(from),
            velocity: first.velocity(from) - second_velocity,
            second_velocity,
            acceleration: first.acceleration() - second.acceleration(),
            fading: first.fading(from) - second_fading,
            second_fading,
            turn_rates: [first.turn_rate(), second.turn_rate()],
        }
    }

    pub(crate) fn is_linear(&self) -> bool {
        self.turn_rates == [0.0; 2] && self.acceleration == Vec3::ZERO && self.fading == Vec3::ZERO
    }

    /// Whether decaying accelerations drive the paths apart.
    fn is_fading(&self) -> bool {
        self.fading != Vec3::ZERO
            || self.turn_rates[0] != self.turn_rates[1] && self.second_fading != Vec3::ZERO
    }

    /// The contribution of decaying accelerations; `effects` are those of a unit one at either turn rate.
    fn faded(&self, effects: [Fading; 2]) -> Vec3 {
        effects[0].applied_to(self.fading) + effects[0].minus(effects[1]).applied_to(self.second_fading)
    }

    /// The difference of the positions after `t` seconds.
    #[must_use]
    pub fn at(&self, t: f64) -> Vec3 {
        let bent = self.position + self.velocity * t + self.acceleration * (0.5 * t * t);
        if self.turn_rates != [0.0; 2] {
            self.turning_at(t)
        } else if self.is_fading() {
            bent + fading::displacement(0.0, t).applied_to(self.fading)
        } else {
            bent
        }
    }

    fn turning_at(&self, t: f64) -> Vec3 {
        let halves = self.for_both_rates(|rate| (rate, half_angle(rate * t)));
        let [(_, (sin1, cos1, sinc1)), (_, (sin2, cos2, sinc2))] = halves;
        let turned = self.velocity.turned(cos1 * sinc1, sin1 * sinc1);
        let swung = self.second_velocity.turned(cos1 * sinc1 - cos2 * sinc2, sin1 * sinc1 - sin2 * sinc2);
        let plane = (turned + swung) * t;
        let way = Vec3::new(plane.x, plane.y, self.velocity.z * t);
        let bent = self.position + way + self.acceleration * (0.5 * t * t);
        if self.is_fading() {
            bent + self.faded(halves.map(|(rate, half)| fading::displacement_by(half, rate, t)))
        } else {
            bent
        }
    }

    /// Computes something expensive for both turn rates, only once if they are equal.
    fn for_both_rates<T: Copy>(&self, compute: impl Fn(f64) -> T) -> [T; 2] {
        let first = compute(self.turn_rates[0]);
        [first, if self.turn_rates[0] == self.turn_rates[1] { first } else { compute(self.turn_rates[1]) }]
    }

    /// The rate of change of the difference after `t` seconds.
    fn rate(&self, t: f64) -> Vec3 {
        let [(sin1, cos1), (sin2, cos2)] = self.for_both_rates(|rate| libm::sincos(rate * t));
        let turned = self.velocity.turned(cos1, sin1);
        let swung = self.second_velocity.turned(cos1 - cos2, sin1 - sin2);
        let bent = Vec3::new(turned.x + swung.x, turned.y + swung.y, self.velocity.z) + self.acceleration * t;
        if self.is_fading() {
            bent + self.faded(self.for_both_rates(|rate| fading::velocity(rate, t)))
        } else {
            bent
        }
    }

    /// The distance after `t` seconds.
    #[must_use]
    pub fn distance(&self, t: f64) -> f64 {
        self.at(t).length()
    }

    /// The integral of the distance over [0, h] seconds.
    #[must_use]
    pub fn integral(&self, h: f64) -> f64 {
        if self.is_linear() {
            return linear::integral(self.position, self.velocity, h);
        }
        self.panels(h).map(|(from, to)| self.panel(from, to)).sum()
    }

    /// The earliest time at which the integral of the distance reaches `error`, if that is within `h` seconds.
    #[must_use]
    pub fn reaches(&self, error: f64, h: f64) -> Option<f64> {
        if self.is_linear() {
            return linear::inverse(self.position, self.velocity, error, h);
        }
        if error <= 0.0 {
            return Some(0.0);
        }
        let mut before = 0.0;
        for (from, to) in self.panels(h) {
            let panel = self.panel(from, to);
            if before + panel >= error {
                let wanted = error - before;
                return Some(linear::solve(from, to, wanted, 1e-13, |t| {
                    (self.panel(from, t), self.distance(t))
                }));
            }
            before += panel;
        }
        None
    }

    /// Splits [0, h] into equal parts of at most [`PANEL_MAX`] seconds.
    fn panels(&self, h: f64) -> impl Iterator<Item = (f64, f64)> + use<> {
        let count = if h > 0.0 { (h / PANEL_MAX).ceil().clamp(1.0, PANELS_MAX) } else { 0.0 };
        let edge = move |index: f64| if index == count { h } else { h * (index / count) };
        (0..count as u64).map(move |index| (edge(index as f64), edge(index as f64 + 1.0)))
    }

    /// The integral over one panel, split where the paths come closest, because there the distance has a kink or
    /// nearly one.
    fn panel(&self, from: f64, to: f64) -> f64 {
        let (closest, whole) = (self.closest(from, to), self.kronrod(from, to));
        let tolerance = Tolerance { scale: TOLERANCE * whole.0, noise: 8.0 * f64::EPSILON * self.size(to) };
        if closest == from && tolerance.agree(whole, to - from) {
            return whole.0;
        }
        let mut halvings = HALVINGS_MAX;
        self.refine(from, closest, tolerance, &mut halvings)
            + self.refine(closest, to, tolerance, &mut halvings)
    }

    /// The magnitude of the numbers that the distance after `t` seconds is computed from.
    fn size(&self, t: f64) -> f64 {
        let alike = self.turn_rates[0] == self.turn_rates[1];
        let [swung, swept] = [self.second_velocity, self.second_fading]
            .map(|second| if alike { 0.0 } else { second.length() });
        let bent = self.acceleration.length() + self.fading.length() + swept;
        self.position.length() + (self.velocity.length() + swung + 0.5 * t * bent) * t
    }

    /// The integral over a part of a panel, which is halved until the two rules agree.
    fn refine(&self, low: f64, high: f64, tolerance: Tolerance, halvings: &mut u32) -> f64 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return 0.0;
        }
        let rules = self.kronrod(low, high);
        if *halvings == 0 || tolerance.agree(rules, high - low) {
            return rules.0;
        }
        *halvings -= 1;
        self.refine(low, middle, tolerance, halvings) + self.refine(middle, high, tolerance, halvings)
    }

    /// The time in [from, to] at which the distance is least, if it falls before and rises afterwards; otherwise
    /// `from`.
    fn closest(&self, from: f64, to: f64) -> f64 {
        let growth = |t: f64| self.at(t).dot(self.rate(t));
        let (mut low, mut high) = (from, to);
        if growth(low) >= 0.0 || growth(high) <= 0.0 {
            return from;
        }
        while high - low > 1e-14 * (to - from) {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if growth(middle) < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }

    /// The integral by the 15-point Kronrod rule and by the 7-point Gauss rule embedded in it.
    fn kronrod(&self, low: f64, high: f64) -> (f64, f64) {
        let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
        let centre = self.distance(middle);
        let (mut fine, mut coarse) = (centre * KRONROD[7], centre * GAUSS[3]);
        for (i, node) in NODES.iter().enumerate() {
            let pair = self.distance(middle - half * node) + self.distance(middle + half * node);
            fine += pair * KRONROD[i];
            if i % 2 == 1 {
                coarse += pair * GAUSS[i / 2];
            }
        }
        (fine * half, coarse * half)
    }
}

/// How closely the two rules must agree on a part of a panel.
#[derive(Clone, Copy)]
struct Tolerance {
    /// In units x seconds.
    scale: f64,
    /// The rounding error of the distance, in units. Halving cannot reduce it.
    noise: f64,
}

impl Tolerance {
    /// Whether the two rules agree on a part that is `seconds` long.
    fn agree(self, (fine, coarse): (f64, f64), seconds: f64) -> bool {
        (fine - coarse).abs() <= self.scale.max(self.noise * seconds)
    }
}

/// The longest panel of the quadrature, in seconds.
const PANEL_MAX: f64 = 0.1;
/// Bounds the cost of one pair of vectors; if more panels are needed, they get longer instead.
const PANELS_MAX: f64 = 1_000.0;
/// The longest panel of the midpoint rule of [`export_error_roughly`], in seconds.
const ROUGH_PANEL: f64 = 0.05;
const ROUGH_PANELS_MAX: f64 = 32.0;
/// The most halvings per panel: where the distance is mere rounding noise, halving would never end.
const HALVINGS_MAX: u32 = 96;
/// Difference of the two rules, relative to the integral, at which a part is done. The error of the finer rule is
/// smaller by orders of magnitude.
const TOLERANCE: f64 = 1e-10;

/// The nodes of the 15-point Kronrod rule in (0, 1), outermost first.
const NODES: [f64; 7] = [
    0.991_455_371_120_812_6,
    0.949_107_912_342_758_5,
    0.864_864_423_359_769_1,
    0.741_531_185_599_394_4,
    0.586_087_235_467_691_1,
    0.405_845_151_377_397_2,
    0.207_784_955_007_898_47,
];
/// The weights of the 15-point Kronrod rule, the centre's last.
const KRONROD: [f64; 8] = [
    0.022_935_322_010_529_224,
    0.063_092_092_629_978_55,
    0.104_790_010_322_250_18,
    0.140_653_259_715_525_92,
    0.169_004_726_639_267_9,
    0.190_350_578_064_785_4,
    0.204_432_940_075_298_9,
    0.209_482_141_084_727_82,
];
/// The weights of the 7-point Gauss rule, which uses every second node; the centre's last.
const GAUSS: [f64; 4] =
    [0.129_484_966_168_869_7, 0.279_705_391_489_276_67, 0.381_830_050_505_118_9, 0.417_959_183_673_469_4];
