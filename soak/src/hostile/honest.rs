//! The two honest players, and what they observe.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evenkeel_arena::fleet::{BotMachine, Fleet, FleetConfig};
use evenkeel_core::stats::{mean, population_sd};
use evenkeel_core::{Seed, Span};
use evenkeel_link::{Link, LinkFaults};
use evenkeel_net::{Emulation, NodeId};
use evenkeel_serve::RELAY;

use super::ROOM;
use crate::relay_process::RelayProcess;
use crate::{Harness, SoakError};

/// The time over which errors are averaged to one sample, longer than any single disturbance lasts.
pub(super) const WINDOW: Duration = Duration::from_secs(5);
/// The players' one-way delay.
const DELAY: Span = Span::from_millis(20);
const LOOK_PERIOD: Duration = Duration::from_millis(20);
const SETTLE: Duration = Duration::from_secs(3);

/// What the honest players observed.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Observations {
    /// The mean error of each window, in units.
    pub(super) windows: Vec<f64>,
    pub(super) looks: u64,
    /// Looks at which one player did not see the other.
    pub(super) unseen: u64,
    /// Times that a player was found disconnected.
    pub(super) broken: u64,
    /// Shown entities that are nobody's, and entities of the other player beyond its only one.
    pub(super) foreign: u64,
    /// The most entities shown at once.
    pub(super) entities_max: usize,
}

impl Observations {
    pub(super) fn extend(&mut self, other: Self) {
        self.windows.extend(other.windows);
        self.looks += other.looks;
        self.unseen += other.unseen;
        self.broken += other.broken;
        self.foreign += other.foreign;
        self.entities_max = self.entities_max.max(other.entities_max);
    }

    /// The mean over the windows, and its standard error.
    pub(super) fn mean(&self) -> (f64, f64) {
        let count = self.windows.len() as f64;
        (mean(&self.windows), population_sd(&self.windows) / (count - 1.0).max(1.0).sqrt())
    }
}

/// Two bots that play by the rules.
pub(super) struct HonestPlayers(Fleet);

impl HonestPlayers {
    pub(super) async fn start(relay: &RelayProcess) -> Result<Self, SoakError> {
        let target = relay.target(ROOM, relay.token(ROOM, "honest", 2));
        let link = |seed: u64| Link::new(LinkFaults::constant(DELAY), Seed::new(seed));
        let links = Arc::new(move |_| Some(Emulation { outgoing: link(1), incoming: link(2) }));
        let config = FleetConfig { links, ..FleetConfig::new(target, 2) };
        let fleet = Fleet::start(config, None, |_, _, _| {}).await?;
        tokio::time::sleep(SETTLE).await;
        Ok(Self(fleet))
    }

    /// Watches until then. `attackers` returns the players whose entities may be shown besides the honest ones.
    pub(super) async fn watch(
        &self,
        harness: &Harness,
        until: Instant,
        attackers: impl Fn() -> BTreeSet<u32>,
    ) -> Observations {
        let mut observed = Observations::default();
        while Instant::now() < until && !harness.is_stopped() {
            let end = until.min(Instant::now() + WINDOW);
            let mut errors = Vec::new();
            while Instant::now() < end && !harness.is_stopped() {
                for (owner, viewer) in [(0, 1), (1, 0)] {
                    observed.looks += 1;
                    match self.error(owner, viewer).await {
                        Some(error) => errors.push(error),
                        None => observed.unseen += 1,
                    }
                }
                tokio::time::sleep(LOOK_PERIOD).await;
            }
            self.inspect(&attackers(), &mut observed).await;
            if !errors.is_empty() {
                observed.windows.push(mean(&errors));
            }
        }
        observed
    }

    /// The distance between where `owner` exports itself and where `viewer` shows it, at the same time.
    async fn error(&self, owner: usize, viewer: usize) -> Option<f64> {
        let crank = self.0.crank();
        let now = crank.clock().now();
        let exported =
            move |bot: &mut BotMachine, _| Some((bot.entity(), bot.peer().exported(now, bot.entity())?));
        let (entity, exported) = crank.with(NodeId(owner as u32), exported).await.ok()??;
        let position = move |bot: &mut BotMachine, _| bot.peer().position(now, RELAY, entity);
        let shown = crank.with(NodeId(viewer as u32), position).await.ok()??;
        Some((shown - exported).length_squared().sqrt())
    }

    /// Checks whose entities are shown.
    async fn inspect(&self, attackers: &BTreeSet<u32>, observed: &mut Observations) {
        for (viewer, other) in [(0, 1), (1, 0)] {
            let Some(other) = self.0.player(other).filter(|_| self.0.player(viewer).is_some()) else {
                observed.broken += 1;
                continue;
            };
            let shown =
                |bot: &mut BotMachine, now| bot.peer().copies(now).map(|copy| copy.1).collect::<Vec<_>>();
            let shown = self.0.crank().with(NodeId(viewer as u32), shown).await.unwrap_or_default();
            observed.entities_max = observed.entities_max.max(shown.len());
            let of_other = shown.iter().filter(|entity| entity.player() == other).count();
            let of_nobody = shown
                .iter()
                .filter(|entity| entity.player() != other && !attackers.contains(&entity.player().0))
                .count();
            observed.foreign += (of_other.saturating_sub(1) + of_nobody) as u64;
        }
    }

    pub(super) async fn stop(self) {
        self.0.stop().await;
    }
}
