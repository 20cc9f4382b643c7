//! `evenkeel directory` from the command line: a relay registers by its settings, a player lists, measures and joins.

mod shell;

use std::time::{Duration, Instant};

use shell::Folder;
use shell::server::{Server, free_port};

#[test]
fn a_relay_registers_and_a_player_lists_measures_and_joins() {
    let folder = Folder::new("directory");
    let (port, players) = (free_port(), free_port());
    let (listen, url) = (format!("127.0.0.1:{port}"), format!("http://127.0.0.1:{port}"));
    // Started in one folder, both use one key.
    let directory = Server::start(
        &folder,
        &["directory", "--listen", &listen],
        port,
        "relays may register from this machine",
    );
    let page = directory.ask("GET /");
    assert!(page.contains("<title>Evenkeel: rooms to join</title>"), "{page}");
    let settings = format!(
        "listen = [\"127.0.0.1:{players}\"]\n[directory]\nname = \"home\"\nurl = \"{url}\"\n[rooms.arena]\n"
    );
    folder.write("relay.toml", settings);
    let relay = Server::start(&folder, &["relay", "--config", "relay.toml"], players, "directory: ");
    let start = Instant::now();
    let listed = loop {
        let listed = folder.run(&["directory", "list", "--at", &url]);
        assert_eq!(listed.status, Some(0), "{}", listed.stderr);
        if listed.stdout.contains("home") {
            break listed.stdout;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{}", listed.stdout);
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(listed.contains("arena") && listed.contains(" ms"), "{listed}");

    let join = ["directory", "join", "--at", &url, "--relay", "home", "--room", "arena", "--name", "ada"];
    let joined = folder.run(&join);
    assert_eq!(joined.status, Some(0), "{}", joined.stderr);
    assert!(joined.stdout.contains(&format!("https://127.0.0.1:{players}/arena")), "{}", joined.stdout);
    let again = folder.run(&join);
    assert_eq!(again.status, Some(1), "{}", again.stderr);
    assert!(again.stderr.contains("the name ada is taken in arena"), "{}", again.stderr);

    let measured = folder.run(&["directory", "ping", &format!("127.0.0.1:{players}"), "--json"]);
    assert!(measured.status == Some(0) && measured.stdout.contains("\"sent\": 5"), "{}", measured.stdout);
    relay.stop();
    let listed = folder.run(&["directory", "list", "--at", &url]);
    assert_eq!(listed.stdout, "no relay has registered\n");
    assert_eq!(directory.stop().0, Some(0));
}

#[test]
fn mistakes_are_explained() {
    let folder = Folder::new("directory-mistakes");
    let mistake = |arguments: &[&str], status: i32, words: &str| {
        let done = folder.run(&[&["directory"], arguments].concat());
        assert_eq!(done.status, Some(status), "{}", done.stderr);
        assert!(done.stderr.contains(words), "{}", done.stderr);
    };
    let nobody = format!("http://127.0.0.1:{}", free_port());
    mistake(&["list", "--at", &nobody], 1, "does not answer");
    mistake(&["list", "--at", "nowhere"], 2, "is not a directory's address");
    let join = ["join", "--at", &nobody, "--relay", "a", "--room", "b"];
    mistake(&[&join[..], &["--name", "two words"]].concat(), 2, "--name two words");
    mistake(&["ping", "nowhere"], 2, "expected HOST:PORT");
    mistake(&["ping", &format!("127.0.0.1:{}", free_port())], 1, "is a relay running there?");
    folder.write("directory.toml", "token_minutes = 0\n");
    mistake(&["--config", "directory.toml"], 2, "token_minutes");
    folder.write("directory.toml", "colour = 1\n");
    mistake(&["--config", "directory.toml"], 2, "unknown field `colour`");
    folder.write("relay.toml", "[directory]\nname = \"home\"\n");
    let done = folder.run(&["relay", "--config", "relay.toml"]);
    assert!(done.status == Some(2) && done.stderr.contains("directory.url"), "{}", done.stderr);
}
