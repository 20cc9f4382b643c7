//! The calls of a driver.

use evenkeel_core::{
    Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionClock, SessionTime, earlier,
};
use evenkeel_session::Room;

use super::Sms;
use super::serving::Turn;
use crate::clients::{ClientState, PromiseRules};
use crate::command::{SmsCommand, SmsEvent};
use crate::message::{Frame, SyncMessage};

impl<C: SessionClock> Sms<C> {
    /// Advances the time. A clock that has none is taken to show the local one.
    fn advance(&mut self, now: LocalTime) -> SessionTime {
        let now = self.station.hold(now);
        self.station.set_now(now).unwrap_or(SessionTime::from_nanos(now.as_nanos()))
    }

    /// What follows every call.
    fn conclude(&mut self, now: SessionTime) {
        self.release(now);
        self.drain_station_events();
    }

    fn apply(&mut self, now: SessionTime, from: PeerId, frame: &Frame<'_>) {
        if let Frame::Clock(frame) = frame {
            return self.station.on_clock_frame(from, frame);
        }
        if let Frame::Action(action) = frame {
            return self.on_action(now, from, action);
        }
        let rules =
            PromiseRules { repeats: self.repeats, heartbeat: self.heartbeat, foresight: self.foresight };
        let Some(client) = self.clients.get_mut(from) else { return };
        match *frame {
            Frame::Heard { update, delay } => client.on_heard(update, delay),
            Frame::Promise { next, moment } => {
                if let Some(place) = client.moment(moment.update, moment.elapsed) {
                    client.on_promise(now, next, place, rules);
                }
            }
            Frame::Pong(nonce) => {
                client.path.answered(nonce, now);
            }
            _ => {}
        }
    }
}

impl<C: SessionClock> Endpoint for Sms<C> {
    type Command = SmsCommand;
    type Event = SmsEvent;

    fn handle_command(&mut self, now: LocalTime, command: SmsCommand) {
        let now = self.advance(now);
        match command {
            SmsCommand::Update { to, reliable, bytes } => self.update(now, to, reliable, &bytes),
            SmsCommand::Switch { order, sync_out } => self.switch(now, order, sync_out),
            SmsCommand::Guarantee { peer, known } => {
                if let Some(client) = self.clients.get_mut(peer) {
                    client.known = known;
                }
            }
        }
        self.conclude(now);
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if !self.clients.contains(from) {
            return Err(Rejected::UnknownPeer);
        }
        let mut message = SyncMessage::unchecked(bytes);
        message.check(|frame| match frame {
            Frame::Action(_) => Ok(()),
            Frame::Promise { .. } | Frame::Heard { .. } | Frame::Pong(_) | Frame::Clock(_)
                if channel == Channel::Datagram =>
            {
                Ok(())
            }
            _ => Err(Rejected::Unexpected),
        })?;
        let now = self.advance(now);
        if let Some(client) = self.clients.get_mut(from) {
            client.hear(now);
        }
        message.each(|frame| self.apply(now, from, frame));
        self.conclude(now);
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        let now = self.advance(now);
        self.station.on_peer(change);
        let peer = change.peer();
        // What a player that left has done counts all the same.
        while let Some((place, action)) = self.queue.pop_of(peer) {
            self.serve(now, place, action, Turn::None);
        }
        if let Some(gone) = self.clients.remove(peer) {
            self.left += gone.counts;
        }
        if let PeerChange::Joined { .. } = change {
            self.clients.insert(peer, ClientState::new(now));
            if self.is_measuring(now) {
                self.ping_at = Some(now);
            }
        }
        self.ping(now);
        self.conclude(now);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        let now = self.advance(now);
        self.station.wake_clock();
        self.ping(now);
        self.conclude(now);
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        self.station.poll(now, bytes, |_, _| {})
    }

    fn poll_event(&mut self) -> Option<SmsEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        let ping_at = self.ping_at.filter(|_| !self.clients.is_empty());
        self.station.next_timeout(earlier(self.wait_until, ping_at))
    }
}

impl<C: SessionClock> Room for Sms<C> {
    fn stalled(event: &SmsEvent) -> Option<PeerId> {
        match event {
            SmsEvent::Stalled { peer } => Some(*peer),
            _ => None,
        }
    }
}
