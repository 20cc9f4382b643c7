//! The game as one peer sees it: its own eater for certain, the stones as far as claims have come, the others by guessing.

use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{Malformed, Reader, Seed, Wire};

use super::maze::{Maze, Way};
use super::message::{CLAIMS_MAX, EaterMessage, Whereabouts};
use super::reckoning::Reckoning;
use super::stones::{Applied, Claim, EaterId, SLOTS_MAX, StoneId, Stones, Word};
use super::walker::{Pixel, Walker};
use super::{CELL_PIXELS, STEP_PIXELS};

/// How near the middle of a stone's cell an eater eats it.
const BITE_PIXELS: u32 = 6;
/// Steps that are made up for after a pause; the rest of it the eater stood still.
const PAUSE_MAX: u32 = 20;
/// The number of steps between two digests of what is known.
const DIGEST_STEPS: u32 = 200;
/// Claims that are younger may still be under way.
const SETTLED_STEPS: u32 = 100;
/// Who answers a digest that differs is drawn; on average it is this many of those present.
const ANSWERS: u64 = 2;
/// The latest positions of an eater that are remembered, to check its claims.
const REMEMBERED_MAX: usize = 64;
/// Limit on the others.
const RIVALS_MAX: usize = 1_024;
/// By how much an honest position may be off: the step that it was taken at is known to within eight.
const SLACK_PIXELS: u32 = CELL_PIXELS as u32;
/// A claim that takes longer to arrive from an eater that is connected is false: it was dated back.
const LATE_STEPS: u32 = 200;
/// By how much clocks may differ.
const EARLY_STEPS: u32 = 40;
/// Limit on what waits for the driver, which drains it after each call. Beyond, the oldest is dropped.
const QUEUE_MAX: usize = 4_096;

/// The settings of a game, the same at each peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EaterConfig {
    /// The seed of the maze and the stones.
    pub seed: Seed,
    /// The columns of the maze.
    pub columns: u16,
    /// The rows of the maze.
    pub rows: u16,
    /// How many stones are there.
    pub stones: u16,
}

impl Default for EaterConfig {
    fn default() -> Self {
        Self { seed: Seed::new(0), columns: 25, rows: 20, stones: 10 }
    }
}

impl Wire for EaterConfig {
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.seed.number().emit(bytes);
        [self.columns, self.rows, self.stones].iter().for_each(|number| number.emit(bytes));
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let seed = Seed::from_key(reader.read()?);
        let config = Self { seed, columns: reader.read()?, rows: reader.read()?, stones: reader.read()? };
        let sides = 2..=Maze::SIDE_MAX;
        let is_sound = sides.contains(&config.columns) && sides.contains(&config.rows);
        if is_sound && config.stones <= SLOTS_MAX { Ok(config) } else { Err(Malformed::Field) }
    }
}

/// What another eater did that the rules do not allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Foul {
    /// It says that it is where nobody can be, or its move is none.
    #[error("is in a wall")]
    InWall,
    /// It moved faster than eaters can.
    #[error("moved too fast")]
    TooFast,
    /// It claims a stone that it was too far away from.
    #[error("claims a stone out of its reach")]
    OutOfReach,
    /// It claims to have eaten a stone long ago, and was silent about it; or later than now.
    #[error("claims a stone at a wrong time")]
    WrongTime,
    /// Its message is none.
    #[error("sent a message that is none")]
    Malformed,
}

/// What changed on the board.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoardEvent {
    /// A stone was eaten.
    Eaten(Claim),
    /// Somebody claimed a stone earlier than who had it.
    Overturned {
        /// The claim that counts.
        claim: Claim,
        /// Who had the stone until now.
        loser: EaterId,
    },
    /// Somebody broke the rules; what it did does not count.
    Foul {
        /// The eater.
        eater: EaterId,
        /// What it did.
        foul: Foul,
    },
}

/// Another eater, as seen from here.
#[derive(Clone, Debug, Default)]
pub struct Rival {
    /// Where it probably is; `None` before the first position.
    reckoning: Option<Reckoning>,
    /// Its latest positions by step.
    remembered: VecDeque<(u32, Pixel)>,
    /// The first step since it joined; `None` before that.
    joined: Option<u32>,
    /// How often it broke the rules.
    fouls: u32,
}

impl Rival {
    /// Returns where it probably is; `None` before its first position.
    #[must_use]
    pub const fn reckoning(&self) -> Option<&Reckoning> {
        self.reckoning.as_ref()
    }

    /// Returns how often it broke the rules.
    #[must_use]
    pub const fn fouls(&self) -> u32 {
        self.fouls
    }
}

/// The game as one peer sees it.
#[derive(Clone, Debug)]
pub struct Board {
    config: EaterConfig,
    maze: Maze,
    stones: Stones,
    me: EaterId,
    walker: Walker,
    step: Option<u32>,
    rivals: BTreeMap<EaterId, Rival>,
    next_digest: u32,
    /// Claims that one other eater told of, and who.
    hearsay: BTreeMap<Claim, EaterId>,
    outbox: VecDeque<EaterMessage>,
    events: VecDeque<BoardEvent>,
}

const MAZE: u64 = 1;
const STONES: u64 = 2;
const STARTS: u64 = 3;
const ANSWER: u64 = 4;

impl Board {
    /// The game at its start, as this eater sees it.
    ///
    /// # Panics
    /// If the settings have no maze or too many stones: see [`Maze::new`] and [`Stones::new`].
    #[must_use]
    pub fn new(config: &EaterConfig, me: EaterId) -> Self {
        let maze = Maze::new(config.seed.child(MAZE), config.columns, config.rows);
        let start = maze.draw_cell(&mut config.seed.child(STARTS).child(me.0).draws());
        Self {
            config: *config,
            stones: Stones::new(config.seed.child(STONES), &maze, config.stones),
            maze,
            me,
            walker: Walker::standing(start),
            step: None,
            rivals: BTreeMap::new(),
            next_digest: 0,
            hearsay: BTreeMap::new(),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Returns the maze.
    #[must_use]
    pub const fn maze(&self) -> &Maze {
        &self.maze
    }

    /// Returns the stones and who ate them.
    #[must_use]
    pub const fn stones(&self) -> &Stones {
        &self.stones
    }

    /// Returns this peer's own eater.
    #[must_use]
    pub const fn walker(&self) -> &Walker {
        &self.walker
    }

    /// Returns who this peer's eater is.
    #[must_use]
    pub const fn me(&self) -> EaterId {
        self.me
    }

    /// Returns the others.
    pub fn rivals(&self) -> impl Iterator<Item = (EaterId, &Rival)> {
        self.rivals.iter().map(|(eater, rival)| (*eater, rival))
    }

    /// Tells all where this peer's eater is, also those to which it is too far away to send them its moves.
    pub fn announce(&mut self) {
        self.send(EaterMessage::Here(self.whereabouts()));
    }

    /// Returns the step up to which the game has come.
    #[must_use]
    pub const fn step(&self) -> Option<u32> {
        self.step
    }

    /// Returns where this peer's eater is, for the others.
    #[must_use]
    pub fn whereabouts(&self) -> Whereabouts {
        Whereabouts { step: self.step.unwrap_or(0), at: self.walker.at(), way: self.walker.way() }
    }

    /// Moves the own eater up to this step as wished, and guesses on for the others. The wish is asked for at each step.
    pub fn advance(&mut self, step: u32, mut wish: impl FnMut(&Maze, &Stones, &Walker) -> Option<Way>) {
        let last = *self.step.get_or_insert(step);
        if step <= last {
            return;
        }
        for now in last.max(step.saturating_sub(PAUSE_MAX)) + 1..=step {
            self.step = Some(now);
            let wish = wish(&self.maze, &self.stones, &self.walker);
            self.walker.step(&self.maze, wish);
            self.bite(now);
        }
        for rival in self.rivals.values_mut() {
            rival.joined.get_or_insert(step);
            if let Some(reckoning) = &mut rival.reckoning {
                reckoning.advance(&self.maze, &self.stones, step);
            }
        }
        if step >= self.next_digest {
            self.next_digest = step.saturating_add(DIGEST_STEPS);
            let before = step.saturating_sub(SETTLED_STEPS);
            self.send(EaterMessage::Digest { before, slots: self.stones.digest(before) });
        }
    }

    /// Eats what is here.
    fn bite(&mut self, step: u32) {
        let at = self.walker.at();
        let here = self.stones.present().find(|(_, cell)| cell.centre().walk(at) <= BITE_PIXELS);
        let Some((stone, _)) = here else { return };
        let claim = Claim { stone, eater: self.me, step };
        if self.apply(claim, Word::Own) != Applied::OutOfRange {
            self.send(EaterMessage::Claim(claim));
        }
    }

    fn apply(&mut self, claim: Claim, word: Word) -> Applied {
        let applied = self.stones.apply(claim, word);
        match applied {
            Applied::Eaten if word != Word::False => self.report(BoardEvent::Eaten(claim)),
            Applied::Overturned { loser } if word != Word::False => {
                self.report(BoardEvent::Overturned { claim, loser });
            }
            _ => {}
        }
        applied
    }

    /// An eater joined.
    pub fn join(&mut self, eater: EaterId) {
        if eater != self.me && self.rivals.len() < RIVALS_MAX {
            self.rivals.entry(eater).or_default();
        }
    }

    /// An eater left. Its stones remain its own.
    pub fn leave(&mut self, eater: EaterId) {
        self.rivals.remove(&eater);
    }

    /// Handles a move of another eater.
    pub fn handle_move(&mut self, eater: EaterId, bytes: &[u8]) {
        match Whereabouts::from_move(bytes) {
            Some(whereabouts) => self.place(eater, whereabouts),
            None => self.foul(eater, Foul::Malformed),
        }
    }

    /// Another eater is where it says, if it can be.
    fn place(&mut self, eater: EaterId, Whereabouts { step, at, way }: Whereabouts) {
        let (Some(now), Some(rival)) = (self.step, self.rivals.get_mut(&eater)) else { return };
        let Some(walker) = Walker::found(&self.maze, at, way) else {
            return self.foul(eater, Foul::InWall);
        };
        if step > now.saturating_add(EARLY_STEPS) {
            return self.foul(eater, Foul::WrongTime);
        }
        if !rival.could_be(step, at) {
            // It starts anew from there: one foul is not a hundred.
            rival.remembered.clear();
            rival.remember(step, at);
            return self.foul(eater, Foul::TooFast);
        }
        rival.remember(step, at);
        if rival.reckoning.is_some_and(|reckoning| reckoning.known() > step) {
            return;
        }
        let mut reckoning = Reckoning::from(walker, step);
        reckoning.advance(&self.maze, &self.stones, now);
        rival.reckoning = Some(reckoning);
    }

    /// Handles a state change of another eater.
    pub fn handle_change(&mut self, from: EaterId, bytes: &[u8]) {
        match EaterMessage::from_change(bytes) {
            Ok(EaterMessage::Claim(claim)) if claim.eater == from => self.hear(claim),
            Ok(EaterMessage::Claims(claims)) => {
                claims.into_iter().for_each(|claim| self.hear_from(from, claim));
            }
            Ok(EaterMessage::Here(here)) => self.place(from, here),
            Ok(EaterMessage::Digest { before, slots }) => self.answer(from, before, &slots),
            Ok(EaterMessage::Claim(_)) | Err(_) => self.foul(from, Foul::Malformed),
        }
    }

    /// Hears a claim from anybody. What others say fills in who had a stone that is gone. Another stone ends only on the word
    /// of two, and never does it stand against an eater's own word.
    fn hear_from(&mut self, from: EaterId, claim: Claim) {
        if claim.eater == from {
            return self.hear(claim);
        }
        if !self.stones.is_missing(claim.stone) {
            let teller = self.hearsay.get(&claim).copied();
            if self.stones.winner(claim.stone).is_some() || teller == Some(from) {
                return;
            }
            if teller.is_none() {
                if self.hearsay.len() == QUEUE_MAX {
                    self.hearsay.pop_first();
                }
                self.hearsay.insert(claim, from);
                return;
            }
            self.hearsay.remove(&claim);
        }
        self.apply(claim, Word::Hearsay);
    }

    /// Checks an eater's own claim and applies it. A false one ends the stone, so that all peers agree on the stones that are there.
    fn hear(&mut self, claim: Claim) {
        // Claims that others won against may come again for long, and change nothing.
        if !self.stones.would_win(claim) {
            return;
        }
        // A newcomer hears of what was before it knows the time.
        let Some(now) = self.step else {
            self.apply(claim, Word::Own);
            return;
        };
        let foul = if claim.step > now.saturating_add(EARLY_STEPS) {
            Some(Foul::WrongTime)
        } else {
            let place = self.stones.place(claim.stone).centre();
            self.rivals.get(&claim.eater).and_then(|rival| {
                let was_here = rival.joined.is_some_and(|at| claim.step >= at.saturating_add(EARLY_STEPS));
                let is_late = was_here && now.saturating_sub(claim.step) > LATE_STEPS;
                let is_far = || !rival.could_be(claim.step, place);
                if is_late { Some(Foul::WrongTime) } else { is_far().then_some(Foul::OutOfReach) }
            })
        };
        let applied = self.apply(claim, if foul.is_some() { Word::False } else { Word::Own });
        if let Some(foul) = foul
            && applied != Applied::Known
        {
            self.foul(claim.eater, foul);
        }
    }

    /// Answers a digest that shows that its sender knows other claims: with the latest to the stones of each slot, and some
    /// older ones. Everybody repeats its own, which only it is believed. Not everybody repeats those of others: who does is
    /// drawn anew each time.
    fn answer(&mut self, from: EaterId, before: u32, digest: &[u16]) {
        // A newcomer hears of digests that were long answered, perhaps by itself.
        let age = self.step.and_then(|now| now.checked_sub(before));
        if from == self.me || age.is_none_or(|age| age > SETTLED_STEPS + LATE_STEPS) {
            return;
        }
        let slots = self.stones.digest(before);
        if digest.len() != slots.len() || digest == slots {
            return;
        }
        let mine = self.config.seed.child(ANSWER).child(self.me.0).child(from.0);
        let mut draws = mine.child(u64::from(before)).draws();
        let is_drawn = draws.below(self.rivals.len() as u64 + 1) < ANSWERS;
        for (slot, (mine, theirs)) in (0..).zip(slots.iter().zip(digest)) {
            if mine == theirs {
                continue;
            }
            let half = (CLAIMS_MAX / 2) as u32;
            let recent = self.stones.generation(slot).saturating_sub(half);
            let older = draws.below(u64::from(recent) + 1) as u32;
            let is_older = |claim: &Claim| claim.stone.generation < recent;
            let older = self.stones.claims(slot, older).take(half as usize).take_while(is_older);
            let claims = older.chain(self.stones.claims(slot, recent));
            let claims: Vec<Claim> = claims.filter(|claim| is_drawn || claim.eater == self.me).collect();
            if !claims.is_empty() {
                self.send(EaterMessage::Claims(claims));
            }
        }
    }

    fn foul(&mut self, eater: EaterId, foul: Foul) {
        if let Some(rival) = self.rivals.get_mut(&eater) {
            rival.fouls = rival.fouls.saturating_add(1);
        }
        self.report(BoardEvent::Foul { eater, foul });
    }

    fn send(&mut self, message: EaterMessage) {
        if self.outbox.len() == QUEUE_MAX {
            self.outbox.pop_front();
        }
        self.outbox.push_back(message);
    }

    fn report(&mut self, event: BoardEvent) {
        if self.events.len() == QUEUE_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Returns the next state change for all others. Call until `None`.
    pub fn poll_message(&mut self) -> Option<EaterMessage> {
        self.outbox.pop_front()
    }

    /// Returns what changed. Call until `None`.
    pub fn poll_event(&mut self) -> Option<BoardEvent> {
        self.events.pop_front()
    }

    /// Returns whether the stone is there, as far as is known here.
    #[must_use]
    pub fn has(&self, stone: StoneId) -> bool {
        self.stones.is_present(stone)
    }
}

impl Rival {
    fn remember(&mut self, step: u32, at: Pixel) {
        if self.remembered.len() == REMEMBERED_MAX {
            self.remembered.pop_front();
        }
        self.remembered.push_back((step, at));
    }

    /// Whether it can have been there: it could walk between there and where it was at the nearest known step.
    fn could_be(&self, step: u32, at: Pixel) -> bool {
        let nearest = self.remembered.iter().min_by_key(|(known, _)| known.abs_diff(step));
        nearest.is_none_or(|(known, place)| {
            let walked = known.abs_diff(step).saturating_mul(STEP_PIXELS as u32);
            place.walk(at) <= walked.saturating_add(SLACK_PIXELS)
        })
    }
}
