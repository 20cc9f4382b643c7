//! The pilot of a bot: it picks a target, drives there without running into things, leads its aim, and fires.
//!
//! At each decision it simulates the next second and a half for a few settings of the controls and takes the
//! cheapest. It knows its opponents as any player does: a little late and a little wrong.

use core::f64::consts::PI;

use evenkeel_core::{Draws, PeerId, Seed, Span, Vec3};

use super::field::Field;
use super::{SHOT_SPEED, TANK};
use crate::tank::{Controls, Tank};

/// What is simulated: the number of steps and their length.
const LOOKAHEAD: (usize, Span) = (10, Span::from_millis(150));
/// The distance it wants to keep from its target.
const DISTANCE_WANTED: f64 = 26.0;
/// The largest distance at which it fires.
const FIRE_RANGE: f64 = 60.0;
/// Mean number of decisions until it picks another target.
const TARGET_DECISIONS_MEAN: f64 = 60.0;
/// A pilot is stuck if it moves by less than this distance in this number of decisions.
const STUCK: (f64, u32) = (3.0, 15);
/// Number of decisions that a detour lasts.
const DETOUR_DECISIONS: u32 = 25;
/// Number of random places considered for a detour.
const DETOUR_CANDIDATES: usize = 12;
/// Distance at which a detour's destination counts as reached.
const ARRIVAL_RADIUS: f64 = 8.0;
/// Cost of each unit per second below nearly full speed.
const IDLE_COST: f64 = 1.2;
/// Step length when a path is checked for obstacles.
const PATH_STEP: f64 = 2.0;

/// An opponent as the player sees it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Opponent {
    /// The player.
    pub player: PeerId,
    /// Its position.
    pub position: Vec3,
    /// Its velocity.
    pub velocity: Vec3,
}

/// A pilot's decision.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Choice {
    /// How to drive.
    pub controls: Controls,
    /// Whether to fire.
    pub fire: bool,
}

/// The pilot of a bot.
#[derive(Clone, Debug)]
pub struct Pilot {
    draws: Draws,
    target: Option<PeerId>,
    /// Destination and remaining decisions of a detour, for a pilot that is stuck, blocked or without a
    /// target.
    detour: (Vec3, u32),
    /// A recent position and the number of decisions since.
    checkpoint: (Vec3, u32),
    /// How well it aims, in radians.
    aim: f64,
}

impl Pilot {
    /// Makes a pilot whose skill and decisions depend on the seed.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        let mut draws = seed.draws();
        let aim = draws.uniform(0.02, 0.07);
        Self { draws, target: None, detour: (Vec3::ZERO, 0), checkpoint: (Vec3::ZERO, 0), aim }
    }

    /// Decides what to do next.
    pub fn choose(&mut self, field: &Field, tank: &Tank, others: &[Opponent]) -> Choice {
        let here = tank.state().position;
        let target = self.pick_target(field, here, others);
        self.update_detour(field, here, target.map(|target| target.position));
        let (goal, wanted) = match target {
            Some(target) if self.detour.1 == 0 => (lead(here, &target), DISTANCE_WANTED),
            _ => (self.detour.0, 0.0),
        };
        let controls = best_controls(field, tank, goal, wanted, others);
        let fire = target.is_some_and(|target| self.would_hit(field, tank, &target));
        Choice { controls, fire }
    }

    /// Starts and ends detours.
    fn update_detour(&mut self, field: &Field, here: Vec3, target: Option<Vec3>) {
        self.detour.1 = self.detour.1.saturating_sub(1);
        if self.detour.0.distance(here) < ARRIVAL_RADIUS {
            self.detour.1 = 0;
        }
        self.checkpoint.1 += 1;
        let mut is_stuck = false;
        if self.checkpoint.1 >= STUCK.1 {
            is_stuck = self.checkpoint.0.distance(here) < STUCK.0;
            self.checkpoint = (here, 0);
        }
        let is_hidden = target.is_none_or(|target| !is_passable(field, here, target));
        if is_stuck || (is_hidden && self.detour.1 == 0) {
            let destination = self.pick_detour(field, here, target.filter(|_| !is_stuck));
            self.detour = (destination, DETOUR_DECISIONS);
        }
    }

    /// Picks the destination of a detour: near, reachable, and in sight of `to`, if possible.
    fn pick_detour(&mut self, field: &Field, here: Vec3, to: Option<Vec3>) -> Vec3 {
        let Vec3 { x, y, .. } = field.half;
        let mut best = (f64::INFINITY, here);
        for _ in 0..DETOUR_CANDIDATES {
            let place = field.nearest_free(Vec3::xy(self.draws.uniform(-x, x), self.draws.uniform(-y, y)));
            let onwards = to.map_or(0.0, |to| place.distance(to));
            let hidden = to.is_some_and(|to| !is_passable(field, place, to));
            let blocked = !is_passable(field, here, place) || place.distance(here) < 2.0 * ARRIVAL_RADIUS;
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

    /// Picks a target, preferably near and in sight, and keeps it for a while.
    fn pick_target(&mut self, field: &Field, here: Vec3, others: &[Opponent]) -> Option<Opponent> {
        let chosen = others.iter().find(|other| Some(other.player) == self.target);
        if let Some(chosen) = chosen.filter(|_| !self.draws.chance(1.0 / TARGET_DECISIONS_MEAN)) {
            return Some(*chosen);
        }
        let cost = |other: &Opponent| {
            let hidden = if field.is_clear(here, other.position) { 0.0 } else { 30.0 };
            here.distance(other.position) + hidden
        };
        let weighted = others.iter().map(|other| (cost(other) * self.draws.uniform(0.7, 1.4), other));
        let nearest = weighted.reduce(|a, b| if b.0 < a.0 { b } else { a }).map(|(_, other)| *other);
        self.target = nearest.map(|other| other.player);
        nearest
    }

    fn would_hit(&self, field: &Field, tank: &Tank, target: &Opponent) -> bool {
        let here = tank.state().position;
        let at = lead(here, target);
        let distance = here.distance(at);
        let off = angle(bearing(here, at) - tank.heading()).abs();
        distance < FIRE_RANGE && off < self.aim + 1.2 / distance.max(1.0) && field.is_clear(here, at)
    }
}

/// Returns where to aim: where the opponent will be when a shot arrives.
fn lead(here: Vec3, other: &Opponent) -> Vec3 {
    let mut at = other.position;
    for _ in 0..3 {
        at = other.position + other.velocity * (here.distance(at) / SHOT_SPEED);
    }
    at
}

fn bearing(from: Vec3, to: Vec3) -> f64 {
    libm::atan2(to.y - from.y, to.x - from.x)
}

/// Returns whether a tank can drive straight from one place to another.
fn is_passable(field: &Field, from: Vec3, to: Vec3) -> bool {
    let steps = (from.distance(to) / PATH_STEP) as usize + 1;
    (1..=steps).all(|step| field.is_free(from + (to - from) * (step as f64 / steps as f64)))
}

/// Normalizes an angle to half a turn either way.
fn angle(of: f64) -> f64 {
    of - 2.0 * PI * (of / (2.0 * PI)).round()
}

/// Returns the cheapest of a few settings of the controls.
fn best_controls(field: &Field, tank: &Tank, goal: Vec3, wanted: f64, others: &[Opponent]) -> Controls {
    let mut best = (f64::INFINITY, Controls::default());
    for speed in [1.0, 0.5, 0.0].map(|part| part * TANK.speed).into_iter().chain([-TANK.speed_backwards]) {
        for turn_rate in [0.0, 1.0, -1.0, 0.35, -0.35].map(|part| part * TANK.turn_rate) {
            let controls = Controls { speed, turn_rate };
            let cost = cost(field, tank.clone(), controls, goal, wanted, others);
            if cost < best.0 {
                best = (cost, controls);
            }
        }
    }
    best.1
}

/// The cost of where the controls lead.
fn cost(
    field: &Field,
    mut tank: Tank,
    controls: Controls,
    goal: Vec3,
    wanted: f64,
    others: &[Opponent],
) -> f64 {
    let (steps, step) = LOOKAHEAD;
    let mut cost = 0.0;
    for number in 0..steps {
        tank.step(controls, step);
        let at = tank.state().position;
        if !field.is_free(at) {
            // The sooner it runs into something, the higher the cost.
            return cost + 40.0 + 4.0 * (steps - number) as f64;
        }
        let seconds = step.as_secs_f64() * (number + 1) as f64;
        let crowded = others.iter().any(|other| at.distance(other.position + other.velocity * seconds) < 7.0);
        cost += if crowded { 2.0 } else { 0.0 };
    }
    let at = tank.state().position;
    let off = angle(bearing(at, goal) - tank.heading()).abs();
    let distance = (at.distance(goal) - wanted).max(0.0) + 1.5 * (0.5 * wanted - at.distance(goal)).max(0.0);
    // A slow tank is easily hit.
    let idle = IDLE_COST * (0.9 * TANK.speed - tank.speed().abs()).max(0.0);
    cost + 12.0 * off + 0.4 * distance + idle
}
