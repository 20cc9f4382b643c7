//! Greetings: schemas are compared, and a session goes on where a connection broke off.

use evenkeel_core::PeerId;

use super::{ObjectRoom, ObjectRoomEvent};
use crate::link::{CallsIn, CallsOut};
use crate::message::Frame;
use crate::object::Owner;

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
        if resumed {
            player.out.reconnect(received);
        } else if player.instance == Some(instance) {
            // Its welcome got lost, and nothing can have arrived without it.
            player.out.reconnect(0);
        } else {
            (player.out, player.heard) = (CallsOut::default(), CallsIn::default());
            player.instance = Some(instance);
        }
        link.is_greeted = true;
        link.send(&Frame::Welcome { player: from, resumed, received: player.heard.ordered }, now);
        for call in core::mem::take(&mut player.early) {
            let _ = player.out.push(call);
        }
        self.push_event(ObjectRoomEvent::Ready { player: from, resumed });
        self.review_soon_or(|room| room.review_player(from, &mut |_, _| super::scope::Interest::ByArea));
        self.schedule(from);
    }

    /// Takes a player's connection away. Its own objects go with it; those it was given pass to the server.
    pub(super) fn leave(&mut self, peer: PeerId) {
        let Some(player) = self.players.get_mut(peer) else { return };
        let Some(link) = player.link.take() else { return };
        if let Some(at) = link.scheduled {
            self.due.remove(&(at, peer));
        }
        self.past_bytes += link.traffic.bytes;
        self.ready.retain(|ready| *ready != peer);
        player.left_at = self.now;
        let places: Vec<u32> = self.table.iter().map(|(place, _)| place).collect();
        for place in places {
            if let Some(entry) = self.table.at_mut(place) {
                entry.watchers.retain(|(watcher, _)| *watcher != peer);
            }
        }
        for place in self.table.owned_by(Owner::Player(peer)) {
            let Some(entry) = self.table.at_mut(place) else { continue };
            entry.upward = None;
            let id = entry.id;
            if id.creator() == peer {
                self.destroy(id);
            } else {
                self.give(id, Owner::Server);
            }
        }
        if let Some(player) = self.players.get_mut(peer) {
            player.owned = 0;
        }
    }

    /// Forgets players that have been away for too long.
    pub(super) fn forget_absent(&mut self) {
        let (now, remember) = (self.now, self.config.remember);
        self.players.retain(|_, player| player.link.is_some() || now - player.left_at < remember);
    }
}
