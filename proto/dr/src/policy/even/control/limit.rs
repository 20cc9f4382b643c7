//! `keep`: what one receiver takes leaves the others at least this part of an equal share of the messages, on average.
//!
//! The error of a receiver that takes more counts no more than the median receiver's: it may be too far away to be served,
//! or only pretend to be. The limit rests on the messages sent, not on anything that the receiver claims.

use evenkeel_core::{PeerId, SessionTime};

use super::{Control, SAVED_MAX};

/// Seconds over which messages taken, and with `keep` the growth of each error, are averaged.
const TAKEN_SMOOTH: f64 = 20.0;

impl Control {
    /// Notes a message to a receiver.
    pub(in crate::policy::even) fn note_sent(&mut self, peer: PeerId) {
        if let Some(place) = self.place_of(peer) {
            self.standings[place as usize].sent += 1;
        }
    }

    /// Limits the growth of each error that counts, by how many messages the receiver takes: at its limit to the median
    /// growth, above it to less. Without the slope a receiver at its limit would be served by fits and starts. Returns the
    /// growth that does not count.
    pub(super) fn limit(&mut self, now: SessionTime, keep: f64, seconds: f64) -> f64 {
        let share = (seconds / (self.measured + seconds).min(TAKEN_SMOOTH)).min(1.0);
        let mut error_rates = core::mem::take(&mut self.error_rates);
        error_rates.clear();
        let (mut taken, mut count) = (0.0, 0.0);
        for standing in self.present(now) {
            let sent = f64::from(core::mem::take(&mut standing.sent)) / seconds;
            let grown = (standing.error - standing.error_before) / seconds;
            standing.taken += (sent - standing.taken) * share;
            standing.error_rate += (grown - standing.error_rate) * share;
            error_rates.push(standing.error_rate);
            taken += standing.taken;
            count += 1.0;
        }
        let middle = (error_rates.len() - 1) / 2;
        let (_, median, _) = error_rates.select_nth_unstable_by(middle, f64::total_cmp);
        let (median, taken_max) = (median.max(0.0), taken * (1.0 - keep * (1.0 - 1.0 / count)));
        self.error_rates = error_rates;
        let mut uncounted = 0.0;
        for standing in self.present(now) {
            let part = if taken_max > 0.0 { standing.taken / taken_max } else { 0.0 };
            standing.overtaken += standing.error - standing.error_before - median * (2.0 - part) * seconds;
            let over = standing.overtaken.max(0.0);
            standing.overtaken = (standing.overtaken - over).max(-SAVED_MAX * median);
            standing.error -= over;
            standing.ahead = standing.ahead.min(-standing.overtaken);
            standing.error_before = standing.error;
            uncounted += over;
        }
        uncounted
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Span;

    use super::super::{EvenSettings, StandingGrowth};
    use super::*;

    /// Runs receivers whose errors grow at `errors`, with `keep = 0.9`, and who take `taken` messages every tenth of a second.
    fn run_with_keep(errors: &[f64], taken: &[u32], seconds: i64) -> Control {
        let settings = EvenSettings::default().keeping(0.9).expect("it is in range");
        let mut control = Control::default();
        for step in 0..=seconds * 10 {
            let at = SessionTime::from_nanos(0) + Span::from_millis(step * 100);
            for (peer, (error, taken)) in errors.iter().zip(taken).enumerate() {
                let peer = PeerId(peer as u32);
                let place = control.place(peer, at);
                let growth = StandingGrowth {
                    error: 0.1 * error,
                    ahead: 0.0,
                    without: 0.1,
                    weight: 1.0,
                    is_cut: false,
                };
                control.grow(place, &growth, at);
                (0..*taken).for_each(|_| control.note_sent(peer));
            }
            control.step(at, &settings, 1e-6);
        }
        control
    }

    #[test]
    fn with_keep_a_receiver_that_takes_too_much_counts_no_more_than_the_median() {
        // Of 100 messages a receiver may take 32.5.
        for (far, rate_max) in [(325, 2.0), (650, 1.0)] {
            let control = run_with_keep(&[50.0, 2.0, 2.0, 2.0], &[far, 225, 225, 225], 60);
            let errors: Vec<f64> = control.standings.iter().map(|standing| standing.error).collect();
            let limit = rate_max * 60.0 + SAVED_MAX * 2.0;
            assert!(errors[0] < limit, "{errors:?} with {far}, at most {limit}");
            assert!((errors[1] - 122.0).abs() < 6.0, "{errors:?}");
        }
    }

    #[test]
    fn with_keep_a_receiver_that_takes_its_share_counts_fully() {
        let control = run_with_keep(&[2.5, 2.0, 2.0, 2.0], &[25, 25, 25, 25], 60);
        let error = control.standings[0].error;
        assert!((error - 2.5 * 60.1).abs() < 5.0, "{error}");
    }
}
