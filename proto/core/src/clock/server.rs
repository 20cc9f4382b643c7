//! The clock of the one whose time is the session's: a relay, a server. It only answers.

use super::answers::Answers;
use super::frame::ClockFrame;
use super::{ClockEvent, SessionClock};
use crate::peer::{PeerChange, PeerId};
use crate::time::{LocalTime, SessionTime};

/// The session's time is this node's own. Peers that joined may ask for it: see
/// [`FollowerClock`](super::FollowerClock).
#[derive(Clone, Debug, Default)]
pub struct ServerClock {
    answers: Answers,
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
        self.answers.handle_peer(change);
    }

    fn handle_frame(&mut self, now: LocalTime, from: PeerId, frame: &ClockFrame) {
        if let ClockFrame::Probe { sent } = frame {
            self.answers.handle_probe(now, from, *sent);
        }
    }

    fn poll_due(&mut self, now: LocalTime) -> Option<PeerId> {
        self.answers.poll_due(now)
    }

    fn poll_frame(&mut self, now: LocalTime, to: PeerId) -> Option<ClockFrame> {
        self.answers.poll_frame(now, to)
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        self.answers.next()
    }

    fn poll_event(&mut self) -> Option<ClockEvent> {
        None
    }
}
