//! The clock of the node whose time is the session's, such as a relay. It only answers probes.

use super::echoes::PendingEchoes;
use super::frame::ClockFrame;
use super::{ClockEvent, SessionClock};
use crate::peer::{PeerChange, PeerId};
use crate::time::{LocalTime, SessionTime};

/// Shows this node's own time as the session's and answers the probes of
/// [`FollowerClock`](super::FollowerClock)s that have joined.
#[derive(Clone, Debug, Default)]
pub struct ServerClock {
    echoes: PendingEchoes,
}

impl SessionClock for ServerClock {
    #[inline]
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        Some(SessionTime::from_nanos(now.as_nanos()))
    }

    #[inline]
    fn local(&self, at: SessionTime) -> Option<LocalTime> {
        Some(LocalTime::from_nanos(at.as_nanos()))
    }

    fn handle_peer(&mut self, _now: LocalTime, change: PeerChange) {
        self.echoes.handle_peer(change);
    }

    fn handle_frame(&mut self, now: LocalTime, from: PeerId, frame: &ClockFrame) {
        if let ClockFrame::Probe { sent } = frame {
            self.echoes.handle_probe(now, from, *sent);
        }
    }

    fn poll_due(&mut self, now: LocalTime) -> Option<PeerId> {
        self.echoes.poll_due(now)
    }

    fn poll_frame(&mut self, now: LocalTime, to: PeerId) -> Option<ClockFrame> {
        self.echoes.poll_frame(now, to)
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        self.echoes.next()
    }

    fn poll_event(&mut self) -> Option<ClockEvent> {
        None
    }
}
