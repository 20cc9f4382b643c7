//! Numerical integration in double-double arithmetic, by the Gauss-Legendre rule on cells that shrink towards the
//! kinks of the integrand.

use super::dd::Dd;

/// Points of the rule. On a cell whose distance from a kink is a third of its length, each point gives about one digit.
const POINTS: usize = 20;
/// Cells towards a kink, each a quarter as long as the last.
const LEVELS: usize = 26;

/// The Gauss-Legendre rule on [-1, 1].
pub(crate) struct Rule(Vec<(Dd, Dd)>);

/// The Legendre polynomial of degree [`POINTS`] and its derivative.
fn legendre(x: Dd) -> (Dd, Dd) {
    let (mut before, mut value) = (Dd::from(1.0), x);
    for k in 2..=POINTS {
        let k = k as f64;
        let next = (Dd::from(2.0 * k - 1.0) * x * value - Dd::from(k - 1.0) * before) / Dd::from(k);
        (before, value) = (value, next);
    }
    let slope = Dd::from(POINTS as f64) * (before - x * value) / (Dd::from(1.0) - x * x);
    (value, slope)
}

impl Rule {
    pub(crate) fn new() -> Self {
        let node = |i: usize| {
            let angle = core::f64::consts::PI * (i as f64 + 0.75) / (POINTS as f64 + 0.5);
            let mut x = Dd::from(libm::cos(angle));
            for _ in 0..6 {
                let (value, slope) = legendre(x);
                x = x - value / slope;
            }
            let (_, slope) = legendre(x);
            (x, Dd::from(2.0) / ((Dd::from(1.0) - x * x) * slope * slope))
        };
        Self((0..POINTS).map(node).collect())
    }

    fn cell(&self, f: &impl Fn(Dd) -> Dd, low: Dd, high: Dd) -> Dd {
        let half = Dd::from(0.5);
        let (middle, radius) = ((low + high) * half, (high - low) * half);
        let sum = self.0.iter().fold(Dd::ZERO, |sum, &(x, weight)| sum + weight * f(middle + radius * x));
        sum * radius
    }

    /// The integral from `kink` to `far`, on cells that shrink towards the kink.
    fn towards(&self, f: &impl Fn(Dd) -> Dd, kink: Dd, far: Dd) -> Dd {
        let (mut outer, mut sum) = (far - kink, Dd::ZERO);
        for _ in 0..LEVELS {
            let inner = outer * Dd::from(0.25);
            sum = sum + self.cell(f, kink + inner, kink + outer);
            outer = inner;
        }
        sum + self.cell(f, kink, kink + outer)
    }

    /// The integral of `f` from zero to `h`. There may be kinks at the ends and at `kinks`, which are in order.
    pub(crate) fn integrate(&self, f: impl Fn(Dd) -> Dd, h: Dd, kinks: &[Dd]) -> Dd {
        let mut sum = Dd::ZERO;
        let mut low = Dd::ZERO;
        for &high in kinks.iter().chain([&h]) {
            let middle = (low + high) * Dd::from(0.5);
            sum = sum + self.towards(&f, low, middle) - self.towards(&f, high, middle);
            low = high;
        }
        sum
    }
}
