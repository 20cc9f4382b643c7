//! One run of an experiment: a simulated world with the server's module and the players', and what was seen of it.

use evenkeel_core::{LocalTime, PeerId, Seed, Span};
use evenkeel_link::{ClockFaults, TrueTime};
use evenkeel_sim::{NodeId, World};
use evenkeel_sync_ms::{KnownPath, Order, Respective, SmcCommand, SmsCommand, SyncConfig};

use super::figures::SyncFigures;
use super::knowledge::Knowledge;
use super::node::{SyncNode, SyncNodeCommand};
use super::number::{label, payload};
use super::plan::ActionPlan;
use super::setting::{PlayerRole, SyncSetting, UPDATE_PERIOD};
use super::truth::SyncTruth;
use crate::parallel::Progress;

const NETWORK: u64 = 2;
const MACHINES: u64 = 3;
const DATAGRAM_MAX: usize = 1200;
/// For how long a world runs on after the last action, so that all are served and answered.
const AFTERWARDS: Span = Span::from_millis(500);
/// Until a player has seen its first update, it is not known when it acts.
const STEP: Span = Span::from_millis(1);

/// What is compared under one setting and seed.
#[derive(Clone, Debug)]
pub(crate) struct SyncCase<'a> {
    /// The service.
    pub(crate) config: SyncConfig,
    /// Sync-out knows how long each update will take.
    pub(crate) exact_out: Option<&'a Knowledge>,
}

/// Runs the setting without the service. Returns what it does to the players, and what a clairvoyant learns.
pub(crate) fn run_first(
    setting: &SyncSetting,
    seed: u64,
    progress: &Progress,
) -> Option<(SyncFigures, Knowledge)> {
    let config = SyncConfig { order: Order::None, sync_out: false, ..SyncConfig::default() };
    let mut session = SyncSession::new(setting, &SyncCase { config, exact_out: None }, seed);
    session.run(progress)?;
    Some((session.figures(), Knowledge::of(&session.truth)))
}

/// Runs a case; `None` if the work was cancelled.
pub(crate) fn run_case(
    setting: &SyncSetting,
    case: &SyncCase<'_>,
    seed: u64,
    progress: &Progress,
) -> Option<SyncFigures> {
    let mut session = SyncSession::new(setting, case, seed);
    session.run(progress)?;
    Some(session.figures())
}

/// A player's progress through the plan.
#[derive(Clone, Copy, Debug)]
struct ActingPlayer {
    node: NodeId,
    /// When its first update was shown.
    start: Option<TrueTime>,
    /// The next action of the plan.
    next: usize,
    is_present: bool,
    joins: TrueTime,
    leaves: TrueTime,
}

/// What the lab does next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Call {
    Join(usize),
    Update,
    Act(usize),
    Leave(usize),
}

/// A run in progress.
struct SyncSession<'a> {
    setting: &'a SyncSetting,
    exact_out: Option<&'a Knowledge>,
    world: World<SyncNode>,
    server: NodeId,
    plan: ActionPlan,
    truth: SyncTruth,
    players: Vec<ActingPlayer>,
    next_update: TrueTime,
}

/// A true time, by the time since the start.
fn at(since_start: Span) -> TrueTime {
    TrueTime::default() + since_start
}

impl<'a> SyncSession<'a> {
    fn new(setting: &'a SyncSetting, case: &SyncCase<'a>, seed: u64) -> Self {
        let mut world = World::new(Seed::new(seed).child(NETWORK));
        // The paper's players read their input right after sending (section 6.1.1), and the truth is reckoned so.
        let config = SyncConfig {
            respective: Respective::BeforePreviousAction,
            seed: Seed::new(seed).child(MACHINES),
            ..case.config.clone()
        };
        let server = world.add_node(SyncNode::server(&config, setting.follows), ClockFaults::default());
        let players = (0..setting.players.len()).map(|index| {
            let player = &setting.players[index];
            let node = machine(setting, player.role, &config, server.into(), index);
            let node = world.add_node(node, player.clock.clone());
            world.connect(server, node, setting.faults(index), setting.faults(index));
            world.label_messages(server, node, label);
            let (joins, leaves) = match player.role {
                PlayerRole::Visits { joins, leaves } => (at(joins), at(leaves)),
                _ => (TrueTime::default(), TrueTime::MAX),
            };
            ActingPlayer { node, start: None, next: 0, is_present: false, joins, leaves }
        });
        let players: Vec<ActingPlayer> = players.collect();
        Self {
            setting,
            exact_out: case.exact_out,
            server,
            plan: ActionPlan::new(setting, seed),
            truth: SyncTruth::new(server, players.len()),
            players,
            world,
            next_update: TrueTime::default(),
        }
    }

    /// Runs to the end; `None` if the work was cancelled.
    fn run(&mut self, progress: &Progress) -> Option<()> {
        while let Some((when, call)) = self.next_call() {
            let is_waiting = self.players.iter().any(|player| player.is_present && player.start.is_none());
            let until = if is_waiting { when.min(self.world.now() + STEP) } else { when };
            self.world.run_until(until, &mut self.truth);
            if is_waiting {
                self.note_starts();
            }
            if until == when {
                self.make(call);
            }
            if call == Call::Update && progress.is_cancelled() {
                return None;
            }
        }
        self.world.run_until(at(self.setting.duration + AFTERWARDS), &mut self.truth);
        Some(())
    }

    fn note_starts(&mut self) {
        for (player, seen) in self.players.iter_mut().zip(&self.truth.players) {
            player.start = player.start.or(seen.first_shown());
        }
    }

    /// The next call and its time; `None` at the end.
    fn next_call(&self) -> Option<(TrueTime, Call)> {
        let end = at(self.setting.duration);
        let update = (self.next_update < end + AFTERWARDS).then_some((self.next_update, Call::Update));
        let of_player = |(index, player): (usize, &ActingPlayer)| {
            let joins = (player.joins >= self.world.now() && !player.is_present && player.start.is_none())
                .then_some((player.joins, Call::Join(index)));
            let leaves = player.is_present.then_some((player.leaves, Call::Leave(index)));
            let acts = player.start.filter(|_| player.is_present).and_then(|start| {
                let when = start + self.plan.after_first(index, player.next)?;
                Some((when, Call::Act(index)))
            });
            [joins, leaves, acts]
        };
        let of_players = self.players.iter().enumerate().flat_map(of_player).flatten();
        let of_players = of_players.filter(|(when, _)| *when < end);
        of_players.chain(update).min()
    }

    fn make(&mut self, call: Call) {
        match call {
            Call::Join(index) => {
                self.players[index].is_present = true;
                self.world.join(self.server, self.players[index].node, DATAGRAM_MAX);
            }
            Call::Leave(index) => {
                self.players[index].is_present = false;
                self.world.leave(self.server, self.players[index].node);
            }
            Call::Act(index) => self.act(index),
            Call::Update => self.update(),
        }
    }

    fn act(&mut self, index: usize) {
        let player = &mut self.players[index];
        player.next += 1;
        let (node, now) = (player.node, self.world.now());
        if let PlayerRole::Rests { from, until } = self.setting.players[index].role
            && (at(from)..at(until)).contains(&now)
        {
            return;
        }
        if let Some(number) = self.truth.act(now, index) {
            let command = SmcCommand::Act { reliable: false, bytes: payload(number) };
            self.world.command(node, SyncNodeCommand::Player(command));
        }
    }

    fn update(&mut self) {
        let number = self.truth.update(self.world.now());
        if let Some(knowledge) = self.exact_out {
            for (index, player) in self.players.iter().enumerate() {
                let known = KnownPath { down: Some(knowledge.down(index, number)), ..KnownPath::default() };
                let command = SmsCommand::Guarantee { peer: player.node.into(), known };
                self.world.command(self.server, SyncNodeCommand::Server(command));
            }
        }
        let command = SmsCommand::Update { to: None, reliable: false, bytes: payload(number) };
        self.world.command(self.server, SyncNodeCommand::Server(command));
        self.next_update += UPDATE_PERIOD;
    }

    fn figures(&self) -> SyncFigures {
        let counters = |from, to| self.world.counters(from, to).unwrap_or_default().sent;
        let node =
            |player: &ActingPlayer| (counters(player.node, self.server), counters(self.server, player.node));
        let sms = self.world.node(self.server).sms();
        let report = |player: &ActingPlayer| sms.and_then(|sms| sms.report(player.node.into()));
        let details = self.players.iter().map(|player| (node(player), report(player)));
        SyncFigures::of(self.setting, &self.truth, &details.collect::<Vec<_>>())
    }
}

/// A player's machine.
fn machine(
    setting: &SyncSetting,
    role: PlayerRole,
    config: &SyncConfig,
    server: PeerId,
    index: usize,
) -> SyncNode {
    // Nonces of different players are unrelated.
    let config = SyncConfig { seed: config.seed.child(index as u64), ..config.clone() };
    let local = |since_start: Span| LocalTime::from_nanos(since_start.as_nanos());
    match role {
        PlayerRole::Lies(lie) => SyncNode::liar(&config, server, lie),
        PlayerRole::Freezes { from, until } => SyncNode::frozen(&config, server, (local(from), local(until))),
        _ => SyncNode::player(&config, server, setting.follows),
    }
}
