//! The files in `vectors/`, against which clients in other languages are tested, match this code. With
//! `EVENKEEL_BLESS=1` in the environment, this test writes them.

mod json;
mod messages;
mod motion;
mod refused;

use std::fs;
use std::path::PathBuf;
use std::sync::Once;

use evenkeel_core::Malformed;
use evenkeel_dr::message::{VERSION, frames};
use serde::Serialize;
use serde_json::Value;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(name)
}

/// The text of a document's file.
fn text(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("serializable") + "\n"
}

/// The names and texts of all files, as this code produces them.
fn documents() -> [(&'static str, String); 2] {
    let wire = json::WireFile { version: VERSION, messages: messages::all(), refused: refused::all() };
    [("wire.json", text(&wire)), ("motion.json", text(&motion::file()))]
}

/// The text of a file. The first call writes all files if they are to be blessed.
fn content(name: &str) -> String {
    static BLESSED: Once = Once::new();
    BLESSED.call_once(|| {
        if std::env::var("EVENKEEL_BLESS").is_ok_and(|bless| bless == "1") {
            for (name, text) in documents() {
                fs::write(path(name), text).expect("a writable file");
            }
        }
    });
    fs::read_to_string(path(name)).unwrap_or_default()
}

fn read(name: &str) -> Value {
    serde_json::from_str(&content(name)).expect("JSON")
}

fn unhex(value: &Value) -> Vec<u8> {
    let hex = value.as_str().expect("text");
    assert!(hex.is_ascii() && hex.len().is_multiple_of(2), "{hex}");
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}

fn list<'a>(document: &'a Value, key: &str) -> &'a [Value] {
    document[key].as_array().expect("a list")
}

#[test]
fn the_files_match_the_code() {
    for (name, expected) in documents() {
        let found = content(name);
        let differs = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
        let line = 1 + differs.unwrap_or(found.lines().count().min(expected.lines().count()));
        assert!(
            found == expected,
            "vectors/{name} differs from what the code produces, from line {line} on. If the format is meant to \
             change, run this test with EVENKEEL_BLESS=1"
        );
    }
}

#[test]
fn every_message_parses_to_its_content() {
    let file = read("wire.json");
    for message in list(&file, "messages") {
        let bytes = unhex(&message["hex"]);
        let (header, frames) = frames(&bytes).unwrap_or_else(|why| panic!("{}: {why}", message["name"]));
        let content = json::Content::new(header, frames.map(json::FrameJson::from).collect());
        let found = serde_json::to_value(content).expect("JSON");
        assert_eq!(found, message["content"], "{}", message["name"]);
    }
}

#[test]
fn every_refused_message_is_rejected_for_its_reason() {
    let file = read("wire.json");
    for message in list(&file, "refused") {
        let reason = match frames(&unhex(&message["hex"])).err() {
            None => panic!("{} is accepted", message["name"]),
            Some(Malformed::Truncated) => "truncated",
            Some(Malformed::UnknownTag(_)) => "unknown tag",
            Some(Malformed::Version { .. }) => "version",
            Some(Malformed::Field) => "field",
            Some(Malformed::TrailingBytes) => "trailing bytes",
        };
        assert_eq!(reason, message["reason"], "{}", message["name"]);
    }
}

#[test]
fn truncated_messages_are_rejected_unless_cut_between_two_frames() {
    for message in list(&read("wire.json"), "messages") {
        let bytes = unhex(&message["hex"]);
        let whole = frames(&bytes).expect("a valid message").1.count();
        let shorter = (0..bytes.len()).filter(|len| frames(&bytes[..*len]).is_ok()).count();
        assert_eq!(shorter, whole, "{}", message["name"]);
    }
}

#[test]
fn the_example_in_the_wire_document_is_in_the_file() {
    let document = fs::read_to_string(path("../docs/WIRE.md")).expect("docs/WIRE.md");
    let example = document.split("```").nth(1).expect("an example").replace('\n', "");
    let file = read("wire.json");
    assert!(list(&file, "messages").iter().any(|message| message["hex"] == example.as_str()), "{example}");
}
