//! How fast people react.

use evenkeel_core::{Draws, Malformed, Reader, Span, Wire};

/// Reaction times to something that lights up, as people have them: a bell curve with a tail of slow ones (the
/// ex-Gaussian distribution, which fits measured reactions well).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReactionTimes {
    /// The mean of the bell curve.
    pub usual: Span,
    /// Its standard deviation.
    pub deviation: Span,
    /// The mean of the tail, which is added.
    pub tail: Span,
}

impl Default for ReactionTimes {
    /// A mean of 250 ms and a standard deviation of 47 ms.
    fn default() -> Self {
        let [usual, deviation, tail] = [210, 25, 40].map(Span::from_millis);
        Self { usual, deviation, tail }
    }
}

impl ReactionTimes {
    /// No reaction is faster than this. Whoever fires sooner has guessed.
    pub const LEAST: Span = Span::from_millis(100);

    /// Draws one.
    pub fn draw(&self, draws: &mut Draws) -> Span {
        let [usual, deviation, tail] = [self.usual, self.deviation, self.tail].map(Span::as_secs_f64);
        let seconds = usual + deviation * draws.normal() + draws.exponential(tail);
        Span::from_secs_f64(seconds).max(Self::LEAST)
    }
}

impl Wire for ReactionTimes {
    fn emit(&self, bytes: &mut Vec<u8>) {
        [self.usual, self.deviation, self.tail].into_iter().for_each(|span| span.as_nanos().emit(bytes));
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut span = || reader.read().map(Span::from_nanos);
        Ok(Self { usual: span()?, deviation: span()?, tail: span()? })
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Seed;
    use evenkeel_core::stats::{mean, population_sd};

    use super::*;

    #[test]
    fn reactions_are_those_of_people() {
        let (times, mut draws) = (ReactionTimes::default(), Seed::new(3).draws());
        let drawn: Vec<f64> = (0..20_000).map(|_| times.draw(&mut draws).as_millis_f64()).collect();
        let (mean, sd) = (mean(&drawn), population_sd(&drawn));
        assert!((mean - 250.0).abs() < 2.0 && (sd - 47.2).abs() < 2.0, "{mean} {sd}");
        assert!(drawn.iter().all(|millis| *millis >= 100.0));
        let slow = drawn.iter().filter(|millis| **millis > mean + 2.0 * sd).count();
        let fast = drawn.iter().filter(|millis| **millis < mean - 2.0 * sd).count();
        assert!(slow > 5 * fast, "people are slow more often than fast: {slow} {fast}");
    }
}
