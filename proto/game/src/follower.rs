//! A machine that goes by the clock of another one beside it.

use evenkeel_core::clock::MirroredClock;
use evenkeel_core::{Channel, Endpoint, LocalTime, PeerId, Rejected, SessionClock};
use evenkeel_sync_ms::{Smc, Sms};

/// A machine with a mirrored clock.
pub(crate) trait Mirrors: Endpoint {
    fn mirror(&mut self) -> &mut MirroredClock;
}

impl Mirrors for Sms<MirroredClock> {
    fn mirror(&mut self) -> &mut MirroredClock {
        self.clock_mut()
    }
}

impl Mirrors for Smc<MirroredClock> {
    fn mirror(&mut self) -> &mut MirroredClock {
        self.clock_mut()
    }
}

/// A machine whose clock is set before each call.
#[derive(Debug)]
pub(crate) struct Follower<M> {
    pub(crate) machine: M,
    latest: LocalTime,
}

impl<M: Mirrors> Follower<M> {
    pub(crate) const fn new(machine: M) -> Self {
        Self { machine, latest: LocalTime::MIN }
    }

    /// Sets the machine's clock. Returns the time, held if it runs backwards.
    pub(crate) fn follow(&mut self, clock: &impl SessionClock, now: LocalTime) -> LocalTime {
        self.latest = self.latest.max(now);
        let now = self.latest;
        let mirror = self.machine.mirror();
        let had_time = mirror.session(now).is_some();
        *mirror = MirroredClock::of(clock, now);
        // Nothing can be scheduled without a session time, so what waits for one must learn that it is gone.
        if had_time && mirror.session(now).is_none() {
            self.machine.handle_timeout(now);
        }
        now
    }

    /// Sets the clock and hands over a message. If it is rejected, nothing changes.
    pub(crate) fn handle_message(
        &mut self,
        clock: &impl SessionClock,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        let at = self.latest.max(now);
        let before = core::mem::replace(self.machine.mirror(), MirroredClock::of(clock, at));
        let handled = self.machine.handle_message(at, from, channel, bytes);
        match handled {
            Ok(()) => self.latest = at,
            Err(_) => *self.machine.mirror() = before,
        }
        handled
    }
}
