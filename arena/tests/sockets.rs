//! The arena over real sockets: a player joins by invitation, plays, and learns that the relay stops.

use std::time::Duration;

use evenkeel_arena::fleet::{Fleet, FleetConfig};
use evenkeel_arena::{Arena, ArenaConfig, PolicyChoice};
use evenkeel_core::clock::FollowerClock;
use evenkeel_core::{Seed, Span};
use evenkeel_dr::{Content, Threshold};
use evenkeel_games::arena::{ArenaBot, ArenaBotConfig, ReactionTimes};
use evenkeel_net::transport::Trust;
use evenkeel_net::{Crank, CrankHandle, NodeId};
use evenkeel_serve::client::player_config;
use evenkeel_serve::{Dial, RELAY, Status, Target, Welcome};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

type BotMachine = ArenaBot<FollowerClock>;

/// The document that the arena's API answers to a GET, or to a POST with this body.
async fn ask(arena: &Arena, path: &str, body: Option<&str>) -> Value {
    let address = arena.page_addresses()[0];
    let head = format!("Host: 127.0.0.1:{}\r\nConnection: close\r\n", address.port());
    let request = match body {
        None => format!("GET {path} HTTP/1.1\r\n{head}\r\n"),
        Some(body) => {
            let kind = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
            format!("POST {path} HTTP/1.1\r\n{head}{kind}\r\n{body}")
        }
    };
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("it has a body");
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(body).expect("it is JSON")
}

/// Joins with an invitation.
fn join(arena: &Arena, invitation: &Value, crank: &CrankHandle<BotMachine>) -> watch::Receiver<Status> {
    let text = |key: &str| invitation[key].as_str().expect("a string").to_owned();
    let trust = Trust::Pinned(arena.server().hashes());
    let target = Target { url: text("url"), token: text("token"), seat: None, trust };
    let build = |welcome: &Welcome| {
        let dr = player_config(welcome, Threshold::default(), Content::default());
        let config = ArenaBotConfig {
            game: dr.into(),
            reactions: ReactionTimes::default(),
            player: welcome.player,
            relay: RELAY,
            seed: Seed::new(9),
        };
        (ArenaBot::new(&config, FollowerClock::new(RELAY)), config)
    };
    let (sender, status) = watch::channel(Status::Connecting(None));
    tokio::spawn(Dial { target, node: NodeId(0), build, emulation: || None }.run(crank.clone(), sender));
    status
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_joins_sees_the_others_and_learns_of_the_shutdown() {
    let config = ArenaConfig {
        bots: 2,
        delays: vec![Span::from_millis(30)],
        choice: PolicyChoice::Even,
        port: 0,
        seed: 1,
        record: None,
    };
    let arena = Arena::start(config).await.expect("a port is free");
    // The first to join is a page that remembers its name from an earlier run.
    let invitation = ask(&arena, "/api/arena/join", Some(r#"{"name":"you"}"#)).await;
    assert_eq!(invitation["player_name"], "you");
    assert_eq!(ask(&arena, "/api/arena/join", Some("{}")).await["player_name"], "you-2", "another person");
    let again = ask(&arena, "/api/arena/join", Some(r#"{"name":"you"}"#)).await;
    assert_eq!(again["player_name"], "you", "the same person");
    let bot = ask(&arena, "/api/arena/join", Some(r#"{"name":"Ada"}"#)).await;
    assert_eq!(bot["player_name"], "you-3", "bots' names are reserved");

    let crank = Crank::<BotMachine>::new().start().expect("a thread starts");
    let mut status = join(&arena, &invitation, &crank);
    let connected = status.wait_for(|status| matches!(status, Status::Connected(_))).await;
    connected.expect("the relay admits it");
    let playing = async {
        loop {
            let read = |bot: &mut BotMachine, now| (bot.tank().is_some(), bot.dr().copies(now).count());
            let (has_tank, seen) = crank.with(NodeId(0), read).await.expect("the machine exists");
            let figures = ask(&arena, "/api/arena", None).await;
            let players = figures["players"].as_array().map_or(0, Vec::len);
            if has_tank && seen >= 2 && players == 3 {
                return figures;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let figures = tokio::time::timeout(Duration::from_secs(20), playing).await.expect("it plays within 20 s");
    assert_eq!(figures["relay"], invitation["hashes"][0]);

    tokio::time::timeout(Duration::from_secs(2), arena.stop()).await.expect("it stops in time");
    let status = status.wait_for(|status| !matches!(status, Status::Connected(_))).await;
    let status = format!("{:?}", *status.expect("the task reports it"));
    assert!(status.contains("the relay is shutting down"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleets_bot_takes_part_in_duels_which_the_switch_orders() {
    let config = ArenaConfig {
        bots: 1,
        delays: vec![Span::from_millis(60)],
        choice: PolicyChoice::Base,
        port: 0,
        seed: 1,
        record: None,
    };
    let arena = Arena::start(config).await.expect("a port is free");
    let figures = ask(&arena, "/api/arena", None).await;
    assert_eq!((&figures["choice"], &figures["order"]), (&"base".into(), &"none".into()));
    let invitation = ask(&arena, "/api/arena/join", Some("{}")).await;
    let text = |key: &str| invitation[key].as_str().expect("a string").to_owned();
    let trust = Trust::Pinned(arena.server().hashes());
    let target = Target { url: text("url"), token: text("token"), seat: None, trust };
    let fleet = Fleet::start(FleetConfig::new(target, 1), None, |_, _, _| {}).await.expect("it is admitted");

    ask(&arena, "/api/arena/choice", Some(r#"{"choice":"even"}"#)).await;
    let playing = async {
        loop {
            let figures = ask(&arena, "/api/arena", None).await;
            let duel = &figures["duels"]["recent"][0];
            let shots = duel["shots"].as_array().map_or(0, Vec::len);
            if figures["duels"]["count"].as_u64() > Some(0) && shots == 2 {
                return figures;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let figures = tokio::time::timeout(Duration::from_secs(40), playing).await.expect("a duel of two");
    assert_eq!((&figures["choice"], &figures["order"]), (&"even".into(), &"reaction".into()));
    let duel = &figures["duels"]["recent"][0];
    assert_eq!(duel["winner"], duel["fastest"], "{duel}");
    let waits = |player: &Value| player["duels"]["adds_ms"].as_f64();
    let players = figures["players"].as_array().expect("a list");
    assert!(players.iter().all(|player| waits(player).is_some_and(|adds| adds >= 0.0)), "{players:?}");
    fleet.stop().await;
    arena.stop().await;
}
