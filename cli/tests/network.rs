//! `evenkeel relay`, `bot`, `token` and `replay` from the command line, and their errors.

mod shell;

use std::net::UdpSocket;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use shell::server::{Server, free_port};
use shell::{Done, Folder, evenkeel};

fn configured(folder: &Folder, port: u16) {
    folder.write("relay.toml", format!("listen = [\"127.0.0.1:{port}\"]\ntoken_key = \"evenkeel.key\"\n"));
}

fn relay(folder: &Folder, arguments: &[&str]) -> Server {
    let port = free_port();
    configured(folder, port);
    let all = [&["relay", "--config", "relay.toml"], arguments].concat();
    Server::start(folder, &all, port, "API:")
}

fn token(folder: &Folder, arguments: &[&str]) -> String {
    let done = folder.run(&[&["token", "--room", "arena"], arguments].concat());
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    done.stdout.trim().to_owned()
}

fn bot(folder: &Folder, url: &str, token: &str, arguments: &[&str]) -> Done {
    folder.run(&[&["bot", "--connect", url, "--token", token], arguments].concat())
}

#[test]
fn bots_play_appear_in_the_api_and_their_recordings_replay() {
    let folder = Folder::new("bots");
    let relay = relay(&folder, &["--record", "relay.evkt"]);
    let token = token(&folder, &["--name", "bot", "--seats", "3"]);
    let url = relay.url();
    let arguments = [
        "bot",
        "--connect",
        &url,
        "--token",
        &token,
        "--count",
        "3",
        "--seconds",
        "4",
        "--record",
        "bots.evkt",
    ];
    let mut bots = evenkeel(&folder, &arguments).stderr(Stdio::null()).spawn().expect("the binary starts");
    sleep(Duration::from_secs(3));
    let answer = relay.ask("GET /api/rooms/arena");
    let body = answer.split_once("\r\n\r\n").expect("the response has a body").1;
    let room: serde_json::Value = serde_json::from_str(body).expect("the document is JSON");
    assert_eq!(room["policy"], "even:kappa=3,keep=0.9");
    for key in ["mean_aee", "std_aee", "sent_per_s"] {
        assert!(room[key].is_f64(), "{key} in {room}");
    }
    let players = room["players"].as_array().expect("players");
    assert_eq!(players.len(), 3);
    for player in players {
        assert!(player["name"].as_str().is_some_and(|name| name.starts_with("bot-")), "{player}");
        assert!(player["aee"].is_f64() && player["sent"].is_u64() && player["clamped"].is_u64(), "{player}");
        assert_eq!(player["delay_ms"].as_array().map(Vec::len), Some(2), "{player}");
    }
    let series = relay.ask("GET /metrics");
    let names: std::collections::BTreeSet<_> = series
        .lines()
        .filter(|line| line.starts_with("evenkeel_"))
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect();
    assert!(names.len() >= 10, "{names:?}");
    assert!(relay.ask("GET /api/rooms/elsewhere").starts_with("HTTP/1.1 404"));
    let post = |what: &str, body: &str, headers: &str| {
        relay.post(&format!("/api/rooms/arena/{what}"), body, headers)
    };
    let expect = |answer: &str, status: &str| {
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    };
    let weight = |player: &str, weight: &str| {
        post("weight", &format!("{{\"entity\":1,\"player\":\"{player}\",\"weight\":{weight}}}"), "")
    };
    expect(&weight("bot-2", "0.5"), "200");
    expect(&weight("nobody", "0.5"), "404");
    expect(&weight("bot-2", "-1"), "400");
    expect(&post("policy", "{\"policy\":\"base-1/3\",\"budget\":\"140%\"}", ""), "4");
    expect(&post("policy", "{\"policy\":\"base-1/3\",\"budget\":\"40%\"}", ""), "200");
    let foreign = post("policy", "{\"policy\":\"base-1/2\"}", "Origin: http://evil.example\r\n");
    expect(&foreign, "403");
    assert!(relay.ask("GET /api/rooms/arena").contains("\"policy\":\"base-1/3\",\"budget\":\"40%\""));
    assert!(bots.wait().expect("the bots end").success());
    assert_eq!(relay.stop().0, Some(0));
    for file in ["relay.evkt", "bots.evkt"] {
        let done = folder.run(&["replay", file]);
        assert_eq!(done.status, Some(0), "{file}: {}", done.stderr);
        assert!(done.stdout.starts_with("identical: "), "{}", done.stdout);
    }
}

#[test]
fn rejected_bots_report_the_reason() {
    let folder = Folder::new("unwanted");
    let relay = relay(&folder, &[]);
    let says = |token: &str, arguments: &[&str], expected: &str| {
        let done = bot(&folder, &relay.url(), token, arguments);
        assert_eq!(done.status, Some(2), "{}", done.stderr);
        assert!(done.stderr.contains(expected), "{}\n  does not say\n{expected}", done.stderr);
    };
    says("nonsense", &[], "this is not a token");
    let short = token(&folder, &["--name", "ada", "--hours", "0.0003"]);
    sleep(Duration::from_millis(3100));
    says(&short, &[], "the token expired");
    let foreign = token(&folder, &["--name", "ada", "--key", "other.key"]);
    says(&foreign, &[], "signed by another key");
    let good = token(&folder, &["--name", "ada"]);
    says(&good, &["--pin", &"0".repeat(64)], "does not match the pinned hash");
    says(&good, &["--count", "3"], "the token has 1 seat: ");
    says(&good, &["--count", "3"], "for 3 bots issue it with `evenkeel token --seats 3`");
    let done = bot(&folder, &format!("{}/pit", relay.url()), &good, &[]);
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("for the room arena"), "{}", done.stderr);
}

#[test]
fn unreachable_relay_is_named_and_its_shutdown_reported() {
    let folder = Folder::new("gone");
    let nobody = free_port();
    let done = bot(&folder, &format!("https://127.0.0.1:{nobody}"), "token", &[]);
    assert_eq!(done.status, Some(1), "{}", done.stderr);
    let asked = format!("nobody answers at http://127.0.0.1:{nobody}/api/certificate");
    assert!(done.stderr.contains(&asked) && done.stderr.contains("--pin"), "{}", done.stderr);
    let pin = "0".repeat(64);
    let done = bot(&folder, &format!("https://127.0.0.1:{nobody}"), "token", &["--pin", &pin]);
    assert_eq!(done.status, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains(&format!("nobody answers at 127.0.0.1:{nobody}:")), "{}", done.stderr);

    let relay = relay(&folder, &[]);
    let token = token(&folder, &["--name", "ada"]);
    let url = relay.url();
    let arguments = ["bot", "--connect", &url, "--token", &token, "--seconds", "9"];
    let child = evenkeel(&folder, &arguments).stderr(Stdio::piped()).spawn().expect("the binary starts");
    sleep(Duration::from_millis(1500));
    let port = relay.port();
    let (status, output) = relay.stop();
    assert_eq!(status, Some(0));
    assert!(output.contains("telling the players"), "{output}");
    sleep(Duration::from_millis(500));
    let _again = Server::start(&folder, &["relay", "--config", "relay.toml"], port, "API:");
    let output = child.wait_with_output().expect("the process ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let trouble =
        stderr.find("the relay is shutting down; trying again").unwrap_or_else(|| panic!("{stderr}"));
    assert!(stderr[trouble..].contains("connected again"), "{stderr}");
}

#[test]
fn replaced_bots_stop_and_report_it() {
    let folder = Folder::new("sent-away");
    let relay = relay(&folder, &[]);
    let token = token(&folder, &["--name", "ada", "--seats", "2"]);
    let url = relay.url();
    let arguments = ["bot", "--connect", &url, "--token", &token, "--seconds", "20", "--count", "2"];
    let start = |arguments: &[&str]| {
        let child = evenkeel(&folder, arguments).stderr(Stdio::piped()).spawn().expect("the binary starts");
        sleep(Duration::from_millis(1500));
        child
    };
    let first = start(&arguments);
    let mut second = start(&arguments);
    let output = first.wait_with_output().expect("the bots end");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("replaced by a newer connection"), "{stderr}");
    assert!(!stderr.contains("trying again"), "{stderr}");
    assert_eq!(relay.stop().0, Some(0));
    second.kill().expect("the process runs");
    let _ = second.wait();
}

#[test]
fn relay_that_cannot_start_reports_the_reason() {
    let folder = Folder::new("start");
    let taken = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    let port = taken.local_addr().expect("the socket has an address").port();
    configured(&folder, port);
    folder.refuses(&["relay", "--config", "relay.toml"], &format!("127.0.0.1:{port}"));
    folder.refuses(&["relay", "--config", "missing.toml"], "missing.toml: No such file");
    folder.write("key.toml", "listen = [\"127.0.0.1:0\"]\nlisten_to = 3\n");
    folder.refuses(&["relay", "--config", "key.toml"], "key.toml: line 2: unknown field `listen_to`");
    folder.write("policy.toml", "[rooms.arena]\npolicy = \"fairest\"\n");
    folder.refuses(&["relay", "--config", "policy.toml"], "policy.toml: rooms.arena.policy: ");
    folder.write(
        "tls.toml",
        "listen = [\"127.0.0.1:0\"]\n[certificate]\nchain = \"no.pem\"\nkey = \"no.key\"\n",
    );
    folder.refuses(&["relay", "--config", "tls.toml"], "no.pem");
    folder.write("names.toml", "listen = [\"localhost:20110\"]\n");
    folder.refuses(
        &["relay", "--config", "names.toml"],
        "names.toml: line 1: listen: \"localhost:20110\" is not an address",
    );
    folder.write("own.toml", "listen = [\"127.0.0.1:0\"]\nkeep_certificate = \"key.toml\"\n");
    folder.refuses(&["relay", "--config", "own.toml"], "key.toml contains something else");
    folder.write("lost.toml", "listen = [\"127.0.0.1:0\"]\ntoken_key = \"none/k\"\n");
    folder.refuses(&["relay", "--config", "lost.toml"], "none/k: there is no such folder");
    folder.write("pages.toml", "listen = [\"127.0.0.1:0\"]\n[pages]\nfolder = \"www\"\n");
    folder.refuses(&["relay", "--config", "pages.toml"], "pages.toml: pages.folder: www is not a folder");
    folder.refuses(&["relay", "--record", "none/x"], "(os error 2); does the folder exist?");
    folder.refuses(&["relay", "--record", "key.toml"], "(os error 17); choose a name that is not taken");
    folder.refuses(&["token", "--room", "a room", "--name", "ada"], "--room a room: a name has");
    folder.refuses(&["replay", "missing.evkt"], "missing.evkt: No such file");
    folder.write("no.evkt", "something else");
    folder.refuses(&["replay", "no.evkt"], "no.evkt: not a recording");
}

#[cfg(unix)]
#[test]
fn special_and_endless_files_are_refused_and_not_read() {
    let folder = Folder::new("special");
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    folder.write("long.toml", "#".repeat((1 << 20) + 1));
    let listen = "listen = [\"127.0.0.1:0\"]\n";
    for special in ["/dev/zero", "fifo"] {
        let says = |file: &str, text: &str, message: &str| {
            folder.write(file, text);
            folder.refuses(&["relay", "--config", file], message);
        };
        let key = format!("{special} is not an Evenkeel key file");
        says("key.toml", &format!("{listen}token_key = \"{special}\"\n"), &key);
        let files =
            |chain: &str, key: &str| format!("{listen}[certificate]\nchain = \"{chain}\"\nkey = \"{key}\"\n");
        says("chain.toml", &files(special, "k"), "it is not a regular file");
        folder.refuses(&["relay", "--config", special], "it is not a regular file");
        folder.refuses(&["replay", special], "it is not a regular file");
        folder.refuses(&["lab", "scenario", special], "is not a regular file");
        let trace = format!("motion = {{ kind = \"trace\", file = \"{special}\" }}\n{}", shell::SMALL);
        folder.write("trace.toml", trace);
        folder.refuses(&["lab", "scenario", "trace.toml"], "is not a regular file");
    }
    folder.refuses(&["relay", "--config", "long.toml"], "it is longer than 1048576 bytes");
    folder.refuses(&["relay", "--config", "."], "it is a folder, not a file");
    folder.write("folder.toml", format!("{listen}token_key = \".\"\n"));
    let done = folder.run(&["relay", "--config", "folder.toml"]);
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    assert!(
        done.stderr.contains("is not an Evenkeel key file") && !done.stderr.contains("chmod"),
        "{}",
        done.stderr
    );
}
