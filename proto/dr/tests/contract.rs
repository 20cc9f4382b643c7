//! The machines keep the endpoint contract under a hostile schedule, whatever their applications do.

use evenkeel_core::contract::check;
use evenkeel_core::{Draws, Endpoint, LocalTime, PeerId, Seed, Span, Vec3};
use evenkeel_dr::{
    Budget, Content, DrCommand, DrConfig, DrEvent, DrPeer, DrRelay, EntityId, MotionState, PairWeight,
    PolicyKind, RelayCommand, Threshold, Topology,
};

const STEPS: usize = 2_500;

/// A machine of a room with a relay: all nodes of a test have one type.
enum Node {
    Peer(Box<DrPeer>),
    Relay(Box<DrRelay>),
}

#[derive(Clone)]
enum Command {
    Peer(DrCommand),
    Relay(RelayCommand),
}

impl Endpoint for Node {
    type Command = Command;
    type Event = DrEvent;

    fn handle_command(&mut self, now: LocalTime, command: Command) {
        match (self, command) {
            (Self::Peer(peer), Command::Peer(command)) => peer.handle_command(now, command),
            (Self::Relay(relay), Command::Relay(command)) => relay.handle_command(now, command),
            _ => unreachable!("commands match their nodes"),
        }
    }

    evenkeel_core::delegate_endpoint!(match self { Peer, Relay });
}

fn policy(draws: &mut Draws) -> PolicyKind {
    let all = PolicyKind::all();
    all[draws.below(all.len() as u64) as usize]
}

/// A usual number, or now and then an insane one.
fn number(draws: &mut Draws) -> f64 {
    match draws.below(60) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => 1e300,
        3 => 1e9,
        4 => -1e-300,
        _ => draws.uniform(-30.0, 30.0),
    }
}

fn state(draws: &mut Draws) -> MotionState {
    let mut vector = || Vec3::new(number(draws), number(draws), number(draws));
    let (position, velocity, acceleration) = (vector(), vector(), vector());
    MotionState { position, velocity, acceleration, turn_rate: number(draws) }
}

fn budget(draws: &mut Draws) -> Budget {
    Budget::new([0.0, 0.5, 1.0, 3.0, 1e9][draws.below(5) as usize]).expect("a valid budget")
}

fn peer_command(node: usize, draws: &mut Draws) -> DrCommand {
    // Ids of different owners overlap a little, as with hostile owners.
    let entity = EntityId(3 * node as u32 + draws.below(4) as u32);
    match draws.below(30) {
        0 => DrCommand::End { entity },
        3 => DrCommand::Policy(RelayCommand::Weigh {
            entity,
            receiver: PeerId(draws.below(5) as u32),
            weight: PairWeight::new(draws.uniform(0.0, 2.0)).expect("a valid weight"),
        }),
        1 => DrCommand::Policy(RelayCommand::Switch { policy: policy(draws), budget: budget(draws) }),
        2 => DrCommand::ObserveAll {
            states: (0..3).map(|next| (EntityId(entity.0 + next), state(draws))).collect(),
        },
        _ => DrCommand::Observe { entity, state: state(draws) },
    }
}

fn config(topology: Topology, seed: u64) -> DrConfig {
    let mut draws = Seed::new(seed).draws();
    DrConfig {
        topology,
        threshold: Threshold { distance: 0.5, time: draws.chance(0.5).then_some(Span::from_millis(300)) },
        kind: Content::ALL[draws.below(5) as usize],
        policy: policy(&mut draws),
        tick: if draws.chance(0.5) { Span::from_millis(20) } else { Span::ZERO },
        seed: Seed::new(seed),
        ..DrConfig::default()
    }
}

#[test]
fn peers_that_send_to_each_other_keep_the_contract_under_every_policy() {
    for (seed, policy) in PolicyKind::all().into_iter().enumerate() {
        let config = DrConfig { policy, ..config(Topology::Direct, seed as u64) };
        check(seed as u64, STEPS, 3, |_| DrPeer::new(&config), peer_command);
    }
}

#[test]
fn peers_and_their_relay_keep_the_contract() {
    const RELAY: usize = 0;
    for seed in 0..12 {
        let config = config(Topology::Relay(PeerId(RELAY as u32)), seed);
        let build = |node| match node {
            RELAY => Node::Relay(Box::new(DrRelay::new(&config))),
            _ => Node::Peer(Box::new(DrPeer::new(&config))),
        };
        check(seed, STEPS, 4, build, |node, draws| match node {
            RELAY => Command::Relay(RelayCommand::Switch { policy: policy(draws), budget: budget(draws) }),
            _ => Command::Peer(peer_command(node, draws)),
        });
    }
}

#[test]
fn relays_that_treat_each_other_as_players_keep_the_contract() {
    for seed in 0..6 {
        let config = config(Topology::Direct, seed);
        check(
            seed,
            STEPS,
            3,
            |_| DrRelay::new(&config),
            |_, draws| RelayCommand::Switch { policy: policy(draws), budget: budget(draws) },
        );
    }
}
