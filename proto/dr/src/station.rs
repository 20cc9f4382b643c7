//! What every machine of dead reckoning stands on: a clock, and what is ready to leave.

use evenkeel_core::{Channel, ClockFrame, LocalTime, PeerChange, PeerId, SessionClock, SessionTime, earlier};

use crate::config::DrConfig;
use crate::message::emit_clock;
use crate::outbox::Outbox;

/// A clock and an outbox that agree on the time.
#[derive(Debug)]
pub(crate) struct Station<C> {
    pub(crate) clock: C,
    pub(crate) outbox: Outbox,
    latest: LocalTime,
}

impl<C: SessionClock> Station<C> {
    pub(crate) fn new(config: &DrConfig, clock: C) -> Self {
        let outbox = Outbox::new(config.tick, config.nonce_key());
        Self { clock, outbox, latest: LocalTime::MIN }
    }

    /// It is now; a local clock that runs backwards is held. Gives the session's time if there is one.
    #[inline]
    pub(crate) fn set_now(&mut self, now: LocalTime) -> Option<SessionTime> {
        self.latest = self.latest.max(now);
        let session = self.clock.session(self.latest);
        self.outbox.set_now(self.latest, session);
        session
    }

    /// The session's time at an arrival that may yet be rejected.
    pub(crate) fn session(&self, at: LocalTime) -> Option<SessionTime> {
        self.clock.session(self.latest.max(at))
    }

    /// A peer came or went.
    pub(crate) fn on_peer(&mut self, change: PeerChange) {
        self.clock.handle_peer(self.latest, change);
        match change {
            PeerChange::Joined { peer, datagram_max } => self.outbox.join(peer, datagram_max),
            PeerChange::Left { peer } => self.outbox.leave(peer),
        }
        self.wake_clock();
    }

    /// A clock frame came.
    pub(crate) fn on_clock_frame(&mut self, from: PeerId, frame: &ClockFrame) {
        self.clock.handle_frame(self.latest, from, frame);
        self.wake_clock();
    }

    /// Datagrams are wanted for whomever the clock has a frame for.
    pub(crate) fn wake_clock(&mut self) {
        while let Some(peer) = self.clock.poll_due(self.latest) {
            self.outbox.want(peer);
        }
    }

    /// The next message. Before the last datagram for a peer leaves, `ride` may add to it, and then the clock.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        now: LocalTime,
        bytes: &mut Vec<u8>,
        ride: impl FnMut(PeerId, &mut Outbox),
    ) -> Option<(PeerId, Channel)> {
        self.set_now(now);
        // Every call of the driver's ends with this answer.
        if self.outbox.is_idle() { None } else { self.poll_due(bytes, ride) }
    }

    #[inline(never)]
    fn poll_due(
        &mut self,
        bytes: &mut Vec<u8>,
        mut ride: impl FnMut(PeerId, &mut Outbox),
    ) -> Option<(PeerId, Channel)> {
        loop {
            let (peer, last) = self.outbox.due()?;
            if last {
                ride(peer, &mut self.outbox);
                while let Some(frame) = self.clock.poll_frame(self.latest, peer) {
                    self.outbox.ride(peer, |bytes| emit_clock(&frame, bytes));
                }
            }
            if let Some(channel) = self.outbox.take(peer, bytes) {
                return Some((peer, channel));
            }
        }
    }

    /// When to wake: for the machine, for the clock, or for the end of a tick.
    pub(crate) fn next_timeout(&self, machine: Option<SessionTime>) -> Option<LocalTime> {
        let machine = machine.and_then(|at| self.clock.local(at));
        earlier(earlier(machine, self.clock.poll_timeout()), self.outbox.next_timeout())
    }
}
