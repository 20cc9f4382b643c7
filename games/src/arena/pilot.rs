//! Who drives a bot: it looks for somebody to hit, drives there without running into things, aims ahead, and fires.
//!
//! Ten times a second it tries out in its head what becomes of the next second and a half with each of a few wishes, and takes
//! the one that it likes best. What it knows of the others is what it sees, which is late and a little wrong, as for
//! anybody.

use core::f64::consts::PI;

use evenkeel_core::{Draws, PeerId, Seed, Span, Vec3};

use super::SHOT_SPEED;
use super::field::Field;
use crate::tank::{SPEED_BACKWARDS_MAX, SPEED_MAX, TURN_RATE_MAX, Tank, Wish};

/// What is tried out: so many steps of so much time.
const AHEAD: (usize, Span) = (10, Span::from_millis(150));
/// How far it wants to be from whom it hunts.
const DISTANCE: f64 = 26.0;
/// It fires at whoever is nearer than this.
const RANGE: f64 = 60.0;
/// It changes its mind after so many decisions, on the average.
const PATIENCE: f64 = 60.0;
/// Who has moved by less than this in so many decisions is stuck,
const STUCK: (f64, u32) = (3.0, 15);
/// and goes somewhere else for so many.
const DETOUR: u32 = 25;
/// How many places are tried for a way around what stands between.
const PLACES: usize = 12;
/// Who is so near to a place is there.
const NEAR: f64 = 8.0;
/// What a pilot gives for each unit per second that it is faster.
const IDLE: f64 = 1.2;
/// Ways are looked at in steps of this length.
const PACE: f64 = 2.0;

/// Somebody else, as it is seen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Seen {
    /// Who.
    pub player: PeerId,
    /// Where.
    pub position: Vec3,
    /// Moving how.
    pub velocity: Vec3,
}

/// What a pilot wants.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Choice {
    /// How to drive.
    pub wish: Wish,
    /// Whether to fire.
    pub fire: bool,
}

/// A pilot.
#[derive(Clone, Debug)]
pub struct Pilot {
    draws: Draws,
    prey: Option<PeerId>,
    /// Where to first, if it is stuck, something is in its way, or there is nobody to hunt; and for how many decisions.
    detour: (Vec3, u32),
    /// Where it was some decisions ago.
    mark: (Vec3, u32),
    /// How well it aims: within so many radians.
    aim: f64,
}

impl Pilot {
    /// A pilot with habits of its own.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        let mut draws = seed.draws();
        let aim = draws.uniform(0.02, 0.07);
        Self { draws, prey: None, detour: (Vec3::ZERO, 0), mark: (Vec3::ZERO, 0), aim }
    }

    /// What to do next.
    pub fn choose(&mut self, field: &Field, tank: &Tank, others: &[Seen]) -> Choice {
        let here = tank.state().position;
        let prey = self.hunt(field, here, others);
        self.find_way(field, here, prey.map(|prey| prey.position));
        let (goal, wanted) = match prey {
            Some(prey) if self.detour.1 == 0 => (lead(here, &prey), DISTANCE),
            _ => (self.detour.0, 0.0),
        };
        let wish = best_wish(field, tank, goal, wanted, others);
        let fire = prey.is_some_and(|prey| self.would_hit(field, tank, &prey));
        Choice { wish, fire }
    }

    /// Where to go first.
    fn find_way(&mut self, field: &Field, here: Vec3, prey: Option<Vec3>) {
        self.detour.1 = self.detour.1.saturating_sub(1);
        if self.detour.0.distance(here) < NEAR {
            self.detour.1 = 0;
        }
        self.mark.1 += 1;
        let mut is_stuck = false;
        if self.mark.1 >= STUCK.1 {
            is_stuck = self.mark.0.distance(here) < STUCK.0;
            self.mark = (here, 0);
        }
        let is_hidden = prey.is_none_or(|prey| !is_passable(field, here, prey));
        if is_stuck || (is_hidden && self.detour.1 == 0) {
            let around = self.around(field, here, prey.filter(|_| !is_stuck));
            self.detour = (around, DETOUR);
        }
    }

    /// A place that can be driven to, from where somebody else can be, if there is such a one; the nearest, more or less.
    fn around(&mut self, field: &Field, here: Vec3, to: Option<Vec3>) -> Vec3 {
        let Vec3 { x, y, .. } = field.half;
        let mut best = (f64::INFINITY, here);
        for _ in 0..PLACES {
            let place = field.free(Vec3::xy(self.draws.uniform(-x, x), self.draws.uniform(-y, y)));
            let onwards = to.map_or(0.0, |to| place.distance(to));
            let hidden = to.is_some_and(|to| !is_passable(field, place, to));
            let blocked = !is_passable(field, here, place) || place.distance(here) < 2.0 * NEAR;
            let cost = place.distance(here)
                + onwards
                + f64::from(u8::from(hidden)) * 200.0
                + f64::from(u8::from(blocked)) * 400.0;
            if cost < best.0 {
                best = (cost, place);
            }
        }
        best.1
    }

    /// Whom it hunts: whoever is near and in sight, until it changes its mind.
    fn hunt(&mut self, field: &Field, here: Vec3, others: &[Seen]) -> Option<Seen> {
        let chosen = others.iter().find(|other| Some(other.player) == self.prey);
        if let Some(chosen) = chosen.filter(|_| !self.draws.chance(1.0 / PATIENCE)) {
            return Some(*chosen);
        }
        let cost = |other: &Seen| {
            let hidden = if field.is_clear(here, other.position) { 0.0 } else { 30.0 };
            here.distance(other.position) + hidden
        };
        let weighed = others.iter().map(|other| (cost(other) * self.draws.uniform(0.7, 1.4), other));
        let nearest = weighed.reduce(|a, b| if b.0 < a.0 { b } else { a }).map(|(_, other)| *other);
        self.prey = nearest.map(|other| other.player);
        nearest
    }

    fn would_hit(&self, field: &Field, tank: &Tank, prey: &Seen) -> bool {
        let here = tank.state().position;
        let at = lead(here, prey);
        let distance = here.distance(at);
        let off = angle(bearing(here, at) - tank.heading()).abs();
        distance < RANGE && off < self.aim + 1.2 / distance.max(1.0) && field.is_clear(here, at)
    }
}

/// Where to aim at: where the other will be when a shot gets there.
fn lead(here: Vec3, other: &Seen) -> Vec3 {
    let mut at = other.position;
    for _ in 0..3 {
        at = other.position + other.velocity * (here.distance(at) / SHOT_SPEED);
    }
    at
}

fn bearing(from: Vec3, to: Vec3) -> f64 {
    libm::atan2(to.y - from.y, to.x - from.x)
}

/// Whether a tank can drive straight from one place to another.
fn is_passable(field: &Field, from: Vec3, to: Vec3) -> bool {
    let steps = (from.distance(to) / PACE) as usize + 1;
    (1..=steps).all(|step| field.is_free(from + (to - from) * (step as f64 / steps as f64)))
}

/// The same angle between half a turn to the right and to the left.
fn angle(of: f64) -> f64 {
    of - 2.0 * PI * (of / (2.0 * PI)).round()
}

/// The wish that leads to the best place, of a few.
fn best_wish(field: &Field, tank: &Tank, goal: Vec3, wanted: f64, others: &[Seen]) -> Wish {
    let mut best = (f64::INFINITY, Wish::default());
    for speed in [SPEED_MAX, 0.5 * SPEED_MAX, 0.0, -SPEED_BACKWARDS_MAX] {
        for turn_rate in [0.0, TURN_RATE_MAX, -TURN_RATE_MAX, 0.35 * TURN_RATE_MAX, -0.35 * TURN_RATE_MAX] {
            let wish = Wish { speed, turn_rate };
            let cost = cost(field, tank.clone(), wish, goal, wanted, others);
            if cost < best.0 {
                best = (cost, wish);
            }
        }
    }
    best.1
}

/// How little a pilot likes where a wish leads to.
fn cost(field: &Field, mut tank: Tank, wish: Wish, goal: Vec3, wanted: f64, others: &[Seen]) -> f64 {
    let (steps, step) = AHEAD;
    let mut cost = 0.0;
    for number in 0..steps {
        tank.step(wish, step);
        let at = tank.state().position;
        if !field.is_free(at) {
            // The sooner it runs into something, the worse.
            return cost + 40.0 + 4.0 * (steps - number) as f64;
        }
        let seconds = step.as_secs_f64() * (number + 1) as f64;
        let crowded = others.iter().any(|other| at.distance(other.position + other.velocity * seconds) < 7.0);
        cost += if crowded { 2.0 } else { 0.0 };
    }
    let at = tank.state().position;
    let off = angle(bearing(at, goal) - tank.heading()).abs();
    let distance = (at.distance(goal) - wanted).max(0.0) + 1.5 * (0.5 * wanted - at.distance(goal)).max(0.0);
    // Who stands is easily hit.
    let idle = IDLE * (0.9 * SPEED_MAX - tank.speed().abs()).max(0.0);
    cost + 12.0 * off + 0.4 * distance + idle
}
