//! The queue of actions: who comes next, and how long it waits.

use evenkeel_core::{PeerId, SessionClock, SessionTime, Span};

use super::Sms;
use crate::clients::{ClientState, Placed};
use crate::command::{Action, SmsEvent};
use crate::message::ActionFrame;
use crate::order::{Head, toss};
use crate::queue::{Place, Waiting};

/// Why an action is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// It is the first in order, and need not wait any longer.
    Own,
    /// It is served before its turn.
    None,
}

impl<C: SessionClock> Sms<C> {
    /// Queues an action that has arrived, or serves it at once if nobody waits.
    pub(super) fn on_action(&mut self, now: SessionTime, from: PeerId, action: &ActionFrame<'_>) {
        if self.clients.get(from).is_none_or(|client| client.received.has(action.seq)) {
            return;
        }
        self.note_use(now, true);
        let tag = self.tag();
        let Some(client) = self.clients.get_mut(from) else { return };
        let Some(bytes) = client.parts.add(action.seq, action.part, action.payload) else { return };
        client.received.note(action.seq);
        let placed = client.place(now, action, tag);
        let toss = self.policy.as_deref().map_or(0.0, |policy| toss(policy, &mut self.draws));
        client.waiting += 1;
        client.waiting_bytes += bytes.len();
        let waits = self.policy.is_some() && client.waits();
        let Placed { virtual_at, held, .. } = placed;
        let waiting = Waiting { virtual_at, arrived: now, held, toss, bytes };
        let place = (placed.at, from, action.seq);
        if !waits {
            return self.serve(now, place, waiting, Turn::None);
        }
        self.queue.push(place, waiting);
        self.relieve(now, from);
    }

    /// Serves a player's first actions as long as too much of it waits.
    fn relieve(&mut self, now: SessionTime, from: PeerId) {
        while let Some(client) = self.clients.get_mut(from).filter(|client| client.is_crowded()) {
            let Some((place, first)) = self.queue.pop_of(from) else { return };
            client.counts.crowded_out += 1;
            self.serve(now, place, first, Turn::None);
        }
    }

    /// Serves whatever need not wait any longer.
    pub(super) fn release(&mut self, now: SessionTime) {
        self.wait_until = None;
        let Some(policy) = self.policy.clone() else { return };
        let mut has_looked = false;
        while let Some((&(at, from, _), first)) = self.queue.head() {
            let head = Head { from, at, toss: first.toss };
            // The head may hold up an action that has waited for longer.
            let latest = self.queue.oldest_arrival().unwrap_or(first.arrived) + self.cap;
            if !core::mem::replace(&mut has_looked, true) {
                self.look(now);
            }
            // Too late for its place: waiting would only make it later.
            let is_late = at < self.served;
            let until = policy.until(&head, &self.views).min(latest);
            if until > now && !is_late {
                self.wait_until = Some(until);
                return;
            }
            if let Some((place, action)) = self.queue.pop() {
                self.serve(now, place, action, Turn::Own);
            }
        }
    }

    /// Looks at all who are waited for.
    fn look(&mut self, now: SessionTime) {
        let heartbeat = self.heartbeat;
        let is_awaited = |client: &ClientState| client.is_guaranteed() && !client.is_silent(now, heartbeat);
        let clients = self.clients.iter().filter(|(_, client)| is_awaited(client));
        self.views.clear();
        self.views.extend(clients.map(|(peer, client)| client.view(peer, heartbeat)));
    }

    /// Hands an action to the game server.
    pub(super) fn serve(&mut self, now: SessionTime, (at, from, seq): Place, action: Waiting, turn: Turn) {
        let Waiting { virtual_at, arrived, held, bytes, .. } = action;
        let clients = &mut self.clients;
        let behind = self.meter.serve(from, virtual_at, |ahead| {
            if let Some(client) = clients.get_mut(ahead) {
                client.counts.ahead += 1;
            }
        });
        let is_late = at < self.served;
        let waited = (now - arrived).max(Span::ZERO);
        let is_in_turn = turn == Turn::Own;
        if is_in_turn {
            // Whoever is served out of turn makes nobody else late.
            self.served = self.served.max(at);
        }
        if let Some(client) = clients.get_mut(from) {
            client.waiting = client.waiting.saturating_sub(1);
            client.waiting_bytes = client.waiting_bytes.saturating_sub(bytes.len());
            let counts = &mut client.counts;
            counts.actions += 1;
            counts.late += u64::from(is_late);
            counts.behind += u64::from(behind > 0);
            counts.waited += waited;
        }
        let action =
            Action { from, seq, virtual_at, arrived, held, waited, is_in_turn, is_late, behind, bytes };
        self.push_event(SmsEvent::Action(action));
    }
}
