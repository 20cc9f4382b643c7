//! Greetings: schemas are compared, and a session goes on where a connection broke off.

use evenkeel_core::PeerId;

use super::{ObjectRoom, ObjectRoomEvent, Player};
use crate::link::{CallsIn, CallsOut};
use crate::message::{Frame, Gone};
use crate::object::{ObjectId, Owner};

impl ObjectRoom {
    /// A player says which machine it is and what its game is made of.
    pub(super) fn greet(&mut self, from: PeerId, instance: u64, received: u64, description: &str) {
        let now = self.now;
        let mismatch = self.config.schema.mismatch(description);
        let Some(player) = self.players.get_mut(from) else { return };
        let Some(link) = &mut player.link else { return };
        if let Some(words) = mismatch {
            link.send(&Frame::Refused(&words), now);
            self.push_event(ObjectRoomEvent::Refused { player: from, words });
            return;
        }
        // A player counts the sessions that it was welcomed to.
        let resumed = player.instance.is_some_and(|begun| begun.wrapping_add(1) == instance);
        let early = player.out.take_early();
        if resumed {
            player.out.reconnect(received);
        } else if player.instance == Some(instance) {
            // Its welcome got lost, and nothing can have arrived without it.
            player.out.reconnect(0);
        } else {
            (player.out, player.heard) = (CallsOut::default(), CallsIn::default());
            player.instance = Some(instance);
            player.unheard = None;
        }
        link.is_greeted = true;
        link.send(&Frame::Welcome { player: from, resumed, received: player.heard.ordered }, now);
        for call in early {
            let is_reliable = call.delivery.is_reliable();
            let is_taken = player.out.push(call);
            debug_assert!(is_taken || !is_reliable, "room was made for it");
        }
        self.push_event(ObjectRoomEvent::Ready { player: from, resumed });
        if resumed {
            self.unhold(from);
        } else {
            self.dismiss(from);
        }
        self.welcome(from);
        self.schedule(from);
    }

    /// Takes a player's connection away. Its objects wait for it, and nobody sees them meanwhile.
    pub(super) fn leave(&mut self, peer: PeerId) {
        let Some(player) = self.players.get_mut(peer) else { return };
        let Some(link) = player.link.take() else { return };
        if let Some(at) = link.scheduled {
            self.due.remove(&(at, peer));
        }
        self.past_bytes += link.traffic.bytes;
        self.ready.retain(|ready| *ready != peer);
        player.left_at = self.now;
        player.ended.values_mut().for_each(|hears| *hears = false);
        self.weights.retain(|(_, player), _| *player != peer);
        let places: Vec<u32> = self.table.iter().map(|(place, _)| place).collect();
        for place in places {
            if let Some(entry) = self.table.at_mut(place) {
                entry.watchers.retain(|(watcher, _)| *watcher != peer);
            }
        }
        for place in self.table.owned_by(Owner::Player(peer)) {
            if let Some(entry) = self.table.at_mut(place) {
                (entry.upward, entry.is_held, entry.is_returning) = (None, true, false);
            }
            self.conceal_from_all(place, Gone::OutOfScope);
        }
    }

    /// The machine that owned them is back: what it has is seen again, as the server has kept it.
    fn unhold(&mut self, peer: PeerId) {
        for place in self.table.owned_by(Owner::Player(peer)) {
            if let Some(entry) = self.table.at_mut(place) {
                (entry.is_held, entry.is_returning) = (false, true);
            }
            self.reveal(place);
        }
    }

    /// A player's machine is gone for good. What it created goes, whoever owns it; what it was given passes to the server.
    fn dismiss(&mut self, peer: PeerId) {
        let created = self.table.iter().filter(|(_, entry)| entry.charged_to == Some(peer));
        let created: Vec<ObjectId> = created.map(|(_, entry)| entry.id).collect();
        for object in created {
            self.destroy(object);
        }
        for place in self.table.owned_by(Owner::Player(peer)) {
            if let Some(object) = self.table.at(place).map(|entry| entry.id) {
                self.pass_on(object, Owner::Server);
            }
        }
        if let Some(player) = self.players.get_mut(peer) {
            player.ended.clear();
        }
    }

    /// Forgets players that have been away for too long.
    pub(super) fn forget_absent(&mut self) {
        let (now, remember) = (self.now, self.config.remember);
        let is_gone = |player: &Player| player.link.is_none() && now - player.left_at >= remember;
        let gone = self.players.iter().filter(|(_, player)| is_gone(player));
        let gone: Vec<PeerId> = gone.map(|(peer, _)| peer).collect();
        for peer in gone {
            self.dismiss(peer);
            self.players.remove(peer);
        }
    }
}
