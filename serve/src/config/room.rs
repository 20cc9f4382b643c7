//! The settings of a room.

use evenkeel_core::{Seed, Span};
use evenkeel_dr::{Budget, Compensation, Content, DrConfig, Limits, PolicyKind};
use evenkeel_game::GameConfig;
use evenkeel_sync_ms::{Order, SyncConfig};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::welcome::TICK_MAX;

/// The policy of rooms by default. Its `keep` limits what one far-away member, real or pretended, costs the others, and its
/// kappa what a crowd of them does.
pub const POLICY: &str = "even:kappa=3,keep=0.9";

/// The budget of rooms by default: everything, as long as it fits this bandwidth to the average player.
const BUDGET: &str = "256 kbit/s";

/// The shortest tick in milliseconds, except for none at all.
const TICK_MS_MIN: f64 = 1.0;

/// The kinds of motion that a room can pass vectors on as.
const KINDS: [&str; 2] = ["as-sent", "auto"];

/// A room's settings.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoomConfig {
    /// The fairness policy, named as in the lab.
    pub policy: String,
    /// The budget of policies that have one: a bandwidth per player, DR vectors per trigger, or a percentage of the receivers.
    #[serde(deserialize_with = "budget")]
    pub budget: Budget,
    /// The kind of motion that vectors are passed on as: `as-sent`, or `auto`, which picks the best for each player's delay.
    pub kind: String,
    /// The order in which a game's actions are served: `reaction`, `max-wait`, `select-wait`, `toss-wait=...` or `none`.
    pub order: String,
    /// Whether everybody sees a game's updates at the same time.
    pub sync_out: bool,
    /// The most that a player's actions and updates are delayed for the others' sake, in milliseconds.
    pub cap_ms: f64,
    /// The tick in milliseconds: at most one datagram each way per player and tick.
    pub tick_ms: f64,
    /// The most players at a time.
    pub players_max: usize,
    /// The most delay of a player that is compensated, in milliseconds.
    pub compensation_max_ms: f64,
    /// The largest coordinate.
    pub position_max: f64,
    /// The highest speed, in units per second.
    pub speed_max: f64,
    /// The highest acceleration, in units per second squared.
    pub acceleration_max: f64,
    /// The highest turn rate, in radians per second.
    pub turn_rate_max: f64,
    /// DR vectors that a player may send per second.
    pub vectors_per_second: f64,
    /// Entities that a player may create per second, beyond its first 256.
    pub births_per_second: f64,
}

impl Default for RoomConfig {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            policy: POLICY.to_owned(),
            budget: BUDGET.parse().expect("it is a budget"),
            kind: KINDS[0].to_owned(),
            order: Order::default().to_string(),
            sync_out: true,
            cap_ms: SyncConfig::default().cap.as_millis_f64(),
            tick_ms: 20.0,
            players_max: 256,
            compensation_max_ms: 500.0,
            position_max: limits.position_max,
            speed_max: limits.speed_max,
            acceleration_max: limits.acceleration_max,
            turn_rate_max: limits.turn_rate_max,
            vectors_per_second: 200.0,
            births_per_second: 20.0,
        }
    }
}

impl RoomConfig {
    /// Returns the settings of the room's machines. The room's settings must have passed
    /// [`RelayConfig::parse`](crate::RelayConfig::parse).
    #[must_use]
    pub fn machines(&self, seed: Seed) -> GameConfig {
        let mut config = GameConfig::from(self.machine(seed));
        config.sync.order = self.order.parse().unwrap_or_default();
        config.sync.sync_out = self.sync_out;
        config.sync.cap = Span::from_millis_f64(self.cap_ms);
        config
    }

    /// Returns the settings of the machine for motion. The room's settings must have passed [`RelayConfig::parse`](crate::RelayConfig::parse).
    #[must_use]
    pub fn machine(&self, seed: Seed) -> DrConfig {
        let span = |millis: f64| Span::from_secs_f64(millis / 1e3);
        DrConfig {
            policy: self.policy.parse().unwrap_or_default(),
            budget: self.budget,
            kind: if self.kind == KINDS[1] { Content::Auto } else { Content::default() },
            compensation: Some(Compensation {
                delay_max: span(self.compensation_max_ms),
                ..Compensation::default()
            }),
            tick: span(self.tick_ms),
            limits: Limits {
                position_max: self.position_max,
                speed_max: self.speed_max,
                acceleration_max: self.acceleration_max,
                turn_rate_max: self.turn_rate_max,
                vectors_per_second: self.vectors_per_second,
                births_per_second: self.births_per_second,
                own_names: true,
            },
            seed,
            ..DrConfig::default()
        }
    }

    /// Checks all values. On failure returns the key and the error.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        if let Err(error) = self.policy.parse::<PolicyKind>() {
            return Err(("policy", error.to_string()));
        }
        if let Err(error) = self.order.parse::<Order>() {
            return Err(("order", error.to_string()));
        }
        if !KINDS.contains(&self.kind.as_str()) {
            return Err(("kind", format!("\"{}\" is not one of {}", self.kind, KINDS.join(", "))));
        }
        let range = |key, value: f64, low: f64, high: f64| {
            let fits = (low..=high).contains(&value);
            if fits { Ok(()) } else { Err((key, format!("{value} is not between {low} and {high}"))) }
        };
        let most = Limits::default();
        range("cap_ms", self.cap_ms, 0.0, 1_000.0)?;
        let tick_max = 1e3 * TICK_MAX.as_secs_f64();
        if self.tick_ms != 0.0 && !(TICK_MS_MIN..=tick_max).contains(&self.tick_ms) {
            let message = format!("{} is not 0 and not between {TICK_MS_MIN} and {tick_max}", self.tick_ms);
            return Err(("tick_ms", message));
        }
        range("players_max", self.players_max as f64, 1.0, 1000.0)?;
        range("compensation_max_ms", self.compensation_max_ms, 0.0, 10_000.0)?;
        range("position_max", self.position_max, 0.0, most.position_max)?;
        range("speed_max", self.speed_max, 0.0, most.speed_max)?;
        range("acceleration_max", self.acceleration_max, 0.0, most.acceleration_max)?;
        range("turn_rate_max", self.turn_rate_max, 0.0, most.turn_rate_max)?;
        range("vectors_per_second", self.vectors_per_second, 1.0, 1e6)?;
        range("births_per_second", self.births_per_second, 1.0, 1e6)
    }
}

/// Deserializes a budget: a number, or a text with a number or a percentage.
pub(crate) fn budget<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Budget, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum BudgetValue {
        Whole(i64),
        Number(f64),
        Text(String),
    }
    let text = match BudgetValue::deserialize(deserializer)? {
        BudgetValue::Whole(number) => number.to_string(),
        BudgetValue::Number(number) => number.to_string(),
        BudgetValue::Text(text) => text,
    };
    let budget: Budget = text.parse().map_err(D::Error::custom)?;
    if budget.per_second().is_none() && budget.per_trigger(1) <= 0.0 {
        return Err(D::Error::custom("a budget of 0 would send nothing: give more, or a bandwidth"));
    }
    Ok(budget)
}
