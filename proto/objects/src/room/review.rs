//! Who sees what: reviewed at an interval, and at once when an object or a player is new.

use evenkeel_core::{LocalTime, PeerId};

use super::scope::{Cells, Interest, ScopeRule};
use super::{ObjectRoom, ObjectRoomEvent, view};
use crate::message::{Frame, Gone};
use crate::object::{FieldSet, Owner};
use crate::schema::Writer;

impl ObjectRoom {
    /// Whether scopes are to be reviewed. Tell where objects are before.
    #[must_use]
    pub fn is_review_due(&self, now: LocalTime) -> bool {
        self.next_review.is_some_and(|at| at <= now)
    }

    /// Reviews who sees what, by the area and by what the game says of each player and object near it.
    pub fn review(&mut self, now: LocalTime, rule: &mut ScopeRule<'_>) {
        self.hold(now);
        self.forget_absent();
        self.next_review = (!self.players.is_empty()).then(|| self.now + self.config.review);
        let cells = self.cells();
        let players: Vec<PeerId> = self.players().collect();
        for peer in players {
            self.follow(peer);
            self.review_by(peer, cells.as_ref(), rule);
            self.schedule(peer);
        }
    }

    /// Reviews what one player sees.
    pub(super) fn review_player(&mut self, peer: PeerId, rule: &mut ScopeRule<'_>) {
        let cells = self.cells();
        self.follow(peer);
        self.review_by(peer, cells.as_ref(), rule);
    }

    fn cells(&self) -> Option<Cells> {
        let mut cells = Cells::new(&self.config.area)?;
        for (place, entry) in self.table.iter() {
            if let (true, Some(at)) = (entry.moves(), entry.position) {
                cells.insert(place, at);
            }
        }
        Some(cells)
    }

    /// Moves the places from which a player looks to its objects.
    fn follow(&mut self, peer: PeerId) {
        let owner = Owner::Player(peer);
        let mine = self.table.iter().filter(|(_, entry)| entry.owner == owner && entry.moves());
        let mine = mine.filter_map(|(_, entry)| Some((entry.id, entry.position?)));
        let (now, speed) = (self.now, self.config.look_speed_max);
        let Some(player) = self.players.get_mut(peer) else { return };
        let leaps = player.views.follow(mine, now - player.reviewed_at, speed);
        player.reviewed_at = now;
        if leaps > 0 {
            self.refuse(peer, |refusals| refusals.leaps += leaps);
        }
    }

    fn review_by(&mut self, peer: PeerId, cells: Option<&Cells>, rule: &mut ScopeRule<'_>) {
        let Some(player) = self.players.get(peer) else { return };
        // Near it, without a place, or in its scope already; everything if the area has no bound.
        let mut places: Vec<u32> = match cells {
            Some(cells) => {
                let still = self.table.iter().filter(|(_, entry)| !entry.moves()).map(|(place, _)| place);
                let around = player.views.iter().flat_map(|from| cells.around(from));
                let known = self.table.iter().filter(|(_, entry)| is_watched(&entry.watchers, peer));
                still.chain(around).chain(known.map(|(place, _)| place)).collect()
            }
            None => self.table.iter().map(|(place, _)| place).collect(),
        };
        places.sort_unstable();
        places.dedup();
        for place in places {
            self.decide(place, peer, rule);
        }
    }

    /// Decides whether a player sees an object, and with which priority.
    fn decide(&mut self, place: u32, peer: PeerId, rule: &mut ScopeRule<'_>) {
        let (Some(entry), Some(player)) = (self.table.at(place), self.players.get(peer)) else { return };
        let is_inside = is_watched(&entry.watchers, peer);
        let is_mine = entry.owner == Owner::Player(peer);
        let by_area = || match (entry.moves(), entry.position) {
            (true, Some(at)) => player.views.sees(&self.config.area, at, is_inside),
            // Nobody knows yet where it is.
            (true, None) => None,
            (false, _) => Some(1.0),
        };
        let weight = match rule(peer, &view(entry)) {
            _ if is_mine => Some(1.0),
            Interest::Hidden => None,
            Interest::Seen(weight) => Some(weight.clamp(1e-3, 1e3)),
            Interest::ByArea => by_area(),
        };
        match weight {
            Some(weight) => self.show(place, peer, weight),
            None if is_inside => self.conceal(place, peer, Gone::OutOfScope),
            None => {}
        }
    }

    /// Shows a new object to those who should see it.
    pub(super) fn reveal(&mut self, place: u32) {
        let players: Vec<PeerId> = self.players().collect();
        for peer in players {
            if self.table.at(place).is_some_and(|entry| entry.owner == Owner::Player(peer)) {
                self.follow(peer);
            }
            self.decide(place, peer, &mut |_, _| Interest::ByArea);
            self.schedule(peer);
        }
    }

    /// Brings an object into a player's scope, or sets its priority there.
    pub(super) fn show(&mut self, place: u32, peer: PeerId, weight: f32) {
        let now = self.now;
        let Some(entry) = self.table.at_mut(place) else { return };
        let Some(link) = self.players.get_mut(peer).and_then(|player| player.link.as_mut()) else { return };
        if let Some((_, slot)) = entry.watchers.iter().find(|(watcher, _)| *watcher == peer) {
            return link.replicas.weigh(*slot, weight);
        }
        let fields = if entry.owner == Owner::Player(peer) && entry.upward.is_some() {
            entry.kind.written_by(Writer::Server)
        } else {
            FieldSet::first(entry.kind.fields.len())
        };
        let created = link.next_reliable();
        let Some(slot) = link.replicas.open(place, fields, created, weight) else { return };
        let values: Vec<u8> = entry.values.iter().flat_map(|value| value.iter().copied()).collect();
        let (id, kind, owner) = (entry.id, entry.number, entry.owner);
        link.send(&Frame::Create { slot, id, kind, owner, values: &values }, now);
        entry.watchers.push((peer, slot));
        self.push_event(ObjectRoomEvent::Entered { player: peer, object: id });
        self.schedule(peer);
    }

    pub(super) fn conceal(&mut self, place: u32, peer: PeerId, why: Gone) {
        let now = self.now;
        let Some(entry) = self.table.at_mut(place) else { return };
        let Some(index) = entry.watchers.iter().position(|(watcher, _)| *watcher == peer) else { return };
        let (_, slot) = entry.watchers.remove(index);
        let object = entry.id;
        if let Some(link) = self.players.get_mut(peer).and_then(|player| player.link.as_mut()) {
            link.replicas.close(slot);
            link.send(&Frame::Gone { slot, why }, now);
        }
        if why == Gone::OutOfScope {
            self.push_event(ObjectRoomEvent::Exited { player: peer, object });
        }
        self.schedule(peer);
    }

    pub(super) fn conceal_from_all(&mut self, place: u32, why: Gone) {
        let watchers = self.table.at(place).map(|entry| entry.watchers.clone()).unwrap_or_default();
        for (peer, _) in watchers {
            self.conceal(place, peer, why);
        }
    }
}

fn is_watched(watchers: &[(PeerId, u32)], peer: PeerId) -> bool {
    watchers.iter().any(|(watcher, _)| *watcher == peer)
}
