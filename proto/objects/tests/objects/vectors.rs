//! A session of one player, message by message, against which clients in other languages are tested: `vectors/objects.json`.
//! With `EVENKEEL_BLESS=1` in the environment, this test writes it.

use std::fs;
use std::path::PathBuf;

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Seed, Span, Vec3};
use evenkeel_objects::{
    Call, Delivery, GameMessage, LOCAL_MIN, Object, ObjectCommand, ObjectEvent, ObjectId, ObjectPeer,
    ObjectPeerConfig, ObjectRoom, ObjectRoomConfig, Owner, Target,
};
use serde_json::{Value, json};

use crate::net::{Board, GAME, Note, RELAY, Ship, note};

const ADA: PeerId = PeerId(1);
const TICK: Span = Span::from_millis(20);
const SHIP: u32 = ObjectId::of(ADA, LOCAL_MIN + 5).0;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const fn channel_name(channel: Channel) -> &'static str {
    match channel {
        Channel::Datagram => "datagram",
        Channel::Reliable => "reliable",
    }
}

/// What the player does at a step: the command, and the same as a client in another language is asked.
fn deed(step: i64) -> Option<(ObjectCommand, Value)> {
    let object = ObjectId(SHIP);
    let ship = Ship { name: "Ada ✓".into(), colour: 1, health: 0, load: vec![1, 300, 70_000] };
    let tell = |delivery, party, json: Value, number| {
        let call = Call { delivery, party, kind: Note::KIND, bytes: note(number).to_bytes() };
        (ObjectCommand::Call(call), json)
    };
    Some(match step {
        2 => {
            let json = json!({ "do": "create", "id": SHIP, "kind": "Ship",
                "values": { "name": "Ada ✓", "colour": 1, "load": [1, 300, 70_000] } });
            (ObjectCommand::Create { object, kind: Ship::KIND, values: ship.values() }, json)
        }
        12 | 14 => {
            let json = json!({ "do": "set", "id": SHIP, "values": { "colour": step } });
            (ObjectCommand::Set { object, values: vec![(1, vec![step as u8].into())] }, json)
        }
        16 => tell(
            Delivery::ReliableOrdered,
            Target::Room,
            json!({ "do": "tell", "to": { "to": "room" }, "delivery": "ordered", "number": 16 }),
            16,
        ),
        18 => tell(
            Delivery::Quickest,
            Target::Server,
            json!({ "do": "tell", "to": { "to": "server" }, "delivery": "quickest", "number": 18 }),
            18,
        ),
        20 => tell(
            Delivery::MostRecent,
            Target::Player(PeerId(2)),
            json!({ "do": "tell", "to": { "to": "player", "player": 2 }, "delivery": "recent", "number": 20 }),
            20,
        ),
        22 => tell(
            Delivery::ReliableUnordered,
            Target::Scope(object),
            json!({ "do": "tell", "to": { "to": "scope", "object": SHIP }, "delivery": "unordered", "number": 22 }),
            22,
        ),
        50 => {
            let json = json!({ "do": "give", "id": SHIP, "to": null });
            (ObjectCommand::Give { object, to: Owner::Server }, json)
        }
        _ => return None,
    })
}

fn rule(room: &mut ObjectRoom, step: i64) {
    let object = ObjectId(SHIP);
    match step {
        6 => drop(room.create_object(&Board { scores: vec![1, 2], title: "board".into() }, None)),
        8 => room.place(object, Vec3::ZERO),
        10 => drop(room.update(object, |ship: &mut Ship| ship.health = 900)),
        24..=26 => {
            let board = room.objects().find(|view| view.kind == Board::KIND).map(|view| view.object);
            board.map(|board| room.update(board, |board: &mut Board| board.scores.push(step as u32)));
        }
        28..33 => room.call(Call {
            delivery: Delivery::ALL[step as usize - 28],
            party: Target::Room,
            kind: Note::KIND,
            bytes: note(step as u32).to_bytes(),
        }),
        60 => drop(room.set(object, 1, &[77])),
        64 => drop(room.give(object, Owner::Player(ADA))),
        _ => {}
    }
}

/// Plays the session, and describes it.
fn session() -> Value {
    let mut room = ObjectRoom::new(&ObjectRoomConfig {
        schema: &GAME,
        server: RELAY,
        tick: TICK,
        seed: Seed::new(1),
        ..ObjectRoomConfig::default()
    });
    let config = ObjectPeerConfig { relay: RELAY, schema: &GAME, tick: TICK, seed: Seed::new(9) };
    let mut player = ObjectPeer::new(&config);
    let (mut steps, mut calls) = (Vec::new(), Vec::new());
    let mut up: Vec<(Channel, Vec<u8>)> = Vec::new();
    let mut down: Vec<(Channel, Vec<u8>)> = Vec::new();
    let mut bytes = Vec::new();
    for step in 0..80 {
        let now = LocalTime::from_nanos(0) + TICK.times(step);
        if step == 0 {
            room.handle_peer(now, PeerChange::Joined { peer: ADA, datagram_max: 1_200 });
            player.handle_peer(now, PeerChange::Joined { peer: RELAY, datagram_max: 1_200 });
        }
        let (mut heard, mut said) = (Vec::new(), Vec::new());
        for (channel, bytes) in core::mem::take(&mut down) {
            player.handle_message(now, RELAY, channel, &bytes).expect("an honest room");
            heard.push(json!([channel_name(channel), hex(&bytes)]));
        }
        let deed = deed(step).map(|(command, json)| {
            player.handle_command(now, command);
            json
        });
        player.handle_timeout(now);
        let mut said_now = Vec::new();
        while let Some((_, channel)) = player.poll_transmit(now, &mut bytes) {
            said.push(json!([channel_name(channel), hex(&bytes)]));
            // Two datagrams up are lost.
            if !(channel == Channel::Datagram && matches!(step, 12 | 18)) {
                said_now.push((channel, bytes.clone()));
            }
        }
        while let Some(event) = player.poll_event() {
            if let ObjectEvent::Call { delivery, bytes, .. } = event {
                let delivery = ["ordered", "unordered", "unreliable", "recent", "quickest"]
                    [Delivery::ALL.iter().position(|one| *one == delivery).expect("one of them")];
                calls.push(json!([delivery, Note::from_bytes(&bytes).expect("a note").number]));
            }
        }
        for (channel, bytes) in core::mem::replace(&mut up, said_now) {
            room.handle_message(now, ADA, channel, &bytes).expect("an honest player");
        }
        rule(&mut room, step);
        room.handle_timeout(now);
        while let Some((_, channel)) = room.poll_transmit(now, &mut bytes) {
            // One datagram down is lost.
            if !(channel == Channel::Datagram && step == 25) {
                down.push((channel, bytes.clone()));
            }
        }
        while room.poll_event().is_some() {}
        steps.push(json!({ "step": step, "heard": heard, "deed": deed, "said": said }));
    }
    let objects: Vec<Value> = player.objects().map(|(id, kind, owner, values)| {
        let owner = owner.player().map(|peer| peer.0);
        json!({ "id": id.0, "kind": kind, "owner": owner, "values": values.iter().map(|value| hex(value)).collect::<Vec<_>>() })
    }).collect();
    let instance = Seed::new(9).child(0x696e_7374_616e_6365).draws().bits() as i64;
    json!({ "schema": GAME.description(), "instance": instance.to_string(), "tick": TICK.as_nanos(), "steps": steps,
        "objects": objects, "calls": calls })
}

#[test]
fn the_file_matches_the_code() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/objects.json");
    let expected = serde_json::to_string_pretty(&session()).expect("serializable") + "\n";
    if std::env::var("EVENKEEL_BLESS").is_ok_and(|bless| bless == "1") {
        fs::write(&path, &expected).expect("a writable file");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "vectors/objects.json differs from what the code produces. If the format is meant to change, run this test with \
         EVENKEEL_BLESS=1"
    );
    let file: Value = serde_json::from_str(&found).expect("JSON");
    assert_eq!(file["calls"].as_array().map(Vec::len), Some(5), "each guarantee once");
}
