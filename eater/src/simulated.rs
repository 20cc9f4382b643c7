//! The same peers in the simulator: what real processes are compared with.

use evenkeel_core::{LocalTime, Seed, Span};
use evenkeel_games::eater::{EaterEvent, EaterNode, EaterNodeConfig, EaterPlayer, Forager};
use evenkeel_link::{ClockFaults, LinkFaults, TrueTime};
use evenkeel_neo::{Identity, NeoConfig, NeoEvent, NeoPeer, Session};
use evenkeel_p2p::SessionId;
use evenkeel_sim::{NodeId, World};

use crate::cheater::Machine;
use crate::config::game_of;
use crate::meters::{Meters, Window};

/// What is not counted, while clocks settle.
const WARM_UP: Span = Span::from_secs(10);
const DATAGRAM_MAX: usize = 1_120;

/// Lets this many peers play in the simulator, with such faults in each direction, and returns what all measured together.
#[must_use]
pub fn simulate(peers: u8, faults: &LinkFaults, play: Span, seed: Seed) -> Window {
    let session = SessionId([7; 16]);
    let neo = NeoConfig::new(Session(session.0));
    let mut world = World::new(seed);
    let nodes: Vec<NodeId> = (0..peers)
        .map(|number| {
            let identity = Identity::from_secret([number + 1; 32]);
            let key = identity.key();
            let machine = Machine::Honest(Box::new(NeoPeer::new(&neo, identity)));
            let player = EaterPlayer::Bot(Forager::new(seed.child(number.into())));
            let config = EaterNodeConfig { game: game_of(session), has_areas: false, player };
            world.add_node(EaterNode::new(config, machine, &key), ClockFaults::default())
        })
        .collect();
    for (place, a) in nodes.iter().enumerate() {
        for b in &nodes[place + 1..] {
            world.connect(*a, *b, faults.clone(), faults.clone());
            world.join(*a, *b, DATAGRAM_MAX);
        }
    }
    let mut meters = Meters::default();
    let begin = TrueTime::default() + WARM_UP;
    world.run_until(begin + play, &mut |at: TrueTime, _: NodeId, event: EaterEvent| {
        if at < begin {
            return;
        }
        let now = LocalTime::from_nanos(at.as_nanos());
        match event {
            EaterEvent::Peer(NeoEvent::Played(played)) => meters.handle_played(now, &played),
            EaterEvent::Peer(NeoEvent::Unused { reason, .. }) => meters.handle_unused(now, reason),
            _ => {}
        }
    });
    meters.total()
}
