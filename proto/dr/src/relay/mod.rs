//! The relay: owners send it every trigger, and it decides for each receiver.
//!
//! - [`limits`]: what it accepts from owners.
//! - `quota`: the work that each owner may cause.
//! - `renumbering`: the numbers under which it passes vectors on.
//! - `scoped`: entities that not everybody sees, and those that the relay owns itself.
//!
//! Errors count from the generation time at the owner, so they include the delay of the owner's uplink, the same for
//! every receiver.

pub mod limits;
mod quota;
mod renumbering;
mod scoped;

pub use limits::Limits;
pub use renumbering::OWNER_ENTITIES_MAX;
pub use scoped::MotionSpace;

use std::collections::BTreeSet;

use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionClock, SessionTime, Span, Synchronized,
};
use evenkeel_session::{Pending, Room, Station};

use quota::Quotas;
use renumbering::{OwnerLives, Renumbering};
use scoped::ScopedEntities;

use crate::command::{DrEvent, RelayCommand};
use crate::config::DrConfig;
use crate::ledger::exported_path::Recorded;
use crate::ledger::{ErrorLedger, Life};
use crate::message::{DrMessage, Frame, VERSION, VectorFrame, emit_recorded, refusal};
use crate::motion::{DrSeq, DrVector, EntityId};
use crate::owner::Threshold;
use crate::sender::{ENTITIES_MAX, Sender};

/// How far in the future a vector may claim to be generated.
const FUTURE_MAX: Span = Span::from_secs(1);

/// Entities of one owner that are accepted even if half of [`ENTITIES_MAX`] is used up. For
/// [`PLAYERS_MAX`](limits::PLAYERS_MAX) players that takes the other half.
const RESERVED_PER_OWNER: usize = 2;

/// An entity of a room, as the relay knows it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RoomEntity {
    /// The entity.
    pub entity: EntityId,
    /// Its owner.
    pub owner: PeerId,
    /// The number of the first vector of this life.
    pub first: DrSeq,
    /// Its newest vector.
    pub newest: DrVector,
    /// Its owner's threshold.
    pub threshold: Threshold,
}

/// The relay of one room.
#[derive(Debug)]
pub struct DrRelay<C = Synchronized> {
    station: Station<C>,
    sender: Sender,
    lives: OwnerLives,
    quotas: Quotas,
    limits: Limits,
    scoped: ScopedEntities,
    pending: Pending,
    /// Entities whose owners left while there was no session time. The others still show them.
    orphans: BTreeSet<EntityId>,
}

impl DrRelay {
    /// A relay whose clock shows session time.
    #[must_use]
    pub fn new(config: &DrConfig) -> Self {
        Self::with_clock(config, Synchronized)
    }
}

impl<C: SessionClock> DrRelay<C> {
    /// A relay with this clock. It ignores the topology of the configuration, and goes by its threshold for entities of
    /// its own.
    #[must_use]
    pub fn with_clock(config: &DrConfig, clock: C) -> Self {
        Self {
            station: Station::new(VERSION, config.tick, config.seed, clock),
            sender: Sender::new(config),
            lives: OwnerLives::default(),
            quotas: Quotas::default(),
            limits: config.limits,
            scoped: ScopedEntities::new(config.threshold.sane(), config.kind),
            pending: Pending::default(),
            orphans: BTreeSet::new(),
        }
    }

    /// The ledger of the receivers' errors.
    #[must_use]
    pub const fn ledger(&self) -> &ErrorLedger {
        self.sender.ledger()
    }

    /// A receiver's accumulated error with an owner's entities if this policy did not run, up to a constant; `None`
    /// if the policy does not track that.
    #[must_use]
    pub fn without(&self, owner: PeerId, receiver: PeerId) -> Option<f64> {
        self.sender.without(Some(owner), receiver)
    }

    /// The share of an entity's receivers that a trigger may reach, on average: 1 if everything goes to everybody.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.sender.share()
    }

    /// Bits per second that leave for the average player, with the headers of the datagrams.
    #[must_use]
    pub const fn bits_per_second(&self) -> f64 {
        self.sender.bits_per_second()
    }

    /// The entities in the room, by id.
    pub fn entities(&self) -> impl Iterator<Item = RoomEntity> + '_ {
        self.ledger().lives().filter_map(|(Life { entity, first }, track)| {
            let (owner, newest) = (track.owner?, *track.history.newest().1);
            Some(RoomEntity { entity, owner, first, newest, threshold: track.threshold })
        })
    }

    /// The vector that each receiver presumably shows of an entity.
    pub fn shown(&self, now: LocalTime, entity: EntityId) -> impl Iterator<Item = (PeerId, DrVector)> + '_ {
        let now = self.station.session(now);
        now.into_iter().flat_map(move |now| self.ledger().shown(entity, now))
    }

    /// Datagrams dropped because too many waited for one receiver.
    #[must_use]
    pub const fn crowded_out(&self) -> u64 {
        self.station.outbox.crowded_out()
    }

    /// Vectors and lives ignored because they exceeded their owner's quota.
    #[must_use]
    pub const fn over_quota(&self) -> u64 {
        self.quotas.exceeded()
    }

    /// The session's clock.
    #[must_use]
    pub const fn clock(&self) -> &C {
        &self.station.clock
    }

    /// The session time. Introduces the peers that waited for it.
    fn session(&mut self, now: LocalTime) -> Option<SessionTime> {
        let now = self.station.set_now(now)?;
        for entity in core::mem::take(&mut self.orphans) {
            self.sender.end(entity, DrSeq(0), now, &mut self.station.outbox);
        }
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
                // Scoped entities keep their creator's name, whoever owns them.
                let own_names = self.limits.own_names && !self.sender.is_scoped(frame.entity);
                let limits = Limits { own_names, ..self.limits };
                if !limits.allow(from, frame.entity, &frame.vector, now)
                    || !self.scoped.allow(frame.entity, &frame.vector.state)
                {
                    return Err(Rejected::OutOfRange);
                }
                frame.vector.generated - now
            }
            Frame::Ended { at, .. } => *at - now,
            _ => Span::ZERO,
        };
        match (on == channel, ahead <= FUTURE_MAX) {
            (false, _) => Err(Rejected::Unexpected),
            (_, false) => Err(Rejected::OutOfRange),
            _ => Ok(()),
        }
    }

    fn on_introduce(&mut self, from: PeerId, frame: &VectorFrame, threshold: Threshold, now: SessionTime) {
        if !self.quotas.birth(from, &self.limits, now) {
            return self.lives.refuse(from, frame, threshold);
        }
        if !self.may_move(from, frame.entity) {
            self.scoped.wait(from, frame, threshold);
            return self.lives.refuse(from, frame, threshold);
        }
        if self.sender.is_scoped(frame.entity) {
            self.replace(frame.entity, Some(from), now);
        }
        let ledger = self.sender.ledger();
        self.lives.retain(|life| ledger.track(life).is_some());
        if let Some(known) = self.lives.renumbering(from, frame)
            && let Some((life, track)) = ledger.present(frame.entity).filter(|(life, _)| *life == known.life)
        {
            // Some of its vectors will never arrive. It continues under new numbers, or under the old ones if a newer vector has
            // overtaken this introduction.
            let restarted = Renumbering::new(life, frame.seq, track.history.newest().0.next());
            if !self.introduce_as(restarted, from, frame, threshold, now)
                && let Some(renumbered) = known.incoming(frame)
            {
                self.sender.pass_over(&renumbered, now);
            }
            return;
        }
        let first = ledger.next_number(frame.entity);
        let renumbering = Renumbering::new(Life { entity: frame.entity, first }, frame.seq, first);
        let owned = ledger.lives().filter(|(_, track)| track.owner == Some(from)).count();
        let crowded = owned >= RESERVED_PER_OWNER && ledger.lives().count() >= ENTITIES_MAX / 2;
        let full = owned >= OWNER_ENTITIES_MAX || crowded;
        if full || !self.introduce_as(renumbering, from, frame, threshold, now) {
            self.lives.refuse(from, frame, threshold);
        }
    }

    fn introduce_as(
        &mut self,
        renumbering: Renumbering,
        from: PeerId,
        frame: &VectorFrame,
        threshold: Threshold,
        now: SessionTime,
    ) -> bool {
        let is_introduced = renumbering.incoming(frame).is_some_and(|renumbered| {
            self.sender.introduce(Some(from), &renumbered, threshold, now, &mut self.station.outbox)
        });
        if is_introduced {
            self.lives.accept(from, frame, renumbering);
        }
        is_introduced
    }

    fn on_vector(&mut self, from: PeerId, frame: &VectorFrame, now: SessionTime) {
        let VectorFrame { entity, seq, .. } = *frame;
        if !self.quotas.vector(from, &self.limits, now) {
            return;
        }
        let Some(renumbering) = self.lives.renumbering(from, frame) else {
            let refused = self.lives.refused(from, frame);
            if let Some(threshold) = refused {
                // The id, or a place for the entity, may have become free.
                self.on_introduce(from, frame, threshold, now);
            }
            // Stop the owner from repeating a vector of a refused life or one that is over. Other lives are not
            // introduced yet.
            if refused.is_some() || self.lives.is_over(from, frame) {
                self.station.outbox.datagram(from, |_, bytes| emit_recorded(entity, seq, seq, bytes));
            }
            return;
        };
        let Some(renumbered) = renumbering.incoming(frame) else { return };
        let recorded = self.sender.trigger(&renumbered, now, &mut self.station.outbox);
        let Some(track) = self.sender.ledger().track(renumbering.life) else { return };
        let contiguous = track.history.contiguous();
        // Vectors that did not make it into the exported path must be repeated.
        if recorded != Recorded::Ignored
            || renumbered.seq <= contiguous
            || track.history.vector(renumbered.seq).is_some()
        {
            let contiguous = renumbering.outgoing(contiguous);
            self.station.outbox.datagram(from, |_, bytes| emit_recorded(entity, contiguous, seq, bytes));
        }
    }

    fn on_ended(&mut self, from: PeerId, entity: EntityId, last: DrSeq, at: SessionTime) {
        // What has passed on goes on until its next owner's first vector.
        if !self.may_move(from, entity) {
            return;
        }
        let present = self.sender.ledger().present(entity).map(|(life, _)| life);
        if let Some(renumbering) = present.and_then(|life| self.lives.of_life(from, life)) {
            let last = renumbering.number(last).unwrap_or(renumbering.life.first);
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
        self.sender.handle_command(command);
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
        frames.check(|frame| self.expects(from, channel, frame, now)).map_err(refusal)?;
        self.session(at);
        frames.each(|frame| self.apply(from, frame, now));
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        let peer = change.peer();
        let orphans = self.sender.ledger().lives().filter(|(_, track)| track.owner == Some(peer));
        self.orphans.extend(orphans.map(|(life, _)| life.entity));
        let now = self.session(now);
        self.lives.leave(peer);
        self.scoped.leave(peer);
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
        // The clock first: if it steps, more may be due now.
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

/// A room whose entities move by dead reckoning: a [`DrRelay`], or a game's machine that contains one.
pub trait DrRoom<C>: Room {
    /// The relay for the players' entities.
    fn dr(&self) -> &DrRelay<C>;
}

impl<C: SessionClock> DrRoom<C> for DrRelay<C> {
    fn dr(&self) -> &Self {
        self
    }
}
