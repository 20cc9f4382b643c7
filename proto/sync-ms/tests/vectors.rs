//! `vectors/sync-ms.json`, against which clients in other languages are tested, matches this code. With
//! `EVENKEEL_BLESS=1` in the environment, this test writes it. 64-bit numbers are decimal text.

use std::fs;
use std::path::PathBuf;

use evenkeel_core::{ClockFrame, Malformed, SessionTime, Span, Varint, Wire};
use evenkeel_session::Header;
use evenkeel_session::envelope::TIME_MAX;
use evenkeel_sync_ms::message::{
    ActionFrame, Frame, Moment, PART_LEN_MAX, PARTS_MAX, Part, SyncMessage, UpdateFrame, VERSION,
};
use serde_json::{Value, json};

/// Two minutes into the session.
const STAMP: SessionTime = SessionTime::from_nanos(123_456_789_012);
const HEADER: Header = Header { nonce: 0x1234_5678, stamp: Some(STAMP) };

const fn nanos(nanos: i64) -> Span {
    Span::from_nanos(nanos)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(value: &Value) -> Vec<u8> {
    let hex = value.as_str().expect("text");
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}

fn moment_json(moment: &Moment) -> Value {
    json!({ "update": moment.update, "elapsed": moment.elapsed.as_nanos().to_string() })
}

fn part_json(part: Part) -> Value {
    json!({ "index": part.index, "count": part.count })
}

fn frame_json(frame: &Frame<'_>) -> Value {
    match frame {
        Frame::Action(ActionFrame { seq, reaction, sent, part, payload }) => json!({
            "frame": "action", "seq": seq, "reaction": reaction.as_ref().map(moment_json),
            "sent": sent.map(|at| at.as_nanos().to_string()), "part": part_json(*part), "payload": hex(payload),
        }),
        Frame::Promise { next, moment } => {
            json!({ "frame": "promise", "next": next, "moment": moment_json(moment) })
        }
        Frame::Heard { update, delay } => {
            json!({ "frame": "heard", "update": update, "delay": delay.as_nanos().to_string() })
        }
        Frame::Pong(nonce) => json!({ "frame": "pong", "nonce": nonce }),
        Frame::Update(UpdateFrame { id, stamp, hold, part, payload }) => json!({
            "frame": "update", "id": id, "stamp": stamp.as_nanos().to_string(),
            "hold": hold.as_nanos().to_string(), "part": part_json(*part), "payload": hex(payload),
        }),
        Frame::Ping { heartbeat } => {
            json!({ "frame": "ping", "heartbeat": heartbeat.as_nanos().to_string() })
        }
        Frame::Clock(ClockFrame::Probe { sent }) => {
            json!({ "frame": "probe", "sent": sent.as_nanos().to_string() })
        }
        Frame::Clock(ClockFrame::Echo { probe, arrived, held }) => json!({
            "frame": "echo", "probe": probe.as_nanos().to_string(), "arrived": arrived.as_nanos().to_string(),
            "held": held.as_nanos().to_string(),
        }),
    }
}

fn content(header: Header, frames: &[Frame<'_>]) -> Value {
    let stamp = header.stamp.map(|at| at.as_nanos().to_string());
    json!({ "nonce": header.nonce, "stamp": stamp, "frames": frames.iter().map(frame_json).collect::<Vec<_>>() })
}

fn bytes(header: Header, frames: &[Frame<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    header.emit(VERSION, &mut bytes);
    frames.iter().for_each(|frame| frame.emit(header.stamp, &mut bytes));
    bytes
}

const REACTION: Moment = Moment { update: 300, elapsed: nanos(212_345_678) };
const ACTION: ActionFrame<'static> = ActionFrame {
    seq: 41,
    reaction: Some(REACTION),
    sent: Some(SessionTime::from_nanos(123_456_000_000)),
    part: Part::WHOLE,
    payload: b"fire",
};
const UPDATE: UpdateFrame<'static> = UpdateFrame {
    id: 300,
    stamp: SessionTime::from_nanos(123_456_789_000),
    hold: nanos(62_000_000),
    part: Part::WHOLE,
    payload: b"draw!",
};

fn messages() -> Vec<(&'static str, Header, Vec<Frame<'static>>)> {
    let unstamped = Header { stamp: None, ..HEADER };
    let last = Part { index: PARTS_MAX - 1, count: PARTS_MAX };
    let promise = Frame::Promise { next: 42, moment: Moment { update: 300, elapsed: nanos(228_000_000) } };
    let largest = Moment { update: u32::MAX, elapsed: nanos(TIME_MAX) };
    vec![
        ("a header alone", HEADER, vec![]),
        ("an action", HEADER, vec![Frame::Action(ACTION)]),
        (
            "an action before the first update",
            HEADER,
            vec![Frame::Action(ActionFrame { reaction: None, ..ACTION })],
        ),
        (
            "an action without a session time",
            unstamped,
            vec![Frame::Action(ActionFrame { sent: None, payload: b"", ..ACTION })],
        ),
        ("the last part of an action", HEADER, vec![Frame::Action(ActionFrame { part: last, ..ACTION })]),
        (
            "a packet of a player: an action, the one before it, a delay, a promise",
            HEADER,
            vec![
                Frame::Action(ACTION),
                Frame::Action(ActionFrame { seq: 40, sent: Some(STAMP - nanos(18_000_000)), ..ACTION }),
                Frame::Heard { update: 300, delay: nanos(31_234_567) },
                promise,
            ],
        ),
        (
            "a promise before the update was shown",
            HEADER,
            vec![Frame::Promise { next: 0, moment: Moment { update: 0, elapsed: nanos(-1) } }],
        ),
        (
            "the largest numbers",
            HEADER,
            vec![
                Frame::Promise { next: u32::MAX, moment: largest },
                Frame::Heard { update: u32::MAX, delay: nanos(-TIME_MAX) },
            ],
        ),
        ("an update", HEADER, vec![Frame::Update(UPDATE)]),
        ("an update shown at once", HEADER, vec![Frame::Update(UpdateFrame { hold: Span::ZERO, ..UPDATE })]),
        (
            "a part of an update",
            HEADER,
            vec![Frame::Update(UpdateFrame { part: Part { index: 0, count: 2 }, ..UPDATE })],
        ),
        (
            "a ping, and an update in the same datagram",
            HEADER,
            vec![Frame::Ping { heartbeat: Span::from_millis(10) }, Frame::Update(UPDATE)],
        ),
        ("a ping that asks for no heartbeat", HEADER, vec![Frame::Ping { heartbeat: Span::ZERO }]),
        ("a pong and a promise", unstamped, vec![Frame::Pong(0xfedc_ba98), promise]),
        (
            "a probe",
            unstamped,
            vec![Frame::Clock(ClockFrame::Probe { sent: evenkeel_core::LocalTime::from_nanos(987_654_321) })],
        ),
    ]
}

fn refused() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let action = |part: Part| bytes(HEADER, &[Frame::Action(ActionFrame { part, ..ACTION })]);
    let unstamped = Header { stamp: None, ..HEADER };
    let header = bytes(HEADER, &[]);
    let raw = |frame: &[u8]| [&header[..], frame].concat();
    let mut long = raw(&[0x01, 0, 41]);
    Varint(PART_LEN_MAX as u64 + 1).emit(&mut long);
    long.extend(vec![0; PART_LEN_MAX + 1]);
    let mut far = raw(&[0x03, 0]);
    Varint::signed(TIME_MAX + 1).emit(&mut far);
    let mut wrong = header.clone();
    wrong[0] = VERSION + 1;
    vec![
        ("an empty message", "truncated", Vec::new()),
        ("another version", "version", wrong),
        ("an unknown tag", "unknown tag", raw(&[0x05])),
        ("a cut action", "truncated", bytes(HEADER, &[Frame::Action(ACTION)])[..20].to_vec()),
        ("an unknown flag of an action", "field", raw(&[0x01, 8, 41, 0])),
        ("an unknown flag of an update", "field", raw(&[0x10, 1, 41, 0, 0, 0])),
        ("one part of one", "field", raw(&[0x01, 4, 41, 0, 1, 0])),
        ("a part beyond the last", "field", action(Part { index: 3, count: 3 })),
        ("too many parts", "field", action(Part { index: 0, count: PARTS_MAX + 1 })),
        ("a payload that is too long", "field", long),
        ("a delay that is too large", "field", far),
        (
            "a sending time without a stamp",
            "field",
            [&bytes(unstamped, &[])[..], &[0x01, 2, 41, 0, 0]].concat(),
        ),
        ("an update without a stamp", "field", bytes(unstamped, &[Frame::Update(UPDATE)])),
    ]
}

fn document() -> String {
    let message = |(name, header, frames): &(&str, Header, Vec<Frame<'_>>)| json!({ "name": name, "hex": hex(&bytes(*header, frames)), "content": content(*header, frames) });
    let refused: Vec<Value> = refused()
        .iter()
        .map(|(name, reason, bytes)| json!({ "name": name, "reason": reason, "hex": hex(bytes) }))
        .collect();
    let messages: Vec<Value> = messages().iter().map(message).collect();
    let document = json!({ "version": VERSION, "messages": messages, "refused": refused });
    serde_json::to_string_pretty(&document).expect("JSON") + "\n"
}

fn file() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/sync-ms.json");
    if std::env::var("EVENKEEL_BLESS").is_ok_and(|bless| bless == "1") {
        fs::write(&path, document()).expect("a writable file");
    }
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn the_file_matches_the_code_and_messages_parse_to_their_content() {
    let text = file();
    assert!(
        text == document(),
        "vectors/sync-ms.json differs from what the code produces. If the format is meant to change, run this test with \
         EVENKEEL_BLESS=1"
    );
    let file: Value = serde_json::from_str(&text).expect("JSON");
    for message in file["messages"].as_array().expect("a list") {
        let bytes = unhex(&message["hex"]);
        let parsed = SyncMessage::parse(&bytes).unwrap_or_else(|why| panic!("{}: {why}", message["name"]));
        let (header, frames) = (parsed.header(), parsed.collect::<Vec<_>>());
        assert_eq!(content(header, &frames), message["content"], "{}", message["name"]);
        let shorter = (0..bytes.len()).filter(|len| SyncMessage::parse(&bytes[..*len]).is_ok()).count();
        assert_eq!(shorter, frames.len(), "{}", message["name"]);
    }
}

#[test]
fn refused_messages_are_rejected_for_their_reason() {
    for (name, expected, bytes) in refused() {
        let reason = match SyncMessage::parse(&bytes).err() {
            None => panic!("{name} is accepted"),
            Some(Malformed::Truncated) => "truncated",
            Some(Malformed::UnknownTag(_)) => "unknown tag",
            Some(Malformed::Version { .. }) => "version",
            Some(Malformed::Field) => "field",
            Some(Malformed::TrailingBytes) => "trailing bytes",
        };
        assert_eq!(reason, expected, "{name}");
    }
}

#[test]
fn the_example_in_the_wire_document_is_in_the_file() {
    let document =
        fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/WIRE-SYNC-MS.md"));
    let example =
        document.expect("docs/WIRE-SYNC-MS.md").split("```").nth(1).expect("an example").replace('\n', "");
    let file: Value = serde_json::from_str(&file()).expect("JSON");
    let mut messages = file["messages"].as_array().expect("a list").iter();
    assert!(messages.any(|message| message["hex"] == example.as_str()), "{example}");
}
