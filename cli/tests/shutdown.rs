//! Shutdown always ends, whatever blocks, and a second signal ends it at once.
#![cfg(unix)]

mod shell;

use std::io::Write;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use shell::server::{Server, free_port, send};
use shell::{Folder, evenkeel};

fn relay(folder: &Folder, rest: &str) -> Server {
    let port = free_port();
    folder.write("relay.toml", format!("listen = [\"127.0.0.1:{port}\"]\ntoken_key = \"k\"\n{rest}"));
    Server::start(folder, &["relay", "--config", "relay.toml"], port, "API:")
}

#[test]
fn a_fifo_among_the_pages_does_not_hold_the_relay() {
    let folder = Folder::new("fifo-page");
    std::fs::create_dir_all(folder.path().join("www")).expect("a folder");
    let fifo = folder.path().join("www/fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    let relay = relay(&folder, "[pages]\nfolder = \"www\"\n");
    let mut stream = TcpStream::connect(("127.0.0.1", relay.port())).expect("connected");
    stream.write_all(b"GET /fifo HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    sleep(Duration::from_millis(500));
    let (status, _) = relay.stop();
    assert_eq!(status, Some(0));
}

#[test]
fn a_second_signal_ends_at_once() {
    let folder = Folder::new("second");
    let mut relay = relay(&folder, "");
    let token = folder.run(&["token", "--room", "arena", "--name", "ada", "--key", "k"]).stdout;
    let url = relay.url();
    let arguments = ["bot", "--connect", &url, "--token", token.trim(), "--seconds", "60"];
    let mut bot = evenkeel(&folder, &arguments).stderr(Stdio::null()).spawn().expect("the binary starts");
    sleep(Duration::from_secs(2));
    // A player that does not answer is waited for.
    send("STOP", bot.id());
    relay.signal("TERM");
    relay.says("stopping");
    let (status, _, took) = relay.stop_by("TERM");
    bot.kill().expect("it runs");
    let _ = bot.wait();
    assert_eq!(status, Some(130));
    assert!(took < Duration::from_millis(900), "{took:?}");
}
