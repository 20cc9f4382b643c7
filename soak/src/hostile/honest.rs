//! The two honest players, and what they see.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evenkeel_arena::fleet::{BotMachine, Fleet, FleetConfig};
use evenkeel_core::stats::{mean, population_sd};
use evenkeel_core::{PeerId, Seed, Span};
use evenkeel_link::{Link, LinkFaults};
use evenkeel_net::{Emulation, NodeId};
use evenkeel_serve::{RELAY, Status};

use super::ROOM;
use crate::child::RelayChild;
use crate::{Bench, SoakError};

/// The mean error of so much time is one sample: longer than what one crash of a vector's way takes.
pub(super) const WINDOW: Duration = Duration::from_secs(5);
/// How far away they are, each way.
const DELAY: Span = Span::from_millis(20);
const LOOK_PERIOD: Duration = Duration::from_millis(20);
const SETTLE: Duration = Duration::from_secs(3);

/// What they saw.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Seen {
    /// The mean error of each window, in units: so many units times seconds in each second.
    pub(super) windows: Vec<f64>,
    pub(super) looks: u64,
    /// Looks at which one did not see the other.
    pub(super) unseen: u64,
    /// Times that one was found without a connection.
    pub(super) broken: u64,
    /// Entities that were nobody's, or of the other one but not its own.
    pub(super) foreign: u64,
    pub(super) entities_max: usize,
}

impl Seen {
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

/// The two.
pub(super) struct Honest(Fleet);

impl Honest {
    pub(super) async fn start(relay: &RelayChild) -> Result<Self, SoakError> {
        let target = relay.target(ROOM, relay.token(ROOM, "honest", 2));
        let link = |seed: u64| Link::new(LinkFaults::constant(DELAY), Seed::new(seed));
        let links = Arc::new(move |_| Some(Emulation { outgoing: link(1), incoming: link(2) }));
        let config = FleetConfig { links, ..FleetConfig::new(target, 2) };
        let fleet = Fleet::start(config, None, |_, _, _| {}).await?;
        tokio::time::sleep(SETTLE).await;
        Ok(Self(fleet))
    }

    fn player(&self, bot: usize) -> Option<PeerId> {
        match self.0.status(bot) {
            Some(Status::Connected(welcome)) => Some(welcome.player),
            _ => None,
        }
    }

    /// Watches until then; `attackers` says whose entities may be seen besides theirs.
    pub(super) async fn watch(
        &self,
        bench: &Bench,
        until: Instant,
        attackers: impl Fn() -> BTreeSet<u32>,
    ) -> Seen {
        let mut seen = Seen::default();
        while Instant::now() < until && !bench.is_stopped() {
            let end = until.min(Instant::now() + WINDOW);
            let mut errors = Vec::new();
            while Instant::now() < end && !bench.is_stopped() {
                for (owner, viewer) in [(0, 1), (1, 0)] {
                    seen.looks += 1;
                    match self.error(owner, viewer).await {
                        Some(error) => errors.push(error),
                        None => seen.unseen += 1,
                    }
                }
                tokio::time::sleep(LOOK_PERIOD).await;
            }
            self.inspect(&attackers(), &mut seen).await;
            if !errors.is_empty() {
                seen.windows.push(mean(&errors));
            }
        }
        seen
    }

    /// How far one sees the other from where it exports itself, at one and the same time.
    async fn error(&self, owner: usize, viewer: usize) -> Option<f64> {
        let crank = self.0.crank();
        let now = crank.clock().now();
        let exported =
            move |bot: &mut BotMachine, _| Some((bot.entity(), bot.peer().exported(now, bot.entity())?));
        let (entity, exported) = crank.with(NodeId(owner as u32), exported).await.ok()??;
        let look = move |bot: &mut BotMachine, _| bot.peer().position(now, RELAY, entity);
        let shown = crank.with(NodeId(viewer as u32), look).await.ok()??;
        Some((shown - exported).length_squared().sqrt())
    }

    /// Whose entities are shown.
    async fn inspect(&self, attackers: &BTreeSet<u32>, seen: &mut Seen) {
        for (viewer, other) in [(0, 1), (1, 0)] {
            let Some(other) = self.player(other).filter(|_| self.player(viewer).is_some()) else {
                seen.broken += 1;
                continue;
            };
            let look =
                |bot: &mut BotMachine, now| bot.peer().copies(now).map(|copy| copy.1).collect::<Vec<_>>();
            let shown = self.0.crank().with(NodeId(viewer as u32), look).await.unwrap_or_default();
            seen.entities_max = seen.entities_max.max(shown.len());
            let of_other = shown.iter().filter(|entity| entity.player() == other).count();
            let of_nobody = shown
                .iter()
                .filter(|entity| entity.player() != other && !attackers.contains(&entity.player().0))
                .count();
            seen.foreign += (of_other.saturating_sub(1) + of_nobody) as u64;
        }
    }

    pub(super) async fn stop(self) {
        self.0.stop().await;
    }
}
