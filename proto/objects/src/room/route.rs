//! Messages: from players and the server to the server, one player, the room, or those in scope.

use evenkeel_core::PeerId;

use super::{ObjectRoom, ObjectRoomEvent, Player};
use crate::delivery::{Call, Delivery, Target};
use crate::message::Frame;
use crate::object::Owner;

impl Player {
    /// Whether messages can wait for it: it is here, or may come back.
    const fn is_known(&self) -> bool {
        self.link.is_some() || self.instance.is_some()
    }
}

impl ObjectRoom {
    /// Sends a message of the server's game. Its party is whom it is for.
    pub fn call(&mut self, call: Call) {
        let is_valid = call.bytes.len() <= call.delivery.bytes_max()
            && self.config.schema.accepts_message(call.kind, &call.bytes);
        if is_valid {
            for to in self.receivers(None, call.party) {
                self.tell(to, Call { party: Target::Server, ..call.clone() });
            }
        }
    }

    /// The players that a message is for, but for its sender.
    fn receivers(&self, from: Option<PeerId>, party: Target) -> Vec<PeerId> {
        match party {
            Target::Server => Vec::new(),
            Target::Player(peer) => {
                self.players.get(peer).filter(|player| player.is_known()).map(|_| peer).into_iter().collect()
            }
            Target::Room => {
                let known = self.players.iter().filter(|(_, player)| player.is_known());
                known.map(|(peer, _)| peer).filter(|peer| Some(*peer) != from).collect()
            }
            Target::Scope(object) => self.watchers(object).filter(|peer| Some(*peer) != from).collect(),
        }
    }

    /// Hands a message to a player's link. Returns whether it was taken, or need not be.
    fn tell(&mut self, to: PeerId, call: Call) -> bool {
        let Some(player) = self.players.get_mut(to) else { return true };
        let is_greeted = player.link.as_ref().is_some_and(|link| link.is_greeted);
        let is_reliable = call.delivery.is_reliable();
        let is_state =
            call.delivery == Delivery::MostRecent && player.link.is_some() && player.out.has_room(&call);
        if !is_greeted && !is_reliable && !is_state {
            return true;
        }
        if is_reliable && !player.out.has_room(&call) {
            if call.party == Target::Server {
                // A reliable message of the server must not be left out: the session ends here.
                player.instance = None;
                if player.link.is_some() {
                    self.push_event(ObjectRoomEvent::Stalled { player: to });
                }
            }
            return false;
        }
        if !is_greeted && (player.link.is_some() || player.out.has_early()) {
            // It may turn out to be another machine, which knows nothing of the earlier one's messages. If the connection breaks
            // before that is known, later messages stay behind these.
            player.out.push_early(call);
            return true;
        }
        let is_taken = player.out.push(call);
        self.schedule(to);
        is_taken || !is_reliable
    }

    /// Routes a player's message.
    pub(super) fn on_call(&mut self, from: PeerId, number: u64, call: Call) {
        let Some(player) = self.players.get_mut(from) else { return };
        if !player.heard.accept(number, &call) {
            return;
        }
        let mut is_heard = match call.party {
            // Only the owner speaks to those who see an object.
            Target::Scope(object) => {
                self.table.get(object).is_some_and(|entry| entry.owner == Owner::Player(from))
            }
            _ => true,
        };
        let receivers = if is_heard { self.receivers(Some(from), call.party) } else { Vec::new() };
        let (now, quotas) = (self.now, self.config.quotas);
        if let Some(player) = self.players.get_mut(from) {
            is_heard &= player.usage.delivery(now, receivers.len(), call.bytes.len(), &quotas);
        }
        if is_heard {
            for to in receivers {
                is_heard &= self.tell(to, Call { party: Target::Player(from), ..call.clone() });
            }
        }
        if !is_heard {
            self.leave_unheard(from, &call);
        } else if call.party == Target::Server {
            let Call { kind, bytes, .. } = call;
            self.push_event(ObjectRoomEvent::Call { from, kind, bytes });
        }
    }

    /// Counts a message that was not delivered to everybody it was for. Its sender is told if that was guaranteed.
    fn leave_unheard(&mut self, from: PeerId, call: &Call) {
        self.refuse(from, |refusals| refusals.calls += 1);
        if let Some(player) = self.players.get_mut(from).filter(|_| call.delivery.is_reliable()) {
            let count = player.unheard.map_or(0, |(count, ..)| count);
            player.unheard = Some((count + 1, call.kind, call.party));
        }
    }

    /// Tells a player which of its messages were not delivered. Called at reviews, so that it is not told more often.
    pub(super) fn tell_unheard(&mut self, peer: PeerId) {
        let now = self.now;
        let Some(player) = self.players.get_mut(peer) else { return };
        let Some(link) = player.link.as_mut().filter(|link| link.is_greeted) else { return };
        if let Some((count, kind, party)) = player.unheard.take() {
            link.send(&Frame::Unheard { count, kind, party }, now);
        }
    }
}
