//! The whole arena in the simulator: its room, its bots, and the links between them.

use evenkeel_arena::errors::{ErrorSnapshot, ErrorTotals};
use evenkeel_arena::{PolicyChoice, budget};
use evenkeel_core::stats::{mean, population_sd};
use evenkeel_core::{Endpoint, LocalTime, PeerId, Seed, SessionTime, Span, Synchronized, contract};
use evenkeel_dr::{Budget, DrConfig, DrRoom, EntityId, PolicyKind, RelayCommand, Topology};
use evenkeel_game::{GameConfig, RoomEvent};
use evenkeel_games::LENGTH;
use evenkeel_games::arena::{ArenaBot, ArenaBotConfig, ArenaRoom, Field, ReactionTimes, Referee};
use evenkeel_link::{ClockFaults, DelayLaw, Jitter, LinkFaults, TrueTime};
use evenkeel_sim::{NodeId, World};

const RELAY: NodeId = NodeId(0);
const DELAYS: [i64; 4] = [200, 80, 20, 5];

enum Node {
    Room(Box<ArenaRoom<Synchronized>>),
    Bot(Box<ArenaBot<Synchronized>>),
}

impl Endpoint for Node {
    type Command = RelayCommand;
    type Event = RoomEvent;

    fn handle_command(&mut self, now: LocalTime, command: RelayCommand) {
        if let Self::Room(room) = self {
            room.handle_command(now, command.into());
        }
    }

    fn poll_event(&mut self) -> Option<RoomEvent> {
        match self {
            Self::Room(room) => room.poll_event(),
            Self::Bot(bot) => bot.poll_event().map(RoomEvent::Relay),
        }
    }

    evenkeel_core::delegate_endpoint!(match self { Room, Bot }:
        handle_message, handle_peer, handle_timeout, poll_transmit, poll_timeout);
}

fn config(policy: &str) -> DrConfig {
    DrConfig {
        policy: policy.parse().expect("a policy's name"),
        budget: budget(),
        tick: Span::from_millis(20),
        ..DrConfig::default()
    }
}

fn node(index: usize, config: &DrConfig, seed: u64) -> Node {
    let (relay, player) = (PeerId(0), PeerId(index as u32));
    if index == 0 {
        let referee = Referee::new(Field::default(), Seed::new(seed));
        return Node::Room(Box::new(ArenaRoom::new(&GameConfig::from(*config), referee)));
    }
    let dr = DrConfig { topology: Topology::Relay(relay), ..*config };
    let seed = Seed::new(seed).child(u64::from(player.0));
    let config = ArenaBotConfig { game: dr.into(), reactions: ReactionTimes::default(), player, relay, seed };
    Node::Bot(Box::new(ArenaBot::new(&config, Synchronized)))
}

struct Arena {
    world: World<Node>,
    players: Vec<NodeId>,
}

impl Arena {
    fn new(policy: &str, seed: u64, delays: &[i64]) -> Self {
        let mut world = World::new(Seed::new(seed));
        world.record(b"arena", seed);
        let config = config(policy);
        for index in 0..=delays.len() {
            world.add_node(node(index, &config, seed), ClockFaults::default());
        }
        let players: Vec<NodeId> = (1..=delays.len() as u32).map(NodeId).collect();
        for (player, millis) in players.iter().zip(delays) {
            let base = Span::from_millis(*millis);
            let delay = DelayLaw { base, jitter: Jitter::Uniform { half_width: base.part(10) } };
            let faults = LinkFaults { delay, ..LinkFaults::default() };
            world.connect(RELAY, *player, faults.clone(), faults);
            world.join(RELAY, *player, 1200);
        }
        Self { world, players }
    }

    fn run_until(&mut self, millis: i64) {
        self.world.run_until(TrueTime::from_nanos(millis * 1_000_000), &mut |_, _, _| {});
    }

    fn switch(&mut self, choice: PolicyChoice) {
        let config = config(&choice.policy().to_string());
        let command = RelayCommand::Switch { policy: config.policy, budget: config.budget };
        self.world.command(RELAY, command);
    }

    fn room(&self) -> &ArenaRoom<Synchronized> {
        match self.world.node(RELAY) {
            Node::Room(room) => room,
            Node::Bot(_) => unreachable!("the first node is the room"),
        }
    }

    fn bot(&self, id: NodeId) -> &ArenaBot<Synchronized> {
        match self.world.node(id) {
            Node::Bot(bot) => bot,
            Node::Room(_) => unreachable!("the first node is the room"),
        }
    }

    /// Each player's mean error per tank over the minute from this second on, as the page shows it.
    fn errors_from(&mut self, second: i64) -> Vec<f64> {
        let peers: Vec<PeerId> = self.players.iter().map(|player| PeerId(player.0)).collect();
        let mut totals = ErrorTotals::default();
        for quarter in 0..=240 {
            self.run_until(1_000 * second + 250 * quarter);
            let session = SessionTime::from_nanos(self.world.now().as_nanos());
            totals.add(ErrorSnapshot::take(self.room().dr(), session, &peers), &peers);
        }
        totals.totals().values().map(|total| total.error / 60.0).collect()
    }
}

impl Arena {
    /// Each player's mean distance, over so many seconds, between where the others' tanks really are and where it sees
    /// them.
    fn real_errors(&mut self, seconds: i64) -> Vec<f64> {
        let mut sums = vec![(0.0, 0_u32); self.players.len()];
        let start = self.world.now().as_nanos() / 1_000_000;
        for step in 0..seconds * 20 {
            self.run_until(start + 50 * step);
            let now = SessionTime::from_nanos(self.world.now().as_nanos());
            for owner in &self.players {
                let Some(tank) = self.bot(*owner).tank() else { continue };
                let (real, entity) = (tank.state().position, EntityId::of(PeerId(owner.0), 0));
                for (place, receiver) in
                    self.players.iter().enumerate().filter(|(_, receiver)| *receiver != owner)
                {
                    let seen = self.bot(*receiver).dr().placed_vector(PeerId(0), entity);
                    let distance = seen.map(|seen| seen.project(now).distance(real));
                    sums[place].0 += distance.unwrap_or(0.0);
                    sums[place].1 += u32::from(distance.is_some());
                }
            }
        }
        sums.into_iter().map(|(sum, count)| sum / f64::from(count)).collect()
    }
}

#[test]
fn bots_stay_on_the_field_and_every_bot_hits_and_is_hit() {
    let (mut arena, field) = (Arena::new("even", 1, &DELAYS), Field::default());
    let mut driven = vec![0.0; DELAYS.len()];
    let mut before = vec![None; DELAYS.len()];
    for tenth in 1..=1_800 {
        arena.run_until(100 * tenth);
        for (place, player) in arena.players.iter().enumerate() {
            let at = arena.bot(*player).tank().map(|tank| tank.state().position);
            if let Some(at) = at {
                assert!(field.nearest_free(at).distance(at) < 1e-6, "{player:?} is at {at:?}");
            }
            if let (Some(from), Some(to)) = (before[place], at) {
                driven[place] += evenkeel_core::Vec3::distance(to, from);
            }
            before[place] = at;
        }
    }
    let scores: Vec<_> = arena.room().game().scores().map(|(_, score)| score).collect();
    println!("{scores:?} {driven:?}");
    assert_eq!(scores.len(), DELAYS.len());
    for (score, driven) in scores.iter().zip(&driven) {
        assert!(score.hits > 0 && score.losses > 0, "{scores:?}");
        assert!(*driven > 180.0 * 5.0, "{driven} units in three minutes");
    }
    let sums = scores.iter().fold((0, 0), |sums, score| (sums.0 + score.hits, sums.1 + score.losses));
    assert_eq!(sums.0, sums.1, "every hit is a loss of another player");
    let fouls = arena.players.iter().map(|player| arena.room().game().fouls(PeerId(player.0)));
    assert_eq!(fouls.sum::<u32>(), 0, "bots keep the rules");
    assert_eq!(arena.world.rejected(), 0);
}

#[test]
fn the_relay_knows_which_vector_each_player_shows() {
    let mut arena = Arena::new("base", 3, &DELAYS);
    arena.run_until(20_000);
    let now = LocalTime::from_nanos(arena.world.now().as_nanos());
    let dr = arena.room().dr();
    let mut compared = 0;
    for player in &arena.players {
        let tank = EntityId::of(PeerId(player.0), 0);
        for (by, vector) in dr.shown(now, tank) {
            assert_ne!(by, PeerId(player.0));
            let Some(placed) = arena.bot(NodeId(by.0)).dr().placed_vector(PeerId(0), tank) else { continue };
            // The relay estimates when a vector in flight arrives, so it may be off by the jitter.
            compared += 1;
            assert!(
                (vector.generated - placed.generated).abs() <= Span::from_millis(300),
                "{by:?} of {player:?}"
            );
        }
    }
    assert!(compared >= 6, "{compared}");
}

/// Four bots and, in place of a person, a fifth bot without delay.
#[test]
fn without_us_the_farthest_player_sees_a_tank_about_its_length_away_from_where_it_is() {
    let players = [&DELAYS[..], &[0]].concat();
    let mut arena = Arena::new(&PolicyChoice::Base.policy().to_string(), 2, &players);
    arena.run_until(30_000);
    let errors: Vec<f64> = arena.real_errors(60);
    println!("{errors:?}");
    assert!((0.6 * LENGTH..1.4 * LENGTH).contains(&errors[0]), "{errors:?}");
    assert!(errors.windows(2).all(|pair| pair[0] > pair[1]), "farther players see worse: {errors:?}");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let play = |seed| {
        let mut arena = Arena::new("even", seed, &DELAYS);
        arena.run_until(15_000);
        arena.world.take_transcript()
    };
    let (first, again, other) = (play(5), play(5), play(6));
    assert!(first.len() > 100_000);
    assert!(first == again, "the same seed gave other bytes");
    assert!(first != other);
}

/// Four bots and, in place of a person, a fifth bot without delay. Compares a minute under the baseline with the one from
/// 45 s to 105 s after the switch.
#[test]
fn even_leaves_at_most_a_twentieth_of_the_spread_soon_after_the_switch() {
    let players = [&DELAYS[..], &[0]].concat();
    for seed in 1..=6 {
        let mut arena = Arena::new(&PolicyChoice::Base.policy().to_string(), seed, &players);
        let baseline = population_sd(&arena.errors_from(30));
        arena.switch(PolicyChoice::Even);
        let errors = arena.errors_from(90 + 45);
        let even = population_sd(&errors);
        println!("{seed}: {errors:?} mean {} spread {even}, {baseline} under the baseline", mean(&errors));
        assert!(even <= 0.05 * baseline, "{even} {baseline}");
    }
}

#[test]
fn the_papers_best_policy_lowers_the_spread() {
    for seed in 1..=3 {
        let spread = |choice: PolicyChoice| {
            population_sd(&Arena::new(&choice.policy().to_string(), seed, &DELAYS).errors_from(30))
        };
        let [baseline, papers] = [PolicyChoice::Base, PolicyChoice::Papers].map(spread);
        assert!(papers < baseline, "{papers} {baseline}");
    }
}

#[test]
fn room_and_bots_keep_the_contract() {
    for seed in 0..4 {
        let config = config("even");
        let policies = PolicyKind::all();
        contract::check(
            seed,
            1_500,
            4,
            |index| node(index, &config, seed),
            |_, draws| RelayCommand::Switch {
                policy: policies[draws.below(policies.len() as u64) as usize],
                budget: Budget::ALL,
            },
        );
    }
}
