//! The quick draw: a beacon gets ready and then lights up, and the first player to pull the trigger wins.
//!
//! Pulls of the trigger are actions of Sync-MS, so each comes with two times: when the player would have acted if updates
//! took no time, and when it arrived. The first one that is *served* wins; in which order they are served is the room's
//! setting. The referee notes all of them, and so knows who was fastest and who would have been first without any service.

use std::collections::{BTreeSet, VecDeque};

use evenkeel_core::{Draws, PeerId, Seed, SessionTime, Span};

use super::message::{ArenaMessage, Light};
use super::reaction::ReactionTimes;

/// The shortest and the longest rest between two duels, in seconds.
const REST: (f64, f64) = (1.0, 2.5);
/// How long the beacon gets ready, in seconds. Nobody can guess when it lights up.
const READY: (f64, f64) = (1.0, 2.5);
/// How long it is waited for players who have not fired.
const DRAW_MAX: Span = Span::from_millis(1_500);
/// Duels that are remembered.
const PAST_MAX: usize = 64;
/// Players that a duel takes.
const SHOTS_MAX: usize = 64;

/// When somebody pulled the trigger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PullTimes {
    /// When the player would have pulled it if updates took no time.
    pub virtual_at: SessionTime,
    /// When it would have arrived at the relay if nobody held updates back: then it would have been served without us.
    pub unaided: SessionTime,
    /// When it was served.
    pub served: SessionTime,
}

/// A shot of a duel. Times count from when the beacon was lit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DuelShot {
    /// The player.
    pub player: PeerId,
    /// How long it took to react.
    pub reaction: Span,
    /// When the shot would have been served without any service: when it had arrived at the relay, if nobody held updates
    /// back.
    pub unaided: Span,
    /// When it was served.
    pub served: Span,
}

/// A duel that is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Duel {
    /// Its number, from 1 on.
    pub number: u32,
    /// When the beacon was lit.
    pub lit: SessionTime,
    /// The shots in the order in which they were served; at least one.
    pub shots: Vec<DuelShot>,
}

impl Duel {
    /// Who won: the player who was served first.
    #[must_use]
    pub fn winner(&self) -> &DuelShot {
        &self.shots[0]
    }

    /// Who reacted fastest.
    #[must_use]
    pub fn fastest(&self) -> &DuelShot {
        self.least(|shot| shot.reaction)
    }

    /// Whose shot would have been served first without any service.
    #[must_use]
    pub fn first_unaided(&self) -> &DuelShot {
        self.least(|shot| shot.unaided)
    }

    fn least(&self, key: impl Fn(&DuelShot) -> Span) -> &DuelShot {
        self.shots.iter().reduce(|a, b| if key(b) < key(a) { b } else { a }).unwrap_or(&self.shots[0])
    }
}

#[derive(Clone, Debug)]
enum Phase {
    /// Nothing happens until then.
    Rest(SessionTime),
    /// The beacon got ready, and is lit at a time that nobody knows.
    Ready { since: SessionTime, until: SessionTime },
    /// The beacon is lit.
    Fire { ready: SessionTime, lit: SessionTime, shots: Vec<DuelShot> },
}

/// The duels of a room.
#[derive(Clone, Debug)]
pub(super) struct QuickDraw {
    draws: Draws,
    number: u32,
    phase: Phase,
    /// Who has fired too early in this duel, or left.
    out: BTreeSet<PeerId>,
    past: VecDeque<Duel>,
    news: VecDeque<ArenaMessage>,
}

impl QuickDraw {
    /// Duels at times that depend on the seed.
    #[must_use]
    pub(super) fn new(seed: Seed) -> Self {
        Self {
            draws: seed.draws(),
            number: 0,
            phase: Phase::Rest(SessionTime::MIN),
            out: BTreeSet::new(),
            past: VecDeque::new(),
            news: VecDeque::new(),
        }
    }

    /// The last duels, the oldest first.
    pub(super) fn past(&self) -> impl DoubleEndedIterator<Item = &Duel> {
        self.past.iter()
    }

    /// What the beacon shows.
    pub(super) const fn light(&self) -> Light {
        match &self.phase {
            Phase::Ready { .. } => Light::Ready,
            Phase::Fire { shots, .. } if shots.is_empty() => Light::Fire,
            Phase::Rest(_) | Phase::Fire { .. } => Light::Off,
        }
    }

    /// The same as a message.
    pub(super) const fn beacon(&self) -> ArenaMessage {
        ArenaMessage::Beacon { duel: self.number, light: self.light() }
    }

    /// The next message for everybody. Call until `None`.
    pub(super) fn poll_message(&mut self) -> Option<ArenaMessage> {
        self.news.pop_front()
    }

    /// Goes on with the duel among the players who are there.
    pub(super) fn update(&mut self, players: &[PeerId], now: SessionTime) {
        match &self.phase {
            Phase::Rest(SessionTime::MIN) => self.rest(now),
            Phase::Rest(until) if *until <= now && players.len() > 1 => {
                self.number = self.number.wrapping_add(1);
                self.out.clear();
                self.phase = Phase::Ready { since: now, until: now + self.pause(READY) };
                self.news.push_back(self.beacon());
            }
            Phase::Ready { since, until } if *until <= now => {
                self.phase = Phase::Fire { ready: *since, lit: now, shots: Vec::new() };
                self.news.push_back(self.beacon());
            }
            Phase::Fire { lit, shots, .. } => {
                let has_fired = |player: &PeerId| shots.iter().any(|shot| shot.player == *player);
                let is_over = players.iter().all(|player| has_fired(player) || self.out.contains(player));
                if is_over || now - *lit >= DRAW_MAX {
                    self.close(now);
                }
            }
            Phase::Rest(_) | Phase::Ready { .. } => {}
        }
    }

    fn pause(&mut self, (least, most): (f64, f64)) -> Span {
        Span::from_secs_f64(self.draws.uniform(least, most))
    }

    fn rest(&mut self, now: SessionTime) {
        self.phase = Phase::Rest(now + self.pause(REST));
    }

    fn close(&mut self, now: SessionTime) {
        let next = Phase::Rest(now + self.pause(REST));
        let Phase::Fire { lit, shots, .. } = core::mem::replace(&mut self.phase, next) else { return };
        if shots.is_empty() {
            return self.news.push_back(self.beacon());
        }
        if self.past.len() == PAST_MAX {
            self.past.pop_front();
        }
        self.past.push_back(Duel { number: self.number, lit, shots });
    }

    /// A player pulled the trigger. Call in the order of service.
    pub(super) fn pull(&mut self, player: PeerId, times: PullTimes) {
        let (ready, lit) = match &self.phase {
            Phase::Rest(_) => return,
            Phase::Ready { since, .. } => (*since, SessionTime::MAX),
            Phase::Fire { ready, lit, .. } => (*ready, *lit),
        };
        // What it did before the beacon got ready has nothing to do with it.
        if times.virtual_at < ready || self.out.contains(&player) {
            return;
        }
        if lit == SessionTime::MAX || times.virtual_at - lit < ReactionTimes::LEAST {
            self.out.insert(player);
            return;
        }
        let (duel, news) = (self.number, &mut self.news);
        let Phase::Fire { shots, .. } = &mut self.phase else { return };
        if shots.len() == SHOTS_MAX || shots.iter().any(|shot| shot.player == player) {
            return;
        }
        if shots.is_empty() {
            news.push_back(ArenaMessage::Won { duel, winner: player });
        }
        let PullTimes { virtual_at, unaided, served } = times;
        let [reaction, unaided, served] = [virtual_at, unaided, served].map(|at| at - lit);
        shots.push(DuelShot { player, reaction, unaided, served });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: PeerId = PeerId(1);
    const BO: PeerId = PeerId(2);

    fn at(millis: i64) -> SessionTime {
        SessionTime::from_nanos(millis * 1_000_000)
    }

    /// Times of a pull this long after an instant, by a player so far away.
    fn pull(from: SessionTime, reaction: i64, away: i64) -> PullTimes {
        let virtual_at = from + Span::from_millis(reaction);
        let unaided = virtual_at + Span::from_millis(2 * away);
        PullTimes { virtual_at, unaided, served: unaided }
    }

    /// Goes on until the beacon changes; returns when that is.
    fn until(draw: &mut QuickDraw, light: Light, mut now: SessionTime) -> SessionTime {
        loop {
            draw.update(&[ADA, BO], now);
            while let Some(message) = draw.poll_message() {
                if matches!(message, ArenaMessage::Beacon { light: shown, .. } if shown == light) {
                    return now;
                }
            }
            now += Span::from_millis(20);
        }
    }

    fn lit() -> (QuickDraw, SessionTime, SessionTime) {
        let mut draw = QuickDraw::new(Seed::new(1));
        let ready = until(&mut draw, Light::Ready, at(0));
        let lit = until(&mut draw, Light::Fire, ready);
        (draw, ready, lit)
    }

    #[test]
    fn whoever_is_served_first_wins_and_the_referee_knows_who_was_fastest() {
        let (mut draw, _, lit) = lit();
        draw.pull(BO, pull(lit, 260, 5));
        draw.pull(ADA, pull(lit, 230, 200));
        assert_eq!(draw.poll_message(), Some(ArenaMessage::Won { duel: 1, winner: BO }));
        assert_eq!(draw.poll_message(), None, "one winner");
        draw.update(&[ADA, BO], lit + Span::from_millis(700));
        let duel = draw.past().next_back().expect("the duel is over");
        assert_eq!((duel.number, duel.lit, duel.shots.len()), (1, lit, 2));
        let players = [duel.winner(), duel.fastest(), duel.first_unaided()].map(|shot| shot.player);
        assert_eq!(players, [BO, ADA, BO]);
        assert_eq!(duel.fastest().reaction, Span::from_millis(230));
    }

    #[test]
    fn false_starts_and_guesses_do_not_count() {
        for early in [-1, 0, 99] {
            let (mut draw, _, lit) = lit();
            draw.pull(ADA, pull(lit, early, 200));
            draw.pull(ADA, pull(lit, 200, 200));
            draw.pull(BO, pull(lit, 400, 5));
            draw.pull(BO, pull(lit, 500, 5));
            draw.update(&[ADA, BO], lit + Span::from_millis(500));
            let duel = draw.past().next_back().expect("everybody has fired or is out");
            assert_eq!((duel.shots.len(), duel.winner().player), (1, BO), "{early} ms");
        }
    }

    #[test]
    fn a_shot_from_before_the_beacon_got_ready_is_none_of_it() {
        let (mut draw, ready, lit) = lit();
        draw.pull(ADA, pull(ready, -1, 200));
        draw.pull(ADA, pull(lit, 240, 200));
        assert_eq!(draw.poll_message(), Some(ArenaMessage::Won { duel: 1, winner: ADA }));
    }

    #[test]
    fn a_beacon_that_nobody_answers_goes_out_and_the_next_one_follows() {
        let (mut draw, _, lit) = lit();
        assert_eq!(until(&mut draw, Light::Off, lit), lit + Span::from_millis(1_500));
        assert_eq!(draw.past().count(), 0);
        let next = until(&mut draw, Light::Ready, lit);
        assert!(next > lit + Span::from_secs(2));
        assert_eq!(draw.beacon(), ArenaMessage::Beacon { duel: 2, light: Light::Ready });
    }

    #[test]
    fn there_is_no_duel_for_one() {
        let mut draw = QuickDraw::new(Seed::new(1));
        (0..500).for_each(|tick| draw.update(&[ADA], at(20 * tick)));
        assert_eq!(draw.poll_message(), None);
    }

    #[test]
    fn the_last_duels_are_remembered() {
        let mut draw = QuickDraw::new(Seed::new(2));
        let mut now = at(0);
        for _ in 0..PAST_MAX + 3 {
            now = until(&mut draw, Light::Fire, now);
            draw.pull(ADA, pull(now, 200, 0));
        }
        assert_eq!(draw.past().count(), PAST_MAX);
    }
}
