//! Lives of entities in the ledger, from introduction until the last report after their end.

use evenkeel_core::{PeerId, SessionTime, Span};

use super::account::{Account, AccountMut};
use super::link::{Link, Links};
use super::pairs::Pairs;
use super::{ClosedPairs, ErrorLedger, Slot};
use crate::ledger::exported_path::{ExportedPath, PATH_MAX, Recorded};
use crate::message::VectorFrame;
use crate::motion::vector::{DrSeq, EntityId, MotionKind, MotionState};
use crate::owner::threshold::Threshold;
use crate::receiver::placement::Placement;

/// How long an ended life waits for reports before it is settled by estimate.
pub const LINGER: Span = Span::from_secs(10);
/// The most ended lives that wait for reports. Beyond, the oldest is settled by estimate.
pub const ENDED_MAX: usize = 256;

/// The longest that vectors of an exported path are kept.
const KEPT_MAX: Span = Span::from_secs(30);

/// The number of vectors of a life at which trimming is first tried.
const TRIM_MIN: usize = 16;

/// The most receivers sampled for a newcomer's head start. In a large room, each newcomer needs one mean per entity.
const ASKED_MAX: usize = 16;

/// One life of an entity, identified by the entity and the number of its first DR vector.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Life {
    /// The entity.
    pub entity: EntityId,
    /// The first vector.
    pub first: DrSeq,
}

/// A life's exported path and its accounts.
// Field order matters: the fields that every acknowledgment reads share a few cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Track {
    pub(crate) history: ExportedPath,
    pub(crate) pairs: Pairs,
    pub(crate) life: Life,
    /// Its place among the lives, which is reused, unlike `id`.
    pub(crate) place: u32,
    pub(super) id: u32,
    /// `None` where the owner keeps the ledger.
    pub(crate) owner: Option<PeerId>,
    pub(crate) threshold: Threshold,
    /// When the time threshold next triggers.
    pub(crate) expires: SessionTime,
    /// Triggers so far, including the introduction.
    pub(crate) triggers: u64,
    /// The owner's last observation, where the owner keeps the ledger.
    pub(crate) observed: Option<Kinematics>,
    trim_at: usize,
}

/// The motion of an entity at an instant, as far as the sender knows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Kinematics {
    /// The instant.
    pub at: SessionTime,
    /// The motion.
    pub state: MotionState,
}

impl Track {
    fn is_live(&self) -> bool {
        self.history.ended().is_none()
    }

    pub(super) fn for_each_pair(
        &mut self,
        links: &mut Links,
        mut act: impl FnMut(&mut Self, &mut Link, u32),
    ) {
        for place in 0..self.pairs.width() {
            if self.pairs.is_open(place) {
                act(self, links.at_mut(place), place);
            }
        }
    }
}

impl ErrorLedger {
    pub(crate) fn present(&self, entity: EntityId) -> Option<(Life, &Track)> {
        let track = &self.tracks[self.present_place(entity)?];
        Some((track.life, track))
    }

    fn present_place(&self, entity: EntityId) -> Option<u32> {
        let last = self.tracks.last(Life { entity, first: DrSeq(u32::MAX) })?;
        self.tracks[last].is_live().then_some(last)
    }

    pub(crate) fn lives(&self) -> impl Iterator<Item = (Life, &Track)> + '_ {
        self.tracks.iter().filter(|track| track.is_live()).map(|track| (track.life, track))
    }

    pub(crate) fn track(&self, life: Life) -> Option<&Track> {
        self.tracks.get(life)
    }

    /// Begins a life. Returns false if it is known or the entity is alive.
    pub(crate) fn introduce(
        &mut self,
        owner: Option<PeerId>,
        frame: &VectorFrame,
        threshold: Threshold,
    ) -> bool {
        let life = Life { entity: frame.entity, first: frame.first };
        if self.tracks.get(life).is_some() || self.present(frame.entity).is_some() {
            return false;
        }
        let history = ExportedPath::new(frame.seq, frame.vector, owner.is_none());
        let expires = threshold.expires(&frame.vector);
        self.tracks.insert(Track {
            life,
            id: 0,
            place: 0,
            history,
            pairs: Pairs::default(),
            owner,
            threshold,
            expires,
            triggers: 1,
            observed: None,
            trim_at: TRIM_MIN,
        });
        true
    }

    pub(crate) fn record(&mut self, frame: &VectorFrame, now: SessionTime) -> Recorded {
        let life = Life { entity: frame.entity, first: frame.first };
        self.make_room(life, now);
        let Some(track) = self.tracks.get_mut(life) else { return Recorded::Ignored };
        let recorded = track.history.record(frame.seq, frame.vector);
        if recorded == Recorded::Newest {
            track.triggers += 1;
            track.expires = track.threshold.expires(&frame.vector);
        }
        // At a relay, every vector extends the known part of the exported path.
        if recorded != Recorded::Ignored && track.owner.is_some() {
            self.settle_life(life, now);
        }
        recorded
    }

    pub(crate) fn observe(&mut self, entity: EntityId, state: &MotionState, now: SessionTime) {
        let Some(place) = self.present_place(entity) else { return };
        self.tracks[place].observed = Some(Kinematics { at: now, state: *state });
    }

    /// Sets the kind as which each receiver is sent a new vector: `best` of the vector's age on arrival and the current kind.
    pub(crate) fn tailor(
        &mut self,
        frame: &VectorFrame,
        now: SessionTime,
        best: impl Fn(Span, MotionKind) -> MotionKind,
    ) {
        let life = Life { entity: frame.entity, first: frame.first };
        let Some(track) = self.tracks.get_mut(life) else { return };
        let age = now - frame.vector.generated;
        self.is_tailored = true;
        track.for_each_pair(&mut self.links, |Track { pairs, history, .. }, link, place| {
            let delay = age + link.evidence.claimed.mean();
            let mut account = AccountMut::new(pairs, &mut link.messages, place);
            let kind = account.read().kind_as_sent(frame.seq, frame.vector.kind);
            account.tailor(history, frame.seq, best(delay, kind));
        });
    }

    /// Continues the exported path of a live life from this vector, whatever is missing before it. Returns false if the vector
    /// is not newer than the newest known one.
    pub(crate) fn restart(&mut self, frame: &VectorFrame, threshold: Threshold, now: SessionTime) -> bool {
        let life = Life { entity: frame.entity, first: frame.first };
        let Some(track) = self.tracks.get(life).filter(|track| track.is_live()) else { return false };
        let (newest, newest_vector) = track.history.newest();
        if frame.seq <= newest || frame.vector.generated <= newest_vector.generated {
            return false;
        }
        self.give_up(life, frame.vector.generated, now);
        self.keep_shown(life, frame.seq);
        let track = self.tracks.get_mut(life).expect("looked up above");
        (track.threshold, track.expires) = (threshold, threshold.expires(&frame.vector));
        track.triggers += 1;
        // What was exported in between is not known, not even where nothing has settled yet.
        self.estimated += 1;
        let track = self.tracks.get_mut(life).expect("looked up above");
        track.history.restart(frame.seq, frame.vector)
    }

    /// Ends an entity's life with the vector `last`. Its accounts wait for the last reports.
    pub(crate) fn end(&mut self, entity: EntityId, last: DrSeq, at: SessionTime) {
        let Some((life, _)) = self.present(entity) else { return };
        self.flush_held(entity);
        let track = self.tracks.get_mut(life).expect("looked up above");
        track.history.end(last, at);
        self.settle_life(life, at);
        self.ended.push_back(life);
        if self.ended.len() > ENDED_MAX
            && let Some(oldest) = self.ended.pop_front()
        {
            self.bury(oldest);
        }
    }

    /// When the oldest ended life stops waiting for reports.
    pub(crate) fn next_burial(&self) -> Option<SessionTime> {
        let oldest = self.tracks.get(*self.ended.front()?)?;
        oldest.history.ended().map(|end| end + LINGER)
    }

    pub(crate) fn bury_overdue(&mut self, now: SessionTime) {
        while self.next_burial().is_some_and(|at| at <= now)
            && let Some(oldest) = self.ended.pop_front()
        {
            self.bury(oldest);
        }
    }

    /// Closes the accounts of an ended life, settling by estimate where reports are missing.
    fn bury(&mut self, life: Life) {
        let Some(mut track) = self.tracks.remove(life) else { return };
        let end = track.history.ended().unwrap_or(SessionTime::MAX);
        track.for_each_pair(&mut self.links, |track, link, place| {
            self.estimated += u64::from(conclude(track, link, place, end, self.placement));
        });
        self.closed.push(ClosedPairs { track: track.place, link: None });
        self.pair_count -= track.pairs.count();
    }

    /// Closes the pair of a life and a receiver that stays. Unsettled error is settled by estimate.
    pub(crate) fn close_pair(&mut self, life: Life, receiver: PeerId, now: SessionTime) {
        let (Some(track), Some(place)) = (self.tracks.get_mut(life), self.links.place(receiver)) else {
            return;
        };
        if !track.pairs.is_open(place) {
            return;
        }
        let end = track.history.ended().map_or(now, |end| end.min(now));
        let is_estimated = conclude(track, self.links.at_mut(place), place, end, self.placement);
        track.pairs.close(place);
        self.closed.push(ClosedPairs { track: track.place, link: Some(place) });
        self.estimated += u64::from(is_estimated);
        self.pair_count -= 1;
        self.changes += 1;
    }

    /// Settles every account of a life as far as it is known.
    fn settle_life(&mut self, life: Life, now: SessionTime) {
        let Some(track) = self.tracks.place(life) else { return };
        for link in 0..self.tracks[track].pairs.width() {
            if self.tracks[track].pairs.is_open(link) {
                self.settle(Slot { track, link }, None, now);
            }
        }
        self.add_up();
    }

    /// Drops vectors that no account needs, and if that is not enough, those needed only by accounts that lag behind.
    fn make_room(&mut self, life: Life, now: SessionTime) {
        let Some(track) = self.tracks.get(life) else { return };
        if track.history.len() < track.trim_at {
            return;
        }
        self.settle_life(life, now);
        let Some(track) = self.tracks.get(life) else { return };
        if let Some((seq, until)) = track.history.newest_before(now - KEPT_MAX) {
            self.give_up(life, until, now);
            self.trim(life, seq);
        }
        let Some(track) = self.tracks.get(life) else { return };
        let needed = self.accounts_of(track).map(|account| account.needs(&track.history)).min();
        let needed = needed.unwrap_or(track.history.newest().0).min(track.history.contiguous());
        self.trim(life, needed);
        let Some(track) = self.tracks.get(life) else { return };
        if track.history.len() >= PATH_MAX {
            let half = track.history.middle();
            let until = track.history.after(half).map_or(now, |(_, vector)| vector.generated);
            self.give_up(life, until, now);
            self.trim(life, half);
        }
        let track = self.tracks.get_mut(life).expect("looked up above");
        track.trim_at = (2 * track.history.len()).clamp(TRIM_MIN, PATH_MAX);
    }

    fn trim(&mut self, life: Life, before: DrSeq) {
        self.keep_shown(life, before);
        if let Some(track) = self.tracks.get_mut(life) {
            track.history.trim(before);
        }
    }

    /// Keeps the vectors before a number that some receiver shows, because the path up to there is about to be dropped.
    fn keep_shown(&mut self, life: Life, before: DrSeq) {
        let Some(track) = self.tracks.get(life) else { return };
        // Vectors before the first are already gone.
        let before = before.max(track.history.first());
        let shown = self.accounts_of(track).filter_map(|account| account.shows());
        let mut shown: Vec<DrSeq> = shown.filter(|seq| *seq < before).collect();
        shown.sort_unstable();
        shown.dedup();
        if let Some(track) = self.tracks.get_mut(life) {
            track.history.keep_shown(&shown);
        }
    }

    fn give_up(&mut self, life: Life, until: SessionTime, now: SessionTime) {
        let Some(track) = self.tracks.get_mut(life) else { return };
        track.for_each_pair(&mut self.links, |Track { pairs, history, .. }, link, place| {
            if pairs.state(place).is_some_and(|state| state.is_settled_before(until)) {
                let outlook = link.outlook(now, self.placement);
                link.keep(pairs, place, |account| account.give_up(history, &outlook, until));
                self.estimated += 1;
            }
        });
    }

    /// The error assumed before the account of a life and a receiver opened: that of the entity's previous life, or else the
    /// mean over a sample of the receivers that have the life.
    pub(super) fn head_start(&self, life: Life, link: u32, now: SessionTime) -> f64 {
        let total = |track: &Track, link: u32| {
            let head_start = self.account(Slot { track: track.place, link }).head_start();
            self.shown_at(track, link, now).map(|(_, cursor)| head_start + cursor.error).ok_or(head_start)
        };
        if let Some(track) = self.tracks.before(life)
            && track.pairs.is_open(link)
        {
            return total(track, link).unwrap_or_else(|head_start| head_start);
        }
        let Some(track) = self.tracks.get(life) else { return 0.0 };
        let step = track.pairs.count().div_ceil(ASKED_MAX).max(1);
        let asked = track.pairs.links().step_by(step);
        let all: Vec<f64> = asked.filter_map(|link| total(track, link).ok()).collect();
        if all.is_empty() { 0.0 } else { all.iter().sum::<f64>() / all.len() as f64 }
    }

    /// Treats the exported path of a life as known from this vector on, whatever is missing before it.
    pub(crate) fn pass_over(&mut self, frame: &VectorFrame, now: SessionTime) {
        let life = Life { entity: frame.entity, first: frame.first };
        let Some(track) = self.tracks.get(life) else { return };
        if frame.seq <= track.history.contiguous() {
            return;
        }
        self.give_up(life, frame.vector.generated, now);
        let track = self.tracks.get_mut(life).expect("looked up above");
        track.history.record(frame.seq, frame.vector);
        self.trim(life, frame.seq);
        self.estimated += 1;
        self.settle_life(life, now);
    }

    /// The first number of an entity's next life: larger than any known one.
    pub(crate) fn next_number(&self, entity: EntityId) -> DrSeq {
        let last = self.tracks.last(Life { entity, first: DrSeq(u32::MAX) });
        last.map_or(DrSeq(0), |place| self.tracks[place].history.newest().0.next())
    }

    pub(crate) fn flush_held(&mut self, entity: EntityId) {
        let Some(place) = self.present_place(entity) else { return };
        let track = &mut self.tracks[place];
        track.for_each_pair(&mut self.links, |Track { pairs, .. }, link, place| {
            AccountMut::new(pairs, &mut link.messages, place).hold(None);
        });
    }

    pub(super) fn accounts_of<'a>(&'a self, track: &'a Track) -> impl Iterator<Item = Account<'a>> + 'a {
        track.pairs.links().map(|link| Account::new(&track.pairs, &self.links.at(link).messages, link))
    }

    /// The frame that sends a vector of a life at `sent`.
    pub(crate) fn frame(&self, life: Life, seq: DrSeq, sent: SessionTime) -> Option<VectorFrame> {
        let track = self.tracks.get(life)?;
        let vector = *track.history.vector(seq)?;
        let Life { entity, first } = life;
        Some(VectorFrame { entity, first, seq, sent, vector })
    }
}

/// Settles an account up to `end`, by estimate where reports are missing, and releases its messages. Returns whether reports were
/// missing.
fn conclude(track: &mut Track, link: &mut Link, place: u32, end: SessionTime, placement: Placement) -> bool {
    let outlook = link.outlook(end, placement);
    let mut account = AccountMut::new(&mut track.pairs, &mut link.messages, place);
    let settled = account.read().settled_error();
    let is_estimated = account.read().settled().is_some_and(|(_, at)| at < end);
    let cursor = account.read().last_word(&track.history, &outlook, end);
    account.forget_all();
    link.settled += cursor.map_or(0.0, |cursor| cursor.error - settled);
    is_estimated
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Vec3;

    use super::*;
    use crate::ledger::Dispatch;
    use crate::message::Arrival;
    use crate::motion::vector::DrVector;

    #[test]
    fn shown_vector_survives_trimming() {
        let (receiver, entity) = (PeerId(1), EntityId(0));
        let at = |second: u32| SessionTime::from_nanos(0) + Span::from_secs(i64::from(second));
        let frame = |seq: u32| {
            let position = Vec3::xy(f64::from(seq % 7), 0.0);
            let state = MotionState { position, ..MotionState::default() };
            let vector = DrVector::generate(at(seq), &state, MotionKind::Linear);
            VectorFrame { entity, first: DrSeq(0), seq: DrSeq(seq), sent: at(seq), vector }
        };
        let mut ledger = ErrorLedger::new(Placement::Global, None);
        ledger.join(receiver);
        ledger.introduce(None, &frame(0), Threshold::default());
        let slot = ledger.open_pair(Life { entity, first: DrSeq(0) }, receiver, at(0));
        ledger.dispatch(slot, Dispatch { seq: DrSeq(0), sent: at(0) }, 7);
        let arrival = Arrival { entity, seq: DrSeq(0), at: at(0), nonce: 7 };
        let link = ledger.link(receiver).expect("it is here");
        ledger.report(link, arrival, at(0)).expect("it was sent");
        for second in 1..200 {
            ledger.record(&frame(second), at(second));
            if second == 1 {
                // Never reported: it is lost.
                ledger.dispatch(slot, Dispatch { seq: DrSeq(1), sent: at(1) }, 8);
            }
            let account = ledger.account(slot);
            let track = ledger.track(Life { entity, first: DrSeq(0) }).expect("it lives");
            let shown = account.shows().expect("an arrival was reported");
            assert!(track.history.shown(shown).is_some(), "{shown:?} after {second} s");
        }
    }
}
