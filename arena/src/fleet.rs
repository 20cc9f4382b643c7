//! Bots in a room, over real sockets: what `evenkeel bot` runs, and what loads a relay in a soak.

use evenkeel_core::clock::FollowerClock;
use evenkeel_core::{LocalTime, Seed, SessionClock, Span};
use evenkeel_dr::{Content, DrEvent, EntityId, Threshold};
use evenkeel_games::{Bot, BotConfig, Driver};
use evenkeel_net::transport::ConnectError;
use evenkeel_net::{Crank, CrankHandle, Emulation, LocalClock, NodeId, Recording};
use evenkeel_serve::client::player_config;
use evenkeel_serve::{Dial, RELAY, Status, Target, Welcome};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// A bot's machine.
pub type BotMachine = Bot<FollowerClock>;

/// What a recording of bots says that it is.
pub const RECORDED: &[u8] = b"bots";
/// A fleet connects so many bots at once; more would only wait for each other's handshakes.
const CONNECTING_MAX: usize = 16;

/// Makes the links of the bot with this number, counted from 0; on each of its connections anew.
pub type Links = std::sync::Arc<dyn Fn(usize) -> Option<Emulation> + Send + Sync>;

/// Who drives where.
#[derive(Clone)]
pub struct FleetConfig {
    /// Where to and as whom, for each room; each bot takes a seat of the token.
    pub targets: Vec<Target>,
    /// How many for each room.
    pub count: usize,
    /// The seat of the first in each.
    pub first_seat: u16,
    /// How they drive.
    pub driver: Driver,
    /// What their ways depend on.
    pub seed: Seed,
    /// When their tanks get a new DR vector.
    pub threshold: Threshold,
    /// How often they look at their tanks.
    pub tick: Span,
    /// How their tanks are dead-reckoned.
    pub kind: Content,
    /// Links to emulate.
    pub links: Links,
    /// The clock that they run by.
    pub clock: LocalClock,
    /// Whether their deadlines may be a little late, for the sake of whoever shares the cores.
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
            kind: Content::default(),
            links: std::sync::Arc::new(|_| None),
            clock: LocalClock::start(),
            relaxed: false,
        }
    }

    /// How many in all.
    fn bots(&self) -> usize {
        self.targets.len() * self.count
    }

    /// The room of a bot.
    fn room(&self, bot: usize) -> usize {
        bot / self.count
    }

    fn seat(&self, bot: usize) -> u16 {
        self.first_seat + (bot % self.count) as u16
    }

    /// Where a bot goes. It always names its seat: a lone bot does not know whether others share its token, and the only
    /// seat of a token is the first.
    fn target(&self, bot: usize) -> Target {
        Target { seat: Some(self.seat(bot)), ..self.targets[self.room(bot)].clone() }
    }

    fn seed(&self, bot: usize) -> Seed {
        self.seed.child((self.room(bot) as u64) << 16 | (u64::from(self.seat(bot)) - 1))
    }

    fn bot(&self, index: usize, welcome: &Welcome) -> (BotMachine, BotConfig) {
        let config = BotConfig {
            dr: player_config(welcome, self.threshold, self.kind),
            entity: EntityId::of(welcome.player, 0),
            driver: self.driver,
            seed: self.seed(index),
            tick: self.tick,
        };
        (Bot::new(&config, FollowerClock::new(RELAY)), config)
    }
}

/// A bot of a fleet.
#[derive(Debug)]
struct Member {
    status: watch::Receiver<Status>,
    dialling: JoinHandle<Result<(), ConnectError>>,
}

/// Bots that are playing.
pub struct Fleet {
    config: FleetConfig,
    crank: CrankHandle<BotMachine>,
    members: Vec<Option<Member>>,
}

impl Fleet {
    /// Sends the bots in, on a tokio runtime; comes back when all of them are there.
    ///
    /// # Errors
    /// [`ConnectError`] of the first bot that is not let in.
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
        let members = (0..config.bots()).map(|_| None).collect();
        let mut fleet = Self { config, crank, members };
        fleet.send(0..fleet.config.bots()).await?;
        Ok(fleet)
    }

    /// Sends bots in that are not there.
    ///
    /// # Errors
    /// [`ConnectError`] of the first that is not let in.
    pub async fn send(&mut self, bots: impl IntoIterator<Item = usize>) -> Result<(), ConnectError> {
        let mut arriving = JoinSet::new();
        let mut bots = bots.into_iter().peekable();
        while bots.peek().is_some() || !arriving.is_empty() {
            while arriving.len() < CONNECTING_MAX
                && let Some(bot) = bots.next()
            {
                let member = self.dial(bot);
                let mut status = member.status.clone();
                self.members[bot] = Some(member);
                arriving.spawn(async move {
                    let arrived = status.wait_for(|status| !matches!(status, Status::Connecting(None))).await;
                    arrived.is_ok_and(|status| !matches!(&*status, Status::Over(_))).then_some(()).ok_or(bot)
                });
            }
            if let Some(Ok(Err(bot))) = arriving.join_next().await {
                let failed = self.members[bot].take().expect("it was sent").dialling.await;
                let failed = failed.ok().and_then(Result::err);
                return Err(failed.unwrap_or(ConnectError::Broken("the relay let it go".to_owned())));
            }
        }
        Ok(())
    }

    fn dial(&self, bot: usize) -> Member {
        let (announce, status) = watch::channel(Status::Connecting(None));
        let (config, links) = (self.config.clone(), self.config.links.clone());
        let dial = Dial {
            target: config.target(bot),
            node: NodeId(bot as u32),
            build: move |welcome: &Welcome| config.bot(bot, welcome),
            emulation: move || links(bot),
        };
        Member { status, dialling: tokio::spawn(dial.run(self.crank.clone(), announce)) }
    }

    /// How it stands with a bot; `None` if it was not sent.
    #[must_use]
    pub fn status(&self, bot: usize) -> Option<Status> {
        Some(self.members[bot].as_ref()?.status.borrow().clone())
    }

    /// How it stands with each bot; `None` for those that were not sent.
    #[must_use]
    pub fn statuses(&self) -> Vec<Option<Status>> {
        (0..self.members.len()).map(|bot| self.status(bot)).collect()
    }

    /// Bots that are in the room and know its time.
    pub async fn playing(&self) -> usize {
        let mut playing = 0;
        for (index, status) in self.statuses().into_iter().enumerate() {
            let connected = matches!(status, Some(Status::Connected(_)));
            let fixed = |bot: &mut BotMachine, now| bot.peer().clock().session(now).is_some();
            if connected && self.crank.with(NodeId(index as u32), fixed).await.unwrap_or(false) {
                playing += 1;
            }
        }
        playing
    }

    /// What turns them.
    #[must_use]
    pub const fn crank(&self) -> &CrankHandle<BotMachine> {
        &self.crank
    }

    /// They leave.
    pub async fn stop(mut self) {
        for member in self.members.iter_mut().filter_map(Option::take) {
            drop(member.status);
            let _ = tokio::time::timeout(std::time::Duration::from_millis(500), member.dialling).await;
        }
        let _ = self.crank.stop(std::time::Duration::from_millis(200)).await;
    }
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fleet({} bots)", self.members.len())
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_net::transport::Trust;

    use super::*;

    #[test]
    fn every_bot_names_its_seat_a_lone_one_too() {
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
