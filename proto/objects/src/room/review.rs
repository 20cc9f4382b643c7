//! Who sees what: reviewed at an interval, and at once when an object or a player is new.

use std::collections::BTreeMap;

use evenkeel_core::{LocalTime, PeerId, Span, Vec3};

use super::scope::{Cells, Interest, ScopeRule};
use super::{ObjectRoom, ObjectRoomEvent, view};
use crate::message::{Frame, Gone};
use crate::object::{FieldSet, ObjectId, Owner};
use crate::schema::Writer;

/// Every object, as all players' reviews need it.
struct Survey {
    cells: Option<Cells>,
    /// Objects that the area does not bound.
    everywhere: Vec<u32>,
    viewpoints: BTreeMap<PeerId, Vec<(ObjectId, Vec3)>>,
}

/// The shortest time between two reviews, however many objects are new.
const REVIEW_MIN: Span = Span::from_millis(20);

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
        self.reviewed_at = self.now;
        self.next_review = (!self.players.is_empty()).then(|| self.now + self.config.review);
        let survey = self.survey();
        let players: Vec<PeerId> = self.players().collect();
        for peer in players {
            self.follow(peer, &survey);
            self.review_by(peer, &survey, rule);
            self.schedule(peer);
        }
    }

    /// Reviews what one player sees.
    pub(super) fn review_player(&mut self, peer: PeerId, rule: &mut ScopeRule<'_>) {
        let survey = self.survey();
        self.follow(peer, &survey);
        self.review_by(peer, &survey, rule);
    }

    /// Looks at every object once, for all players.
    fn survey(&self) -> Survey {
        let mut survey = Survey {
            cells: Cells::new(&self.config.area),
            everywhere: Vec::new(),
            viewpoints: BTreeMap::new(),
        };
        for (place, entry) in self.table.iter() {
            match (entry.moves(), entry.position, &mut survey.cells) {
                (true, Some(at), Some(cells)) => cells.insert(place, at),
                _ => survey.everywhere.push(place),
            }
            if let (true, Owner::Player(owner), Some(at)) = (entry.moves(), entry.owner, entry.position) {
                survey.viewpoints.entry(owner).or_default().push((entry.id, at));
            }
        }
        survey
    }

    /// Moves the places from which a player looks to its objects.
    fn follow(&mut self, peer: PeerId, survey: &Survey) {
        let mine = survey.viewpoints.get(&peer).map(Vec::as_slice).unwrap_or_default();
        let (now, speed) = (self.now, self.config.look_speed_max);
        let Some(player) = self.players.get_mut(peer) else { return };
        let leaps = player.views.follow(mine.iter().copied(), now - player.reviewed_at, speed);
        player.reviewed_at = now;
        if leaps > 0 {
            self.refuse(peer, |refusals| refusals.leaps += leaps);
        }
    }

    fn review_by(&mut self, peer: PeerId, survey: &Survey, rule: &mut ScopeRule<'_>) {
        let Some(player) = self.players.get(peer) else { return };
        // Near it, without a place, or in its scope already; everything if the area has no bound.
        let mut places = survey.everywhere.clone();
        if let Some(cells) = &survey.cells {
            places.extend(player.views.iter().flat_map(|from| cells.around(from)));
            places.extend(player.link.iter().flat_map(|link| link.replicas.places()));
        }
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

    /// Reviews by the area alone, or soon by the game's own function if that decides.
    pub(super) fn review_soon_or(&mut self, review: impl FnOnce(&mut Self)) {
        if self.config.asks_game {
            let soon = self.now.max(self.reviewed_at.max(LocalTime::from_nanos(0)) + REVIEW_MIN);
            self.next_review = Some(self.next_review.map_or(soon, |at| at.min(soon)));
        } else {
            review(self);
        }
    }

    /// Shows a new object to those who should see it.
    pub(super) fn reveal(&mut self, place: u32) {
        if let Some(owner) = self.table.at(place).and_then(|entry| entry.owner.player()) {
            self.show(place, owner, 1.0);
        }
        self.review_soon_or(|room| room.reveal_by_area(place));
    }

    fn reveal_by_area(&mut self, place: u32) {
        let players: Vec<PeerId> = self.players().collect();
        for peer in players {
            if self.table.at(place).is_some_and(|entry| entry.owner == Owner::Player(peer)) {
                let survey = self.survey();
                self.follow(peer, &survey);
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
