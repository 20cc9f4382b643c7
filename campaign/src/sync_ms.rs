//! Games of Sync-MS: updates to players and actions from them, each with a number by which it is followed to its end.

use std::collections::BTreeMap;

use evenkeel_core::{
    Channel, Draws, Endpoint, LocalTime, PeerId, Seed, SessionClock, SessionTime, Span, Synchronized,
};
use evenkeel_link::TrueTime;
use evenkeel_sim::{NodeId, Observer};
use evenkeel_sync_ms::message::{ActionFrame, Frame, Moment, SyncMessage, VERSION};
use evenkeel_sync_ms::{
    Late, Order, Respective, Smc, SmcCommand, SmcEvent, Sms, SmsCommand, SmsEvent, SyncConfig,
};

use crate::actor::{Actor, ClockedEndpoint, Lie, Stamped};
use crate::clock::AnyClock;
use crate::fault::{Fault, Faults};
use crate::game::{Game, Invariant, Played, Violation};
use crate::stage::{Churn, Stage, TICK, garble};

const CONFIG: u64 = 0x200;
const CLOCKS: u64 = 0x201;
const COMMANDS: u64 = 0x202;
const SERVER: NodeId = NodeId(0);
const ORDERS: [&str; 6] =
    ["reaction", "reaction", "max-wait", "select-wait", "toss-wait=100:50,10:50", "none"];
/// How long the network has at the end to deliver what must not be lost.
const CALM: Span = Span::from_secs(8);
/// How much longer it has for what is repeated ever more rarely.
const PATIENCE: Span = Span::from_secs(900);
/// Messages that a player may send in a second, beside those that repeat its actions: the shortest heartbeat of the games,
/// and clock readings.
const RATE_MAX: u64 = 400;
/// Messages that an action may cause: itself, its repetitions and the parts of a long one.
const PER_ACTION_MAX: u64 = 400;

enum SyncNode {
    Server(Box<Sms<AnyClock>>),
    Player(Box<Smc<AnyClock>>),
}

enum SyncCommand {
    Server(SmsCommand),
    Player(SmcCommand),
}

enum NodeEvent {
    Server(SmsEvent),
    Player(SmcEvent),
}

impl ClockedEndpoint for SyncNode {
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        match self {
            Self::Server(sms) => sms.clock().session(now),
            Self::Player(smc) => smc.clock().session(now),
        }
    }
}

impl Endpoint for SyncNode {
    type Command = SyncCommand;
    type Event = NodeEvent;

    fn handle_command(&mut self, now: LocalTime, command: SyncCommand) {
        match (self, command) {
            (Self::Server(sms), SyncCommand::Server(command)) => sms.handle_command(now, command),
            (Self::Player(smc), SyncCommand::Player(command)) => smc.handle_command(now, command),
            _ => unreachable!("commands are made for the node that handles them"),
        }
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        match self {
            Self::Server(sms) => sms.poll_event().map(NodeEvent::Server),
            Self::Player(smc) => smc.poll_event().map(NodeEvent::Player),
        }
    }

    evenkeel_core::delegate_endpoint!(match self { Server, Player }:
        handle_message, handle_peer, handle_timeout, poll_transmit, poll_timeout);
}

/// Claims a faster reaction than the player had, and promises anything.
fn claim_early(bytes: &mut Vec<u8>, _: Channel, draws: &mut Draws) {
    let early = Span::from_millis(draws.below(300) as i64);
    let ahead = Span::from_nanos(if draws.chance(0.05) { draws.bits() as i64 >> 4 } else { 0 });
    let promise = |moment: Moment| Moment { elapsed: moment.elapsed + ahead, ..moment };
    let Ok(message) = SyncMessage::parse(bytes) else { return };
    let header = message.header();
    let mut forged = Vec::new();
    header.emit(VERSION, &mut forged);
    message.clone().each(|frame| {
        let forge = |moment: Moment| Moment { elapsed: moment.elapsed - early, ..moment };
        let frame = match *frame {
            Frame::Action(action) => {
                Frame::Action(ActionFrame { reaction: action.reaction.map(forge), ..action })
            }
            Frame::Promise { next, moment } => Frame::Promise { next, moment: promise(moment) },
            other => other,
        };
        frame.emit(header.stamp, &mut forged);
    });
    *bytes = forged;
}

/// A message of the game, and what became of it.
#[derive(Clone, Debug)]
struct Followed {
    /// Whether a player sent it, which then counts as its receiver, too.
    #[expect(dead_code, reason = "a report of a lost message prints it")]
    is_action: bool,
    is_reliable: bool,
    /// By receiver: the connection on which it must arrive, and how often it did.
    to: BTreeMap<NodeId, (u32, u32)>,
    len: usize,
}

/// What arrived.
#[derive(Default)]
struct Seen {
    /// Updates and actions by number.
    followed: BTreeMap<u64, Followed>,
    /// The largest place of an action served by this server.
    served: SessionTime,
    is_ordered: bool,
    cap: Option<Span>,
    /// What is planted, to show that rules can fail.
    planted: Faults,
    broken: Option<Violation>,
}

impl Seen {
    fn break_rule(&mut self, invariant: Invariant, what: String) {
        self.broken.get_or_insert(Violation::new(invariant, what));
    }

    /// Notes that a message arrived at a node.
    fn arrive(&mut self, at: NodeId, bytes: &[u8], is_forged: bool) {
        let number = number_of(bytes);
        if self.planted.has(Fault::PlantedLoss) && number.is_some_and(|number| number % 8 == 3) {
            return;
        }
        let found = number.and_then(|number| self.followed.get_mut(&number));
        let whole = found.filter(|followed| *bytes == payload(number.unwrap_or(0), followed.len));
        let count = whole.and_then(|followed| followed.to.get_mut(&at));
        match count {
            Some((_, count)) => {
                *count += if self.planted.has(Fault::PlantedDouble) { 2 } else { 1 };
                let count = *count;
                if count > 1 && !is_forged {
                    let what = format!("message {number:?} arrived {count} times at {at:?}");
                    self.break_rule(Invariant::Reliable, what);
                }
            }
            None if is_forged => {}
            None => {
                let what = format!("{at:?} got message {number:?} of {} bytes, not sent to it", bytes.len());
                self.break_rule(Invariant::Reliable, what);
            }
        }
    }
}

/// Who forges messages.
struct Watcher<'a> {
    seen: &'a mut Seen,
    liar: Option<NodeId>,
}

impl Observer<Actor<SyncNode>> for Watcher<'_> {
    fn on_event(&mut self, _: TrueTime, node: NodeId, stamped: Stamped<NodeEvent>) {
        match stamped.event {
            NodeEvent::Server(SmsEvent::Action(action)) => {
                let from = NodeId::from(action.from);
                let is_forged = self.liar == Some(from);
                self.seen.arrive(from, &action.bytes, is_forged);
                if let Some(cap) = self.seen.cap
                    && action.waited > cap
                {
                    let what =
                        format!("an action of {from:?} waited {:?}, the cap is {cap:?}", action.waited);
                    self.seen.break_rule(Invariant::Order, what);
                }
                if self.seen.is_ordered && !action.is_late && action.virtual_at < self.seen.served {
                    let (at, before) = (action.virtual_at, self.seen.served);
                    let what = format!("{from:?} is served at {at:?} after {before:?}, and not late");
                    self.seen.break_rule(Invariant::Order, what);
                }
                if action.is_in_turn {
                    self.seen.served = self.seen.served.max(action.virtual_at);
                }
                if action.virtual_at > action.arrived {
                    let (at, arrived) = (action.virtual_at, action.arrived);
                    let what =
                        format!("an action of {from:?} is placed at {at:?}, but arrived at {arrived:?}");
                    self.seen.break_rule(Invariant::Order, what);
                }
            }
            NodeEvent::Player(SmcEvent::Update { bytes, .. }) => self.seen.arrive(node, &bytes, false),
            NodeEvent::Server(_) | NodeEvent::Player(SmcEvent::Clock(_)) => {}
        }
    }
}

fn number_of(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|head| u64::from_le_bytes(*head))
}

/// A message of this length that starts with its number.
fn payload(number: u64, len: usize) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(len.max(8), number as u8);
    bytes
}

struct SyncGame {
    game: Game,
    stage: Stage<SyncNode>,
    config: SyncConfig,
    is_synchronized: bool,
    players: Vec<NodeId>,
    seen: Seen,
    /// By player: how often its connection has ended.
    connections: Vec<u32>,
    next: u64,
    /// By player: the actions it has sent.
    acted: Vec<u64>,
}

/// Plays a game and checks it.
pub(crate) fn play(game: &Game) -> Result<Played, Violation> {
    let mut played = SyncGame::new(game);
    played.run();
    played.check()
}

fn config(game: &Game) -> SyncConfig {
    let mut draws = Seed::new(game.seed).child(CONFIG).draws();
    SyncConfig {
        order: order(&mut draws),
        sync_out: draws.chance(0.7),
        late: if draws.chance(0.2) { Late::Discard } else { Late::Show },
        cap: Span::from_millis([0, 20, 150, 150, 400][draws.below(5) as usize]),
        hold_fall: draws.chance(0.3).then_some(Span::from_millis(10)),
        hold_rise: draws.chance(0.3).then_some(Span::from_millis(10)),
        repeats: draws.below(4) as u32,
        respective: if draws.chance(0.3) { Respective::BeforePreviousAction } else { Respective::Newest },
        seed: Seed::new(draws.bits()),
        ..SyncConfig::default()
    }
}

fn order(draws: &mut Draws) -> Order {
    ORDERS[draws.below(ORDERS.len() as u64) as usize].parse().expect("an order of ours")
}

fn lie(game: &Game) -> Option<Lie> {
    match game.faults {
        faults if faults.has(Fault::Garbage) => Some(garble),
        faults if faults.has(Fault::Liar) => Some(claim_early),
        _ => None,
    }
}

fn fresh(config: &SyncConfig, is_synchronized: bool, node: NodeId) -> SyncNode {
    let config = SyncConfig { seed: config.seed.child(u64::from(node.0)), ..config.clone() };
    match (node, is_synchronized) {
        (SERVER, true) => {
            SyncNode::Server(Box::new(Sms::with_clock(&config, AnyClock::Synchronized(Synchronized))))
        }
        (SERVER, false) => SyncNode::Server(Box::new(Sms::with_clock(&config, AnyClock::server()))),
        (_, true) => SyncNode::Player(Box::new(Smc::with_clock(
            &config,
            SERVER.into(),
            AnyClock::Synchronized(Synchronized),
        ))),
        (_, false) => {
            let clock = AnyClock::follower(SERVER.into());
            SyncNode::Player(Box::new(Smc::with_clock(&config, SERVER.into(), clock)))
        }
    }
}

impl SyncGame {
    fn new(game: &Game) -> Self {
        let config = config(game);
        let mut draws = Seed::new(game.seed).child(CLOCKS).draws();
        let is_synchronized = !game.faults.has_any(&[Fault::Clocks, Fault::ClockSteps]) && draws.chance(0.3);
        let mut stage = Stage::new(game);
        stage.add(fresh(&config, is_synchronized, SERVER), None);
        let players: Vec<NodeId> = (1..=game.players)
            .map(|node| {
                let lie = lie(game).filter(|_| node == game.players);
                stage.add(fresh(&config, is_synchronized, NodeId(node)), lie)
            })
            .collect();
        players.iter().for_each(|player| stage.connect(SERVER, *player));
        stage.join_all();
        // A stopped or stepped clock makes waits longer than anybody asked for.
        let is_punctual = !game.faults.has_any(&[Fault::Pauses, Fault::ClockSteps, Fault::Crashes]);
        let is_reaction = config.order.to_string() == "reaction" && !game.faults.has(Fault::Switches);
        let seen = Seen {
            followed: BTreeMap::new(),
            served: SessionTime::MIN,
            is_ordered: is_reaction && is_punctual,
            cap: is_punctual.then_some(config.cap),
            planted: game.faults,
            broken: None,
        };
        let (connections, acted) = (vec![0; players.len()], vec![0; players.len()]);
        Self { game: *game, stage, config, is_synchronized, players, seen, connections, next: 0, acted }
    }

    fn liar(&self) -> Option<NodeId> {
        lie(&self.game).and_then(|_| self.players.last().copied())
    }

    fn pass(&mut self) {
        let liar = self.liar();
        self.stage.run(&mut Watcher { seen: &mut self.seen, liar });
    }

    fn run(&mut self) {
        for _ in 0..self.game.ticks {
            self.pass();
            let (config, is_synchronized) = (self.config.clone(), self.is_synchronized);
            let churn = self.stage.churn(|node| fresh(&config, is_synchronized, node));
            self.note(churn);
            self.play_tick();
        }
        let liar = self.liar();
        let churn = self.stage.heal(&mut Watcher { seen: &mut self.seen, liar });
        self.note(churn);
        let calm = self.stage.tick + (CALM.as_nanos() / TICK.as_nanos()) as u64;
        let last = calm + (PATIENCE.as_nanos() / TICK.as_nanos()) as u64;
        while self.stage.tick < calm || (self.stage.tick < last && self.lost().is_some()) {
            self.pass();
        }
    }

    fn note(&mut self, churn: Vec<Churn>) {
        for what in churn {
            if let Churn::Left(node) = what {
                self.leave(node);
            }
        }
    }

    fn leave(&mut self, node: NodeId) {
        for (player, connection) in self.players.iter().zip(&mut self.connections) {
            *connection += u32::from(node == SERVER || node == *player);
        }
    }

    fn play_tick(&mut self) {
        let seed = Seed::new(self.game.seed).child(COMMANDS).child(self.stage.tick);
        let mut draws = seed.draws();
        if draws.chance(0.6) {
            let is_reliable = draws.chance(0.4);
            let to = draws.chance(0.3).then(|| self.players[draws.below(self.players.len() as u64) as usize]);
            self.update(to, is_reliable, length(&mut draws));
        }
        if self.game.faults.has(Fault::Switches) && draws.chance(0.03) {
            let switch = SmsCommand::Switch { order: order(&mut draws), sync_out: draws.chance(0.5) };
            self.stage.command(SERVER, SyncCommand::Server(switch));
        }
        for index in 0..self.players.len() {
            let mut draws = seed.child(1 + index as u64).draws();
            if draws.chance(0.3) {
                self.act(index, draws.chance(0.4), length(&mut draws));
            }
        }
    }

    fn follow(
        &mut self,
        is_action: bool,
        is_reliable: bool,
        len: usize,
        to: BTreeMap<NodeId, (u32, u32)>,
    ) -> Vec<u8> {
        let number = self.next;
        self.next += 1;
        self.seen.followed.insert(number, Followed { is_action, is_reliable, to, len });
        payload(number, len)
    }

    fn update(&mut self, to: Option<NodeId>, is_reliable: bool, len: usize) {
        if self.stage.world.node(SERVER).is_stopped() {
            return;
        }
        let SyncNode::Server(sms) = self.stage.machine(SERVER) else { return };
        let is_meant = |player: &NodeId| to.is_none_or(|to| to == *player);
        let knows = |player: &NodeId| sms.report(PeerId::from(*player)).is_some();
        let unsent: u64 = sms.reports().map(|report| report.counts.unsent).sum();
        let receivers = self.players.iter().zip(&self.connections);
        let receivers = receivers.filter(|(player, _)| is_meant(player) && knows(player));
        let receivers = receivers.map(|(player, connection)| (*player, (*connection, 0))).collect();
        let bytes = self.follow(false, is_reliable, len, receivers);
        let command = SmsCommand::Update { to: to.map(PeerId::from), reliable: is_reliable, bytes };
        self.stage.command(SERVER, SyncCommand::Server(command));
        let SyncNode::Server(sms) = self.stage.machine(SERVER) else { return };
        if sms.reports().map(|report| report.counts.unsent).sum::<u64>() > unsent {
            // It did not fit, and that is counted.
            self.seen.followed.entry(self.next - 1).and_modify(|followed| followed.is_reliable = false);
        }
    }

    fn act(&mut self, index: usize, is_reliable: bool, len: usize) {
        let player = self.players[index];
        if self.stage.world.node(player).is_stopped() {
            return;
        }
        let unsent = |stage: &Stage<SyncNode>| match stage.machine(player) {
            SyncNode::Player(smc) => smc.counts().unsent,
            SyncNode::Server(_) => 0,
        };
        let before = unsent(&self.stage);
        // Actions are counted where they come from.
        let to = BTreeMap::from([(player, (self.connections[index], 0))]);
        let bytes = self.follow(true, is_reliable, len, to);
        self.acted[index] += 1;
        let command = SmcCommand::Act { reliable: is_reliable, bytes };
        self.stage.command(player, SyncCommand::Player(command));
        if unsent(&self.stage) > before {
            self.seen.followed.entry(self.next - 1).and_modify(|followed| followed.is_reliable = false);
        }
    }

    /// A reliable message that has not arrived at somebody who was there all the time.
    fn lost(&self) -> Option<(u64, &Followed)> {
        let is_lost = |(node, (connection, count)): (&NodeId, &(u32, u32))| {
            let is_here = *connection == self.connections[node.0 as usize - 1];
            *count == 0 && is_here && self.liar() != Some(*node)
        };
        let mut followed = self.seen.followed.iter().filter(|(_, followed)| followed.is_reliable);
        followed
            .find(|(_, followed)| followed.to.iter().any(is_lost))
            .map(|(number, followed)| (*number, followed))
    }

    fn check(self) -> Result<Played, Violation> {
        if let Some(broken) = self.seen.broken {
            return Err(broken);
        }
        if let Some((number, followed)) = self.lost() {
            let what = format!("reliable message {number} got lost: {followed:?}");
            return Err(Violation::new(Invariant::Reliable, what));
        }
        let followed = self.seen.followed.values().filter(|followed| followed.is_reliable);
        let followed = followed.map(|followed| followed.to.len() as u64).sum();
        let played = Played { calls: self.stage.world.events_handled(), followed, ..Played::default() };
        let seconds = (self.stage.tick as i64 * TICK.as_nanos()) as u64 / 1_000_000_000;
        for (player, acted) in self.players.iter().zip(&self.acted) {
            let (_, messages) = self.stage.sent(*player);
            let most = RATE_MAX * (1 + seconds) + PER_ACTION_MAX * acted;
            if messages > most {
                let what = format!("{player:?} sent {messages} messages for {acted} actions in {seconds} s");
                return Err(Violation::new(Invariant::Budget, what));
            }
        }
        Ok(played)
    }
}

/// Mostly short; some are longer than a datagram.
fn length(draws: &mut Draws) -> usize {
    match draws.below(12) {
        0 => 1_000 + draws.below(5_000) as usize,
        1 => 200 + draws.below(900) as usize,
        _ => 8 + draws.below(40) as usize,
    }
}
