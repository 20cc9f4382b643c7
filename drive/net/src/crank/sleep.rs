//! Precise sleeping until a deadline.
//!
//! The system wakes a sleeping thread late: by the timer slack (50 us for an ordinary thread on Linux) plus scheduling
//! latency. So the thread asks to be woken earlier by a margin and spins through the rest. The margin jumps up to each
//! late wake-up and decays slowly. Its lower bound is the slack with a usual wake-up (80 us); its upper bound is what a
//! core may be spent on (200 us), as a later wake-up means that another thread had its turn.
//!
//! Farther deadlines are slept for, so an idle crank costs nothing. Spinning is limited to a sixteenth of the time, because
//! the sockets' tasks need the cores, too; once that is used up, deadlines are as late as the system makes them.
//!
//! A relaxed crank sleeps in steps of 10 ms instead and handles everything due together, which is cheaper for a crowd of
//! bots.
//!
//! All this needs of the system is to park a thread. The benchmark `lateness` compares it with a bare thread that waits for
//! a timerfd.

use std::thread;
use std::time::{Duration, Instant};

use evenkeel_core::LocalTime;

use crate::clock::{LocalClock, duration};

const MARGIN_MIN: Duration = Duration::from_micros(80);
const MARGIN_MAX: Duration = Duration::from_micros(200);
/// Part of the distance to a smaller margin given up per wake-up.
const MARGIN_DECAY: u32 = 16;
/// One part in this many of the time may be spent spinning,
const SPIN_SHARE: u32 = 16;
/// and at most this much of it can be saved up.
const SPIN_CREDIT_MAX: Duration = Duration::from_millis(20);

/// How long a relaxed crank sleeps, whatever arrives or is due meanwhile.
const RELAXED: Duration = Duration::from_millis(10);

/// The sleeping state of one thread.
#[derive(Debug)]
pub(super) struct Sleeper {
    margin: Duration,
    /// Time left for spinning.
    spin_credit: Duration,
    credited_at: Instant,
    spins: bool,
}

impl Sleeper {
    pub(super) fn new(spins: bool) -> Self {
        Self { margin: MARGIN_MIN, spin_credit: SPIN_CREDIT_MAX, credited_at: Instant::now(), spins }
    }

    /// Returns how long before a deadline to be awake: nothing if there is no time left for spinning.
    fn affordable_margin(&mut self) -> Duration {
        if !self.spins {
            return Duration::ZERO;
        }
        let now = Instant::now();
        self.spin_credit = (self.spin_credit + (now - self.credited_at) / SPIN_SHARE).min(SPIN_CREDIT_MAX);
        self.credited_at = now;
        if self.spin_credit < self.margin { Duration::ZERO } else { self.margin }
    }

    fn spin(&mut self, clock: &LocalClock, deadline: LocalTime, is_pending: impl Fn() -> bool) {
        let start = Instant::now();
        while clock.now() < deadline && !is_pending() {
            std::hint::spin_loop();
        }
        self.spin_credit = self.spin_credit.saturating_sub(start.elapsed());
    }

    /// Returns at the deadline, or earlier once `is_pending` returns true and the thread is
    /// unparked, or spuriously.
    pub(super) fn sleep(
        &mut self,
        clock: &LocalClock,
        deadline: Option<LocalTime>,
        is_pending: impl Fn() -> bool,
    ) {
        let Some(deadline) = deadline else {
            if !is_pending() {
                thread::park();
            }
            return;
        };
        if !self.spins {
            return thread::sleep(RELAXED);
        }
        let margin = self.affordable_margin();
        loop {
            let left = duration(deadline - clock.now());
            if left.is_zero() || is_pending() {
                return;
            }
            if left > margin {
                self.park(left - margin, &is_pending);
            } else {
                self.spin(clock, deadline, &is_pending);
            }
        }
    }

    fn park(&mut self, pause: Duration, is_pending: impl Fn() -> bool) {
        let start = Instant::now();
        thread::park_timeout(pause);
        if is_pending() {
            return;
        }
        let Some(late) = start.elapsed().checked_sub(pause) else { return };
        let wanted = late.clamp(MARGIN_MIN, MARGIN_MAX);
        self.margin = match self.margin.checked_sub(wanted) {
            Some(distance) => self.margin - distance / MARGIN_DECAY,
            None => wanted,
        };
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Span;

    use super::*;

    #[test]
    fn sleeping_never_ends_early_and_is_sometimes_punctual() {
        let (clock, mut sleeper) = (LocalClock::start(), Sleeper::new(true));
        let mut late: Vec<Span> = (0..50)
            .map(|_| {
                let deadline = clock.now() + Span::from_millis(2);
                sleeper.sleep(&clock, Some(deadline), || false);
                clock.now() - deadline
            })
            .collect();
        late.sort_unstable();
        assert!(late[0] >= Span::ZERO, "{late:?}");
        // The average lateness depends on the machine's load; the benchmark `lateness` measures it.
        assert!(late[0] < Span::from_millis(1), "{late:?}");
    }

    #[test]
    fn spinning_is_limited() {
        let (clock, mut sleeper) = (LocalClock::start(), Sleeper::new(true));
        sleeper.spin_credit = Duration::ZERO;
        assert_eq!(sleeper.affordable_margin(), Duration::ZERO);
        thread::sleep(Duration::from_millis(5));
        assert_eq!(sleeper.affordable_margin(), MARGIN_MIN);
        let spin_credit = sleeper.spin_credit;
        sleeper.spin(&clock, clock.now() + Span::from_millis(2), || false);
        assert!(sleeper.spin_credit < spin_credit);
    }

    #[test]
    fn a_relaxed_sleeper_ignores_pending_inputs() {
        let (clock, mut sleeper) = (LocalClock::start(), Sleeper::new(false));
        let start = Instant::now();
        sleeper.sleep(&clock, Some(clock.now()), || true);
        assert!(start.elapsed() >= RELAXED, "woken early");
    }

    #[test]
    fn pending_inputs_end_the_sleep() {
        let (clock, mut sleeper) = (LocalClock::start(), Sleeper::new(true));
        let start = Instant::now();
        sleeper.sleep(&clock, Some(clock.now() + Span::from_secs(60)), || true);
        sleeper.sleep(&clock, None, || true);
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
