//! What every machine of a session stands on: a clock, and what is ready to leave.

use evenkeel_core::{
    Channel, ClockFrame, Key, LocalTime, PeerChange, PeerId, Seed, SessionClock, SessionTime, Span, earlier,
};

use crate::envelope::emit_clock;
use crate::outbox::Outbox;

const NONCES: u64 = 0x6e6f_6e63_6573;

/// A clock and an outbox that agree on the time.
#[derive(Debug)]
pub struct Station<C> {
    /// The session's clock.
    pub clock: C,
    /// What is ready to leave.
    pub outbox: Outbox,
    latest: LocalTime,
}

impl<C: SessionClock> Station<C> {
    /// A station for messages of this format. On a real network the seed is a secret: nonces come from it.
    #[must_use]
    pub fn new(format: u8, tick: Span, seed: Seed, clock: C) -> Self {
        let mut draws = seed.child(NONCES).draws();
        let key = Key::new(draws.bits(), draws.bits());
        Self { clock, outbox: Outbox::new(format, tick, key), latest: LocalTime::MIN }
    }

    /// The local time, held if it runs backwards.
    #[must_use]
    pub fn hold(&self, now: LocalTime) -> LocalTime {
        self.latest.max(now)
    }

    /// Advances the time; a local clock that runs backwards is held. Returns the session time, if there is one.
    #[inline]
    pub fn set_now(&mut self, now: LocalTime) -> Option<SessionTime> {
        self.latest = self.latest.max(now);
        let session = self.clock.session(self.latest);
        self.outbox.set_now(self.latest, session);
        session
    }

    /// The session time of an arrival that may yet be rejected.
    #[must_use]
    pub fn session(&self, at: LocalTime) -> Option<SessionTime> {
        self.clock.session(self.latest.max(at))
    }

    /// Adds or removes a peer.
    pub fn on_peer(&mut self, change: PeerChange) {
        self.clock.handle_peer(self.latest, change);
        match change {
            PeerChange::Joined { peer, datagram_max } => self.outbox.join(peer, datagram_max),
            PeerChange::Left { peer } => self.outbox.leave(peer),
        }
        self.wake_clock();
    }

    /// Hands a clock frame to the clock.
    pub fn on_clock_frame(&mut self, from: PeerId, frame: &ClockFrame) {
        self.clock.handle_frame(self.latest, from, frame);
        self.wake_clock();
    }

    /// Requests a datagram for every peer that the clock has a frame for.
    pub fn wake_clock(&mut self) {
        while let Some(peer) = self.clock.poll_due(self.latest) {
            self.outbox.request(peer);
        }
    }

    /// Writes the next message. Before the last datagram for a peer leaves, `ride` may add frames to it; the clock adds
    /// its own.
    #[inline]
    pub fn poll(
        &mut self,
        now: LocalTime,
        bytes: &mut Vec<u8>,
        ride: impl FnMut(PeerId, &mut Outbox),
    ) -> Option<(PeerId, Channel)> {
        self.set_now(now);
        // Drivers poll until `None`, so this is the usual answer.
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

    /// The next timeout: of the machine, of the clock, or the end of a peer's tick.
    pub fn next_timeout(&self, machine: Option<SessionTime>) -> Option<LocalTime> {
        let machine = machine.and_then(|at| self.clock.local(at));
        earlier(earlier(machine, self.clock.poll_timeout()), self.outbox.next_timeout())
    }
}
