//! Both modules keep the endpoint contract under a hostile schedule, whatever their applications do.

use evenkeel_core::contract::check;
use evenkeel_core::{
    Draws, Endpoint, FollowerClock, LocalTime, PeerId, Seed, ServerClock, Span, delegate_endpoint,
};
use evenkeel_sync_ms::{KnownPath, Late, Order, Respective, Smc, SmcCommand, Sms, SmsCommand, SyncConfig};

const STEPS: usize = 2_500;
const SERVER: PeerId = PeerId(0);

enum Node {
    Server(Box<Sms<ServerClock>>),
    Player(Box<Smc<FollowerClock>>),
}

#[derive(Clone)]
enum Command {
    Server(SmsCommand),
    Player(SmcCommand),
}

/// What a module reports; the check discards it.
struct Event;

impl Endpoint for Node {
    type Command = Command;
    type Event = Event;

    fn handle_command(&mut self, now: LocalTime, command: Command) {
        match (self, command) {
            (Self::Server(server), Command::Server(command)) => server.handle_command(now, command),
            (Self::Player(player), Command::Player(command)) => player.handle_command(now, command),
            _ => unreachable!("commands match their nodes"),
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        match self {
            Self::Server(server) => server.poll_event().map(|_| Event),
            Self::Player(player) => player.poll_event().map(|_| Event),
        }
    }

    delegate_endpoint!(match self { Server, Player }:
        handle_message, handle_peer, handle_timeout, poll_transmit, poll_timeout);
}

fn order(draws: &mut Draws) -> Order {
    let names = ["none", "max-wait", "select-wait", "toss-wait=100:50,50:30,10:20", "reaction"];
    names[draws.below(5) as usize].parse().expect("an order")
}

fn payload(draws: &mut Draws) -> Vec<u8> {
    let len = [0, 8, 300, 3_000, 65_507, 70_000][draws.below(6) as usize];
    vec![draws.bits() as u8; len]
}

fn server_command(draws: &mut Draws) -> SmsCommand {
    let mut span = || draws.chance(0.5).then(|| Span::from_nanos(draws.bits() as i64 >> draws.below(60)));
    let known = KnownPath { down: span(), up: span(), gap: span() };
    let peer = PeerId(draws.below(5) as u32);
    match draws.below(12) {
        0 => SmsCommand::Switch { order: order(draws), sync_out: draws.chance(0.5) },
        1 => SmsCommand::Guarantee { peer, known },
        n => SmsCommand::Update { to: (n % 2 == 0).then_some(peer), reliable: n == 5, bytes: payload(draws) },
    }
}

#[test]
fn the_server_and_its_players_keep_the_contract() {
    for seed in 0..16 {
        let mut draws = Seed::new(seed).draws();
        let config = SyncConfig {
            order: order(&mut draws),
            sync_out: draws.chance(0.5),
            late: if draws.chance(0.5) { Late::Show } else { Late::Discard },
            respective: if draws.chance(0.5) { Respective::Newest } else { Respective::BeforePreviousAction },
            seed: Seed::new(seed),
            ..SyncConfig::default()
        };
        let build = |node| match node {
            0 => Node::Server(Box::new(Sms::with_clock(&config, ServerClock::default()))),
            _ => Node::Player(Box::new(Smc::with_clock(&config, SERVER, FollowerClock::new(SERVER)))),
        };
        check(seed, STEPS, 4, build, |node, draws| match node {
            0 => Command::Server(server_command(draws)),
            _ => Command::Player(SmcCommand::Act { reliable: draws.chance(0.2), bytes: payload(draws) }),
        });
    }
}
