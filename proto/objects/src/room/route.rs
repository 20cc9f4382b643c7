//! Messages: from players and the server to the server, one player, the room, or those in scope.

use evenkeel_core::PeerId;

use super::{ObjectRoom, ObjectRoomEvent, Player};
use crate::delivery::{Call, Target};
use crate::object::Owner;

/// Messages that wait for a player's greeting.
const EARLY_MAX: usize = 256;

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

    fn tell(&mut self, to: PeerId, call: Call) {
        let Some(player) = self.players.get_mut(to) else { return };
        let is_greeted = player.link.as_ref().is_some_and(|link| link.is_greeted);
        let is_reliable = call.delivery.is_reliable();
        let is_away = player.link.is_none();
        if is_away && !is_reliable {
            return;
        }
        if !is_greeted && (!is_away || !player.early.is_empty()) {
            // It may turn out to be another machine, which knows nothing of the earlier one's messages.
            if player.early.len() < EARLY_MAX {
                player.early.push(call);
            } else if is_reliable {
                player.instance = None;
            }
            return;
        }
        if !player.out.push(call) && is_reliable {
            // A reliable message must not be left out: the session ends here.
            player.instance = None;
            if is_greeted {
                return self.push_event(ObjectRoomEvent::Stalled { player: to });
            }
        }
        self.schedule(to);
    }

    /// Routes a player's message.
    pub(super) fn on_call(&mut self, from: PeerId, number: u64, call: Call) {
        let Some(player) = self.players.get_mut(from) else { return };
        if !player.heard.accept(number, &call) {
            return;
        }
        let mut is_refused = match call.party {
            // Only the owner speaks to those who see an object.
            Target::Scope(object) => {
                self.table.get(object).is_none_or(|entry| entry.owner != Owner::Player(from))
            }
            _ => false,
        };
        let receivers = if is_refused { Vec::new() } else { self.receivers(Some(from), call.party) };
        let (now, quotas) = (self.now, self.config.quotas);
        if let Some(player) = self.players.get_mut(from) {
            is_refused |= !player.usage.delivery(now, receivers.len(), call.bytes.len(), &quotas);
        }
        if is_refused {
            return self.refuse(from, |refusals| refusals.calls += 1);
        }
        if call.party == Target::Server {
            let Call { kind, bytes, .. } = call;
            return self.push_event(ObjectRoomEvent::Call { from, kind, bytes });
        }
        for to in receivers {
            self.tell(to, Call { party: Target::Player(from), ..call.clone() });
        }
    }
}
