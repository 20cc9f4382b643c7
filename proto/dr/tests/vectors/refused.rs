//! Bytes that are rejected, each for one reason.

use evenkeel_core::{Varint, Wire};
use evenkeel_dr::message::{self, Header};

use crate::json::{Refused, hex};
use crate::messages::{NONCE, STAMP};

const TRUNCATED: &str = "truncated";
const UNKNOWN_TAG: &str = "unknown tag";
const VERSION: &str = "version";
const FIELD: &str = "field";

/// A position, velocity, acceleration and turn rate of zero.
const STATE: [&[u8]; 4] =
    [&[0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[0xc0, 0, 0, 0, 0, 0, 0], &[0xc0, 0, 0, 0, 0, 0, 0], &[0; 3]];
const INFINITE: [u8; 10] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];

fn refused(name: &'static str, reason: &'static str, bytes: &[u8]) -> Refused {
    Refused { name, reason, hex: hex(bytes) }
}

/// A header followed by these parts.
fn message(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Header { nonce: NONCE, stamp: Some(STAMP) }.emit(message::VERSION, &mut bytes);
    bytes.extend(parts.concat());
    bytes
}

/// A header without a session time, followed by these parts.
fn timeless(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Header { nonce: NONCE, stamp: None }.emit(message::VERSION, &mut bytes);
    bytes.extend(parts.concat());
    bytes
}

fn stamped(stamp: i64) -> Vec<u8> {
    let mut bytes = vec![1, 0, 0, 0, 0];
    stamp.emit(&mut bytes);
    bytes
}

fn varint(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    Varint(value).emit(&mut bytes);
    bytes
}

/// A linear vector frame with these numbers (entity, first, position in its life / 32, age) and this state.
fn vector(numbers: &[u8], state: [&[u8]; 4]) -> Vec<u8> {
    message(&[&[0x80], numbers, &state.concat()])
}

/// A valid vector frame, except for this part of its state.
fn with(part: usize, bytes: &[u8]) -> Vec<u8> {
    let mut state = STATE;
    state[part] = bytes;
    vector(&[5, 17, 0, 24], state)
}

fn headers() -> Vec<Refused> {
    vec![
        refused("no bytes at all", TRUNCATED, &[]),
        refused("a version alone", TRUNCATED, &[1]),
        refused("the header lacks a byte", TRUNCATED, &message(&[])[..12]),
        refused("version 0", VERSION, &[&[0], &message(&[])[1..]].concat()),
        refused("version 2", VERSION, &[&[2], &message(&[])[1..]].concat()),
        refused("another version alone", VERSION, &[255]),
        refused("a stamp after the last", FIELD, &stamped((1 << 60) + 1)),
        refused("a stamp before the first", FIELD, &stamped(-(1 << 60) - 1)),
        refused(
            "a vector without a session time",
            FIELD,
            &timeless(&[&[0x80, 5, 17, 0, 24], &STATE.concat()]),
        ),
        refused("a record without a session time", FIELD, &timeless(&[&[0x30, 1, 2, 3]])),
        refused("an unknown tag without a session time", FIELD, &timeless(&[&[0x99]])),
    ]
}

fn tags() -> Vec<Refused> {
    let tag = |name, tag: u8| refused(name, UNKNOWN_TAG, &message(&[&[tag], &[0; 40]]));
    vec![
        tag("tag 0x00", 0x00),
        tag("tag 0x0f", 0x0f),
        tag("tag 0x13", 0x13),
        tag("tag 0x15", 0x15),
        tag("tag 0x1f", 0x1f),
        tag("tag 0x23", 0x23),
        tag("tag 0x32", 0x32),
        tag("tag 0x41", 0x41),
        tag("tag 0x7f", 0x7f),
        refused(
            "a clock frame that is neither probe nor echo",
            UNKNOWN_TAG,
            &message(&[&[0x40, 2], &[0; 20]]),
        ),
        refused("a byte behind the last frame", UNKNOWN_TAG, &message(&[&[0x30, 1, 2, 3], &[0]])),
    ]
}

fn numbers() -> Vec<Refused> {
    let whole = vector(&[5, 17, 0, 24], STATE);
    let over = [0x80, 0x80, 0x80, 0x80, 0x10];
    let recorded = |entity: &[u8]| message(&[&[0x30], entity, &[2, 3]]);
    vec![
        refused("a tag without its frame", TRUNCATED, &message(&[&[0x30]])),
        refused("a varint that goes on behind the end", TRUNCATED, &message(&[&[0x30, 0x80]])),
        refused("a vector that lacks a byte", TRUNCATED, &whole[..whole.len() - 1]),
        refused("a varint that is not the shortest: nought in two bytes", FIELD, &recorded(&[0x80, 0x00])),
        refused("a varint that is not the shortest: 127 in three", FIELD, &recorded(&[0xff, 0x80, 0x00])),
        refused("an entity of 33 bits", FIELD, &recorded(&over)),
        refused("a varint of 65 bits", FIELD, &message(&[&[0x21], &[0xff; 9], &[0x02, 0, 0]])),
        refused("a varint of eleven bytes", FIELD, &message(&[&[0x21], &[0xff; 9], &[0x81, 0x00, 0, 0]])),
        refused(
            "a vector with the last of all numbers",
            FIELD,
            &vector(&[5, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 24], STATE),
        ),
        refused(
            "a vector with a number of 33 bits",
            FIELD,
            &vector(&[5, 0xe0, 0xff, 0xff, 0xff, 0x0f, 1, 24], STATE),
        ),
        refused(
            "a generation time before the first",
            FIELD,
            &vector(&[&[5, 17, 0][..], &varint(1 << 62)].concat(), STATE),
        ),
        refused(
            "a generation time beyond 64 bits",
            FIELD,
            &vector(&[&[5, 17, 0][..], &INFINITE].concat(), STATE),
        ),
        refused("an end after the last time", FIELD, &message(&[&[0x31, 5, 17], &varint((1 << 61) + 1)])),
        refused("an end beyond 64 bits", FIELD, &message(&[&[0x31, 5, 17], &INFINITE])),
        refused("an echo held for 64 bits", FIELD, &message(&[&[0x40, 1], &[0; 16], &varint(1 << 63)])),
        refused("a confirmation held for 64 bits", FIELD, &message(&[&[0x21, 1, 0], &varint(1 << 63)])),
    ]
}

fn states() -> Vec<Refused> {
    vec![
        refused("position: nought with a large exponent", FIELD, &with(0, &[0; 10])),
        refused(
            "position: a smaller exponent would do",
            FIELD,
            &with(0, &[0xec, 0, 0, 0x20, 0, 0, 0, 0, 0, 0]),
        ),
        refused(
            "position: an exponent below the least",
            FIELD,
            &with(0, &[0xbf, 0, 0, 0x40, 0, 0, 0, 0, 0, 0]),
        ),
        refused(
            "position: an exponent above the most",
            FIELD,
            &with(0, &[0x41, 0, 0, 0x40, 0, 0, 0, 0, 0, 0]),
        ),
        refused(
            "position: the number without a counterpart",
            FIELD,
            &with(0, &[0xea, 0, 0, 0x80, 0, 0, 0, 0, 0, 0]),
        ),
        refused("position: larger than 10^9", FIELD, &with(0, &[0x07, 0, 0, 0x78, 0, 0, 0, 0, 0, 0])),
        refused("velocity: a smaller exponent would do", FIELD, &with(1, &[0xf4, 0, 0x20, 0, 0, 0, 0])),
        refused("velocity: the number without a counterpart", FIELD, &with(1, &[0xf2, 0, 0x80, 0, 0, 0, 0])),
        refused("velocity: larger than 10^9", FIELD, &with(1, &[0x10, 0, 0x40, 0, 0, 0, 0])),
        refused(
            "acceleration: a smaller exponent would do",
            FIELD,
            &with(2, &[0xf4, 0, 0, 0xff, 0xff, 0, 0]),
        ),
        refused("acceleration: larger than 10^9", FIELD, &with(2, &[0x10, 0, 0, 0, 0xc0, 0, 0])),
        refused("turn rate: just above 100", FIELD, &with(3, &[0x01, 0x00, 0x64])),
        refused("turn rate: just below -100", FIELD, &with(3, &[0xff, 0xff, 0x9b])),
    ]
}

fn feedback() -> Vec<Refused> {
    let nonce = [0xef, 0xbe, 0xad, 0xde];
    let run = |ago: u8, len: u8, arrivals: &[u8]| [&nonce[..], &[ago, len], arrivals].concat();
    let feedback = |count: u8, runs: &[u8]| message(&[&[0x20, 7, 0, count], runs]);
    let two = [run(2, 1, &[3, 4]), run(2, 1, &[3, 5])].concat();
    let half = varint(u64::MAX / 2);
    let numbered = |oldest: &[u8], ahead: &[u8]| message(&[&[0x20], oldest, ahead, &[0]]);
    vec![
        refused("feedback: a run of none", FIELD, &feedback(1, &run(2, 0, &[3, 4]))),
        refused(
            "feedback: a run that is longer than the frame",
            FIELD,
            &feedback(1, &run(2, 2, &[3, 4, 3, 5])),
        ),
        refused("feedback: two runs that are one", FIELD, &feedback(2, &two)),
        refused("feedback: fewer arrivals than it says", TRUNCATED, &feedback(2, &run(2, 2, &[3, 4]))),
        refused("feedback: a number beyond the last", FIELD, &numbered(&half, &[1])),
        refused("feedback: a number beyond 64 bits", FIELD, &numbered(&half, &INFINITE)),
        refused(
            "feedback: an arrival of an entity of 33 bits",
            FIELD,
            &feedback(1, &run(2, 1, &[0x80, 0x80, 0x80, 0x80, 0x10, 4])),
        ),
    ]
}

fn introductions() -> Vec<Refused> {
    let vector = [&[0x80, 5, 17, 0, 24], &STATE.concat()[..]].concat();
    let introduce =
        |distance: f64, heartbeat: &[u8]| message(&[&[0x14], &distance.to_le_bytes(), heartbeat, &vector]);
    let whole = introduce(0.09, &[0]);
    vec![
        refused("introduce: no threshold", TRUNCATED, &message(&[&[0x14]])),
        refused("introduce: no heartbeat", TRUNCATED, &whole[..whole.len() - vector.len() - 1]),
        refused("introduce: no vector", TRUNCATED, &whole[..whole.len() - vector.len()]),
        refused(
            "introduce: another frame instead of the vector",
            UNKNOWN_TAG,
            &message(&[&[0x14], &0.09f64.to_le_bytes(), &[0], &[0x30, 1, 2, 3]]),
        ),
        refused("introduce: a threshold that is no number", FIELD, &introduce(f64::NAN, &[0])),
        refused("introduce: a threshold without end", FIELD, &introduce(f64::INFINITY, &[0])),
        refused("introduce: a threshold below nought", FIELD, &introduce(-0.5, &[0])),
        refused("introduce: a threshold of minus nought", FIELD, &introduce(-0.0, &[0])),
        refused("introduce: a heartbeat of 64 bits", FIELD, &introduce(0.09, &varint(1 << 63))),
    ]
}

pub(crate) fn all() -> Vec<Refused> {
    [headers(), tags(), numbers(), states(), feedback(), introductions()].into_iter().flatten().collect()
}
