//! Sleeping until a deadline, precisely.
//!
//! The system wakes a sleeping thread late: by the timer slack (50 us for an ordinary thread on Linux) and by what the
//! scheduler needs. So the thread asks to be woken earlier by a margin and spins through the rest. The margin follows
//! what is seen: it jumps up to a late wake-up and falls slowly. Its bounds are the slack with a usual wake-up (80 us),
//! and what a core may be spent for (200 us; later wake-ups than that are another thread's turn, which no margin
//! foresees). A deadline that is farther away is slept for, so an idle crank costs nothing. And a crank with thousands of
//! deadlines a second may not spin all the time, on cores that the sockets' tasks need: it has a sixteenth of the time
//! for it, and when that is used up its deadlines are as late as the system makes them.
//!
//! The crank of machines that need not be on time wakes a hundred times a second, for all that came or was due until then:
//! a crowd of bots costs less so.
//!
//! Parking a thread is all that this needs of the system. The benchmark `lateness` holds it against a bare thread that
//! waits for a timerfd: half as late or less on a quiet machine up to the 99th percentile, equal there on a busy one.

use std::thread;
use std::time::{Duration, Instant};

use evenkeel_core::LocalTime;

use crate::clock::{LocalClock, duration};

const MARGIN_MIN: Duration = Duration::from_micros(80);
const MARGIN_MAX: Duration = Duration::from_micros(200);
/// The part of the distance to a smaller margin that is given up with each wake-up.
const FALL: u32 = 16;
/// One part in so many of the time may be spent spinning,
const SPIN_PART: u32 = 16;
/// and so much of that can be saved up.
const CREDIT_MAX: Duration = Duration::from_millis(20);

/// Who need not be on time sleeps for so long, whatever comes or is due until then.
const RELAXED: Duration = Duration::from_millis(10);

/// How one thread sleeps.
#[derive(Debug)]
pub(super) struct Sleeper {
    margin: Duration,
    /// How long it may spin.
    credit: Duration,
    credited: Instant,
    spins: bool,
}

impl Sleeper {
    pub(super) fn new(spins: bool) -> Self {
        Self { margin: MARGIN_MIN, credit: CREDIT_MAX, credited: Instant::now(), spins }
    }

    /// How long before a deadline it should be awake.
    fn affordable_margin(&mut self) -> Duration {
        if !self.spins {
            return Duration::ZERO;
        }
        let now = Instant::now();
        self.credit = (self.credit + (now - self.credited) / SPIN_PART).min(CREDIT_MAX);
        self.credited = now;
        if self.credit < self.margin { Duration::ZERO } else { self.margin }
    }

    fn spin(&mut self, clock: &LocalClock, deadline: LocalTime, is_pending: impl Fn() -> bool) {
        let start = Instant::now();
        while clock.now() < deadline && !is_pending() {
            std::hint::spin_loop();
        }
        self.credit = self.credit.saturating_sub(start.elapsed());
    }

    /// Comes back at the deadline, or earlier if `is_pending` says so (whoever makes it so unparks the thread), or
    /// earlier without a reason.
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
            Some(distance) => self.margin - distance / FALL,
            None => wanted,
        };
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Span;

    use super::*;

    #[test]
    fn it_never_wakes_early_nor_always_late() {
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
        // How late on the average is the load's to say; the benchmark `lateness` compares it.
        assert!(late[0] < Span::from_millis(1), "{late:?}");
    }

    #[test]
    fn it_does_not_spin_all_the_time() {
        let (clock, mut sleeper) = (LocalClock::start(), Sleeper::new(true));
        sleeper.credit = Duration::ZERO;
        assert_eq!(sleeper.affordable_margin(), Duration::ZERO);
        thread::sleep(Duration::from_millis(5));
        assert_eq!(sleeper.affordable_margin(), MARGIN_MIN);
        let credit = sleeper.credit;
        sleeper.spin(&clock, clock.now() + Span::from_millis(2), || false);
        assert!(sleeper.credit < credit);
    }

    #[test]
    fn who_need_not_be_on_time_wakes_now_and_then_for_all() {
        let (clock, mut sleeper) = (LocalClock::start(), Sleeper::new(false));
        let start = Instant::now();
        sleeper.sleep(&clock, Some(clock.now()), || true);
        assert!(start.elapsed() >= RELAXED, "nothing wakes it earlier");
    }

    #[test]
    fn what_is_pending_keeps_it_awake() {
        let (clock, mut sleeper) = (LocalClock::start(), Sleeper::new(true));
        let start = Instant::now();
        sleeper.sleep(&clock, Some(clock.now() + Span::from_secs(60)), || true);
        sleeper.sleep(&clock, None, || true);
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
