//! Who sees what: reviewed at an interval, and at once when an object or a player is new.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::{LocalTime, PeerId, Vec3};

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

impl ObjectRoom {
    /// Whether scopes are to be reviewed: all of them, or those of what is new.
    #[must_use]
    pub fn is_review_due(&self, now: LocalTime) -> bool {
        self.is_whole_review_due(now) || self.news.at().is_some_and(|at| at <= now)
    }

    /// Whether all scopes are to be reviewed. Tell where objects are before.
    #[must_use]
    pub fn is_whole_review_due(&self, now: LocalTime) -> bool {
        self.next_review.is_some_and(|at| at <= now)
    }

    /// Reviews who sees what, by the area and by what the game says of each player and object near it. If only what is new is due,
    /// only that is reviewed.
    pub fn review(&mut self, now: LocalTime, rule: &mut ScopeRule<'_>) {
        let is_new_only = self.is_review_due(now) && !self.is_whole_review_due(now);
        self.hold(now);
        let (newcomers, objects) = self.news.take(self.now);
        if is_new_only {
            return self.review_news(&newcomers, &objects, rule);
        }
        self.forget_absent();
        self.next_review = (!self.players.is_empty()).then(|| self.now + self.config.review);
        let survey = self.survey();
        let players: Vec<PeerId> = self.players().collect();
        for peer in players {
            self.follow(peer, &survey);
            self.review_by(peer, &survey, rule);
            self.tell_unheard(peer);
            self.schedule(peer);
        }
    }

    /// Reviews what new players see, and who sees new objects.
    fn review_news(
        &mut self,
        newcomers: &BTreeSet<PeerId>,
        objects: &BTreeSet<ObjectId>,
        rule: &mut ScopeRule<'_>,
    ) {
        let players: Vec<PeerId> = self.players().collect();
        for peer in players.iter().filter(|peer| newcomers.contains(peer)) {
            self.review_player(*peer, rule);
        }
        for place in objects.iter().filter_map(|object| self.table.place(*object)).collect::<Vec<_>>() {
            players.iter().for_each(|peer| self.decide(place, *peer, rule));
        }
        players.iter().for_each(|peer| self.schedule(*peer));
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
        // What the game says counts for the motion, too. The area's weight does not: motion is fair by itself.
        let weights = match rule(peer, &view(entry)) {
            _ if is_mine => Some((1.0, 1.0)),
            _ if entry.is_held => None,
            Interest::Hidden => None,
            Interest::Seen(weight) => Some(weight.clamp(1e-3, 1e3)).map(|weight| (weight, weight)),
            Interest::ByArea => by_area().map(|weight| (weight, 1.0)),
        };
        match weights {
            Some((weight, of_motion)) => {
                self.show(place, peer, weight);
                self.weigh_motion(place, peer, of_motion);
            }
            None if is_inside => self.conceal(place, peer, Gone::OutOfScope),
            None => {}
        }
    }

    /// Shows a player that has just been greeted what it should see: soon, if a game's own function decides.
    pub(super) fn welcome(&mut self, peer: PeerId) {
        if self.config.asks_game {
            self.news.add_player(self.now, peer);
        } else {
            self.review_player(peer, &mut |_, _| Interest::ByArea);
        }
    }

    /// Shows a new object to those who should see it.
    pub(super) fn reveal(&mut self, place: u32) {
        let Some(entry) = self.table.at(place) else { return };
        let (object, owner, at) = (entry.id, entry.owner.player(), entry.position.filter(|_| entry.moves()));
        if let Some(owner) = owner {
            self.show(place, owner, 1.0);
            if let (Some(at), Some(player)) = (at, self.players.get_mut(owner)) {
                player.views.begin(object, at);
            }
        }
        if self.config.asks_game {
            return self.news.add_object(self.now, object);
        }
        let players: Vec<PeerId> = self.players().collect();
        for peer in players {
            self.decide(place, peer, &mut |_, _| Interest::ByArea);
            self.schedule(peer);
        }
    }

    /// Brings an object into a player's scope, or sets its priority there.
    pub(super) fn show(&mut self, place: u32, peer: PeerId, weight: f32) {
        let now = self.now;
        let Some(entry) = self.table.at_mut(place) else { return };
        let link = self.players.get_mut(peer).and_then(|player| player.link.as_mut());
        let Some(link) = link.filter(|link| link.is_greeted) else { return };
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

    fn weigh_motion(&mut self, place: u32, peer: PeerId, weight: f32) {
        let Some(entry) = self.table.at(place).filter(|entry| entry.moves()) else { return };
        let Some((_, slot)) = entry.watchers.iter().find(|(watcher, _)| *watcher == peer) else { return };
        let link = self.players.get_mut(peer).and_then(|player| player.link.as_mut());
        if link.is_some_and(|link| link.replicas.weigh_motion(*slot, weight)) {
            self.weights.insert((entry.id, peer), weight);
        }
    }

    pub(super) fn conceal(&mut self, place: u32, peer: PeerId, why: Gone) {
        let now = self.now;
        let Some(entry) = self.table.at_mut(place) else { return };
        let Some(index) = entry.watchers.iter().position(|(watcher, _)| *watcher == peer) else { return };
        let (_, slot) = entry.watchers.remove(index);
        let object = entry.id;
        self.weights.remove(&(object, peer));
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
