//! Games of NEO: moves in rounds and state changes among peers without a server, one of whom may cheat.
//!
//! Signatures cost far more than anything in the other games, so these are few and short.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::{Endpoint, LocalTime, PeerId, Seed, SessionTime, Span, Synchronized};
use evenkeel_link::TrueTime;
use evenkeel_neo::{
    Cheat, CheatingPeer, Identity, NeoCommand, NeoConfig, NeoEvent, PublicKey, STATE_LEN_MAX, Session,
};
use evenkeel_sim::{NodeId, Observer};

use crate::actor::{Actor, ClockedEndpoint, Stamped};
use crate::clock::AnyClock;
use crate::fault::Fault;
use crate::game::{Game, Invariant, Played, Violation};
use crate::stage::{Churn, Stage, TICK, garble};

const CONFIG: u64 = 0x300;
const CLOCKS: u64 = 0x301;
const COMMANDS: u64 = 0x302;
const SESSION: Session = Session([7; 16]);
/// How long the network has at the end to deliver what must not be lost.
const CALM: Span = Span::from_secs(4);
/// How much longer it has for what is repeated ever more rarely.
const PATIENCE: Span = Span::from_secs(120);

struct NeoNode(Box<CheatingPeer<AnyClock>>);

impl ClockedEndpoint for NeoNode {
    fn session(&self, now: LocalTime) -> Option<SessionTime> {
        self.0.peer().session_time(now)
    }
}

impl Endpoint for NeoNode {
    type Command = NeoCommand;
    type Event = NeoEvent;

    evenkeel_core::delegate_endpoint!(self.0);
}

/// What the peers have shown.
#[derive(Default)]
struct SeenMoves {
    honest: BTreeMap<PublicKey, NodeId>,
    /// By author and slot: the move, as the first peer showed it.
    moves: BTreeMap<(NodeId, u64), (NodeId, Vec<u8>)>,
    /// By author and number: who was shown the state change how often.
    changes: BTreeMap<(NodeId, u64), BTreeMap<NodeId, u32>>,
    broken: Option<Violation>,
}

impl SeenMoves {
    fn break_rule(&mut self, invariant: Invariant, what: String) {
        self.broken.get_or_insert(Violation::new(invariant, what));
    }

    fn play(&mut self, at: NodeId, from: NodeId, slot: u64, bytes: Vec<u8>) {
        if !self.honest.values().any(|honest| *honest == from) || !self.honest.values().any(|n| *n == at) {
            return;
        }
        let (first, shown) = self.moves.entry((from, slot)).or_insert_with(|| (at, bytes.clone()));
        if *shown != bytes {
            let what = format!("{first:?} and {at:?} play different moves of {from:?} in slot {slot}");
            self.break_rule(Invariant::Agreement, what);
        }
    }

    fn change(&mut self, at: NodeId, author: PublicKey, bytes: &[u8]) {
        let Some(author) = self.honest.get(&author).copied() else { return };
        let number = bytes.first_chunk().map_or(u64::MAX, |head| u64::from_le_bytes(*head));
        let Some(shown) = self.changes.get_mut(&(author, number)) else {
            let what = format!("{at:?} was shown a state change {number} that {author:?} never made");
            return self.break_rule(Invariant::Reliable, what);
        };
        let count = shown.entry(at).or_default();
        *count += 1;
        if *count > 1 {
            let what = format!("{at:?} was shown state change {number} of {author:?} {count} times");
            self.break_rule(Invariant::Reliable, what);
        }
    }
}

impl Observer<Actor<NeoNode>> for SeenMoves {
    fn on_event(&mut self, _: TrueTime, node: NodeId, stamped: Stamped<NeoEvent>) {
        match stamped.event {
            NeoEvent::Played(made) => self.play(node, made.from.into(), made.slot, made.bytes),
            NeoEvent::StateChanged { author, bytes, .. } => self.change(node, author, &bytes),
            NeoEvent::Evicted { key, proof, .. } => {
                if let Some(honest) = self.honest.get(&key) {
                    let what = format!("{node:?} evicted {honest:?}, which is honest");
                    self.break_rule(Invariant::Agreement, what);
                }
                if !proof.is_valid(SESSION) {
                    self.break_rule(Invariant::Agreement, format!("{node:?} evicted without a proof"));
                }
            }
            _ => {}
        }
    }
}

struct NeoGame {
    game: Game,
    stage: Stage<NeoNode>,
    config: NeoConfig,
    is_synchronized: bool,
    players: Vec<NodeId>,
    seen: SeenMoves,
    /// Whose machine was replaced: it knows nothing of what was before.
    restarted: BTreeSet<NodeId>,
    next: u64,
}

/// Plays a game and checks it.
pub(crate) fn play(game: &Game) -> Result<Played, Violation> {
    let mut played = NeoGame::new(game);
    played.run();
    played.check()
}

fn config(game: &Game) -> NeoConfig {
    let mut draws = Seed::new(game.seed).child(CONFIG).draws();
    let thesis = draws.chance(0.3);
    let config = if thesis { NeoConfig::thesis(SESSION) } else { NeoConfig::new(SESSION) };
    NeoConfig { depth: [1, 2, 4][draws.below(3) as usize], ..config }
}

fn identity(node: NodeId) -> Identity {
    Identity::from_secret([node.0 as u8 + 1; 32])
}

/// How the last player cheats.
fn cheat(game: &Game) -> Cheat {
    let mut draws = Seed::new(game.seed).child(CONFIG).child(1).draws();
    let others = (0..game.players - 1).map(PeerId);
    match draws.below(7) {
        0 => Cheat::LookAhead(PeerId(0)),
        1 => Cheat::SuppressCorrect(Span::from_millis(600)),
        2 => Cheat::FixedDelay(Span::from_millis(150)),
        3 => Cheat::Timestamp(Span::from_millis(120)),
        4 => Cheat::Inconsistency(others.take(1).collect()),
        5 => Cheat::Collusion(others.collect()),
        _ => Cheat::Replay(PeerId(0)),
    }
}

fn fresh(game: &Game, config: &NeoConfig, is_synchronized: bool, node: NodeId) -> NeoNode {
    let is_last = node.0 == game.players - 1;
    let cheat = if is_last && game.faults.has(Fault::Liar) { cheat(game) } else { Cheat::None };
    let clock = if is_synchronized { AnyClock::Synchronized(Synchronized) } else { AnyClock::median() };
    NeoNode(Box::new(CheatingPeer::with_clock(config, identity(node), cheat, clock)))
}

impl NeoGame {
    fn new(game: &Game) -> Self {
        let config = config(game);
        let mut draws = Seed::new(game.seed).child(CLOCKS).draws();
        let is_synchronized = !game.faults.has_any(&[Fault::Clocks, Fault::ClockSteps]) && draws.chance(0.5);
        let mut stage = Stage::new(game);
        let lies = game.faults.has_any(&[Fault::Liar, Fault::Garbage]);
        let players: Vec<NodeId> = (0..game.players)
            .map(|node| {
                let garbles = game.faults.has(Fault::Garbage) && node == game.players - 1;
                let machine = fresh(game, &config, is_synchronized, NodeId(node));
                stage.add(machine, garbles.then_some(garble))
            })
            .collect();
        for (place, a) in players.iter().enumerate() {
            players[place + 1..].iter().for_each(|b| stage.connect(*a, *b));
        }
        stage.join_all();
        let mut seen = SeenMoves::default();
        let honest = players.iter().filter(|player| !lies || **player != players[players.len() - 1]);
        seen.honest = honest.map(|player| (identity(*player).key(), *player)).collect();
        let restarted = BTreeSet::new();
        Self { game: *game, stage, config, is_synchronized, players, seen, restarted, next: 0 }
    }

    fn run(&mut self) {
        for _ in 0..self.game.ticks {
            self.stage.run(&mut self.seen);
            let (game, config, is_synchronized) = (self.game, self.config.clone(), self.is_synchronized);
            let churn = self.stage.churn(|node| fresh(&game, &config, is_synchronized, node));
            self.note(churn);
            self.act();
        }
        let churn = self.stage.heal(&mut self.seen);
        self.note(churn);
        let calm = self.stage.tick + (CALM.as_nanos() / TICK.as_nanos()) as u64;
        let last = calm + (PATIENCE.as_nanos() / TICK.as_nanos()) as u64;
        while self.stage.tick < calm || (self.stage.tick < last && self.lost().is_some()) {
            self.stage.run(&mut self.seen);
        }
    }

    fn note(&mut self, churn: Vec<Churn>) {
        for what in churn {
            if let Churn::Restarted(node) = what {
                self.restarted.insert(node);
                // A fresh machine is shown what was before.
                for shown in self.seen.changes.values_mut() {
                    shown.remove(&node);
                }
            }
        }
    }

    /// Every player moves, and changes the state now and then.
    fn act(&mut self) {
        let seed = Seed::new(self.game.seed).child(COMMANDS).child(self.stage.tick);
        for player in self.players.clone() {
            let mut draws = seed.child(u64::from(player.0)).draws();
            if self.stage.world.node(player).is_stopped() {
                continue;
            }
            self.stage.command(player, NeoCommand::Submit(vec![draws.below(256) as u8; 4]));
            if draws.chance(0.05) {
                let number = self.next;
                self.next += 1;
                let len = 8 + draws.below(STATE_LEN_MAX as u64 / 4) as usize;
                let mut bytes = number.to_le_bytes().to_vec();
                bytes.resize(len, number as u8);
                let sent = |stage: &Stage<NeoNode>| stage.machine(player).0.peer().stats().changes_sent;
                let before = sent(&self.stage);
                self.stage.command(player, NeoCommand::ChangeState(bytes));
                // A peer that is not in the session yet refuses it.
                if sent(&self.stage) > before {
                    self.seen.changes.insert((player, number), BTreeMap::new());
                }
            }
        }
    }

    /// A state change that an honest peer made and another one, neither of which was replaced, has not been shown.
    fn lost(&self) -> Option<(NodeId, u64, NodeId)> {
        let is_whole = |node: &NodeId| !self.restarted.contains(node);
        let honest = || self.seen.honest.values().copied().filter(is_whole);
        let made = self.seen.changes.iter().filter(|((author, _), _)| honest().any(|node| node == *author));
        made.flat_map(|((author, number), shown)| {
            let unseen = honest().filter(move |node| node != author && !shown.contains_key(node));
            unseen.map(|node| (*author, *number, node))
        })
        .next()
    }

    fn check(self) -> Result<Played, Violation> {
        if let Some((author, number, node)) = self.lost() {
            let what = format!("state change {number} of {author:?} never reached {node:?}");
            return Err(Violation::new(Invariant::Reliable, what));
        }
        if let Some(broken) = self.seen.broken {
            return Err(broken);
        }
        let followed = self.seen.changes.values().map(|shown| shown.len() as u64).sum();
        let compared = self.seen.moves.len() as u64;
        Ok(Played { calls: self.stage.world.events_handled(), followed, compared, ..Played::default() })
    }
}
