//! Whether the game uses the service: players are measured only as long as it does.

use evenkeel_core::{SessionClock, SessionTime, Span};

use super::Sms;

/// How long after the last update or action players are still measured.
const USED_FOR: Span = Span::from_secs(10);

impl<C: SessionClock> Sms<C> {
    /// Whether clients are measured: nothing is sent for a service that nobody uses.
    pub(super) fn is_measuring(&self, now: SessionTime) -> bool {
        (self.policy.is_some() || self.sync_out) && is_recent(self.used_at, now)
    }

    /// Whether clients are waited for, and shall be heard often. Only the order of reactions needs promises, but all profit
    /// from repetition.
    pub(super) fn is_ordering(&self, now: SessionTime) -> bool {
        self.policy.is_some() && is_recent(self.acted_at, now)
    }

    /// Notes that the game uses the service. If that is new, everybody is asked to answer at once.
    pub(super) fn note_use(&mut self, now: SessionTime, acts: bool) {
        let before = (self.is_measuring(now), self.is_ordering(now));
        self.used_at = Some(now);
        if acts {
            self.acted_at = Some(now);
        }
        if before != (self.is_measuring(now), self.is_ordering(now)) {
            // Nobody was asked to be heard until now.
            self.clients.iter_mut().for_each(|(_, client)| client.resume(now));
            self.ping_all(now);
        }
    }

    pub(super) fn ping_all(&mut self, now: SessionTime) {
        self.clients.iter_mut().for_each(|(_, client)| client.ping_at = now);
        self.ping_at = Some(now);
        self.ping(now);
    }
}

/// Whether the service is still in use after this.
pub(super) fn is_recent(at: Option<SessionTime>, now: SessionTime) -> bool {
    at.is_some_and(|at| now - at < USED_FOR)
}
