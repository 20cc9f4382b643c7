//! What is new in a room whose game decides who sees what. The game is asked about that alone, soon, so that creating objects
//! costs no review of all the others.

use std::collections::BTreeSet;

use evenkeel_core::{LocalTime, PeerId, Span};

use crate::object::ObjectId;

/// The shortest time between two reviews, however much is new.
const REVIEW_MIN: Span = Span::from_millis(20);

/// New players and objects that wait for their review.
#[derive(Clone, Debug, Default)]
pub(super) struct News {
    players: BTreeSet<PeerId>,
    objects: BTreeSet<ObjectId>,
    at: Option<LocalTime>,
    reviewed_at: Option<LocalTime>,
}

impl News {
    pub(super) fn add_player(&mut self, now: LocalTime, player: PeerId) {
        self.players.insert(player);
        self.arm(now);
    }

    pub(super) fn add_object(&mut self, now: LocalTime, object: ObjectId) {
        self.objects.insert(object);
        self.arm(now);
    }

    fn arm(&mut self, now: LocalTime) {
        let soon = self.reviewed_at.map_or(now, |at| now.max(at + REVIEW_MIN));
        self.at = Some(self.at.unwrap_or(soon));
    }

    /// When it is to be reviewed.
    pub(super) const fn at(&self) -> Option<LocalTime> {
        self.at
    }

    /// Takes the players and objects, for a review at this time.
    pub(super) fn take(&mut self, now: LocalTime) -> (BTreeSet<PeerId>, BTreeSet<ObjectId>) {
        (self.at, self.reviewed_at) = (None, Some(now));
        (core::mem::take(&mut self.players), core::mem::take(&mut self.objects))
    }
}
