//! Axes with round numbers.

/// Maps values to pixels.
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
    /// Equal steps of this size.
    Equal(f64),
    /// Ticks at 1 and 3 times the powers of ten.
    Ratios,
    /// Finer ticks, for values within a small factor of each other.
    CloseRatios,
}

/// Beyond this many powers of ten, labels are written as powers, and at most this many are shown.
const POWERS_MAX: f64 = 4.0;
/// The width of a label, in pixels.
const LABEL: f64 = 44.0;

impl Axis {
    /// Creates an axis over these values, extended to round numbers if `round`, with about `ticks` ticks.
    pub(super) fn over(values: impl Iterator<Item = f64>, ticks: f64, round: bool) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        // A single value goes in the middle.
        let is_range = high - low > f64::EPSILON * high.abs();
        let (low, high) = if is_range { (low, high) } else { (low - 1.0, high + 1.0) };
        let step = round_step((high - low) / ticks);
        let (low, high) = if round {
            ((low / step).floor() * step, (high / step - 1e-9).ceil() * step)
        } else {
            (low, high)
        };
        Self { low, high, from: 0.0, to: 1.0, steps: Steps::Equal(step) }
    }

    /// Creates a logarithmic axis over these positive values.
    pub(super) fn of_ratios(values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, 0.0), |(l, h): (f64, f64), v| (l.min(v), h.max(v)));
        let low = ratios().rev().find(|tick| *tick <= low).unwrap_or(low);
        let high = ratios().find(|tick| *tick >= high).unwrap_or(high);
        Self { low, high, from: 0.0, to: 1.0, steps: Steps::Ratios }
    }

    /// Creates a logarithmic axis over these positive values that are close to each other, with a small margin.
    pub(super) fn of_close_ratios(values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, 0.0), |(l, h): (f64, f64), v| (l.min(v), h.max(v)));
        let (low, high) = if low > high { (0.5, 2.0) } else { (low / 1.08, high * 1.08) };
        Self { low, high, from: 0.0, to: 1.0, steps: Steps::CloseRatios }
    }

    /// Places the axis between these pixels.
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

    /// Returns as many round ratios as there is room for.
    fn ratio_ticks(&self) -> Vec<(f64, String)> {
        let inside = |tick: &f64| (self.low * (1.0 - 1e-9)..=self.high * (1.0 + 1e-9)).contains(tick);
        let powers = (self.high / self.low).log10();
        let room = (self.to - self.from).abs() / LABEL;
        if powers <= POWERS_MAX && 2.0 * powers <= room {
            return ratios().filter(inside).map(|tick| (tick, grouped(tick, decimals(tick)))).collect();
        }
        let apart = (powers / room.min(POWERS_MAX)).ceil().max(1.0) as i32;
        let label = |power: i32| {
            let tick = 10f64.powi(power);
            if powers <= POWERS_MAX { grouped(tick, decimals(tick)) } else { power_of_ten(power) }
        };
        let named =
            (-15..=15).filter(|power| power % apart == 0).map(|power| (10f64.powi(power), label(power)));
        named.filter(|(tick, _)| inside(tick)).collect()
    }

    /// Returns round values on the axis, with their labels.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let step = match self.steps {
            Steps::Equal(step) => step,
            Steps::Ratios => return self.ratio_ticks(),
            Steps::CloseRatios => {
                let inside = |tick: &f64| (self.low..=self.high).contains(tick);
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

/// Returns the number of decimals that a step of this size needs.
fn decimals(step: f64) -> usize {
    (-step.log10().floor()).max(0.0) as usize
}

/// Formats a power of ten, such as "10⁻⁹".
fn power_of_ten(power: i32) -> String {
    let digits = power.abs().to_string().chars().filter_map(|digit| digit.to_digit(10)).collect::<Vec<_>>();
    let raised =
        digits.into_iter().map(|digit| ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize]);
    format!("10{}{}", if power < 0 { "⁻" } else { "" }, raised.collect::<String>())
}

/// Candidate ticks of logarithmic axes.
fn ratios() -> impl DoubleEndedIterator<Item = f64> {
    (-15..=15).flat_map(|power| [1.0, 3.0].map(|times| times * 10f64.powi(power)))
}

/// Candidate ticks of fine logarithmic axes.
fn close_ratios() -> impl Iterator<Item = f64> {
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0].into_iter()
}

/// Returns the least value of at least `rough` that is 1, 2 or 5 times a power of ten.
fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().find(|step| step * power >= rough * (1.0 - 1e-9));
    step.unwrap_or(10.0) * power
}

/// Formats a number with thin spaces between thousands.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn a_logarithmic_axis_has_few_ticks_however_long_it_is() {
        let short = Axis::of_ratios([0.4, 25.0].into_iter());
        assert_eq!(labels(&short.between(0.0, 400.0)), ["0.3", "1", "3", "10", "30"]);
        assert_eq!(labels(&short.between(0.0, 100.0)), ["1", "10"]);
        let long = Axis::of_ratios([2e-8, 50.0].into_iter()).between(0.0, 400.0);
        assert_eq!(labels(&long), ["10⁻⁶", "10⁻³", "10⁰"]);
        assert!(long.pixel(1e-8).abs() < 1e-9 && (long.pixel(100.0) - 400.0).abs() < 1e-9);
    }
}
