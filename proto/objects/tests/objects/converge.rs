//! After quiet, every copy in scope equals its owner's object, and no reliable message is lost, doubled or out of order.

use evenkeel_core::{Span, Vec3};
use evenkeel_objects::{
    Area, Call, Delivery, GameMessage, Object, ObjectCommand, ObjectRoomConfig, Owner, Target,
};
use proptest::prelude::*;

use crate::net::{Board, Faults, Net, Note, Ship, id, note, peer};

const PLAYERS: usize = 3;

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Create(usize, u32),
    Set(usize, u32, u8),
    Rule(usize, u32, u16),
    Destroy(usize, u32),
    Give(usize, u32, usize),
    Take(usize, u32),
    Move(usize, u32, f64),
    Board(u32),
    Say(usize, usize),
    Tell(usize),
    Flap(usize),
    Wait(i64),
}

fn deed() -> impl Strategy<Value = Deed> {
    let (player, local) = (0..PLAYERS, 0..3u32);
    prop_oneof![
        3 => (player.clone(), local.clone()).prop_map(|(a, b)| Deed::Create(a, b)),
        6 => (player.clone(), local.clone(), any::<u8>()).prop_map(|(a, b, c)| Deed::Set(a, b, c)),
        3 => (player.clone(), local.clone(), any::<u16>()).prop_map(|(a, b, c)| Deed::Rule(a, b, c)),
        1 => (player.clone(), local.clone()).prop_map(|(a, b)| Deed::Destroy(a, b)),
        2 => (player.clone(), local.clone(), player.clone()).prop_map(|(a, b, c)| Deed::Give(a, b, c)),
        1 => (player.clone(), local.clone()).prop_map(|(a, b)| Deed::Take(a, b)),
        4 => (player.clone(), local, -60.0..60.0).prop_map(|(a, b, c)| Deed::Move(a, b, c)),
        1 => any::<u32>().prop_map(Deed::Board),
        6 => (player.clone(), 0..3usize).prop_map(|(a, b)| Deed::Say(a, b)),
        2 => player.clone().prop_map(Deed::Tell),
        1 => player.prop_map(Deed::Flap),
        6 => (5i64..200).prop_map(Deed::Wait),
    ]
}

const RELIABLE: [Delivery; 3] = [Delivery::ReliableOrdered, Delivery::ReliableUnordered, Delivery::Quickest];

fn ship(name: &str) -> Ship {
    Ship { name: name.into(), colour: 1, health: 0, load: vec![1, 2] }
}

/// What was said, per guarantee and receiver.
type Said = [Vec<Vec<u32>>; 3];

fn act(net: &mut Net, deed: Deed, number: u32, said: &mut Said) {
    match deed {
        Deed::Create(seat, local) => {
            net.create(seat, local, &ship("a"));
        }
        Deed::Set(seat, local, value) => {
            // Whoever owns it now writes; the machine ignores everybody else.
            for writer in 0..PLAYERS {
                net.set(writer, id(seat, local), 1, vec![value].into());
            }
        }
        Deed::Rule(seat, local, health) => {
            net.room.update(id(seat, local), |ship: &mut Ship| ship.health = health);
        }
        Deed::Destroy(seat, local) => {
            let object = id(seat, local);
            (0..PLAYERS).for_each(|owner| net.command(owner, ObjectCommand::Destroy { object }));
        }
        Deed::Give(seat, local, to) => {
            let (object, to) = (id(seat, local), Owner::Player(peer(to)));
            (0..PLAYERS).for_each(|owner| net.command(owner, ObjectCommand::Give { object, to }));
        }
        Deed::Take(seat, local) => {
            net.room.give(id(seat, local), Owner::Server);
        }
        Deed::Move(seat, local, x) => net.room.place(id(seat, local), Vec3::xy(x, 0.0)),
        Deed::Board(score) => {
            let board = Board { scores: vec![score], title: "board".into() };
            let known = net.room.objects().find(|view| view.kind == Board::KIND).map(|view| view.object);
            match known {
                Some(known) => drop(net.room.update(known, |board: &mut Board| board.scores.push(score))),
                None => drop(net.room.create_object(&board, None)),
            }
        }
        Deed::Say(seat, kind) => {
            net.call(seat, Target::Room, RELIABLE[kind], &note(number));
            (0..PLAYERS).filter(|to| *to != seat).for_each(|to| said[kind][to].push(number));
        }
        Deed::Tell(to) => {
            let call = Call {
                delivery: Delivery::ReliableOrdered,
                party: Target::Player(peer(to)),
                kind: Note::KIND,
                bytes: note(number).to_bytes(),
            };
            net.room.call(call);
            said[0][to].push(number);
        }
        Deed::Flap(seat) => {
            net.leave(seat);
            net.run(30);
            net.join(seat);
        }
        Deed::Wait(millis) => net.run(millis),
    }
    net.drain();
}

fn assert_converges(deeds: &[Deed], seed: u64) {
    let area = Area::Radius { enter: 30.0, leave: 36.0 };
    let config = ObjectRoomConfig { area, review: Span::from_millis(50), ..ObjectRoomConfig::default() };
    let mut net = Net::new(config, PLAYERS, seed);
    net.faults = Faults::BAD;
    net.run(400);
    let mut said: Said = std::array::from_fn(|_| vec![Vec::new(); PLAYERS]);
    for (number, deed) in deeds.iter().enumerate() {
        act(&mut net, *deed, number as u32, &mut said);
    }
    net.run(30_000);
    net.assert_settled();
    for (kind, delivery) in RELIABLE.into_iter().enumerate() {
        for (seat, expected) in said[kind].iter().enumerate() {
            let mut heard = net.notes(seat, delivery);
            let mut expected = expected.clone();
            // Each sender's order is kept; that between senders is the server's.
            heard.sort_unstable();
            expected.sort_unstable();
            assert_eq!(heard, expected, "{delivery:?} at player {seat}");
        }
    }
    for seat in 0..PLAYERS {
        let heard = net.notes(seat, Delivery::ReliableOrdered);
        for from in 0..PLAYERS {
            let of = |number: &u32| matches!(deeds[*number as usize], Deed::Say(by, 0) if by == from);
            let ordered: Vec<u32> = heard.iter().copied().filter(of).collect();
            assert!(ordered.is_sorted(), "{ordered:?} from {from} at {seat}");
        }
    }
    assert_eq!(net.rejected, 0, "no machine rejects what another sends");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn copies_converge_and_reliable_messages_arrive_once(
        deeds in prop::collection::vec(deed(), 1..60),
        seed in any::<u64>(),
    ) {
        assert_converges(&deeds, seed);
    }
}
