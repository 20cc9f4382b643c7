//! Fairness as control of seconds: how far each receiver is above its target, and how much more a message to it is worth.
//!
//! Symbols: `A` accumulated error, `R` accumulated error under 1/m base, `L` target, `s` rate of the mean error,
//! `x = (A - L) / s` distance above the target in seconds of mean error, `I` integral of x, `u` logarithm of the factor on a
//! message's worth.
//!
//! An imbalance in seconds has the same time constant in every game, at its beginning and after an hour; as a share of the
//! total it would respond more slowly the longer the game lasts. The error is itself an integral, so proportional feedback
//! keeps the spread bounded, and a small integral term removes the rest.

mod limit;

use evenkeel_core::{PeerId, SessionTime, Span};

use super::EvenSettings;

/// Seconds between two looks at all errors.
const EVERY: f64 = 0.1;
/// [`EVERY`] with many entities: a look costs more, and errors are smoother.
const EVERY_OF_MANY: f64 = 0.2;
/// More entities than this are many.
const MANY: usize = 100;
/// Seconds over which the rate of the mean error is averaged.
const SMOOTH: f64 = 30.0;
/// Proportional gain: growth of u per second above the target. It acts as fast as messages take effect.
const PROPORTIONAL: f64 = 0.25;
/// Integral gain: growth of u per second spent one second above the target.
const INTEGRAL: f64 = 0.01;
/// The limit of |u|.
const URGE_MAX: f64 = 6.0;
/// How long a receiver without entities is remembered.
const REMEMBERED: Span = Span::from_secs(30);
/// The limit of |x| in the integral, in seconds.
const ABOVE_MAX: f64 = 8.0;
/// Unused growth that a receiver may save up, in seconds of the mean error, if its claims are cut or it has a cap.
const SAVED_MAX: f64 = 8.0;
/// Seconds without growth after which control freezes. While errors do not grow, a negligible difference amounts to many
/// seconds, and would dominate for minutes once they grow again.
const STILL: f64 = 10.0;
/// Rounds of capping targets. Each caps at least one receiver more, usually all.
const ROUNDS: usize = 8;

/// One receiver over all entities.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) peer: PeerId,
    /// Accumulated error A up to now, without `ahead`.
    error: f64,
    /// Error growth until a message sent now arrives, which nothing can change.
    ahead: f64,
    /// R: accumulated error under 1/m base.
    pub(super) without: f64,
    /// L: target of the accumulated error.
    target: f64,
    /// x: distance above the target, in seconds of mean error.
    pub(super) above: f64,
    /// I: integral of x, weighted; zero on average over all receivers.
    integral: f64,
    /// exp u: factor on a message's worth; 1 for the worst off, less for the others.
    pub(super) boost: f64,
    seen: SessionTime,
    /// A and R at the last step, and the rate of R.
    before: (f64, f64),
    without_rate: f64,
    /// How much less than its cap its error has grown recently, and the same in seconds of the cap, at least 0.
    saved: f64,
    spare: f64,
    /// Growth of its error minus the growth allowed, if its claims are cut; at most 0.
    excess: f64,
    /// The counterpart for a receiver that takes too many messages.
    overtaken: f64,
    /// The error at the last step, and its growth per second, counted or not.
    error_before: f64,
    error_rate: f64,
    /// Messages since the last step, and per second.
    sent: u32,
    taken: f64,
}

/// The growth of a receiver's error with an entity.
#[derive(Clone, Copy, Debug)]
pub(super) struct StandingGrowth {
    pub(super) error: f64,
    /// Growth until a message sent now arrives.
    pub(super) ahead: f64,
    pub(super) without: f64,
    pub(super) weight: f64,
    pub(super) is_cut: bool,
}

impl Standing {
    /// The part of an error that counts if the receiver's claims are cut: at most its error under 1/m base at its believed
    /// delay. Unused growth is saved up, to a limit.
    fn allow(&mut self, error: f64, without: f64, saved_max: f64) -> f64 {
        self.excess += error - without;
        let over = self.excess.max(0.0);
        self.excess = (self.excess - over).max(-saved_max);
        error - over
    }

    fn suffered(&self) -> f64 {
        self.error + self.ahead
    }

    /// Updates how much it may give up. A receiver that has saved nothing gives up nothing, however much worse off another
    /// seems to be: that one may be far away, or lie.
    fn save(&mut self, kappa: f64, seconds: f64, share: f64, rate_min: f64) {
        let (error, without) = (self.suffered() - self.before.0, self.without - self.before.1);
        self.before = (self.suffered(), self.without);
        self.without_rate += (without / seconds - self.without_rate) * share;
        let cap = kappa * self.without_rate.max(rate_min);
        self.saved = (self.saved + kappa * without - error).clamp(-SAVED_MAX * cap, SAVED_MAX * cap);
        self.spare = (self.saved / cap).max(0.0);
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// In order of peers.
    standings: Vec<Standing>,
    /// s: rate of the mean error, and the seconds it has been measured over.
    rate: f64,
    measured: f64,
    /// The growth of all errors since the last step.
    grown: f64,
    still: f64,
    at: Option<SessionTime>,
    /// Scratch space for a median.
    error_rates: Vec<f64>,
    /// x of the worst off.
    pub(super) above_max: f64,
    /// A counter of changes to the standings.
    pub(super) changes: u64,
}

impl Control {
    /// Whether a step is due, with this many entities.
    pub(super) fn is_due(&self, now: SessionTime, entities: usize) -> bool {
        let every = if entities > MANY { EVERY_OF_MANY } else { EVERY };
        self.at.is_none() || self.since(now) >= every - 1e-9
    }

    /// Whether a step is due in a turn. With many entities it is due every second turn, even slightly early if the last one was
    /// late.
    pub(super) fn is_due_in_turn(&self, now: SessionTime, entities: usize) -> bool {
        let is_second = || self.at.is_none() || self.since(now) >= EVERY_OF_MANY - EVERY / 2.0;
        self.at != Some(now) && (entities <= MANY || is_second())
    }

    pub(super) fn since(&self, now: SessionTime) -> f64 {
        self.at.map_or(0.0, |at| (now - at).as_secs_f64())
    }

    pub(super) fn find(&self, peer: PeerId) -> Option<&Standing> {
        self.standings.get(self.place_of(peer)? as usize)
    }

    pub(super) fn place_of(&self, peer: PeerId) -> Option<u32> {
        self.standings.binary_search_by_key(&peer, |standing| standing.peer).ok().map(|place| place as u32)
    }

    /// The place of a receiver's standing. A new one starts with the mean of the others, or they would pay for its absence.
    pub(super) fn place(&mut self, peer: PeerId, now: SessionTime) -> u32 {
        let place = match self.standings.binary_search_by_key(&peer, |standing| standing.peer) {
            Ok(place) => return place as u32,
            Err(place) => place,
        };
        let count = self.standings.len().max(1) as f64;
        let (errors, withouts) = self.standings.iter().fold((0.0, 0.0), |(errors, withouts), standing| {
            (errors + standing.error, withouts + standing.without)
        });
        let (error, without) = (errors / count, withouts / count);
        let rates: f64 = self.standings.iter().map(|standing| standing.without_rate).sum();
        let standing = Standing {
            peer,
            error,
            ahead: 0.0,
            without,
            target: error,
            above: 0.0,
            integral: 0.0,
            boost: 1.0,
            seen: now,
            before: (error, without),
            without_rate: rates / count,
            saved: 0.0,
            spare: f64::INFINITY,
            excess: 0.0,
            overtaken: 0.0,
            error_before: error,
            error_rate: 0.0,
            sent: 0,
            taken: 0.0,
        };
        self.standings.insert(place, standing);
        self.changes += 1;
        place as u32
    }

    /// Adds the growth of a receiver's error with one more entity.
    pub(super) fn grow(&mut self, place: u32, growth: &StandingGrowth, now: SessionTime) {
        let standing = &mut self.standings[place as usize];
        let StandingGrowth { error, ahead, without, weight, is_cut } = *growth;
        let (mut error, mut ahead, without) = (weight * error, weight * ahead, weight * without);
        if is_cut {
            (error, ahead) = (standing.allow(error, without, SAVED_MAX * self.rate.max(0.0)), 0.0);
        }
        standing.ahead = ahead + if standing.seen == now { standing.ahead } else { 0.0 };
        standing.error += error;
        standing.without += without;
        standing.seen = now;
        self.grown += error;
    }

    /// Ends a look: sets new targets and boosts. The mean error is assumed to grow by at least `rate_min`, or negligible errors
    /// would count as seconds.
    pub(super) fn step(&mut self, now: SessionTime, settings: &EvenSettings, rate_min: f64) {
        self.changes += 1;
        self.standings.retain(|standing| now - standing.seen <= REMEMBERED);
        let count = self.present(now).count() as f64;
        let grown = core::mem::take(&mut self.grown);
        let Some(before) = self.at.replace(now) else { return };
        let seconds = (now - before).as_secs_f64();
        if count == 0.0 || seconds <= 0.0 {
            return;
        }
        let uncounted = settings.keep().map_or(0.0, |keep| self.limit(now, keep, seconds));
        let grown = grown - uncounted;
        self.still = if grown > rate_min * count * seconds { 0.0 } else { self.still + seconds };
        if self.still > STILL {
            return;
        }
        self.measured += seconds;
        let share = (seconds / self.measured.min(SMOOTH)).min(1.0);
        self.rate += (grown / count / seconds - self.rate) * share;
        let rate = self.rate.max(rate_min);
        self.aim(now, count, settings.phi());
        if let Some(kappa) = settings.kappa() {
            self.cap(now, kappa, 0.5 * rate);
            self.present(now).for_each(|standing| standing.save(kappa, seconds, share, rate_min));
        }
        let mut integrals = 0.0;
        for standing in self.present(now) {
            standing.above = (standing.suffered() - standing.target) / rate;
            standing.integral += INTEGRAL * standing.above.clamp(-ABOVE_MAX, ABOVE_MAX) * seconds;
            integrals += standing.integral;
        }
        let (mut above_max, mut urge_max) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        for standing in self.present(now) {
            standing.integral -= integrals / count;
            standing.boost = (PROPORTIONAL * standing.above + standing.integral).clamp(-URGE_MAX, URGE_MAX);
            above_max = above_max.max(standing.above);
            urge_max = urge_max.max(standing.boost);
        }
        for standing in self.present(now) {
            let urge = standing.boost.max(urge_max - PROPORTIONAL * standing.spare);
            standing.above = standing.above.max(above_max - standing.spare);
            standing.boost = libm::exp(urge - urge_max);
        }
        self.above_max = above_max;
    }

    fn present(&mut self, now: SessionTime) -> impl Iterator<Item = &mut Standing> {
        self.standings.iter_mut().filter(move |standing| standing.seen == now)
    }

    /// Sets the targets: the mean, plus the part of each receiver's difference under 1/m base that is not evened out.
    fn aim(&mut self, now: SessionTime, count: f64, phi: f64) {
        let (mut errors, mut withouts) = (0.0, 0.0);
        for standing in self.present(now) {
            errors += standing.suffered();
            withouts += standing.without;
        }
        for standing in self.present(now) {
            standing.target = errors / count + (1.0 - phi) * (standing.without - withouts / count);
        }
    }

    /// Caps targets at `kappa` times the error under 1/m base, plus `slack`. The others take over the excess; if none can, it is
    /// shared by all.
    fn cap(&mut self, now: SessionTime, kappa: f64, slack: f64) {
        for round in 0..=ROUNDS {
            let (mut left, mut free, mut count) = (0.0, 0.0, 0.0);
            for standing in self.present(now) {
                let cap = kappa * standing.without + slack;
                standing.target = standing.target.min(cap);
                left += standing.suffered() - standing.target;
                free += f64::from(u8::from(standing.target < cap));
                count += 1.0;
            }
            let all = free == 0.0 || round == ROUNDS;
            let share = left / if all { count } else { free };
            for standing in self.present(now) {
                if all || standing.target < kappa * standing.without + slack {
                    standing.target += share;
                }
            }
            if all || left.abs() <= 1e-9 * slack {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> SessionTime {
        SessionTime::from_nanos(0) + Span::from_millis(millis)
    }

    fn growth(error: f64, without: f64) -> StandingGrowth {
        StandingGrowth { error, ahead: 0.0, without, weight: 1.0, is_cut: false }
    }

    /// Receivers whose errors grow at the rates `errors`, and under 1/m base at `withouts`, for some seconds.
    fn run(settings: EvenSettings, errors: &[f64], withouts: &[f64], seconds: i64) -> Control {
        let mut control = Control::default();
        for step in 0..=seconds * 10 {
            for (peer, (error, without)) in errors.iter().zip(withouts).enumerate() {
                let place = control.place(PeerId(peer as u32), at(step * 100));
                let (error, without) = if step == 0 { (0.0, 0.0) } else { (0.1 * error, 0.1 * without) };
                control.grow(place, &growth(error, without), at(step * 100));
            }
            control.step(at(step * 100), &settings, 1e-6);
        }
        control
    }

    fn settings(phi: f64, kappa: Option<f64>) -> EvenSettings {
        EvenSettings::new(phi, kappa).expect("they are in range")
    }

    #[test]
    fn the_worst_off_receiver_has_a_boost_of_one() {
        let control = run(settings(1.0, None), &[3.0, 2.0, 1.0], &[1.0; 3], 5);
        let boosts: Vec<f64> = control.standings.iter().map(|standing| standing.boost).collect();
        assert_eq!(boosts[0], 1.0);
        assert!(boosts[0] > boosts[1] && boosts[1] > boosts[2], "{boosts:?}");
        // Ten seconds' worth of the mean error's growth apart after five seconds at half of it.
        assert!((control.above_max - 2.5).abs() < 0.1, "{}", control.above_max);
    }

    #[test]
    fn targets_keep_the_part_of_the_base_spread_that_phi_leaves() {
        for (phi, expected) in [(1.0, [20.0; 3]), (0.0, [30.0, 20.0, 10.0]), (0.5, [25.0, 20.0, 15.0])] {
            let control = run(settings(phi, None), &[2.0; 3], &[3.0, 2.0, 1.0], 10);
            let targets: Vec<f64> = control.standings.iter().map(|standing| standing.target).collect();
            assert!(targets.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{targets:?} for {phi}");
        }
    }

    #[test]
    fn targets_are_capped_and_the_others_take_over_the_excess() {
        let control = run(settings(1.0, Some(1.2)), &[2.0; 3], &[4.0, 2.0, 0.5], 10);
        let targets: Vec<f64> = control.standings.iter().map(|standing| standing.target).collect();
        // 1.2 times 5 for the last, and half a second of the mean; the others share the excess.
        let capped = 1.2 * 5.0 + 1.0;
        let others = (60.0 - capped) / 2.0;
        let left = others - (1.2 * 20.0 + 1.0);
        let expected = [others + left, others - left, capped];
        assert!(targets.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{targets:?}, {expected:?}");
        assert!((targets.iter().sum::<f64>() - 60.0).abs() < 1e-6);
    }

    #[test]
    fn the_excess_is_shared_equally_if_every_target_is_capped() {
        let control = run(settings(1.0, Some(1.0)), &[2.0; 2], &[1.5, 0.5], 10);
        let targets: Vec<f64> = control.standings.iter().map(|standing| standing.target).collect();
        assert!((targets[0] - targets[1] - 10.0).abs() < 1e-6, "{targets:?}");
    }

    #[test]
    fn newcomers_start_with_the_mean_and_absent_receivers_are_forgotten() {
        let mut control = run(settings(1.0, None), &[3.0, 1.0], &[1.0; 2], 10);
        let place = control.place(PeerId(7), at(10_000));
        assert!((control.standings[place as usize].error - 20.0).abs() < 1e-6);
        let place = control.place(PeerId(0), at(50_000));
        control.grow(place, &growth(0.0, 0.0), at(50_000));
        control.step(at(50_000), &settings(1.0, None), 1e-6);
        assert_eq!(control.standings.len(), 1);
    }

    #[test]
    fn cut_claims_count_at_most_the_error_under_the_base() {
        let mut control = Control::default();
        for step in 0..=100 {
            for (peer, error) in [50.0, 0.5, 1.0].into_iter().enumerate() {
                let place = control.place(PeerId(peer as u32), at(step * 100));
                let growth = StandingGrowth { is_cut: peer < 2, ..growth(0.1 * error, 0.2) };
                control.grow(place, &growth, at(step * 100));
            }
            control.step(at(step * 100), &settings(1.0, None), 1e-6);
        }
        let errors: Vec<f64> = control.standings.iter().map(|standing| standing.error).collect();
        assert!((errors[0] - 20.2).abs() < 1e-6, "{errors:?}");
        assert!(errors[1] < 6.0 && errors[2] > 9.0, "{errors:?}");
    }

    #[test]
    fn a_receiver_at_its_cap_gives_up_nothing_more() {
        // One suffers, or claims to suffer, fifty times its error under 1/m base.
        let fares = |kappa: Option<f64>, near: f64| {
            let control = run(settings(1.0, kappa), &[50.0, near, 1.0], &[1.0, 0.5, 1.0], 60);
            let [worst, near] = [0, 1].map(|place| control.standings[place]);
            (near.boost, worst.above - near.above)
        };
        let (boost, behind) = fares(None, 0.6);
        assert!(boost < 0.01 && behind > 20.0, "{boost} {behind}");
        assert_eq!(fares(Some(1.2), 0.62), (1.0, 0.0));
        // A receiver with savings gives up those, and no more than it saved recently.
        let (boost, behind) = fares(Some(1.2), 0.3);
        assert!(boost < 0.2 && (behind - SAVED_MAX).abs() < 1e-6, "{boost} {behind}");
    }

    #[test]
    fn control_freezes_during_a_long_standstill() {
        let mut control = run(settings(1.0, None), &[3.0, 1.0], &[1.0; 2], 10);
        let still = |control: &mut Control, from: i64, to: i64| {
            for step in from..to {
                for peer in 0..2 {
                    let place = control.place(PeerId(peer), at(step * 100));
                    control.grow(place, &growth(0.0, 0.0), at(step * 100));
                }
                control.step(at(step * 100), &settings(1.0, None), 1e-6);
            }
            (control.rate, control.standings[0].above, control.standings[0].integral)
        };
        let before = still(&mut control, 101, 210);
        assert_eq!(still(&mut control, 210, 6_000), before);
    }

    #[test]
    fn negligible_errors_do_not_count_as_seconds() {
        let control = run(settings(1.0, None), &[1e-9, 0.0], &[0.0; 2], 10);
        assert!(control.above_max < 0.01, "{}", control.above_max);
    }
}
