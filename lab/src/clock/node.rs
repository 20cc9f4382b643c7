//! A node that is only a clock: its datagrams carry clock frames.

use evenkeel_core::clock::{Hull, OffsetEstimator};
use evenkeel_core::{
    Channel, ClockEvent, ClockFrame, Endpoint, FollowerClock, LocalTime, MedianClock, PeerChange, PeerId,
    Reader, Rejected, ServerClock, SessionClock, Wire,
};

/// A server's clock, a follower's, or a peer's.
#[derive(Debug)]
pub enum ClockNode<E = Hull> {
    /// Defines the session's time.
    Server(Box<ServerClock>),
    /// Follows the server with the estimator `E`.
    Follower(Box<FollowerClock<E>>),
    /// One of several without a server.
    Peer(Box<MedianClock>),
}

impl<E: OffsetEstimator> ClockNode<E> {
    /// The clock, if this is a follower.
    #[must_use]
    pub const fn follower(&self) -> Option<&FollowerClock<E>> {
        match self {
            Self::Server(_) | Self::Peer(_) => None,
            Self::Follower(clock) => Some(clock),
        }
    }

    fn clock(&self) -> &dyn SessionClock
    where
        E: 'static,
    {
        match self {
            Self::Server(clock) => &**clock,
            Self::Follower(clock) => &**clock,
            Self::Peer(clock) => &**clock,
        }
    }

    fn clock_mut(&mut self) -> &mut dyn SessionClock
    where
        E: 'static,
    {
        match self {
            Self::Server(clock) => &mut **clock,
            Self::Follower(clock) => &mut **clock,
            Self::Peer(clock) => &mut **clock,
        }
    }
}

impl<E: OffsetEstimator + 'static> Endpoint for ClockNode<E> {
    type Command = ();
    type Event = ClockEvent;

    fn handle_command(&mut self, _: LocalTime, (): ()) {}

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        _: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        // A malformed message is rejected as a whole, before any frame is handled.
        let mut reader = Reader::new(bytes);
        let mut frames = Vec::new();
        while frames.is_empty() || !reader.is_empty() {
            frames.push(reader.read::<ClockFrame>()?);
        }
        for frame in &frames {
            self.clock_mut().handle_frame(now, from, frame);
        }
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.clock_mut().handle_peer(now, change);
    }

    fn handle_timeout(&mut self, _: LocalTime) {}

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        let clock = self.clock_mut();
        while let Some(to) = clock.poll_due(now) {
            bytes.clear();
            while let Some(frame) = clock.poll_frame(now, to) {
                frame.emit(bytes);
            }
            if !bytes.is_empty() {
                return Some((to, Channel::Datagram));
            }
        }
        None
    }

    fn poll_event(&mut self) -> Option<ClockEvent> {
        self.clock_mut().poll_event()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        self.clock().poll_timeout()
    }
}
