//! A player with a modified client: it reports arrivals later than they were, or delays its acknowledgments, to appear
//! farther away.
//!
//! It wraps the honest machine and changes the bytes on their way out, as a cheat would.

use std::collections::VecDeque;

use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, SessionClock, Span, Synchronized, delegate_endpoint,
};
use evenkeel_dr::message::{Arrival, Frame, VERSION, emit_feedback, frames};
use evenkeel_dr::{DrCommand, DrEvent, DrPeer};

/// The most messages held back; beyond, messages pass at once.
const HELD_MAX: usize = 4096;

/// A peer that falsifies its acknowledgments.
#[derive(Debug)]
pub struct Liar<C = Synchronized> {
    peer: DrPeer<C>,
    claims_extra: Span,
    holds_acks: Span,
    held: VecDeque<(LocalTime, PeerId, Vec<u8>)>,
}

impl<C> Liar<C> {
    /// Wraps an honest peer.
    #[must_use]
    pub const fn new(peer: DrPeer<C>, claims_extra: Span, holds_acks: Span) -> Self {
        Self { peer, claims_extra, holds_acks, held: VecDeque::new() }
    }

    /// The honest machine.
    #[must_use]
    pub const fn peer(&self) -> &DrPeer<C> {
        &self.peer
    }

    /// Falsifies the acknowledgments of a message. Returns whether it has any.
    fn falsify(&self, bytes: &mut Vec<u8>) -> bool {
        let Ok((header, frames)) = frames(bytes) else { return false };
        let Some(stamp) = header.stamp else { return false };
        let mut forged = Vec::new();
        header.emit(VERSION, &mut forged);
        let mut acknowledges = false;
        for frame in frames {
            let Frame::Feedback(feedback) = frame else {
                frame.emit(stamp, &mut forged);
                continue;
            };
            acknowledges = true;
            let late =
                |(_, arrival): (u64, Arrival)| Arrival { at: arrival.at + self.claims_extra, ..arrival };
            let arrivals: Vec<_> = feedback.arrivals().map(late).collect();
            emit_feedback(feedback.oldest, feedback.first, stamp, arrivals.iter(), &mut forged);
        }
        *bytes = forged;
        acknowledges
    }
}

impl<C: SessionClock> Endpoint for Liar<C> {
    type Command = DrCommand;
    type Event = DrEvent;

    delegate_endpoint!(self.peer: handle_command, handle_message, handle_timeout, poll_event);

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.held.retain(|(_, to, _)| *to != change.peer());
        self.peer.handle_peer(now, change);
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        while let Some((to, channel)) = self.peer.poll_transmit(now, bytes) {
            let acknowledges = channel == Channel::Datagram && self.falsify(bytes);
            if !acknowledges || self.holds_acks <= Span::ZERO || self.held.len() == HELD_MAX {
                return Some((to, channel));
            }
            self.held.push_back((now + self.holds_acks, to, bytes.clone()));
        }
        let (_, to, message) = self.held.pop_front_if(|(at, ..)| *at <= now)?;
        *bytes = message;
        Some((to, Channel::Datagram))
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let held = self.held.front().map(|(at, ..)| *at);
        [held, self.peer.poll_timeout()].into_iter().flatten().min()
    }
}
