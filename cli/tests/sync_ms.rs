//! `evenkeel sync-ms` from the command line, and its errors.

mod shell;

use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use shell::Folder;
use shell::server::{Server, free_port};

/// Starts a proxy whose state is kept in the test's folder.
fn proxy(folder: &Folder, arguments: &[&str], port: u16, words: &str) -> Server {
    Server::start(folder, &[&["sync-ms"], arguments].concat(), port, words)
}

/// A game server that sends everything back, on a thread of its own.
fn echo() -> u16 {
    let game = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    let port = game.local_addr().expect("the socket has an address").port();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        while let Ok((len, from)) = game.recv_from(&mut buffer) {
            let _ = game.send_to(&buffer[..len], from);
        }
    });
    port
}

/// Sends until an answer comes.
fn insist(player: &UdpSocket, to: u16) -> Duration {
    let start = Instant::now();
    player.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
    let mut buffer = [0; 64];
    while start.elapsed() < Duration::from_secs(10) {
        player.send_to(b"hello", ("127.0.0.1", to)).expect("sent");
        if matches!(player.recv(&mut buffer), Ok(len) if &buffer[..len] == b"hello") {
            return start.elapsed();
        }
    }
    panic!("no answer in time");
}

fn key(folder: &Folder) -> String {
    let path = folder.path().join("shared.key");
    if !path.exists() {
        let done = folder.run(&["sync-ms", "key", "shared.key"]);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
    }
    path.display().to_string()
}

#[test]
fn a_pair_carries_a_game_and_survives_the_death_of_either_side() {
    let folder = Folder::new("sync-ms-pair");
    let (game, key) = (echo().to_string(), key(&folder));
    let (tunnel, local, page) = (free_port(), free_port(), free_port());
    let game = format!("127.0.0.1:{game}");
    let (listen, pages) = (format!("127.0.0.1:{tunnel}"), format!("127.0.0.1:{page}"));
    let arguments = ["server", "--game", &game, "--listen", &listen, "--key", &key, "--page", &pages];
    let start_server = || proxy(&folder, &arguments, page, "order:");
    let players = format!("127.0.0.1:{local}");
    let arguments = ["client", "--server", &listen, "--listen", &players, "--key", &key];
    let start_client = || proxy(&folder, &arguments, local, "players:");
    let (server, client) = (start_server(), start_client());
    let player = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    insist(&player, local);
    let answer = server.ask("GET /api/players");
    let body = answer.split_once("\r\n\r\n").expect("the response has a body").1;
    let report: serde_json::Value = serde_json::from_str(body).expect("the document is JSON");
    assert_eq!((&report["role"], &report["order"]), (&"server".into(), &"reaction".into()));
    let address = report["players"][0]["game_address"].clone();
    assert!(address.as_str().is_some_and(|address| address.starts_with("127.0.0.1:")), "{report}");
    assert!(server.ask("GET /metrics").contains("evenkeel_player_actions_total{player=\"1\"}"));
    assert!(server.ask("GET /").contains("<title>"));

    // Dropping kills without a farewell.
    drop(server);
    let server = start_server();
    assert!(insist(&player, local) < Duration::from_secs(5));
    let answer = server.ask("GET /api/players");
    assert!(answer.contains(address.as_str().unwrap_or_default()), "the game sees another address: {answer}");
    drop(client);
    let client = start_client();
    insist(&player, local);

    let (status, output) = client.stop();
    assert_eq!(status, Some(0), "{output}");
    let (status, output) = server.stop();
    assert_eq!(status, Some(0), "{output}");
    assert!(output.contains("player 1 is here"), "{output}");
}

#[test]
fn on_one_machine_both_sides_find_the_same_key() {
    let folder = Folder::new("sync-ms-state");
    let state = folder.path().join("state");
    let (tunnel, local, game) = (free_port(), free_port(), format!("127.0.0.1:{}", echo()));
    let (listen, players) = (format!("127.0.0.1:{tunnel}"), format!("127.0.0.1:{local}"));
    let start = |arguments: &[&str], words: &str| {
        // The variable is set for the child only.
        let with_state = |command: &mut Command| {
            command.env("XDG_STATE_HOME", &state);
        };
        Server::start_with(&folder, &[&["sync-ms"], arguments].concat(), local, words, with_state)
    };
    let _server = start(&["server", "--game", &game, "--listen", &listen], "order:");
    let _client = start(&["client", "--server", &listen, "--listen", &players], "players:");
    insist(&UdpSocket::bind("127.0.0.1:0").expect("a port is free"), local);
    assert!(state.join("evenkeel").join("sync-ms.key").is_file());
}

#[test]
fn mistakes_end_with_status_2() {
    let folder = Folder::new("sync-ms-mistakes");
    let refuses = |arguments: &[&str], expected: &str| {
        folder.refuses(&[&["sync-ms"], arguments].concat(), expected);
    };
    let game = ["server", "--game", "127.0.0.1:1"];
    let with = |more: &[&'static str]| [&game[..], more].concat();
    refuses(&["server"], "game: is missing: name an address, like 127.0.0.1:27960");
    refuses(
        &with(&["--listen", "0.0.0.0:7979"]),
        "0.0.0.0:7979 is not on this machine, so both sides need the same key",
    );
    refuses(&["client", "--server", "192.0.2.1:7979"], "name it on both with --key FILE");
    refuses(&with(&["--key", "none.key"]), "there is no key file none.key");
    refuses(&with(&["--order", "fifo"]), "\"fifo\" is no order");
    refuses(&with(&["--out", "maybe"]), "invalid value 'maybe'");
    refuses(&with(&["--cap-ms", "-1"]), "cap_ms: -1 is not between 1 and 10000");
    refuses(&["server", "--game", "27960"], "\"27960\" is not an address with a port");
    refuses(&["client", "--link-loss", "101"], "link.loss_percent: 101 is not between 0 and 100");
    refuses(&["client", "--link-delay", "-5"], "link.delay_ms: -5 is not between 0 and 60000");
    folder.write("sync.toml", "game = \"127.0.0.1:1\"\n\norders = \"none\"\n");
    refuses(&["server", "--config", "sync.toml"], "sync.toml: line 3: unknown field `orders`");
    folder.write("client.toml", "[link]\ndelay = 3\n");
    refuses(&["client", "--config", "client.toml"], "client.toml: line 2: unknown field `delay`");
    key(&folder);
    refuses(&["key", "shared.key"], "already exists and is not overwritten");
    let (other, tunnel) = (folder.path().join("other.key"), free_port());
    assert_eq!(folder.run(&["sync-ms", "key", "other.key"]).status, Some(0));
    let listen = format!("127.0.0.1:{tunnel}");
    let arguments = ["server", "--game", "127.0.0.1:1", "--listen", &listen, "--key", "shared.key"];
    let _server = proxy(&folder, &arguments, tunnel, "order:");
    let other = other.display().to_string();
    let arguments = ["client", "--server", &listen, "--key", &other, "--listen", "127.0.0.1:0"];
    refuses(&arguments, "has another key: give both sides the same key file");
    let arguments = ["server", "--game", "127.0.0.1:1", "--listen", &listen, "--key", "shared.key"];
    refuses(&arguments, "is taken: another program listens on that UDP port");
}
