//! `evenkeel link` from the command line, and its errors.

mod shell;

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use shell::Folder;
use shell::server::{Server, free_port};

#[test]
fn a_link_delays_both_ways_and_ends_with_a_summary() {
    let folder = Folder::new("link");
    let game = UdpSocket::bind("127.0.0.1:0").expect("bound");
    let (port, to) = (free_port(), game.local_addr().expect("an address").to_string());
    let listen = format!("127.0.0.1:{port}");
    let arguments = [
        "link",
        "--listen",
        &listen,
        "--to",
        &to,
        "--delay",
        "30",
        "--delay-back",
        "10",
        "--every",
        "1",
        "--json",
    ];
    let mut link = Server::start_with(&folder, &arguments, port, "links:    all alike, seed 1", |command| {
        command.stdout(std::fs::File::create(folder.path().join("summary.json")).expect("created"));
    });
    let player = UdpSocket::bind("127.0.0.1:0").expect("bound");
    player.connect(&listen).expect("connected");
    let (start, mut buffer) = (Instant::now(), [0; 16]);
    player.send(b"ping").expect("sent");
    let (len, from) = game.recv_from(&mut buffer).expect("it arrives");
    game.send_to(&buffer[..len], from).expect("sent");
    assert_eq!(player.recv(&mut buffer).expect("an answer"), 4);
    assert!(start.elapsed() >= Duration::from_millis(40));
    link.says("to the server");
    assert_eq!(link.stop().0, Some(0));
    let summary = std::fs::read_to_string(folder.path().join("summary.json")).expect("readable");
    for figure in ["\"clients_seen\": 1", "\"delay_sum_ns\": 30000000", "\"delay_sum_ns\": 10000000"] {
        assert!(summary.contains(figure), "{figure} is missing in {summary}");
    }
}

#[test]
fn mistakes_are_explained() {
    let folder = Folder::new("link-mistakes");
    let mistake = |arguments: &[&str], words: &str| {
        let base = ["link", "--listen", "127.0.0.1:0"];
        let done = folder.run(&[&base, arguments].concat());
        assert_eq!(done.status, Some(2), "{}", done.stderr);
        assert!(done.stderr.contains(words), "{}", done.stderr);
    };
    mistake(&[], "--to <ADDR>");
    mistake(&["--to", "nowhere"], "expected HOST:PORT");
    mistake(&["--to", "127.0.0.1:9", "--delay", "-5"], "a delay is 0 to 60000 ms");
    mistake(&["--to", "127.0.0.1:9", "--jitter", "gauss:5"], "a jitter is 5, uniform:5");
    mistake(&["--to", "127.0.0.1:9", "--jitter", "trace:none.csv"], "none.csv: ");
    mistake(&["--to", "127.0.0.1:9", "--loss", "200"], "a loss is 2, bursts:");
    mistake(&["--to", "127.0.0.1:9", "--steps", "5"], "steps are SECOND:MS");
    mistake(&["--to", "127.0.0.1:9", "--clients", "0"], "not in 1..=10000");
}
