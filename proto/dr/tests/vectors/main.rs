//! The files in `vectors/` are what this code says and understands, so that a client in another language can be held
//! against them without this code. With `EVENKEEL_BLESS=1` in the environment they are written anew.

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

/// The document as its file should be.
fn text(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("the document has no maps with odd keys") + "\n"
}

/// What the files should hold.
fn documents() -> [(&'static str, String); 2] {
    let wire = json::WireFile { version: VERSION, messages: messages::all(), refused: refused::all() };
    [("wire.json", text(&wire)), ("motion.json", text(&motion::file()))]
}

/// The text of a file; the first to ask has all of them written, if that is wanted.
fn content(name: &str) -> String {
    static BLESSED: Once = Once::new();
    BLESSED.call_once(|| {
        if std::env::var("EVENKEEL_BLESS").is_ok_and(|bless| bless == "1") {
            for (name, text) in documents() {
                fs::write(path(name), text).expect("the file can be written");
            }
        }
    });
    fs::read_to_string(path(name)).unwrap_or_default()
}

fn read(name: &str) -> Value {
    serde_json::from_str(&content(name)).expect("the file is JSON")
}

fn unhex(value: &Value) -> Vec<u8> {
    let hex = value.as_str().expect("hex is text");
    assert!(hex.is_ascii() && hex.len().is_multiple_of(2), "{hex}");
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("it is hex")).collect()
}

fn list<'a>(document: &'a Value, key: &str) -> &'a [Value] {
    document[key].as_array().expect("it is a list")
}

#[test]
fn the_files_are_what_the_code_produces() {
    for (name, expected) in documents() {
        let found = content(name);
        let differs = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
        let line = 1 + differs.unwrap_or(found.lines().count().min(expected.lines().count()));
        assert!(
            found == expected,
            "vectors/{name} is not what the code produces from line {line} on: if the format is meant to change, \
             run this test with EVENKEEL_BLESS=1"
        );
    }
}

#[test]
fn every_message_of_the_file_means_what_the_file_says() {
    let file = read("wire.json");
    for message in list(&file, "messages") {
        let bytes = unhex(&message["hex"]);
        let (header, frames) = frames(&bytes).unwrap_or_else(|why| panic!("{}: {why}", message["name"]));
        let content = json::Content::new(header, frames.map(json::FrameJson::from).collect());
        let found = serde_json::to_value(content).expect("it is JSON");
        assert_eq!(found, message["content"], "{}", message["name"]);
    }
}

#[test]
fn every_refused_message_of_the_file_is_refused_for_its_reason() {
    let file = read("wire.json");
    for message in list(&file, "refused") {
        let reason = match frames(&unhex(&message["hex"])).err() {
            None => panic!("{} is taken", message["name"]),
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
fn whatever_is_cut_off_is_refused_or_ends_between_two_frames() {
    for message in list(&read("wire.json"), "messages") {
        let bytes = unhex(&message["hex"]);
        let whole = frames(&bytes).expect("it is a message").1.count();
        let shorter = (0..bytes.len()).filter(|len| frames(&bytes[..*len]).is_ok()).count();
        assert_eq!(shorter, whole, "{}", message["name"]);
    }
}

#[test]
fn the_example_of_the_document_is_a_message_of_the_file() {
    let document = fs::read_to_string(path("../docs/WIRE.md")).expect("the document is there");
    let example = document.split("```").nth(1).expect("it has an example").replace('\n', "");
    let file = read("wire.json");
    assert!(list(&file, "messages").iter().any(|message| message["hex"] == example.as_str()), "{example}");
}
