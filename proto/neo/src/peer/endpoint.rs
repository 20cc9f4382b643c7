//! The calls of a driver.

use evenkeel_core::{
    Channel, ClockFrame, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionClock, Span, earlier,
};

use super::{NeoPeer, START_AFTER};
use crate::command::{NeoCommand, NeoEvent};
use crate::config::{MOVE_LEN_MAX, STATE_LEN_MAX};
use crate::control::Control;
use crate::members::Stage;
use crate::message::{Datagram, complete_slot, emit_datagram};

/// How often a peer that this one sends no updates is asked for its clock.
const FAR_PROBE: Span = Span::from_secs(2);
/// How often others are: about once in so much time for each eight peers.
const NEAR_PROBE: Span = Span::from_millis(100);

impl<C: SessionClock> Endpoint for NeoPeer<C> {
    type Command = NeoCommand;
    type Event = NeoEvent;

    fn handle_command(&mut self, now: LocalTime, command: NeoCommand) {
        self.advance(now);
        if self.has_left {
            return;
        }
        match command {
            NeoCommand::Submit(bytes) if bytes.len() <= MOVE_LEN_MAX => self.own.submitted = bytes,
            NeoCommand::Submit(_) => self.stats.refused += 1,
            NeoCommand::ChangeState(bytes) => self.change_state(bytes),
            NeoCommand::Tell { to, bytes } => {
                let seat = self.members.seat_of(to);
                let is_there = seat.and_then(|seat| self.members.get(seat)?.proved()).is_some();
                if is_there && bytes.len() <= STATE_LEN_MAX {
                    self.send(to, &Control::Tell { bytes });
                } else {
                    self.stats.refused += 1;
                }
            }
            NeoCommand::Interest(peers) => self.set_interest(&peers),
            NeoCommand::Leave => {
                self.send_to_all(&Control::Bye);
                self.has_left = true;
            }
        }
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        let handled = match channel {
            Channel::Datagram => self.hear_datagram(now, from, bytes),
            Channel::Reliable => self.hear_control(now, from, bytes),
        };
        self.stats.rejected += u64::from(handled.is_err());
        handled
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.advance(now);
        match change {
            PeerChange::Joined { peer, datagram_max } => self.connect(peer, datagram_max),
            PeerChange::Left { peer } => self.disconnect(peer),
        }
        self.wake_clock();
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.advance(now);
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        self.now = self.now.max(now);
        if let Some((to, message)) = self.outbox.pop_reliable() {
            *bytes = message;
            self.stats.reliable += 1;
            self.stats.reliable_bytes += bytes.len() as u64;
            return Some((to, Channel::Reliable));
        }
        while let Some(waiting) = self.outbox.pop_datagram() {
            let frame = self.clock_frame(waiting.to);
            if waiting.update.is_none() && frame.is_none() {
                continue;
            }
            emit_datagram(waiting.update.as_deref(), frame.as_ref(), bytes);
            self.stats.datagrams += 1;
            self.stats.datagram_bytes += bytes.len() as u64;
            return Some((waiting.to, Channel::Datagram));
        }
        None
    }

    fn poll_event(&mut self) -> Option<NeoEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let slots = self.slot_timeout().and_then(|at| self.clock.local(at));
        earlier(slots, self.clock.poll_timeout())
    }
}

impl<C: SessionClock> NeoPeer<C> {
    /// Moves on to a time: makes the moves that are due, and decides what is due.
    pub(super) fn advance(&mut self, now: LocalTime) {
        self.now = self.now.max(now);
        self.wake_clock();
        let Some(at) = self.session_now() else { return };
        if self.own.first.is_none() && !self.has_left {
            let first = self.schedule.slot_at(at + START_AFTER) + 1;
            self.own.first = Some(first);
            self.own.next = first;
        }
        self.settle_due(at);
        self.speak(at);
    }

    /// When there is something to do for a slot.
    fn slot_timeout(&self) -> Option<evenkeel_core::SessionTime> {
        let own = self.own.first.filter(|_| !self.has_left).map(|_| self.schedule.begin(self.own.next));
        earlier(own, self.decision_due())
    }

    pub(super) fn wake_clock(&mut self) {
        while let Some(peer) = self.clock.poll_due(self.now) {
            if self.is_carried(peer) {
                continue;
            }
            self.outbox.push_clock(peer);
        }
        while let Some(event) = self.clock.poll_event() {
            self.push_event(NeoEvent::Clock(event));
        }
    }

    /// Whether updates to this peer will carry the clock's frames.
    fn is_carried(&self, peer: PeerId) -> bool {
        let member = self.members.seat_of(peer).and_then(|seat| self.members.get(seat));
        self.own.first.is_some()
            && !self.has_left
            && !self.clock.is_urgent(peer)
            && self.session_now().is_some()
            && member.is_some_and(|member| member.is_reached && member.stage != Stage::Greeting)
    }

    /// The clock's frame for a datagram that leaves now. Probes leave less often than the clock wishes, to save bandwidth:
    /// a session has many clocks, and the median needs none of them exactly.
    fn clock_frame(&mut self, to: PeerId) -> Option<ClockFrame> {
        let frame = self.clock.poll_frame(self.now, to)?;
        let is_urgent = self.session_now().is_none() || self.clock.is_urgent(to);
        let peers = self.members.iter().count() as i64;
        let seat = self.members.seat_of(to);
        let member = seat.and_then(|seat| self.members.get_mut(seat))?;
        if is_urgent || !matches!(frame, ClockFrame::Probe { .. }) {
            return Some(frame);
        }
        if self.now < member.probe_at {
            return None;
        }
        let pause = if member.is_reached { NEAR_PROBE.times(2 + peers / 8 * 2) } else { FAR_PROBE };
        member.probe_at = self.now + pause;
        Some(frame)
    }

    /// The slot nearest to the current one with these lower bits.
    pub(crate) fn complete_slot(&self, now: LocalTime, low: u64) -> u64 {
        let near = self.clock.session(self.now.max(now)).map_or(0, |at| self.schedule.slot_at(at));
        complete_slot(low, near)
    }

    fn hear_datagram(&mut self, now: LocalTime, from: PeerId, bytes: &[u8]) -> Result<(), Rejected> {
        let mut datagram = Datagram::parse(bytes)?;
        let seat = self.members.seat_of(from).ok_or(Rejected::UnknownPeer)?;
        let now = self.now.max(now);
        if let Some(update) = &mut datagram.update {
            update.slot = self.complete_slot(now, update.slot);
        }
        let heard = match &datagram.update {
            Some(update) => self.check_update(now, seat, update)?,
            None => None,
        };
        self.advance(now);
        if let Some(member) = self.members.get_mut(seat) {
            member.heard = now;
        }
        if let Some(frame) = &datagram.clock {
            self.clock.handle_frame(now, from, frame);
            self.wake_clock();
        }
        if let (Some(update), Some(checked)) = (&datagram.update, heard) {
            self.hear_update(seat, update, checked);
        }
        Ok(())
    }
}
