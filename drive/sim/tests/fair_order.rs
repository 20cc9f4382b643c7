//! A room with a game on a simulated network, with clocks that agree in nothing: who reacts faster is served first, and
//! everybody sees an update at once.

use std::collections::BTreeMap;

use evenkeel_core::clock::{FollowerClock, Hull, ServerClock};
use evenkeel_core::{Endpoint, LocalTime, Malformed, PeerId, Seed, SessionTime, Span, delegate_endpoint};
use evenkeel_dr::{DrConfig, RoomEntity, Topology};
use evenkeel_game::{
    Action, GameConfig, GameLogic, GameOutbox, GamePlayer, GameRoom, PlayerCommand, PlayerEvent,
};
use evenkeel_link::{ClockFaults, DelayLaw, Jitter, LinkFaults, Loss, TrueTime};
use evenkeel_sim::{NodeId, World};
use evenkeel_sync_ms::Order;

const ROOM: NodeId = NodeId(0);
/// One-way delays in milliseconds.
const DELAYS: [i64; 3] = [100, 40, 5];
const SECONDS: i64 = 60;

/// Something to react to every half second, named by a number, and something to see 20 times a second.
#[derive(Default)]
struct Duel {
    ticks: u32,
    served: Vec<(u8, PeerId)>,
}

impl GameLogic for Duel {
    fn action(&mut self, action: &Action, _: &mut GameOutbox) -> Result<(), Malformed> {
        self.served.push((*action.bytes.first().ok_or(Malformed::Field)?, action.from));
        Ok(())
    }

    fn tick(&mut self, _: SessionTime, _: &[RoomEntity], outbox: &mut GameOutbox) {
        self.ticks += 1;
        match self.ticks % 10 {
            0 => outbox.update(None, &[b'd', (self.ticks / 10) as u8]),
            _ => outbox.update_datagram(None, b"t"),
        }
    }

    fn tick_interval(&self) -> Span {
        Span::from_millis(50)
    }
}

enum Node {
    Room(Box<GameRoom<Duel, ServerClock>>),
    Player(Box<GamePlayer<FollowerClock<Hull>>>),
}

impl Endpoint for Node {
    type Command = PlayerCommand;
    type Event = PlayerEvent;

    fn handle_command(&mut self, now: LocalTime, command: PlayerCommand) {
        if let Self::Player(player) = self {
            player.handle_command(now, command);
        }
    }

    fn poll_event(&mut self) -> Option<PlayerEvent> {
        match self {
            Self::Room(room) => room.poll_event().and(None),
            Self::Player(player) => player.poll_event(),
        }
    }

    delegate_endpoint!(match self { Room, Player }:
        handle_message, handle_peer, handle_timeout, poll_transmit, poll_timeout);
}

/// When each player saw each update, and how fast it reacted to which round.
#[derive(Default)]
struct Played {
    shown: BTreeMap<SessionTime, Vec<TrueTime>>,
    reactions: BTreeMap<(u8, PeerId), Span>,
    served: Vec<(u8, PeerId)>,
}

impl Played {
    /// Pairs of actions in one round of which the slower one was served first, of those that differ by more than this.
    fn inverted(&self, by: Span) -> (usize, usize) {
        let (mut inverted, mut pairs) = (0, 0);
        for (index, first) in self.served.iter().enumerate() {
            for then in self.served[index + 1..].iter().take_while(|then| then.0 == first.0) {
                let lead = self.reactions[then] - self.reactions[first];
                pairs += usize::from(lead.abs() > by);
                inverted += usize::from(lead < Span::ZERO && lead.abs() > by);
            }
        }
        (inverted, pairs)
    }
}

fn play(order: Order, sync_out: bool, seed: u64) -> Played {
    let dr =
        DrConfig { topology: Topology::Relay(ROOM.into()), seed: Seed::new(seed), ..DrConfig::default() };
    let mut config = GameConfig::from(dr);
    (config.sync.order, config.sync.sync_out) = (order, sync_out);
    config.sync.cap = Span::from_millis(250);
    let mut world = World::new(Seed::new(seed));
    let room = GameRoom::with_clock(&config, ServerClock::default(), Duel::default());
    world.add_node(Node::Room(Box::new(room)), ClockFaults::default());
    for (index, millis) in DELAYS.iter().enumerate() {
        let clock = FollowerClock::new(ROOM.into());
        let player = GamePlayer::with_clock(&config, ROOM.into(), clock);
        let sign = if index % 2 == 0 { 1 } else { -1 };
        let offset = Span::from_secs(sign * 3_600 * (1 + index as i64));
        let faults = ClockFaults { offset, skew_ppm: -40.0 * sign as f64, steps: Vec::new() };
        let node = world.add_node(Node::Player(Box::new(player)), faults);
        let delay = DelayLaw {
            base: Span::from_millis(*millis),
            jitter: Jitter::Exponential { mean: Span::from_millis_f64(0.5) },
        };
        let faults =
            LinkFaults { delay, loss: Loss::Independent { probability: 0.01 }, ..LinkFaults::default() };
        world.connect(ROOM, node, faults.clone(), faults);
        world.join(ROOM, node, 1_200);
    }
    let mut played = act_and_watch(&mut world, seed);
    let Node::Room(room) = world.node(ROOM) else { unreachable!("the first node is the room") };
    played.served = room.game().served.clone();
    played
}

fn act_and_watch(world: &mut World<Node>, seed: u64) -> Played {
    let mut draws = Seed::new(seed).child(7).draws();
    let mut played = Played::default();
    let mut acts: BTreeMap<(TrueTime, NodeId), (u8, TrueTime)> = BTreeMap::new();
    for millis in 0..SECONDS * 1_000 {
        let now = TrueTime::from_nanos(millis * 1_000_000);
        let mut seen = Vec::new();
        world.run_until(now, &mut |at, node, event| {
            if let PlayerEvent::Update { stamp, bytes, .. } = event {
                seen.push((at, node, stamp, bytes));
            }
        });
        for (at, node, stamp, bytes) in seen {
            played.shown.entry(stamp).or_default().push(at);
            if let [b'd', round] = bytes[..] {
                // Whole milliseconds from the next one on.
                let reaction = Span::from_millis(151 + draws.below(80) as i64);
                acts.insert((at + reaction, node), (round, at));
            }
        }
        while let Some(entry) = acts.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((_, node), (round, seen_at)) = entry.remove_entry();
            played.reactions.insert((round, node.into()), now - seen_at);
            world.command(node, PlayerCommand::Act { reliable: true, bytes: vec![round] });
        }
    }
    played
}

#[test]
fn the_fastest_reaction_is_served_first_however_far_away() {
    for seed in 0..4 {
        let played = play(Order::Reaction, true, seed);
        // Jitter and clocks leave a millisecond or two in doubt.
        let (inverted, pairs) = played.inverted(Span::from_millis(3));
        // One in a hundred updates is lost, and comes later to one player than it can prove.
        assert!(pairs > 250 && inverted * 100 <= 3 * pairs, "seed {seed}: {inverted} of {pairs}");
        let (unfair, _) = play(Order::None, false, seed).inverted(Span::from_millis(3));
        assert!(unfair * 3 > pairs, "seed {seed}: by arrival {unfair} of {pairs} go to the nearer player");
    }
}

#[test]
fn the_order_of_reactions_needs_no_sync_out() {
    let (inverted, pairs) = play(Order::Reaction, false, 5).inverted(Span::from_millis(3));
    assert!(pairs > 250 && inverted * 100 <= 3 * pairs, "{inverted} of {pairs}");
}

#[test]
fn everybody_sees_an_update_within_two_milliseconds() {
    let played = play(Order::Reaction, true, 4);
    let together = |shown: &Vec<TrueTime>| {
        let (first, last) = (shown.iter().min(), shown.iter().max());
        last.zip(first).is_some_and(|(last, first)| *last - *first <= Span::from_millis(2))
    };
    // The first seconds are for measuring.
    let whole: Vec<_> = played.shown.values().skip(100).filter(|shown| shown.len() == DELAYS.len()).collect();
    let at_once = whole.iter().filter(|shown| together(shown)).count();
    assert!(whole.len() > 1_000 && at_once * 100 >= 99 * whole.len(), "{at_once} of {}", whole.len());
}
