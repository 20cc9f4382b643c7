//! Axes with round numbers.

/// An axis from value to pixel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    steps: Steps,
}

#[derive(Clone, Copy, Debug)]
enum Steps {
    /// All as long as this.
    Equal(f64),
    /// From one power of ten to about three times it, and on to the next.
    Ratios,
    /// Finer than that, for values that differ a few times over.
    CloseRatios,
}

impl Axis {
    /// An axis over these values, extended to round numbers if `round`, with about `ticks` ticks.
    pub(super) fn over(values: impl Iterator<Item = f64>, ticks: f64, round: bool) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let high = if high - low > f64::EPSILON * high.abs() { high } else { low + 1.0 };
        let step = round_step((high - low) / ticks);
        let (low, high) = if round {
            ((low / step).floor() * step, (high / step - 1e-9).ceil() * step)
        } else {
            (low, high)
        };
        Self { low, high, from: 0.0, to: 1.0, steps: Steps::Equal(step) }
    }

    /// A logarithmic axis over these values, all of which are above zero.
    pub(super) fn of_ratios(values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, 0.0), |(l, h): (f64, f64), v| (l.min(v), h.max(v)));
        let low = ratios().rev().find(|tick| *tick <= low).unwrap_or(low);
        let high = ratios().find(|tick| *tick >= high).unwrap_or(high);
        Self { low, high, from: 0.0, to: 1.0, steps: Steps::Ratios }
    }

    /// A logarithmic axis over these values, all of which are above zero and not far from each other; a little wider than
    /// they ask for.
    pub(super) fn of_close_ratios(values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, 0.0), |(l, h): (f64, f64), v| (l.min(v), h.max(v)));
        let (low, high) = if low > high { (0.5, 2.0) } else { (low / 1.08, high * 1.08) };
        Self { low, high, from: 0.0, to: 1.0, steps: Steps::CloseRatios }
    }

    /// Between these pixels.
    pub(super) const fn between(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    pub(super) fn pixel(&self, value: f64) -> f64 {
        let part = match self.steps {
            Steps::Equal(_) => (value - self.low) / (self.high - self.low),
            Steps::Ratios | Steps::CloseRatios => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + part * (self.to - self.from)
    }

    /// Round values on the axis with their labels.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let decimals = |step: f64| (-step.log10().floor()).max(0.0) as usize;
        let inside = |tick: &f64| (self.low..=self.high).contains(tick);
        let step = match self.steps {
            Steps::Equal(step) => step,
            Steps::Ratios => {
                return ratios().filter(inside).map(|tick| (tick, grouped(tick, decimals(tick)))).collect();
            }
            Steps::CloseRatios => {
                return close_ratios().filter(inside).map(|tick| (tick, format!("{tick}"))).collect();
            }
        };
        let first = (self.low / step - 1e-9).ceil();
        let count = ((self.high / step + 1e-9).floor() - first) as i64;
        (0..=count.max(0))
            .map(|index| (first + index as f64) * step)
            .map(|value| (value, grouped(value, decimals(step))))
            .collect()
    }
}

/// The ticks of logarithmic axes.
fn ratios() -> impl DoubleEndedIterator<Item = f64> {
    (-9..=9).flat_map(|power| [1.0, 3.0].map(|times| times * 10f64.powi(power)))
}

/// The ticks of those that are finer.
fn close_ratios() -> impl Iterator<Item = f64> {
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0].into_iter()
}

/// 1, 2 or 5 times a power of ten, at least as large as `rough`.
fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().find(|step| step * power >= rough * (1.0 - 1e-9));
    step.unwrap_or(10.0) * power
}

/// A number with thin spaces between thousands.
fn grouped(value: f64, decimals: usize) -> String {
    let value = if value.abs() < 1e-12 { 0.0 } else { value };
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), ""), |(w, f)| (w, f));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("−", digits));
    let mut out = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 && digits.len() > 4 {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}
