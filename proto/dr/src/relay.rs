//! The relay: owners send it every trigger; it keeps the ledger and decides per receiver.
//!
//! The error counts from the generation time at the owner, so the owner's own uplink is in it, for everybody alike.

use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionClock, SessionTime, Span, Synchronized,
};

use crate::command::{DrEvent, RelayCommand};
use crate::config::DrConfig;
use crate::ledger::{ErrorLedger, Life};
use crate::message::{Frame, VectorFrame, emit_recorded, frames};
use crate::outbox::Outbox;
use crate::sender::Sender;
use crate::vector::{DrSeq, EntityId};

/// A vector may claim to be from at most so far in the future.
const AHEAD_MAX: Span = Span::from_secs(1);

/// The relay of one room.
#[derive(Debug)]
pub struct DrRelay<C = Synchronized> {
    clock: C,
    latest: LocalTime,
    sender: Sender,
    outbox: Outbox,
    /// Peers that came before there was a session time to introduce entities at.
    waiting: Vec<PeerId>,
}

impl DrRelay {
    /// A relay whose clock shows the session's time.
    #[must_use]
    pub fn new(config: &DrConfig) -> Self {
        Self::with_clock(config, Synchronized)
    }
}

impl<C: SessionClock> DrRelay<C> {
    /// A relay with this clock. Of the configuration it takes policy, budget, placement and seed.
    #[must_use]
    pub fn with_clock(config: &DrConfig, clock: C) -> Self {
        Self {
            clock,
            latest: LocalTime::MIN,
            sender: Sender::new(config.policy, config.budget, config.placement, config.seed),
            outbox: Outbox::default(),
            waiting: Vec::new(),
        }
    }

    /// What the relay knows of its receivers' errors.
    #[must_use]
    pub const fn ledger(&self) -> &ErrorLedger {
        self.sender.ledger()
    }

    /// The session's time; a clock that runs backwards is held. Whoever waited for it is welcomed now.
    fn session(&mut self, now: LocalTime) -> Option<SessionTime> {
        self.latest = self.latest.max(now);
        let now = self.clock.session(self.latest)?;
        for peer in core::mem::take(&mut self.waiting) {
            self.sender.join(peer, now, &mut self.outbox);
        }
        Some(now)
    }

    fn expects(channel: Channel, frame: &Frame<'_>, now: SessionTime) -> Result<(), Rejected> {
        let on = match frame {
            Frame::Vector(_) | Frame::Feedback(_) => Channel::Datagram,
            Frame::Introduce(_) | Frame::Ended { .. } => Channel::Reliable,
            Frame::Confirm(_) | Frame::Recorded { .. } => return Err(Rejected::Unexpected),
        };
        let ahead = match frame {
            Frame::Vector(vector) | Frame::Introduce(vector) => vector.vector.generated - now,
            Frame::Ended { at, .. } => *at - now,
            _ => Span::ZERO,
        };
        match (on == channel, ahead <= AHEAD_MAX) {
            (false, _) => Err(Rejected::Unexpected),
            (_, false) => Err(Rejected::OutOfRange),
            _ => Ok(()),
        }
    }

    fn on_vector(&mut self, from: PeerId, frame: &VectorFrame, now: SessionTime) {
        let mut life = Life { entity: frame.entity, first: frame.first };
        if self.sender.ledger().track(life).is_some_and(|track| track.owner == Some(from)) {
            self.sender.trigger(frame, now, &mut self.outbox);
        } else {
            // Not introduced yet, somebody else's, or of a life that is over and settled: then its owner may forget it.
            match self.sender.ledger().present(frame.entity) {
                Some((present, track)) if track.owner == Some(from) && frame.seq < present.first => {
                    life = present
                }
                _ => return,
            }
        }
        if let Some(track) = self.sender.ledger().track(life) {
            let contiguous = track.history.contiguous();
            self.outbox.datagram(from, |bytes| emit_recorded(frame.entity, contiguous, frame.seq, bytes));
        }
    }

    fn owns(&self, peer: PeerId, entity: EntityId) -> bool {
        self.sender.ledger().present(entity).is_some_and(|(_, track)| track.owner == Some(peer))
    }

    fn apply(&mut self, from: PeerId, frame: &Frame<'_>, now: SessionTime) {
        match frame {
            Frame::Vector(frame) => self.on_vector(from, frame, now),
            Frame::Introduce(frame) => self.sender.introduce(Some(from), frame, now, &mut self.outbox),
            Frame::Ended { entity, last, at } => {
                if self.owns(from, *entity) {
                    self.sender.end(*entity, *last, *at, &mut self.outbox);
                }
            }
            Frame::Feedback(feedback) => self.sender.on_feedback(from, feedback, now),
            Frame::Confirm(_) | Frame::Recorded { .. } => {}
        }
    }
}

impl<C: SessionClock> Endpoint for DrRelay<C> {
    type Command = RelayCommand;
    type Event = DrEvent;

    fn handle_command(&mut self, _now: LocalTime, command: RelayCommand) {
        let RelayCommand::Switch { policy, budget } = command;
        self.sender.switch(policy, budget);
    }

    fn handle_message(
        &mut self,
        at: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if !self.outbox.has(from) {
            return Err(Rejected::UnknownPeer);
        }
        let frames = frames(bytes)?;
        let now = self.clock.session(self.latest.max(at)).ok_or(Rejected::NoSessionTime)?;
        for frame in frames.clone() {
            Self::expects(channel, &frame, now)?;
        }
        self.session(at);
        for frame in frames {
            self.apply(from, &frame, now);
        }
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        let now = self.session(now);
        let peer = change.peer();
        if let Some(now) = now {
            let orphans = self.sender.ledger().lives().filter(|(_, track)| track.owner == Some(peer));
            for entity in orphans.map(|(life, _)| life.entity).collect::<Vec<_>>() {
                self.sender.end(entity, DrSeq(0), now, &mut self.outbox);
            }
        }
        self.sender.leave(peer);
        self.outbox.leave(peer);
        self.waiting.retain(|waiting| *waiting != peer);
        let PeerChange::Joined { datagram_max, .. } = change else { return };
        self.outbox.join(peer, datagram_max);
        match now {
            Some(now) => self.sender.join(peer, now, &mut self.outbox),
            None => self.waiting.push(peer),
        }
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        let Some(now) = self.session(now) else { return };
        self.sender.on_timeout(now, &mut self.outbox);
    }

    fn poll_transmit(&mut self, _now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        self.outbox.poll(bytes)
    }

    fn poll_event(&mut self) -> Option<DrEvent> {
        None
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        self.clock.local(self.sender.next_timeout()?)
    }
}
