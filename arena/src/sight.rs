//! Where the tanks really are, and where each player sees them, at one instant.
//!
//! The bots run in this process, so both are read from their machines: the tank itself, and the copies by which the bot
//! aims. Of a person, the relay knows less: where the person's tank is by its newest vector, which is at most the
//! threshold off, and what the person sees by the ledger.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use evenkeel_core::{LocalTime, PeerId, SessionClock, SessionTime, Span};
use evenkeel_dr::{DrRoom, DrVector, EntityId, MotionKind};
use evenkeel_games::arena::is_tank;
use evenkeel_net::NodeId;
use evenkeel_serve::RELAY;

use crate::errors::{OwnerReceiver, per_tank};
use crate::host::{ArenaBotMachine, ArenaServer, RoomMachine};
use crate::state::{HostState, lock};

const SAMPLE_PERIOD: Duration = Duration::from_millis(50);
/// The longest time that one sample stands for. A longer pause is left out.
const SAMPLE_LENGTH_MAX: Span = Span::from_millis(250);

/// A tank where it really is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RealTank {
    /// Its motion; a few milliseconds old.
    pub(crate) motion: DrVector,
    /// Its heading in radians from east, if known.
    pub(crate) heading: Option<f64>,
}

/// All tanks at one instant.
#[derive(Clone, Debug)]
pub(crate) struct Sight {
    pub(crate) at: SessionTime,
    /// By owner.
    pub(crate) real: BTreeMap<PeerId, RealTank>,
    /// By owner and receiver: the vector by which the receiver places the owner's tank.
    pub(crate) seen: BTreeMap<OwnerReceiver, DrVector>,
}

impl Sight {
    /// Reads all bots and the relay; `None` while there is no room or its clock is not set.
    pub(crate) async fn take(state: &HostState) -> Option<Self> {
        let (at, mut real, mut seen) = state.with_room(from_relay).await??;
        for index in 0..state.bots.len() {
            // A bot that is reconnecting has no machine.
            let Ok(bot) = state.crank.with(NodeId(index as u32), from_bot).await else { continue };
            // What the bot itself knows replaces what the relay knows of it.
            real.remove(&bot.player);
            real.extend(bot.real.map(|tank| (bot.player, tank)));
            seen.retain(|(_, receiver), _| *receiver != bot.player);
            seen.extend(bot.seen.into_iter().map(|(owner, vector)| ((owner, bot.player), vector)));
        }
        Some(Self { at, real, seen })
    }

    /// The distances between where the tanks are and where they are seen.
    pub(crate) fn distances(&self) -> BTreeMap<OwnerReceiver, f64> {
        let distance = |(pair, seen): (&OwnerReceiver, &DrVector)| {
            let real = self.real.get(&pair.0)?.motion.project(self.at);
            Some((*pair, seen.project(self.at).distance(real)))
        };
        self.seen.iter().filter_map(distance).collect()
    }
}

/// What a bot knows.
struct BotSight {
    player: PeerId,
    real: Option<RealTank>,
    /// By owner.
    seen: Vec<(PeerId, DrVector)>,
}

fn from_bot(bot: &mut ArenaBotMachine, now: LocalTime) -> BotSight {
    let dr = bot.dr();
    let real = bot.observed().and_then(|(observed_at, state)| {
        let at = dr.clock().session(observed_at)?;
        let motion = DrVector::generate(at, &state, MotionKind::Quadratic);
        Some(RealTank { motion, heading: bot.tank().map(|tank| tank.heading()) })
    });
    let tanks = dr.copies(now).map(|(_, entity, _)| entity).filter(|entity| is_tank(*entity));
    let seen = tanks.filter_map(|tank| Some((tank.player(), *dr.placed_vector(RELAY, tank)?))).collect();
    BotSight { player: bot.player(), real, seen }
}

type RelaySight = (SessionTime, BTreeMap<PeerId, RealTank>, BTreeMap<OwnerReceiver, DrVector>);

fn from_relay(room: &mut RoomMachine, now: LocalTime) -> Option<RelaySight> {
    let dr = room.dr();
    let at = dr.clock().session(now)?;
    let tanks: Vec<_> = dr.entities().filter(|present| is_tank(present.entity)).collect();
    let real =
        tanks.iter().map(|present| (present.owner, RealTank { motion: present.newest, heading: None }));
    let shown = |owner: PeerId| {
        let shown = dr.shown(now, EntityId::of(owner, 0));
        shown.map(move |(receiver, vector)| ((owner, receiver), vector))
    };
    let seen = tanks.iter().flat_map(|present| shown(present.owner)).collect();
    Some((at, real.collect(), seen))
}

/// Adds what the players see wrongly to the figures, until the relay is gone.
pub(crate) async fn sample(server: Weak<ArenaServer>, state: Arc<HostState>) {
    let mut ticks = tokio::time::interval(SAMPLE_PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut before: Option<SessionTime> = None;
    while server.strong_count() > 0 {
        ticks.tick().await;
        let Some(sight) = Sight::take(&state).await else { continue };
        let length = before.replace(sight.at).map_or(Span::ZERO, |before| sight.at - before);
        if length > Span::ZERO && length <= SAMPLE_LENGTH_MAX {
            let seconds = length.as_secs_f64();
            let grown = sight.distances().into_iter().map(|(pair, distance)| (pair, distance * seconds));
            let mut live = lock(&state.live);
            let players: Vec<PeerId> = live.players().map(|player| PeerId(player.player)).collect();
            live.add_real(&per_tank(&grown.collect(), &players));
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::Vec3;
    use evenkeel_dr::MotionState;

    use super::*;

    #[test]
    fn the_distance_is_that_of_both_projections_at_the_same_time() {
        let at = |millis| SessionTime::from_nanos(0) + Span::from_millis(millis);
        let vector = |millis, x, speed| {
            let (position, velocity) = (Vec3::xy(x, 0.0), Vec3::xy(speed, 0.0));
            let state = MotionState { position, velocity, ..MotionState::default() };
            DrVector::generate(at(millis), &state, MotionKind::Linear)
        };
        let (owner, near, far) = (PeerId(1), PeerId(2), PeerId(3));
        let real = [(owner, RealTank { motion: vector(990, 10.0, 20.0), heading: None })].into();
        let gone = (PeerId(4), near);
        let seen = [
            ((owner, near), vector(900, 8.0, 20.0)),
            ((owner, far), vector(500, 0.0, 10.0)),
            (gone, vector(900, 0.0, 0.0)),
        ];
        let sight = Sight { at: at(1_000), real, seen: seen.into() };
        let distances = sight.distances();
        assert!((distances[&(owner, near)] - 0.2).abs() < 1e-9, "{distances:?}");
        assert!((distances[&(owner, far)] - 5.2).abs() < 1e-9, "{distances:?}");
        assert_eq!(distances.len(), 2, "a tank that is gone is nowhere");
    }
}
