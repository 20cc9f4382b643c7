//! A fleet of bots over real sockets: the players of `evenkeel bot`, and the load of a soak.

mod summary;

pub use summary::{FleetCounters, FleetObserver, FleetSummary};

use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::clock::FollowerClock;
use evenkeel_core::{LocalTime, PeerId, Seed, Span};
use evenkeel_dr::{Content, DrEvent, EntityId, Threshold};
use evenkeel_games::{Bot, BotConfig, Driver};
use evenkeel_net::transport::ConnectError;
use evenkeel_net::{Crank, CrankHandle, Emulation, LocalClock, NodeId, Recording};
use evenkeel_serve::client::player_config;
use evenkeel_serve::{Dial, RELAY, Status, Target, Welcome};
use tokio::task::JoinSet;

use crate::dialling::DialTask;

/// The machine of one of a fleet's bots.
pub type BotMachine = Bot<FollowerClock>;

/// The kind that a recording of a fleet carries.
pub const BOTS_RECORDING: &[u8] = b"bots";
/// Concurrent connection attempts of a fleet. More would only wait for each other's handshakes.
const CONNECTING_MAX: usize = 16;
/// How long a bot may take to leave.
const LEAVE_MAX: Duration = Duration::from_millis(500);
/// How long the bots' crank may take to stop.
const STOP_MAX: Duration = Duration::from_millis(200);

/// Makes the links to emulate for the bot with this index, on each of its connections anew.
pub type LinkFactory = Arc<dyn Fn(usize) -> Option<Emulation> + Send + Sync>;

/// The settings of a fleet. Its bots are numbered from 0, room by room.
#[derive(Clone)]
pub struct FleetConfig {
    /// One room each: URL, and a token with a seat for every bot.
    pub targets: Vec<Target>,
    /// Bots per room.
    pub count: usize,
    /// The seat of each room's first bot.
    pub first_seat: u16,
    /// How the bots drive.
    pub driver: Driver,
    /// The seed of their motion.
    pub seed: Seed,
    /// When a tank gets a new DR vector.
    pub threshold: Threshold,
    /// How often the bots compare their tanks with the exported path.
    pub tick: Span,
    /// The content of the DR vectors.
    pub content: Content,
    /// Links to emulate.
    pub links: LinkFactory,
    /// The clock that the bots run by.
    pub clock: LocalClock,
    /// Whether the bots' deadlines may be served a little late, to leave the cores to others.
    pub relaxed: bool,
}

impl FleetConfig {
    /// Bots with the papers' motion and thresholds at 50 ticks a second, without emulated links.
    #[must_use]
    pub fn new(target: Target, count: usize) -> Self {
        Self {
            targets: vec![target],
            count,
            first_seat: 1,
            driver: Driver::Random,
            seed: Seed::new(1),
            threshold: Threshold::default(),
            tick: Span::from_millis(20),
            content: Content::default(),
            links: Arc::new(|_| None),
            clock: LocalClock::start(),
            relaxed: false,
        }
    }

    /// The number of bots in all rooms.
    fn bots(&self) -> usize {
        self.targets.len() * self.count
    }

    /// The index of a bot's room.
    fn room(&self, bot: usize) -> usize {
        bot / self.count
    }

    fn seat(&self, bot: usize) -> u16 {
        self.first_seat + (bot % self.count) as u16
    }

    /// The room and seat of a bot. Even a lone bot names its seat, because others may share its token.
    fn target(&self, bot: usize) -> Target {
        Target { seat: Some(self.seat(bot)), ..self.targets[self.room(bot)].clone() }
    }

    fn seed(&self, bot: usize) -> Seed {
        self.seed.child((self.room(bot) as u64) << 16 | (u64::from(self.seat(bot)) - 1))
    }

    fn bot(&self, bot: usize, welcome: &Welcome) -> (BotMachine, BotConfig) {
        let config = BotConfig {
            dr: player_config(welcome, self.threshold, self.content),
            entity: EntityId::of(welcome.player, 0),
            driver: self.driver,
            seed: self.seed(bot),
            tick: self.tick,
        };
        (Bot::new(&config, FollowerClock::new(RELAY)), config)
    }
}

/// Bots that are playing.
pub struct Fleet {
    config: FleetConfig,
    crank: CrankHandle<BotMachine>,
    /// By bot.
    tasks: Vec<DialTask>,
}

impl Fleet {
    /// Connects the bots on the current tokio runtime; returns when all of them have joined.
    ///
    /// # Errors
    /// [`ConnectError`] of the first bot that is not admitted.
    pub async fn start(
        config: FleetConfig,
        recording: Option<Recording>,
        on_event: impl FnMut(NodeId, LocalTime, DrEvent) + Send + 'static,
    ) -> Result<Self, ConnectError> {
        let mut crank = Crank::new().with_clock(config.clock).on_event(on_event);
        if config.relaxed {
            crank = crank.relaxed();
        }
        if let Some(recording) = recording {
            crank = crank.record(recording);
        }
        let crank = crank.start().map_err(|error| ConnectError::Broken(error.to_string()))?;
        let mut fleet = Self { config, crank, tasks: Vec::new() };
        fleet.connect().await?;
        Ok(fleet)
    }

    /// Connects all bots, a few at a time.
    async fn connect(&mut self) -> Result<(), ConnectError> {
        let mut attempts = JoinSet::new();
        let mut bots = 0..self.config.bots();
        loop {
            while attempts.len() < CONNECTING_MAX
                && let Some(bot) = bots.next()
            {
                let task = self.dial(bot);
                let admitted = task.admitted();
                self.tasks.push(task);
                attempts.spawn(async move { admitted.await.then_some(()).ok_or(bot) });
            }
            match attempts.join_next().await {
                Some(Ok(Err(bot))) => return Err(self.tasks.swap_remove(bot).failure().await),
                Some(_) => {}
                None => return Ok(()),
            }
        }
    }

    fn dial(&self, bot: usize) -> DialTask {
        let (config, links) = (self.config.clone(), self.config.links.clone());
        let dial = Dial {
            target: config.target(bot),
            node: NodeId(bot as u32),
            build: move |welcome: &Welcome| config.bot(bot, welcome),
            emulation: move || links(bot),
        };
        DialTask::spawn(|status| dial.run(self.crank.clone(), status))
    }

    /// The status of a bot's connection.
    #[must_use]
    pub fn status(&self, bot: usize) -> Status {
        self.tasks[bot].status()
    }

    /// The status of each bot's connection.
    #[must_use]
    pub fn statuses(&self) -> Vec<Status> {
        self.tasks.iter().map(DialTask::status).collect()
    }

    /// A bot's player number at the relay; `None` while it is not connected.
    #[must_use]
    pub fn player(&self, bot: usize) -> Option<PeerId> {
        match self.status(bot) {
            Status::Connected(welcome) => Some(welcome.player),
            _ => None,
        }
    }

    /// The crank that drives the bots.
    #[must_use]
    pub const fn crank(&self) -> &CrankHandle<BotMachine> {
        &self.crank
    }

    /// Disconnects the bots.
    pub async fn stop(self) {
        for task in self.tasks {
            task.leave(LEAVE_MAX).await;
        }
        let _ = self.crank.stop(STOP_MAX).await;
    }
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fleet({} bots)", self.tasks.len())
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_net::transport::Trust;

    use super::*;

    #[test]
    fn every_bot_names_its_seat_even_a_lone_one() {
        let target = |room: &str| Target {
            url: format!("https://127.0.0.1:1/{room}"),
            token: room.to_owned(),
            seat: None,
            trust: Trust::Local,
        };
        let seats = |count, first_seat| {
            let targets = vec![target("a"), target("b")];
            let config = FleetConfig { targets, count, first_seat, ..FleetConfig::new(target("a"), 1) };
            let seat = |bot| (config.target(bot).token, config.target(bot).seat);
            (0..config.bots()).map(seat).collect::<Vec<_>>()
        };
        let named = |room: &str, seat| (room.to_owned(), Some(seat));
        assert_eq!(seats(1, 1), [named("a", 1), named("b", 1)]);
        assert_eq!(seats(2, 5), [named("a", 5), named("a", 6), named("b", 5), named("b", 6)]);
        let alone = FleetConfig::new(target("a"), 1);
        assert_eq!(alone.target(0).seat, Some(1));
    }
}
