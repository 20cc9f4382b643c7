//! A look at the receivers' errors with all entities of an owner, ten times a second: entity by entity, all receivers in a row.
//!
//! Shared growth is computed once (`vector_sums.rs`). Most receivers show the vector of the last look with nothing in flight, so
//! their errors have grown by as much as their vector's sum. For the rest, pieces between linear paths are integrated side by
//! side (`linear/bulk.rs`). Where a path turns or is not known yet, the account is used.

use evenkeel_core::{PeerId, SessionTime, Span};

use super::control::{Control, StandingGrowth};
use super::growths::{PairGrowth, PairGrowths, UNKNOWN};
use super::seen::SeenPair;
use super::shadow::{GridPosition, Shadow};
use super::share::presumed_shown;
use super::vector_sums::{NewestNow, PATH_MAX, VectorSums};
use crate::ledger::Outlook;
use crate::policy::{Exported, Pair, Review};

/// A receiver's properties that all entities share.
#[derive(Clone, Copy, Debug)]
pub(super) struct LookRow {
    peer: PeerId,
    /// Its place among the standings, once it has one.
    place: Option<u32>,
    outlook: Outlook,
    /// When a message sent now arrives.
    pub(super) later: SessionTime,
    grid_position: GridPosition,
}

impl LookRow {
    /// The expected arrival of a message sent at a time, unless it is lost or one sent now would arrive earlier.
    #[inline]
    pub(super) fn expects(&self, sent: SessionTime, now: SessionTime) -> Option<SessionTime> {
        let Outlook { under_way, lost_after, known_until, .. } = self.outlook;
        let usual = sent + under_way;
        // A vector is lost if it is overdue although later arrivals have been reported.
        let is_lost = known_until >= usual && now - sent > lost_after;
        let arrival = usual.max(known_until);
        (!is_lost && arrival <= self.later).then_some(arrival)
    }
}

/// Weighted growth over all entities, by the places of the receivers.
#[derive(Clone, Debug, Default)]
struct GrowthTotals {
    errors: Vec<f64>,
    aheads: Vec<f64>,
    withouts: Vec<f64>,
    seen: Vec<bool>,
}

impl GrowthTotals {
    fn begin(&mut self, links: usize) {
        for column in [&mut self.errors, &mut self.aheads, &mut self.withouts] {
            column.clear();
            column.resize(links, 0.0);
        }
        self.seen.clear();
        self.seen.resize(links, false);
    }
}

/// Scratch space of a look.
#[derive(Clone, Debug, Default)]
pub(super) struct ErrorLook {
    rows: Vec<Option<LookRow>>,
    /// Seconds that a message sent now takes, by the places of the receivers.
    away: Vec<f64>,
    growths: PairGrowths,
    /// The places of receivers that are handled one by one.
    others: Vec<u32>,
    gathered: GrowthTotals,
    /// Seconds since the last look.
    seconds: f64,
    /// Whether every receiver has a standing, and whether every receiver is believed.
    is_placed: bool,
    are_credible: bool,
    /// Whether a receiver had no standing. If so, errors grow pair by pair, because a newcomer starts with the mean.
    is_direct: bool,
    /// The largest delay of a receiver that has any entity.
    pub(super) farthest: Span,
}

impl ErrorLook {
    pub(super) fn begin(&mut self, review: &Review<'_>, control: &Control) {
        self.farthest = Span::ZERO;
        self.seconds = control.since(review.now());
        self.rows.clear();
        self.rows.extend(review.receivers().map(|receiver| {
            let (peer, outlook) = receiver?;
            Some(LookRow {
                peer,
                place: control.place_of(peer),
                later: outlook.now + outlook.delay,
                grid_position: Shadow::grid_position(outlook.delay),
                outlook,
            })
        }));
        self.away.clear();
        let away = |row: &Option<LookRow>| row.as_ref().map_or(0.0, |row| row.outlook.delay.as_secs_f64());
        self.away.extend(self.rows.iter().map(away));
        self.gathered.begin(self.rows.len());
        self.is_placed = self.rows.iter().flatten().all(|row| row.place.is_some());
        self.are_credible = self.rows.iter().flatten().all(|row| row.outlook.is_credible);
        self.is_direct = false;
    }

    /// Adds the gathered growth to the standings.
    pub(super) fn settle(&mut self, control: &mut Control, now: SessionTime) {
        let GrowthTotals { errors, aheads, withouts, seen } = &mut self.gathered;
        for (link, row) in self.rows.iter().enumerate() {
            if let Some(row) = row
                && let Some(place) = row.place
                && core::mem::take(&mut seen[link])
            {
                self.farthest = self.farthest.max(row.outlook.delay);
                let (error, ahead, without) = (errors[link], aheads[link], withouts[link]);
                control.grow(
                    place,
                    &StandingGrowth { error, ahead, without, weight: 1.0, is_cut: row.outlook.is_cut },
                    now,
                );
            }
        }
    }

    /// The place of a receiver among the standings.
    fn place(&mut self, link: u32, control: &mut Control, now: SessionTime) -> Option<u32> {
        let row = self.rows[link as usize].as_ref()?;
        if row.place.is_some() {
            return row.place;
        }
        let place = control.place(row.peer, now);
        for place_of_other in self.rows.iter_mut().flatten().filter_map(|row| row.place.as_mut()) {
            *place_of_other += u32::from(*place_of_other >= place);
        }
        self.rows[link as usize].as_mut()?.place = Some(place);
        Some(place)
    }

    /// Looks at the errors of all receivers of an entity.
    pub(super) fn look_at(
        &mut self,
        exported: &Exported<'_>,
        seen: &mut [SeenPair],
        sums: &mut VectorSums,
        shadow: &Shadow,
        control: &mut Control,
        now: SessionTime,
    ) {
        let states = exported.pair_states();
        let path = exported.linear_path().filter(|path| path.len() <= PATH_MAX);
        match path {
            Some(path) => sums.begin(path, seen, now),
            None => sums.clear(seen),
        }
        self.growths.begin(sums, NewestNow::new(exported.newest(), now), &self.away);
        self.others.clear();
        if path.is_some() && self.are_credible {
            self.growths.share(states, seen, &mut self.others);
        } else {
            self.others.extend(exported.places());
        }
        for &link in &self.others {
            let (state, seen) = (&states[link as usize], &mut seen[link as usize]);
            let Some(row) = self.rows[link as usize].as_ref().filter(|_| state.is_open()) else { continue };
            let path = path.filter(|_| row.outlook.is_credible);
            if path.is_some() && self.growths.join(sums, link, state, seen) {
                continue;
            }
            let (before, growths) = (sums.last(&seen.unpack(state)), &mut self.growths);
            let summed = path.and_then(|path| growths.sum_up(path, sums, exported, (link, state, seen), row));
            let entry = summed.unwrap_or_else(|| {
                let pair = exported.pair(link);
                if !pair.is_credible() {
                    return PairGrowth { error: UNKNOWN, ahead: off(&pair, now) * self.seconds, uses: 0 };
                }
                let (error, later) = pair.accumulated_until(row.later);
                PairGrowth { error, ahead: later - error, uses: 0 }
            });
            growths.note(link, before, entry);
        }
        self.growths.count(sums, states, seen);
        #[cfg(test)]
        tests::check(exported, seen, sums, self.growths.counted().1, path.is_some());
        if self.is_placed && exported.is_unweighted() {
            self.gather(exported, shadow);
        } else {
            self.gather_each(exported, shadow, control, now);
        }
    }

    /// Gathers the growth of an entity's pairs, side by side.
    fn gather(&mut self, exported: &Exported<'_>, shadow: &Shadow) {
        let GrowthTotals { errors, aheads, withouts, seen } = &mut self.gathered;
        let (grown, ahead) = self.growths.counted();
        errors.iter_mut().zip(grown).for_each(|(error, grown)| *error += grown);
        aheads.iter_mut().zip(ahead).for_each(|(all, ahead)| *all += ahead);
        if exported.pair_count() == seen.len() {
            seen.fill(true);
        } else {
            exported.places().for_each(|link| seen[link as usize] = true);
        }
        if shadow.has_grown() {
            for link in exported.places().map(|link| link as usize) {
                withouts[link] +=
                    self.rows[link].as_ref().map_or(0.0, |row| shadow.grown(&row.grid_position));
            }
        }
    }

    /// Gathers pair by pair, where a receiver has no standing yet or weights differ.
    fn gather_each(
        &mut self,
        exported: &Exported<'_>,
        shadow: &Shadow,
        control: &mut Control,
        now: SessionTime,
    ) {
        for link in exported.places().map(|link| link as usize) {
            let Some(row) = &self.rows[link] else { continue };
            let (grown, ahead) = self.growths.counted();
            let (error, ahead) = (grown[link], ahead[link]);
            let (weight, without) = (exported.weight(row.peer), shadow.grown(&row.grid_position));
            if !self.is_direct && row.place.is_some() {
                let GrowthTotals { errors, aheads, withouts, seen } = &mut self.gathered;
                errors[link] += weight * error;
                aheads[link] += weight * ahead;
                withouts[link] += weight * without;
                seen[link] = true;
                continue;
            }
            self.farthest = self.farthest.max(row.outlook.delay);
            let growth = StandingGrowth { error, ahead, without, weight, is_cut: row.outlook.is_cut };
            if row.place.is_none() && !core::mem::replace(&mut self.is_direct, true) {
                self.settle(control, now);
            }
            if let Some(place) = self.place(link as u32, control, now) {
                control.grow(place, &growth, now);
            }
        }
    }
}

/// The error of a receiver that is not believed, if it has what it was sent. It gains nothing by false or missing reports.
fn off(pair: &Pair<'_>, now: SessionTime) -> f64 {
    presumed_shown(pair).map_or(0.0, |(_, shown)| shown.project(now).distance(pair.newest().1.project(now)))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;

    use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, Seed, Vec3};

    use super::*;
    use crate::message::{Header, VERSION, VectorFrame, emit_introduce, emit_vector};
    use crate::{
        Budget, Content, DrConfig, DrPeer, DrRelay, DrSeq, DrVector, EntityId, MotionKind, MotionState,
        Threshold, Topology,
    };

    thread_local! {
        /// Pairs looked at, pairs summed, and pairs that shared growth.
        static LOOKED: Cell<(u32, u32, u32)> = const { Cell::new((0, 0, 0)) };
    }

    /// Checks each pair against its account, up to rounding: generation times travel in microseconds.
    pub(super) fn check(
        exported: &Exported<'_>,
        seen: &[SeenPair],
        sums: &VectorSums,
        ahead: &[f64],
        has_path: bool,
    ) {
        for link in exported.places() {
            let look = seen[link as usize].unpack(&exported.pair_states()[link as usize]);
            let (pair, ahead) = (exported.pair(link), ahead[link as usize]);
            let error = if look.error_mark == 0 {
                look.error
            } else {
                look.base + sums.sum_with_mark(look.error_mark)
            };
            if error == UNKNOWN {
                assert!(!pair.is_credible());
                continue;
            }
            let (now, later) = pair.accumulated_until(exported.now() + pair.delay());
            assert!((error - now).abs() <= 1e-6 * (1.0 + now), "{error} {now}");
            assert!((ahead - (later - now)).abs() <= 1e-6 * (1.0 + later), "{ahead} {now} {later}");
            let (all, summed, shared) = LOOKED.get();
            let is_summed = has_path && look.sum > 0;
            LOOKED.set((all + 1, summed + u32::from(is_summed), shared + u32::from(look.error_mark > 0)));
        }
    }

    const OWNER: usize = 0;

    /// Sender, receiver, channel and bytes.
    type Message = (usize, usize, Channel, Vec<u8>);

    /// Runs an owner of two tanks that weave, and three receivers; some messages are lost or overtaken. Returns the
    /// number of looks, of those by sums, and of those that shared one.
    fn run(content: Content, lost: f64) -> (u32, u32, u32) {
        LOOKED.set((0, 0, 0));
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
    fn sums_agree_with_the_accounts() {
        for lost in [0.0, 0.05, 0.3] {
            let (all, summed, shared) = run(Content::Kind(MotionKind::Linear), lost);
            assert!(all > 1_500, "{all}");
            assert!(shared > all / 20 && shared < summed, "{shared} of {summed} with {lost}");
            assert!(f64::from(summed) > (0.9 - 2.0 * lost) * f64::from(all), "{summed} of {all} with {lost}");
        }
    }

    /// Whether it is for the receiver, and which that is; channel and bytes.
    type RelayedMessage = (bool, PeerId, Channel, Vec<u8>);

    /// Runs a relay with three receivers. The owner's vectors are circular for two of every four seconds, as they are with
    /// [`Content::Auto`], and the budget is so small that receivers show old ones. Returns what [`run`] does.
    fn run_at_a_relay_with_changing_kinds() -> (u32, u32, u32) {
        const OWNER: PeerId = PeerId(4);
        LOOKED.set((0, 0, 0));
        let config = DrConfig {
            policy: "even".parse().expect("a policy of ours"),
            budget: Budget::new(0.4).expect("a number"),
            ..DrConfig::default()
        };
        let mut relay = DrRelay::new(&config);
        let config = DrConfig { topology: Topology::Relay(PeerId(0)), ..DrConfig::default() };
        let mut receivers: Vec<DrPeer> = (0..3).map(|_| DrPeer::new(&config)).collect();
        let joined = |peer| PeerChange::Joined { peer, datagram_max: 1200 };
        let mut now = LocalTime::from_nanos(0);
        relay.handle_peer(now, joined(OWNER));
        for (peer, receiver) in (1..).map(PeerId).zip(&mut receivers) {
            relay.handle_peer(now, joined(peer));
            receiver.handle_peer(now, joined(PeerId(0)));
        }
        let mut wire: BTreeMap<(LocalTime, u32), RelayedMessage> = BTreeMap::new();
        let (mut number, mut bytes) = (0, Vec::new());
        for step in 0..3_000_u32 {
            now += Span::from_millis(10);
            let at = SessionTime::from_nanos(now.as_nanos());
            relay.handle_timeout(now);
            receivers.iter_mut().for_each(|receiver| receiver.handle_timeout(now));
            if step % 10 == 0 {
                let t = f64::from(step) * 0.01;
                let state = MotionState {
                    position: Vec3::xy(8.0 * t, 3.0 * libm::sin(t)),
                    velocity: Vec3::xy(8.0, 3.0 * libm::cos(t)),
                    turn_rate: 0.8,
                    ..MotionState::default()
                };
                let kind = if step / 200 % 2 == 0 { MotionKind::Circular } else { MotionKind::Linear };
                let vector = DrVector::generate(at, &state, kind).quantized_if_sane().expect("it is sane");
                let entity = EntityId(7);
                let frame = VectorFrame { entity, first: DrSeq(0), seq: DrSeq(step / 10), sent: at, vector };
                bytes.clear();
                Header { nonce: step + 1, stamp: Some(at) }.emit(VERSION, &mut bytes);
                let channel = if step == 0 { Channel::Reliable } else { Channel::Datagram };
                match step {
                    0 => emit_introduce(&frame, &Threshold::default(), at, &mut bytes),
                    _ => emit_vector(&frame, at, &mut bytes),
                }
                relay.handle_message(now, OWNER, channel, &bytes).expect("a vector");
            }
            while let Some((to, channel)) = relay.poll_transmit(now, &mut bytes) {
                number += 1;
                let arrives = now + Span::from_millis(40 * i64::from(to.0));
                wire.insert((arrives, number), (true, to, channel, core::mem::take(&mut bytes)));
            }
            for (peer, receiver) in (1..).map(PeerId).zip(&mut receivers) {
                while let Some((_, channel)) = receiver.poll_transmit(now, &mut bytes) {
                    number += 1;
                    let arrives = now + Span::from_millis(40 * i64::from(peer.0));
                    wire.insert((arrives, number), (false, peer, channel, core::mem::take(&mut bytes)));
                }
                while receiver.poll_event().is_some() {}
            }
            while wire.first_key_value().is_some_and(|((arrives, _), _)| *arrives <= now)
                && let Some((_, (is_down, peer, channel, bytes))) = wire.pop_first()
            {
                if is_down && peer != OWNER {
                    let receiver = &mut receivers[peer.0 as usize - 1];
                    receiver.handle_message(now, PeerId(0), channel, &bytes).expect("it is one of ours");
                } else if !is_down {
                    relay.handle_message(now, peer, channel, &bytes).expect("it is one of ours");
                }
            }
        }
        LOOKED.get()
    }

    #[test]
    fn receivers_that_show_a_turning_vector_on_a_linear_path_are_not_summed() {
        // Each look checks every pair.
        let (all, summed, _) = run_at_a_relay_with_changing_kinds();
        assert!(all > 500 && summed > 50, "{summed} of {all}");
    }

    #[test]
    fn turning_paths_are_not_summed() {
        let (all, summed, shared) = run(Content::Kind(MotionKind::Circular), 0.0);
        assert!(all > 1_500 && summed + shared == 0, "{summed} and {shared} of {all}");
    }
}
