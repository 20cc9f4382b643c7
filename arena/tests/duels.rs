//! Quick draws between bots at different network distances, in the simulator.

use evenkeel_core::{Endpoint, LocalTime, PeerId, Seed, Span, Synchronized};
use evenkeel_dr::{DrConfig, Topology};
use evenkeel_game::{GameConfig, RoomCommand};
use evenkeel_games::arena::{ArenaBot, ArenaBotConfig, ArenaRoom, DuelShot, Field, ReactionTimes, Referee};
use evenkeel_link::{ClockFaults, DelayLaw, Jitter, LinkFaults, TrueTime};
use evenkeel_sim::{NodeId, World};
use evenkeel_sync_ms::{Order, SmsCommand};

const RELAY: NodeId = NodeId(0);
/// One-way delays, in milliseconds.
const DELAYS: [i64; 4] = [200, 80, 20, 5];

enum Node {
    Room(Box<ArenaRoom<Synchronized>>),
    Bot(Box<ArenaBot<Synchronized>>),
}

impl Endpoint for Node {
    type Command = RoomCommand;
    type Event = ();

    fn handle_command(&mut self, now: LocalTime, command: RoomCommand) {
        if let Self::Room(room) = self {
            room.handle_command(now, command);
        }
    }

    fn poll_event(&mut self) -> Option<()> {
        match self {
            Self::Room(room) => room.poll_event().map(drop),
            Self::Bot(bot) => bot.poll_event().map(drop),
        }
    }

    evenkeel_core::delegate_endpoint!(match self { Room, Bot }: handle_message, handle_peer, handle_timeout, poll_transmit, poll_timeout);
}

fn config(topology: Topology) -> GameConfig {
    let mut config =
        GameConfig::from(DrConfig { topology, tick: Span::from_millis(20), ..DrConfig::default() });
    config.sync.cap = Span::from_millis(500);
    config
}

fn arena(order: Order, sync_out: bool, seed: u64) -> World<Node> {
    let mut world = World::new(Seed::new(seed));
    let room = ArenaRoom::new(&config(Topology::default()), Referee::new(Field::default(), Seed::new(seed)));
    world.add_node(Node::Room(Box::new(room)), ClockFaults::default());
    for (index, millis) in DELAYS.into_iter().enumerate() {
        let (player, relay) = (PeerId(index as u32 + 1), PeerId(0));
        let seed = Seed::new(seed).child(u64::from(player.0));
        let config = ArenaBotConfig {
            game: config(Topology::Relay(relay)),
            reactions: ReactionTimes::default(),
            player,
            relay,
            seed,
        };
        world.add_node(Node::Bot(Box::new(ArenaBot::new(&config, Synchronized))), ClockFaults::default());
        let base = Span::from_millis(millis);
        let delay = DelayLaw { base, jitter: Jitter::Uniform { half_width: base.part(10) } };
        let faults = LinkFaults { delay, ..LinkFaults::default() };
        world.connect(RELAY, NodeId(player.0), faults.clone(), faults);
        world.join(RELAY, NodeId(player.0), 1200);
    }
    world.command(RELAY, RoomCommand::Sync(SmsCommand::Switch { order, sync_out }));
    world
}

/// What became of the duels, by player: those that it won, those that its reactions earned, and those that it would have won
/// without any service.
#[derive(Debug, Default)]
struct Tally {
    won: [u32; 4],
    earned: [u32; 4],
    unaided: [u32; 4],
    duels: u32,
    /// Duels that somebody else won than who was fastest.
    wrong: u32,
}

fn play(order: Order, sync_out: bool, seed: u64, minutes: i64) -> Tally {
    let mut world = arena(order.clone(), sync_out, seed);
    let (mut tally, mut last) = (Tally::default(), 0);
    for second in (30..=60 * minutes).step_by(30) {
        world.run_until(TrueTime::from_nanos(second * 1_000_000_000), &mut |_, _, _| {});
        let Node::Room(room) = world.node(RELAY) else { unreachable!("the first node is the room") };
        let before = last;
        for duel in room.game().duels().filter(|duel| duel.number > before) {
            let count = |of: &mut [u32; 4], shot: &DuelShot| of[shot.player.0 as usize - 1] += 1;
            count(&mut tally.won, duel.winner());
            count(&mut tally.earned, duel.fastest());
            count(&mut tally.unaided, duel.first_unaided());
            tally.wrong += u32::from(duel.winner() != duel.fastest());
            tally.duels += 1;
            last = duel.number;
        }
    }
    assert_eq!(world.rejected(), 0);
    println!("{order} {sync_out} {tally:?}");
    tally
}

#[test]
fn without_the_service_the_near_win_what_others_have_earned() {
    let tally = play(Order::None, false, 1, 10);
    assert!(tally.duels > 120, "{tally:?}");
    assert_eq!((tally.won, tally.won[0]), (tally.unaided, 0), "it counts who would have won");
    assert!(10 * tally.won[3] > 6 * tally.duels, "the nearest wins most");
    let fair = tally.duels / 4;
    assert!(
        tally.earned.iter().all(|earned| earned.abs_diff(fair) < fair / 2),
        "all are equally fast: {tally:?}"
    );
}

#[test]
fn in_the_order_of_reactions_the_fastest_wins_whatever_its_distance() {
    for (sync_out, seed) in [(true, 1), (true, 2), (false, 3)] {
        let tally = play(Order::Reaction, sync_out, seed, 10);
        assert!(tally.duels > 120 && 100 * tally.wrong <= tally.duels, "{tally:?}");
        assert!(8 * tally.won[0] > tally.duels, "the farthest wins its share: {tally:?}");
        // It knows what would have been without.
        assert!(
            100 * tally.unaided[0] <= tally.duels && 10 * tally.unaided[3] > 6 * tally.duels,
            "{tally:?}"
        );
    }
}

#[test]
fn the_papers_order_is_fair_to_nearly_all() {
    let tally = play(Order::SelectWait, true, 4, 10);
    assert!(10 * tally.wrong <= tally.duels && 8 * tally.won[0] > tally.duels, "{tally:?}");
}
