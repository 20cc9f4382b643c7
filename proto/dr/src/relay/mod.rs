//! The relay: owners send it every trigger; it keeps the ledger and decides per receiver.
//!
//! The error counts from the generation time at the owner, so the owner's own uplink is in it, for everybody alike.

pub(crate) mod intake;
pub mod limits;
pub(crate) mod quota;

use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionClock, SessionTime, Span, Synchronized,
};
use evenkeel_session::{Pending, Room, Station};

use crate::command::{DrEvent, RelayCommand};
use crate::config::DrConfig;
use crate::history::Recorded;
use crate::intake::{Intake, Numbering, OWNER_ENTITIES_MAX};
use crate::ledger::{ErrorLedger, Life};
use crate::limits::Limits;
use crate::message::{DrMessage, Frame, VERSION, VectorFrame, emit_recorded};
use crate::quota::Quotas;
use crate::sender::{ENTITIES_MAX, Sender};
use crate::threshold::Threshold;
use crate::vector::{DrSeq, DrVector, EntityId};

/// A vector may claim to be from at most so far in the future.
const AHEAD_MAX: Span = Span::from_secs(1);

/// Entities of one owner that are taken even if others have half of the room's: with [`PLAYERS_MAX`](crate::limits::PLAYERS_MAX)
/// players that is the other half.
const RESERVED: usize = 2;

/// An entity of a room, as its owner has told of it last.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Present {
    /// Which.
    pub entity: EntityId,
    /// Whose.
    pub owner: PeerId,
    /// What tells this life of it from others.
    pub first: DrSeq,
    /// Its newest vector.
    pub newest: DrVector,
}

/// The relay of one room.
#[derive(Debug)]
pub struct DrRelay<C = Synchronized> {
    station: Station<C>,
    sender: Sender,
    intake: Intake,
    quotas: Quotas,
    limits: Limits,
    pending: Pending,
}

impl DrRelay {
    /// A relay whose clock shows the session's time.
    #[must_use]
    pub fn new(config: &DrConfig) -> Self {
        Self::with_clock(config, Synchronized)
    }
}

impl<C: SessionClock> DrRelay<C> {
    /// A relay with this clock. Topology, threshold and kind of the configuration are the owners' business.
    #[must_use]
    pub fn with_clock(config: &DrConfig, clock: C) -> Self {
        Self {
            station: Station::new(VERSION, config.tick, config.seed, clock),
            sender: Sender::new(config),
            intake: Intake::default(),
            quotas: Quotas::default(),
            limits: config.limits,
            pending: Pending::default(),
        }
    }

    /// What the relay knows of its receivers' errors.
    #[must_use]
    pub const fn ledger(&self) -> &ErrorLedger {
        self.sender.ledger()
    }

    /// What a receiver's accumulated error with an owner's entities would be without the policy, if the policy reckons that; from
    /// an arbitrary beginning.
    #[must_use]
    pub fn without(&self, owner: PeerId, receiver: PeerId) -> Option<f64> {
        self.sender.without(Some(owner), receiver)
    }

    /// Every entity that there is, in the order of their names.
    pub fn present(&self) -> impl Iterator<Item = Present> + '_ {
        self.ledger().lives().filter_map(|(Life { entity, first }, track)| {
            Some(Present { entity, owner: track.owner?, first, newest: *track.history.newest().1 })
        })
    }

    /// What each receiver is taken to show of an entity, as far as the relay knows.
    pub fn shown(&self, now: LocalTime, entity: EntityId) -> impl Iterator<Item = (PeerId, DrVector)> + '_ {
        let now = self.station.session(now);
        now.into_iter().flat_map(move |now| self.ledger().shown(entity, now))
    }

    /// Datagrams that were dropped because too many waited for one receiver.
    #[must_use]
    pub const fn crowded_out(&self) -> u64 {
        self.station.outbox.crowded_out()
    }

    /// Vectors and lives beyond their owners' quotas, left as if lost on the way.
    #[must_use]
    pub const fn over_quota(&self) -> u64 {
        self.quotas.exceeded()
    }

    /// The session's clock.
    #[must_use]
    pub const fn clock(&self) -> &C {
        &self.station.clock
    }

    /// The session's time. Whoever waited for it is welcomed now.
    fn session(&mut self, now: LocalTime) -> Option<SessionTime> {
        let now = self.station.set_now(now)?;
        for peer in self.pending.take_peers() {
            self.sender.join(peer, now, &mut self.station.outbox);
        }
        Some(now)
    }

    fn expects(
        &self,
        from: PeerId,
        channel: Channel,
        frame: &Frame<'_>,
        now: SessionTime,
    ) -> Result<(), Rejected> {
        let on = match frame {
            Frame::Vector(_) | Frame::Feedback(_) | Frame::Clock(_) => Channel::Datagram,
            Frame::Introduce(..) | Frame::Ended { .. } => Channel::Reliable,
            Frame::Confirm(_) | Frame::Recorded { .. } => return Err(Rejected::Unexpected),
        };
        let ahead = match frame {
            Frame::Vector(frame) | Frame::Introduce(frame, _) => {
                if !self.limits.allow(from, frame.entity, &frame.vector, now) {
                    return Err(Rejected::OutOfRange);
                }
                frame.vector.generated - now
            }
            Frame::Ended { at, .. } => *at - now,
            _ => Span::ZERO,
        };
        match (on == channel, ahead <= AHEAD_MAX) {
            (false, _) => Err(Rejected::Unexpected),
            (_, false) => Err(Rejected::OutOfRange),
            _ => Ok(()),
        }
    }

    fn on_introduce(&mut self, from: PeerId, frame: &VectorFrame, threshold: Threshold, now: SessionTime) {
        if !self.quotas.birth(from, &self.limits, now) {
            return self.intake.refuse(from, frame, threshold);
        }
        let ledger = self.sender.ledger();
        self.intake.retain(|life| ledger.track(life).is_some());
        if let Some(known) = self.intake.numbering(from, frame)
            && let Some((life, track)) = ledger.present(frame.entity).filter(|(life, _)| *life == known.life)
        {
            let again = Numbering::new(life, frame.seq, track.history.newest().0.next());
            self.go_on(from, frame, threshold, (known, again), now);
            return;
        }
        let first = ledger.next_number(frame.entity);
        let numbering = Numbering::new(Life { entity: frame.entity, first }, frame.seq, first);
        let owned = ledger.lives().filter(|(_, track)| track.owner == Some(from)).count();
        let crowded = owned >= RESERVED && ledger.lives().count() >= ENTITIES_MAX / 2;
        let full = owned >= OWNER_ENTITIES_MAX || crowded;
        let taken = numbering.incoming(frame).filter(|_| !full);
        if taken.is_some_and(|taken| {
            self.sender.introduce(Some(from), &taken, threshold, now, &mut self.station.outbox)
        }) {
            self.intake.keep(from, frame, numbering);
        } else {
            self.intake.refuse(from, frame, threshold);
        }
    }

    /// A life goes on after vectors that will never come: with a new numbering; or, if a newer vector has overtaken the
    /// introduction, from there on with the old one.
    fn go_on(
        &mut self,
        from: PeerId,
        frame: &VectorFrame,
        threshold: Threshold,
        (known, again): (Numbering, Numbering),
        now: SessionTime,
    ) {
        let restarted = again.incoming(frame).is_some_and(|taken| {
            self.sender.introduce(Some(from), &taken, threshold, now, &mut self.station.outbox)
        });
        if restarted {
            self.intake.keep(from, frame, again);
        } else if let Some(taken) = known.incoming(frame) {
            self.sender.pass_over(&taken, now);
        }
    }

    fn on_vector(&mut self, from: PeerId, frame: &VectorFrame, now: SessionTime) {
        let VectorFrame { entity, seq, .. } = *frame;
        if !self.quotas.vector(from, &self.limits, now) {
            return;
        }
        let Some(numbering) = self.intake.numbering(from, frame) else {
            let refused = self.intake.refused(from, frame);
            if let Some(refused) = refused {
                // The name, or room for it, may have become free.
                self.on_introduce(from, frame, refused, now);
            }
            // Its owner need not repeat what is refused or of a life that is over; else it is not introduced yet.
            if refused.is_some() || self.intake.is_over(from, frame) {
                self.station.outbox.datagram(from, |_, bytes| emit_recorded(entity, seq, seq, bytes));
            }
            return;
        };
        let Some(taken) = numbering.incoming(frame) else { return };
        let recorded = self.sender.trigger(&taken, now, &mut self.station.outbox);
        let Some(track) = self.sender.ledger().track(numbering.life) else { return };
        let contiguous = track.history.contiguous();
        // Only what is in the exported path is recorded: what was refused must come again.
        if recorded != Recorded::Ignored
            || taken.seq <= contiguous
            || track.history.vector(taken.seq).is_some()
        {
            let contiguous = numbering.outgoing(contiguous);
            self.station.outbox.datagram(from, |_, bytes| emit_recorded(entity, contiguous, seq, bytes));
        }
    }

    fn on_ended(&mut self, from: PeerId, entity: EntityId, last: DrSeq, at: SessionTime) {
        let present = self.sender.ledger().present(entity).map(|(life, _)| life);
        if let Some(numbering) = present.and_then(|life| self.intake.of_life(from, life)) {
            let last = numbering.number(last).unwrap_or(numbering.life.first);
            self.sender.end(entity, last, at, &mut self.station.outbox);
        }
    }

    fn apply(&mut self, from: PeerId, frame: &Frame<'_>, now: SessionTime) {
        match frame {
            Frame::Vector(frame) => self.on_vector(from, frame, now),
            Frame::Introduce(frame, threshold) => self.on_introduce(from, frame, *threshold, now),
            Frame::Ended { entity, last, at } => self.on_ended(from, *entity, *last, *at),
            Frame::Feedback(feedback) => {
                self.sender.on_feedback(from, feedback, now, &mut self.station.outbox)
            }
            Frame::Clock(frame) => self.station.on_clock_frame(from, frame),
            Frame::Confirm(_) | Frame::Recorded { .. } => {}
        }
    }
}

impl<C: SessionClock> Endpoint for DrRelay<C> {
    type Command = RelayCommand;
    type Event = DrEvent;

    fn handle_command(&mut self, _now: LocalTime, command: RelayCommand) {
        match command {
            RelayCommand::Switch { policy, budget } => self.sender.switch(policy, budget),
            RelayCommand::Weigh { entity, receiver, weight } => self.sender.weigh(entity, receiver, weight),
        }
    }

    fn handle_message(
        &mut self,
        at: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if !self.station.outbox.has(from) {
            return Err(Rejected::UnknownPeer);
        }
        let now = self.station.session(at).ok_or(Rejected::NoSessionTime)?;
        let mut frames = DrMessage::unchecked(bytes);
        frames.check(|frame| self.expects(from, channel, frame, now))?;
        self.session(at);
        frames.each(|frame| self.apply(from, frame, now));
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        let now = self.session(now);
        let peer = change.peer();
        if let Some(now) = now {
            let orphans = self.sender.ledger().lives().filter(|(_, track)| track.owner == Some(peer));
            for entity in orphans.map(|(life, _)| life.entity).collect::<Vec<_>>() {
                self.sender.end(entity, DrSeq(0), now, &mut self.station.outbox);
            }
        }
        self.intake.leave(peer);
        self.quotas.leave(peer);
        self.sender.leave(peer);
        self.station.on_peer(change);
        self.pending.leave(peer);
        let PeerChange::Joined { .. } = change else { return };
        match now {
            Some(now) => self.sender.join(peer, now, &mut self.station.outbox),
            None => self.pending.join(peer),
        }
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        // The clock first: it may step, and what is due then is due now.
        self.station.set_now(now);
        self.station.wake_clock();
        let Some(now) = self.session(now) else { return };
        self.sender.on_timeout(now, &mut self.station.outbox);
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        self.station.poll(now, bytes, |_, _| {})
    }

    fn poll_event(&mut self) -> Option<DrEvent> {
        let station = &mut self.station;
        let clock = station.clock.poll_event().map(DrEvent::Clock);
        clock.or_else(|| station.outbox.poll_stalled().map(|peer| DrEvent::Stalled { peer }))
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        self.station.next_timeout(self.sender.next_timeout())
    }
}

impl<C: SessionClock> Room for DrRelay<C> {
    fn stalled(event: &DrEvent) -> Option<PeerId> {
        match event {
            DrEvent::Stalled { peer } => Some(*peer),
            _ => None,
        }
    }
}

/// A room in which entities move by dead reckoning: a [`DrRelay`], or a game's machine that holds one.
pub trait DrRoom<C>: Room {
    /// The relay of the players' entities.
    fn dr(&self) -> &DrRelay<C>;
}

impl<C: SessionClock> DrRoom<C> for DrRelay<C> {
    fn dr(&self) -> &Self {
        self
    }
}
