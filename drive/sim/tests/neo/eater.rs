//! The Eater game on NEO, with every fault: no stone is eaten twice, and none is lost.

use std::collections::BTreeSet;

use evenkeel_core::{
    Channel, Draws, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Seed, Span, delegate_endpoint,
};
use evenkeel_games::eater::{
    BoardEvent, EaterCommand, EaterConfig, EaterEvent, EaterNode, EaterNodeConfig, EaterPlayer, Forager,
    Foul, Stones,
};
use evenkeel_link::{ClockFaults, ClockStep, LinkFaults, Loss};
use evenkeel_neo::{Identity, NeoConfig, NeoEvent, NeoPeer, Session};
use evenkeel_sim::{NodeId, World};

use crate::table::{DATAGRAM_MAX, exponential, millis, secret};

/// When the last fault ends, when everybody stops eating, and when the game is looked at, in milliseconds.
const QUIET: i64 = 18_000;
const STOP: i64 = 24_000;
const END: i64 = 40_000;

/// What happens to a player.
#[derive(Clone)]
enum Act {
    Eater(EaterCommand),
    /// Nothing passes to and from these peers. Reliable messages wait.
    Cut(BTreeSet<PeerId>),
    Crash,
    Restart,
}

/// A player that can be cut off, and crash.
struct Player {
    number: usize,
    eater: EaterNode<NeoPeer>,
    cut: BTreeSet<PeerId>,
    waiting: Vec<(PeerId, Vec<u8>)>,
    is_down: bool,
}

impl Player {
    fn new(number: usize) -> Self {
        let identity = Identity::from_secret(secret(number));
        let key = identity.key();
        let game = EaterConfig { seed: Seed::new(3), columns: 10, rows: 8, stones: 12 };
        let bot = EaterPlayer::Bot(Forager::new(Seed::new(number as u64)));
        let config = EaterNodeConfig { game, has_areas: false, player: bot };
        let peer = NeoPeer::new(&NeoConfig::new(Session([8; 16])), identity);
        let eater = EaterNode::new(config, peer, &key);
        Self { number, eater, cut: BTreeSet::new(), waiting: Vec::new(), is_down: false }
    }
}

impl Endpoint for Player {
    type Command = Act;
    type Event = EaterEvent;

    fn handle_command(&mut self, now: LocalTime, act: Act) {
        match act {
            Act::Eater(command) if !self.is_down => self.eater.handle_command(now, command),
            Act::Eater(_) => {}
            Act::Cut(peers) => {
                self.cut = peers;
                for (from, bytes) in std::mem::take(&mut self.waiting) {
                    if self.cut.contains(&from) {
                        self.waiting.push((from, bytes));
                    } else if !self.is_down {
                        let _ = self.eater.handle_message(now, from, Channel::Reliable, &bytes);
                    }
                }
            }
            Act::Crash => self.is_down = true,
            Act::Restart => *self = Self::new(self.number),
        }
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        if self.is_down {
            return Ok(());
        }
        if self.cut.contains(&from) {
            if channel == Channel::Reliable {
                self.waiting.push((from, bytes.to_vec()));
            }
            return Ok(());
        }
        self.eater.handle_message(now, from, channel, bytes)
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.waiting.retain(|(from, _)| *from != change.peer());
        if !self.is_down {
            self.eater.handle_peer(now, change);
        }
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        if !self.is_down {
            self.eater.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        if self.is_down { None } else { self.eater.poll_transmit(now, bytes) }
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        if self.is_down { None } else { self.eater.poll_timeout() }
    }

    delegate_endpoint!(self.eater: poll_event);
}

fn between(draws: &mut Draws, low: i64, high: i64) -> i64 {
    low + draws.below((high - low) as u64) as i64
}

fn clock(draws: &mut Draws) -> ClockFaults {
    let step = |draws: &mut Draws| ClockStep {
        at: millis(between(draws, 2_000, QUIET - 2_000)),
        by: Span::from_millis(between(draws, -400, 400)),
    };
    let steps = if draws.chance(0.4) { vec![step(draws)] } else { Vec::new() };
    let offset = Span::from_millis(between(draws, -60, 60));
    ClockFaults { offset, skew_ppm: draws.uniform(-100.0, 100.0), steps }
}

fn link(draws: &mut Draws) -> LinkFaults {
    let mut faults = exponential(Span::from_millis(between(draws, 5, 60)), draws.uniform(0.0, 0.05));
    faults.delay.base = Span::from_millis(between(draws, 1, 30));
    if draws.chance(0.2) {
        let (good_mean, bad_mean) = (Span::from_millis(2_000), Span::from_millis(120));
        faults.loss = Loss::GilbertElliott { good_mean, bad_mean, loss_good: 0.01, loss_bad: 0.7 };
    }
    faults
}

/// A game, and what was seen of it.
struct EaterGame {
    world: World<Player>,
    players: Vec<NodeId>,
    fouls: Vec<(NodeId, Foul)>,
    evicted: u64,
}

impl EaterGame {
    fn new(seed: u64, draws: &mut Draws) -> Self {
        let mut world = World::new(Seed::new(seed));
        let count = 3 + draws.below(3) as usize;
        let players: Vec<NodeId> =
            (0..count).map(|number| world.add_node(Player::new(number), clock(draws))).collect();
        for (place, a) in players.iter().enumerate() {
            for b in &players[place + 1..] {
                world.connect(*a, *b, link(draws), link(draws));
                world.join(*a, *b, DATAGRAM_MAX);
            }
        }
        Self { world, players, fouls: Vec::new(), evicted: 0 }
    }

    fn run_until(&mut self, at: i64) {
        let (fouls, evicted) = (&mut self.fouls, &mut self.evicted);
        self.world.run_until(millis(at), &mut |_, node, event| match event {
            EaterEvent::Board(BoardEvent::Foul { foul, .. }) => fouls.push((node, foul)),
            EaterEvent::Peer(NeoEvent::Evicted { .. }) => *evicted += 1,
            _ => {}
        });
    }

    fn cut(&mut self, size: usize) {
        for (place, node) in self.players.clone().into_iter().enumerate() {
            let others = (0..self.players.len()).filter(|other| (place < size) != (*other < size));
            self.world.command(node, Act::Cut(others.map(|other| PeerId(other as u32)).collect()));
        }
    }

    fn relink(&mut self, who: NodeId, is_up: bool) {
        for other in self.players.clone().into_iter().filter(|other| *other != who) {
            if is_up {
                self.world.join(who, other, DATAGRAM_MAX);
            } else {
                self.world.leave(who, other);
            }
        }
    }

    /// Partitions, and a crash with a restart, one after the other in any order.
    fn befall(&mut self, draws: &mut Draws) {
        let partition = between(draws, 2_000, 8_000);
        let crash = between(draws, 9_000, 14_000);
        let size = 1 + draws.below(self.players.len() as u64 - 1) as usize;
        self.run_until(partition);
        self.cut(size);
        self.run_until(partition + between(draws, 300, 4_000));
        self.cut(0);
        self.run_until(crash.max(partition + 4_000));
        if draws.chance(0.6) {
            let who = self.players[draws.below(self.players.len() as u64) as usize];
            self.world.command(who, Act::Crash);
            let now = crash.max(partition + 4_000);
            self.run_until(now + between(draws, 100, 1_500));
            self.relink(who, false);
            self.run_until(now + between(draws, 1_600, 2_500));
            self.world.command(who, Act::Restart);
            self.relink(who, true);
        }
        self.run_until(STOP);
        for player in self.players.clone() {
            self.world.command(player, Act::Eater(EaterCommand::Steer(None)));
        }
        self.run_until(END);
    }

    fn stones(&self, player: NodeId) -> &Stones {
        self.world.node(player).eater.board().stones()
    }
}

#[test]
fn no_stone_is_eaten_twice_or_lost_under_any_fault() {
    let mut eaten = 0;
    for seed in 0..24 {
        let mut draws = Seed::new(seed).child(1).draws();
        let mut game = EaterGame::new(seed, &mut draws);
        game.befall(&mut draws);
        assert_eq!(game.evicted, 0, "game {seed}");
        let first = game.stones(game.players[0]);
        let (gone, unknown) = first.gone();
        eaten += gone;
        assert_eq!(unknown, 0, "game {seed}: a stone is gone, and nobody has it: {:?}", game.fouls);
        for player in &game.players {
            let stones = game.stones(*player);
            assert_eq!(stones.gone(), (gone, 0), "game {seed}: {player:?} knows of other stones");
            assert_eq!(stones.scores(), first.scores(), "game {seed}: {player:?} counts otherwise");
            let scored: u32 = stones.scores().iter().map(|(_, score)| score).sum();
            assert_eq!(u64::from(scored), gone, "game {seed}: a stone has two eaters");
            for slot in 0..12 {
                assert!(stones.claims(slot, 0).eq(first.claims(slot, 0)), "game {seed}: slot {slot}");
            }
        }
    }
    assert!(eaten > 1_000, "{eaten} stones were eaten");
}
