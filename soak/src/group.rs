//! A fleet that can crash.

use evenkeel_arena::fleet::{BotMachine, Fleet, FleetConfig};
use evenkeel_core::SessionClock;
use evenkeel_net::NodeId;
use tokio::runtime::Runtime;

use crate::SoakError;

/// A runtime that shuts down without any goodbyes, like a machine that is switched off.
struct CrashingRuntime(Option<Runtime>);

impl CrashingRuntime {
    fn start() -> std::io::Result<Self> {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.worker_threads(1).enable_all().build().map(|runtime| Self(Some(runtime)))
    }

    async fn start_fleet(&self, config: FleetConfig) -> Result<Fleet, SoakError> {
        let runtime = self.0.as_ref().expect("only dropping takes it");
        let started = runtime.spawn(Fleet::start(config, None, |_, _, _| {})).await;
        Ok(started.map_err(std::io::Error::other)??)
    }
}

impl Drop for CrashingRuntime {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

/// A fleet on a runtime of its own. The runtime is dropped first, so that the fleet cannot say goodbye.
pub(crate) struct RunningGroup {
    _runtime: CrashingRuntime,
    pub(crate) fleet: Fleet,
}

impl RunningGroup {
    pub(crate) async fn start(config: FleetConfig) -> Result<Self, SoakError> {
        let runtime = CrashingRuntime::start()?;
        let fleet = runtime.start_fleet(config).await?;
        Ok(Self { _runtime: runtime, fleet })
    }

    /// The entities that a bot sees; `None` until it knows the session time.
    pub(crate) async fn seen(&self, bot: usize) -> Option<Vec<u32>> {
        let seen = |bot: &mut BotMachine, now| {
            bot.peer().clock().session(now)?;
            Some(bot.peer().copies(now).map(|(_, entity, _)| entity.0).collect())
        };
        self.fleet.crank().with(NodeId(bot as u32), seen).await.ok().flatten()
    }

    /// Whether a bot is connected, knows the session time, and sees this many others.
    pub(crate) async fn is_back(&self, bot: usize, others: usize) -> bool {
        let connected = self.fleet.player(bot).is_some();
        connected && self.seen(bot).await.is_some_and(|seen| seen.len() == others)
    }
}
