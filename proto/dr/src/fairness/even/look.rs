//! A look at everybody's error with all entities of an owner, ten times a second: entity by entity, all of its receivers in a row.
//!
//! What many receivers share is computed once (`sums.rs`); what is left of all of them are pieces between linear paths, which are
//! integrated side by side (`linear/bulk.rs`). Where that can't be, because a path turns or is not known yet, the account
//! is asked.

use std::cell::Cell;

use evenkeel_core::{PeerId, SessionTime, Span};

use super::control::{Control, Growth};
use super::shadow::{Between, Shadow};
use super::share::presumed_shown;
use super::sums::{End, Exports, PATH_MAX, Sums};
use crate::fairness::{Exported, Pair, Review};
use crate::ledger::{Dispatch, Glance, Look, Pending};
use crate::linear::bulk::Pieces;
use crate::vector::DrSeq;

/// One receiver, as every entity needs it.
#[derive(Clone, Copy, Debug)]
struct Seat {
    peer: PeerId,
    /// Its place among those who stand, once it has one.
    place: Option<u32>,
    delay: Span,
    /// What is sent now arrives then.
    later: SessionTime,
    under_way: Span,
    lost_after: Span,
    known_until: SessionTime,
    between: Between,
    is_credible: bool,
    is_cut: bool,
}

/// What an integral is for.
#[derive(Clone, Copy, Debug)]
enum Use {
    More,
    Less,
    Ahead,
}

/// The error of a pair: now, what is to come, and how many integrals are still to be added. Now it is [`UNKNOWN`] where the
/// receiver is not believed; then what it is presumed to have grown by is to come.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    error: f64,
    ahead: f64,
    uses: u16,
}

/// The error of a receiver that is not believed: when it is believed again, it counts from then on.
const UNKNOWN: f64 = f64::INFINITY;

/// What is gathered for one entity.
#[derive(Clone, Debug, Default)]
struct Tally {
    entries: Vec<Entry>,
    uses: Vec<Use>,
    pieces: Pieces,
    integrals: Vec<f64>,
}

/// What a look needs; the room for it is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    seats: Vec<Option<Seat>>,
    tally: Tally,
    /// Seconds since the last look.
    seconds: f64,
    /// The delay of the farthest who sees anything.
    pub(super) farthest: Span,
}

impl Watch {
    /// A look begins.
    pub(super) fn begin(&mut self, review: &Review<'_>, control: &Control) {
        self.farthest = Span::ZERO;
        self.seconds = control.since(review.now());
        self.seats.clear();
        self.seats.extend(review.receivers().map(|receiver| {
            let (peer, outlook) = receiver?;
            Some(Seat {
                peer,
                place: control.place_of(peer),
                delay: outlook.delay,
                later: outlook.now + outlook.delay,
                under_way: outlook.under_way,
                lost_after: outlook.lost_after,
                known_until: outlook.known_until,
                between: Shadow::between(outlook.delay),
                is_credible: outlook.is_credible,
                is_cut: outlook.is_cut,
            })
        }));
    }

    /// The place of a receiver among those who stand.
    fn place(&mut self, link: u32, control: &mut Control, now: SessionTime) -> Option<u32> {
        let seat = self.seats[link as usize].as_ref()?;
        if seat.place.is_some() {
            return seat.place;
        }
        let place = control.place(seat.peer, now);
        for place_of_other in self.seats.iter_mut().flatten().filter_map(|seat| seat.place.as_mut()) {
            *place_of_other += u32::from(*place_of_other >= place);
        }
        self.seats[link as usize].as_mut()?.place = Some(place);
        Some(place)
    }

    /// Looks at the errors of all receivers of an entity.
    pub(super) fn look_at(
        &mut self,
        exported: &Exported<'_>,
        sums: &mut Sums,
        shadow: &Shadow,
        control: &mut Control,
        now: SessionTime,
    ) {
        let (glances, looks, tally) = (exported.glances(), exported.looks(), &mut self.tally);
        tally.clear();
        let path = exported.linear_path().filter(|path| path.len() <= PATH_MAX);
        match path {
            Some(path) => sums.begin(path, now),
            None => sums.clear(),
        }
        for (glance, look) in glances.iter().zip(looks) {
            let Some(seat) = &self.seats[glance.link as usize] else {
                tally.entries.push(Entry::default());
                continue;
            };
            let (uses, pieces) = (tally.uses.len(), tally.pieces.len());
            let path = path.filter(|_| seat.is_credible);
            let summed = path.and_then(|path| tally.sum_up(path, sums, exported, glance, look, seat, now));
            let entry = summed.unwrap_or_else(|| {
                tally.uses.truncate(uses);
                tally.pieces.truncate(pieces);
                let pair = exported.pair(glance);
                if !pair.is_credible() {
                    return Entry { error: UNKNOWN, ahead: off(&pair, now) * self.seconds, uses: 0 };
                }
                let (error, later) = pair.accumulated_until(seat.later);
                Entry { error, ahead: later - error, uses: 0 }
            });
            tally.entries.push(entry);
            self.farthest = self.farthest.max(seat.delay);
        }
        tally.pieces.integrate(&mut tally.integrals);
        let mut start = 0;
        for (index, (glance, look)) in glances.iter().zip(looks).enumerate() {
            let (error, ahead) = self.tally.entry(index, &mut start);
            #[cfg(test)]
            tests::check(exported, glance, (error, ahead), path.is_some());
            let Some(place) = self.place(glance.link, control, now) else { continue };
            let Some(Seat { peer, between, is_cut, .. }) = &self.seats[glance.link as usize] else {
                continue;
            };
            let before = look.get();
            look.set(Look { error, ..before });
            let (error, ahead) = if error == UNKNOWN {
                (ahead, 0.0)
            } else {
                (if before.error.is_finite() { error - before.error } else { 0.0 }, ahead)
            };
            let (weight, without, is_cut) = (exported.weight(*peer), shadow.grown(between), *is_cut);
            control.grow(place, &Growth { error, ahead, without, weight, is_cut }, now);
        }
    }
}

/// How far off the entity a receiver is that is not believed, if it has what it was sent: so it can't win anything by untrue
/// reports, nor by having none.
fn off(pair: &Pair<'_>, now: SessionTime) -> f64 {
    presumed_shown(pair).map_or(0.0, |(_, shown)| shown.project(now).distance(pair.newest().1.project(now)))
}

impl Tally {
    fn clear(&mut self) {
        self.pieces.clear();
        self.uses.clear();
        self.entries.clear();
    }

    /// The error of a pair and what is to come; `start` is where its integrals begin.
    fn entry(&self, index: usize, start: &mut usize) -> (f64, f64) {
        let Entry { mut error, mut ahead, uses } = self.entries[index];
        let (from, to) = (*start, *start + usize::from(uses));
        for (of, integral) in self.uses[from..to].iter().zip(&self.integrals[from..to]) {
            match of {
                Use::More => error += integral,
                Use::Less => error -= integral,
                Use::Ahead => ahead += integral,
            }
        }
        *start = to;
        (error, ahead)
    }

    /// The error of a pair by the sums of its entity, but for pieces; `None` if it can't be told by them.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn sum_up(
        &mut self,
        path: Exports<'_>,
        sums: &mut Sums,
        exported: &Exported<'_>,
        glance: &Glance,
        look: &Cell<Look>,
        seat: &Seat,
        now: SessionTime,
    ) -> Option<Entry> {
        let Look { mut base, sum, pending, .. } = look.get();
        if pending == Pending::Unclear {
            return None;
        }
        let account = || exported.pair(glance);
        let shown = sums.find(path, now, glance.arrived, || account().settled().map(|(at, _)| at.vector))?;
        if sum != sums.id(shown) {
            let pair = account();
            let (settled, before) = pair.settled()?;
            base = before + settled.error - sums.until(path, shown, End::new(path, settled.at)?)?;
            look.set(Look { base, sum: sums.id(shown), ..look.get() });
        }
        let newest = path[path.len() - 1].0;
        let mut way = Way { shown, seq: glance.arrived, at: now, error: base, uses: 0 };
        match pending {
            Pending::Unclear | Pending::Nothing => {}
            Pending::Last => {
                let last = Dispatch { seq: glance.last, sent: glance.sent };
                self.expect(&mut way, path, sums, seat, last, now)?;
            }
            Pending::Several => {
                let pair = account();
                for dispatch in pair.dispatches() {
                    self.expect(&mut way, path, sums, seat, dispatch, now)?;
                }
            }
        }
        if way.at == now {
            way.error += sums.now(way.shown);
        }
        if way.seq != newest {
            self.go_ahead(&mut way, sums, seat.later, now);
        }
        Some(Entry { error: way.error, ahead: 0.0, uses: way.uses })
    }

    /// A vector that is on its way, if it is, is shown from its arrival on.
    #[inline]
    fn expect(
        &mut self,
        way: &mut Way,
        path: Exports<'_>,
        sums: &mut Sums,
        seat: &Seat,
        Dispatch { seq, sent }: Dispatch,
        now: SessionTime,
    ) -> Option<()> {
        let arrival = (sent + seat.under_way).max(seat.known_until);
        // Lost is what is overdue although later arrivals have been reported.
        let lost = now - sent > seat.lost_after && seat.known_until >= sent + seat.under_way;
        if seq <= way.seq || lost || arrival > seat.later {
            return Some(());
        }
        let next = sums.find(path, now, seq, || vector(path, seq))?;
        if arrival <= now {
            let end = End::new(path, arrival)?;
            let (gathered, rest) = sums.until_piece(path, way.shown, end, &mut self.pieces)?;
            self.note(way, rest, Use::More);
            let (had, rest) = sums.until_piece(path, next, end, &mut self.pieces)?;
            self.note(way, rest, Use::Less);
            way.error += gathered - had;
        } else {
            if way.at == now {
                way.error += sums.now(way.shown);
            }
            self.go_ahead(way, sums, arrival, now);
        }
        (way.shown, way.seq) = (next, seq);
        Some(())
    }

    fn note(&mut self, way: &mut Way, is_used: bool, of: Use) {
        if is_used {
            self.uses.push(of);
            way.uses += 1;
        }
    }

    /// What is to come with what is shown, up to a time.
    #[inline]
    fn go_ahead(&mut self, way: &mut Way, sums: &Sums, to: SessionTime, now: SessionTime) {
        let (from, seconds) = ((way.at - now).as_secs_f64(), (to - way.at).as_secs_f64());
        sums.ahead(way.shown, from, seconds, &mut self.pieces);
        self.note(way, true, Use::Ahead);
        way.at = to;
    }
}

/// How far the error of a pair has been followed.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The sum of what is shown, and its number.
    shown: usize,
    seq: DrSeq,
    /// Now, or later.
    at: SessionTime,
    error: f64,
    uses: u16,
}

fn vector(path: Exports<'_>, seq: DrSeq) -> Option<crate::vector::DrVector> {
    path.get(seq.0.wrapping_sub(path[0].0.0) as usize).map(|(_, vector)| *vector)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, Seed, Vec3};

    use super::*;
    use crate::{Budget, Content, DrConfig, DrPeer, EntityId, MotionKind, MotionState, Threshold};

    thread_local! {
        /// How many pairs were looked at, and how many of them along linear paths without the account being asked.
        static LOOKED: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
    }

    /// What is seen of a pair is what its account says, but for rounding: generation times are told in microseconds.
    pub(super) fn check(
        exported: &Exported<'_>,
        glance: &Glance,
        (error, ahead): (f64, f64),
        has_path: bool,
    ) {
        let pair = exported.pair(glance);
        if error == UNKNOWN {
            assert!(!pair.is_credible());
            return;
        }
        let (now, later) = pair.accumulated_until(exported.now() + pair.delay());
        assert!((error - now).abs() <= 1e-6 * (1.0 + now), "{error} {now}");
        assert!((ahead - (later - now)).abs() <= 1e-6 * (1.0 + later), "{ahead} {now} {later}");
        let place = exported.glances().iter().position(|other| other.link == glance.link);
        let is_summed = has_path && place.is_some_and(|place| exported.looks()[place].get().sum > 0);
        let (all, summed) = LOOKED.get();
        LOOKED.set((all + 1, summed + u32::from(is_summed)));
    }

    const OWNER: usize = 0;

    /// From whom, to whom, how, and what.
    type Message = (usize, usize, Channel, Vec<u8>);

    /// An owner of two tanks that weave, and three receivers; of what is sent, some is lost and some overtaken. Gives how
    /// many looks there were, and how many of them by sums.
    fn run(content: Content, lost: f64) -> (u32, u32) {
        LOOKED.set((0, 0));
        let config = DrConfig {
            policy: "even".parse().expect("a policy of ours"),
            budget: Budget::new(1.0).expect("a number"),
            threshold: Threshold { distance: 0.3, ..Threshold::default() },
            kind: content,
            ..DrConfig::default()
        };
        let mut nodes: Vec<DrPeer> = (0..4).map(|_| DrPeer::new(&config)).collect();
        let mut draws = Seed::new(3).draws();
        let mut wire: BTreeMap<(LocalTime, u32), Message> = BTreeMap::new();
        let mut now = LocalTime::from_nanos(0);
        for receiver in 1..4 {
            let joined = |peer: usize| PeerChange::Joined { peer: PeerId(peer as u32), datagram_max: 1200 };
            nodes[OWNER].handle_peer(now, joined(receiver));
            nodes[receiver].handle_peer(now, joined(OWNER));
        }
        for step in 1..=3_000_u32 {
            now += Span::from_millis(10);
            while wire.first_key_value().is_some_and(|((at, _), _)| *at <= now)
                && let Some((_, (from, to, channel, bytes))) = wire.pop_first()
            {
                let taken = nodes[to].handle_message(now, PeerId(from as u32), channel, &bytes);
                taken.expect("it is one of ours");
            }
            nodes.iter_mut().for_each(|node| node.handle_timeout(now));
            for entity in 0..2 {
                let (t, wide) = (f64::from(step) * 0.01, 3.0 + f64::from(entity));
                let state = MotionState {
                    position: Vec3::xy(8.0 * t, wide * libm::sin(t)),
                    velocity: Vec3::xy(8.0, wide * libm::cos(t)),
                    ..MotionState::default()
                };
                nodes[OWNER].observe(now, EntityId(entity), state);
            }
            let mut bytes = Vec::new();
            for (from, node) in nodes.iter_mut().enumerate() {
                while let Some((to, channel)) = node.poll_transmit(now, &mut bytes) {
                    let to = to.0 as usize;
                    let delay = 40 * from.max(to) as i64 + (60.0 * draws.unit()) as i64;
                    if channel != Channel::Datagram || draws.unit() >= lost {
                        let at = now + Span::from_millis(delay);
                        let number = step * 64 + wire.len() as u32;
                        wire.insert((at, number), (from, to, channel, core::mem::take(&mut bytes)));
                    }
                }
                while node.poll_event().is_some() {}
            }
        }
        LOOKED.get()
    }

    #[test]
    fn sums_tell_what_the_accounts_say() {
        for lost in [0.0, 0.05, 0.3] {
            let (all, summed) = run(Content::Kind(MotionKind::Linear), lost);
            assert!(all > 1_500, "{all}");
            assert!(f64::from(summed) > (0.9 - 2.0 * lost) * f64::from(all), "{summed} of {all} with {lost}");
        }
    }

    #[test]
    fn paths_that_turn_are_not_summed_up() {
        let (all, summed) = run(Content::Kind(MotionKind::Circular), 0.0);
        assert!(all > 1_500 && summed == 0, "{summed} of {all}");
    }
}
