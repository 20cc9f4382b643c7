//! `evenkeel eater` from the command line.

mod shell;

use shell::Folder;

#[cfg(not(feature = "p2p"))]
#[test]
fn without_the_feature_it_says_how_to_build_it() {
    let folder = Folder::new("eater");
    let line = "cargo run --release --features p2p -- eater join evenkeel-AQ --open";
    folder.refuses(&["eater", "join", "evenkeel-AQ", "--open"], line);
    folder.refuses(&["eater"], "--features p2p -- eater demo");
}

#[cfg(feature = "p2p")]
#[test]
fn mistakes_are_explained() {
    let folder = Folder::new("eater");
    folder.refuses(&["eater", "join", "hello"], "this is not a ticket: copy all of it");
    folder.refuses(&["eater", "join", "evenkeel-AQAB"], "the ticket is damaged");
    folder.refuses(&["eater", "host", "--relay", "relay.example.org"], "must be a URL like https://");
    folder.refuses(&["eater", "host", "--local", "--loss", "120"], "must be percent from 0 to 90");
    folder.write("other.key", "not a key\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.path().join("other.key");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("its mode is set");
    }
    folder.refuses(&["eater", "host", "--local", "--key", "other.key"], "is not an Evenkeel key file");
}

#[cfg(all(unix, feature = "p2p"))]
#[test]
fn processes_play_and_print_what_they_measured_at_ctrl_c() {
    use std::process::{Command, Stdio};

    use shell::evenkeel;
    use shell::server::{Server, free_port, send};

    let folder = Folder::new("eater-play");
    let port = free_port();
    let number = port.to_string();
    let host =
        Server::start(&folder, &["eater", "host", "--local", "--bot", "--port", &number], port, "your page");
    let figures = host.ask("GET /api/eater");
    let (_, rest) = figures.split_once("\"ticket\":\"").expect("a ticket");
    let ticket = rest.split('"').next().expect("its end");
    let mut guests: Command =
        evenkeel(&folder, &["eater", "bots", "2", "--local", "--port", "0", "--json", "--join", ticket]);
    let guests = guests.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary starts");
    let started = std::time::Instant::now();
    let is_played = |answer: &str| answer.contains("\"peers\":2,") && !answer.contains("\"played\":0,");
    while !is_played(&host.ask("GET /api/eater/summary")) {
        assert!(started.elapsed().as_secs() < 60, "{}", host.ask("GET /api/eater/summary"));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    send("INT", guests.id());
    let output = guests.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let summaries: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for summary in summaries.as_array().expect("a list") {
        assert_eq!(summary["peers"], 2);
        assert!(summary["committed"].as_u64().is_some_and(|moves| moves > 0), "{summary}");
    }
    let (status, _) = host.stop();
    assert_eq!(status, Some(0));
}
