//! A node that is nothing but a clock: its datagrams carry clock frames and nothing else.

use evenkeel_core::clock::{Hull, OffsetEstimator};
use evenkeel_core::{
    Channel, ClockEvent, ClockFrame, Endpoint, FollowerClock, LocalTime, PeerChange, PeerId, Reader,
    Rejected, ServerClock, SessionClock, Wire,
};

/// The server, or one that follows it.
#[derive(Debug)]
pub enum ClockNode<E = Hull> {
    /// Its own time is the session's.
    Server(Box<ServerClock>),
    /// Follows the server's with this estimator.
    Follower(Box<FollowerClock<E>>),
}

impl<E: OffsetEstimator> ClockNode<E> {
    /// The clock, if this is one that follows.
    #[must_use]
    pub const fn follower(&self) -> Option<&FollowerClock<E>> {
        match self {
            Self::Server(_) => None,
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
        }
    }

    fn clock_mut(&mut self) -> &mut dyn SessionClock
    where
        E: 'static,
    {
        match self {
            Self::Server(clock) => &mut **clock,
            Self::Follower(clock) => &mut **clock,
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
        let mut reader = Reader::new(bytes);
        let frame: ClockFrame = reader.read()?;
        reader.finish()?;
        self.clock_mut().handle_frame(now, from, &frame);
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.clock_mut().handle_peer(now, change);
    }

    fn handle_timeout(&mut self, _: LocalTime) {}

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        let clock = self.clock_mut();
        while let Some(to) = clock.poll_due(now) {
            if let Some(frame) = clock.poll_frame(now, to) {
                bytes.clear();
                frame.emit(bytes);
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
