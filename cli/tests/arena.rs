//! `evenkeel arena` from the command line.

mod shell;

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use shell::Folder;
use shell::server::{Server, free_port};

/// The longest time that stopping may take.
const END_MAX: Duration = Duration::from_secs(2);

fn arena(folder: &Folder, arguments: &[&str]) -> Server {
    let port = free_port();
    let number = port.to_string();
    let all = [&["arena", "--port", &number], arguments].concat();
    Server::start(folder, &all, port, "the arena is open")
}

/// The JSON document of a response.
fn document(answer: &str) -> Value {
    let (head, body) = answer.split_once("\r\n\r\n").expect("the response has a body");
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(body).expect("the document is JSON")
}

/// The position of every tank, by player.
fn tanks(arena: &Server) -> Vec<(u64, f64, f64)> {
    let seen = document(&arena.ask("GET /api/arena/watch"));
    let entities = seen["entities"].as_array().expect("a list").iter();
    let place = |entity: &Value, axis: usize| entity["vector"]["position"][axis].as_f64().expect("a number");
    let tank = |entity: &Value| {
        let number = entity["entity"].as_u64().filter(|number| *number < 1_024)?;
        Some((number, place(entity, 0), place(entity, 1)))
    };
    entities.filter_map(tank).collect()
}

fn wait_for<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = poll() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "no {what}");
        sleep(Duration::from_millis(100));
    }
}

#[test]
fn bots_move_the_page_is_served_and_its_settings_take_effect() {
    let folder = Folder::new("arena");
    let arena =
        arena(&folder, &["--bots", "3", "--delays", "60,5", "--policy", "base", "--record", "arena.evkt"]);
    let page = arena.ask("GET /");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<title>Evenkeel arena</title>"), "{page}");
    let script = arena.ask("GET /web/client/index.js");
    assert!(script.contains("text/javascript") && script.contains("export function connect"), "{script}");
    assert!(arena.ask("GET /web/nothing.js").starts_with("HTTP/1.1 404"));
    let first = wait_for("tanks", || Some(tanks(&arena)).filter(|tanks| tanks.len() == 3));
    wait_for("motion", || {
        let now = tanks(&arena);
        first.iter().all(|tank| !now.contains(tank)).then_some(())
    });
    let read = || document(&arena.ask("GET /api/arena"));
    let figures = wait_for("figures", || {
        let figures = read();
        (figures["players"].as_array().map(Vec::len) == Some(3)).then_some(figures)
    });
    assert_eq!(figures["choice"], "base");
    for (name, delay_ms) in [("Ada", 60.0), ("Bo", 5.0), ("Cy", 5.0)] {
        let players = figures["players"].as_array().expect("a list");
        let player = players.iter().find(|player| player["name"] == name).expect("the player is listed");
        assert_eq!(player["delay_ms"], delay_ms, "{player}");
    }
    let shown = document(&arena.ask("GET /api/arena/shown?player=1"));
    assert!(shown.as_array().is_some_and(|shown| shown.iter().all(|one| one["by"] != 1)), "{shown}");

    let choices = read()["choices"].as_array().cloned().expect("a list");
    assert!(choices.iter().any(|choice| choice["id"] == "even"), "a position of the switch: {choices:?}");
    let set_policy = |body: &str| arena.post("/api/rooms/arena/policy", body, "");
    assert!(set_policy(r#"{"policy":"fairest"}"#).starts_with("HTTP/1.1 400"));
    let set = |path: &str, body: &str| arena.post(&format!("/api/arena/{path}"), body, "");
    assert!(set("choice", r#"{"choice":"even"}"#).starts_with("HTTP/1.1 200"));
    assert!(set("choice", r#"{"choice":"fairest"}"#).starts_with("HTTP/1.1 4"));
    let foreign =
        arena.post("/api/rooms/arena/policy", r#"{"policy":"base"}"#, "Origin: http://evil.example\r\n");
    assert!(foreign.starts_with("HTTP/1.1 403"), "{foreign}");
    assert!(set("link", r#"{"player":2,"delay_ms":90,"jitter_ms":1}"#).starts_with("HTTP/1.1 200"));
    assert!(set("link", r#"{"player":2,"delay_ms":-1,"jitter_ms":1}"#).starts_with("HTTP/1.1 400"));
    assert!(set("link", r#"{"player":9,"delay_ms":1,"jitter_ms":1}"#).starts_with("HTTP/1.1 404"));
    let room = document(&arena.ask("GET /api/rooms/arena"));
    assert_eq!(room["policy"], "even:kappa=3");
    let figures =
        wait_for("the choice among the figures", || Some(read()).filter(|now| now["choice"] == "even"));
    assert!(figures["players"].as_array().expect("a list").iter().any(|player| player["delay_ms"] == 90.0));
    wait_for("a delay that the relay sees", || {
        let room = document(&arena.ask("GET /api/rooms/arena"));
        let seen = room["players"].as_array()?.iter().find(|player| player["player"] == 2)?["delay_ms"][1]
            .as_f64()?;
        (seen > 70.0).then_some(())
    });

    let (status, output, took) = arena.stop_by("TERM");
    assert_eq!(status, Some(0), "{output}");
    assert!(took < END_MAX, "it took {took:?}");
    let done = folder.run(&["replay", "arena.evkt"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(done.stdout.starts_with("identical: ") && done.stdout.contains("(arena)"), "{}", done.stdout);
}

#[test]
fn ctrl_c_tells_the_players_and_stops() {
    let folder = Folder::new("arena-end");
    let arena = arena(&folder, &["--bots", "2"]);
    let invitation = document(&arena.post("/api/arena/join", "{}", ""));
    assert_eq!(invitation["player_name"], "you");
    let (status, output, took) = arena.stop_by("INT");
    assert_eq!(status, Some(0), "{output}");
    assert!(output.contains("telling the players") && took < END_MAX, "{output} after {took:?}");
}

#[test]
fn an_arena_that_cannot_start_reports_why() {
    let folder = Folder::new("arena-start");
    let arena = arena(&folder, &["--bots", "0"]);
    let port = arena.port().to_string();
    folder.refuses(&["arena", "--port", &port], &format!("127.0.0.1:{port}"));
    folder.refuses(&["arena", "--port", &port], "--port");
    folder.refuses(&["arena", "--delays", "20,far"], "must be a number of milliseconds");
    for delays in ["2000", "-5"] {
        folder.refuses(&["arena", "--delays", delays], "must lie between 0 and 1000 ms");
    }
    folder.refuses(&["arena", "--policy", "fairest"], "must be base, papers or even");
    for bots in ["100", "-1"] {
        folder.refuses(&["arena", "--bots", bots], &format!("{bots} is not in 0..=64"));
    }
    folder.write("taken.evkt", "something");
    folder.refuses(&["arena", "--record", "taken.evkt"], "choose a name that is not taken");
    assert_eq!(arena.stop().0, Some(0));
    let help = folder.run(&["arena", "--help"]);
    assert!(help.stdout.contains("Examples:") && help.stdout.contains("--delays"), "{}", help.stdout);
}
