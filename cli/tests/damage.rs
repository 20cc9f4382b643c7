//! Damaged and incomplete recordings: `evenkeel replay` says what of them is whole, with status 2.

mod shell;

use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use shell::server::{Server, free_port};
use shell::{Folder, evenkeel};

/// Records a relay with two bots.
fn recorded(folder: &Folder, signal: &str) -> Vec<u8> {
    let port = free_port();
    folder.write("relay.toml", format!("listen = [\"127.0.0.1:{port}\"]\ntoken_key = \"k\"\n"));
    let arguments = ["relay", "--config", "relay.toml", "--record", "session.evkt"];
    let relay = Server::start(folder, &arguments, port, "API:");
    let arguments = ["token", "--room", "arena", "--name", "bot", "--seats", "2", "--key", "k"];
    let (url, token) = (relay.url(), folder.run(&arguments).stdout);
    let arguments = ["bot", "--connect", &url, "--token", token.trim(), "--count", "2", "--seconds", "2"];
    let mut bots = evenkeel(folder, &arguments).stdout(Stdio::null()).spawn().expect("the binary starts");
    assert!(bots.wait().expect("the bots end").success());
    sleep(Duration::from_millis(500));
    relay.stop_by(signal);
    std::fs::read(folder.path().join("session.evkt")).expect("a recording")
}

/// The number in front of these words.
fn number_before(text: &str, words: &str) -> u64 {
    let before = text.split(words).next().expect("a text").trim_end();
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn every_flipped_bit_and_every_cut_of_a_recording_is_found() {
    let folder = Folder::new("damage");
    let bytes = recorded(&folder, "TERM");
    let whole = folder.run(&["replay", "session.evkt"]);
    assert_eq!(whole.status, Some(0), "{}", whole.stderr);
    let calls = number_before(&whole.stdout, " calls");
    for part in 0..40 {
        let at = part * bytes.len() / 40 + 5;
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (part % 8);
        folder.write("damaged.evkt", &damaged);
        let done = folder.run(&["replay", "damaged.evkt"]);
        assert_eq!(done.status, Some(2), "bit {} of byte {at}: {}", part % 8, done.stdout);
        let is_told = done.stderr.contains("at byte");
        assert!(is_told, "{}", done.stderr);
    }
    folder.write("half.evkt", &bytes[..bytes.len() / 2]);
    let half = folder.run(&["replay", "half.evkt"]);
    assert_eq!(half.status, Some(2), "{}", half.stdout);
    assert!(half.stderr.contains("cut off: the block at byte"), "{}", half.stderr);
    let until = number_before(&half.stderr, " calls");
    assert!((1..calls).contains(&until), "{until} of {calls}");
    let mut older = bytes;
    older[4] = 2;
    folder.write("older.evkt", &older);
    folder.refuses(
        &["replay", "older.evkt"],
        "a recording of version 2, not 3: replay it with the release that made it",
    );
}

#[test]
fn the_recording_of_a_killed_relay_is_not_complete() {
    let folder = Folder::new("killed");
    recorded(&folder, "KILL");
    let done = folder.run(&["replay", "session.evkt"]);
    assert_eq!(done.status, Some(2), "{}", done.stdout);
    assert!(
        done.stderr.contains("without its end mark") || done.stderr.contains("cut off"),
        "{}",
        done.stderr
    );
    assert!(number_before(&done.stderr, " calls") > 10, "{}", done.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_and_the_recording_replays_up_to_there() {
    let folder = Folder::new("full");
    let port = free_port();
    folder.write("relay.toml", format!("listen = [\"127.0.0.1:{port}\"]\ntoken_key = \"k\"\n"));
    // A limit on the size of files stands for a full disk.
    let binary = env!("CARGO_BIN_EXE_evenkeel");
    let limited =
        format!("trap '' XFSZ; ulimit -f 64; exec {binary} relay --config relay.toml --record session.evkt");
    let mut command = std::process::Command::new("bash");
    command.args(["-c", &limited]).current_dir(folder.path()).stderr(Stdio::piped());
    let child = command.spawn().expect("bash runs");
    sleep(Duration::from_secs(1));
    let arguments = ["token", "--room", "arena", "--name", "bot", "--seats", "6", "--key", "k"];
    let token = folder.run(&arguments).stdout;
    let url = format!("https://127.0.0.1:{port}");
    let arguments = ["bot", "--connect", &url, "--token", token.trim(), "--count", "6", "--seconds", "3"];
    let bots = evenkeel(&folder, &arguments).stdout(Stdio::null()).status().expect("the binary starts");
    assert!(bots.success(), "the game goes on");
    shell::server::send("TERM", child.id());
    let output = child.wait_with_output().expect("the relay ends");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("the recording stopped because it could not be written"), "{words}");
    let done = folder.run(&["replay", "session.evkt"]);
    assert_eq!(done.status, Some(2), "{}", done.stdout);
    assert!(number_before(&done.stderr, " calls") > 10, "{}", done.stderr);
}
