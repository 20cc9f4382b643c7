//! A directory, relays and players over real sockets.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evenkeel_directory::lan::{self, Reach, Service};
use evenkeel_directory::{
    Announcer, Directory, DirectoryClient, DirectoryConfig, DirectoryError, Registration, RoomListing,
    describe, ping,
};
use evenkeel_net::token::{IssuerKey, Name};
use evenkeel_serve::{AnnounceConfig, Client, RelayConfig, RelayServer, RoomConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const SECRET: &str = "a secret of relays";

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

/// A new key file's path; the directory creates the file.
fn key_file(test: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}.key", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

fn config(test: &str) -> DirectoryConfig {
    let listen = vec!["127.0.0.1:0".parse().expect("an address")];
    DirectoryConfig { listen, key: key_file(test), ..DirectoryConfig::default() }
}

fn client(directory: &Directory) -> DirectoryClient {
    DirectoryClient::new(&format!("http://{}", directory.addresses()[0])).expect("an address")
}

fn registration(directory: &Directory, relay: &str) -> Registration {
    Registration {
        name: relay.to_owned(),
        address: ":7878".to_owned(),
        certificate: Vec::new(),
        issuer: directory.issuer().to_string(),
        open: false,
        rooms: vec![RoomListing { name: "arena".to_owned(), players: 0, players_max: 2 }],
    }
}

async fn relay(issuer: String, rooms: &[&str], directory: Option<AnnounceConfig>) -> RelayServer {
    let address = vec!["127.0.0.1:0".parse().expect("an address")];
    let rooms = rooms.iter().map(|room| ((*room).to_owned(), RoomConfig::default())).collect();
    let config = RelayConfig {
        listen: address.clone(),
        http: address,
        issuer: Some(issuer),
        rooms,
        directory,
        ..RelayConfig::default()
    };
    RelayServer::start(config, None).await.expect("started")
}

fn announce(url: &str, relay: &str) -> AnnounceConfig {
    let (name, url) = (relay.to_owned(), Some(url.to_owned()));
    AnnounceConfig { name, url, secret: Some(SECRET.to_owned()), address: None, lan: false }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: Result<T, DirectoryError>, status: u16, words: &str) {
    match outcome {
        Err(DirectoryError::Refused { status: seen, message }) => {
            assert!(seen == status && message.contains(words), "{seen}: {message}");
        }
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_registers_itself_and_a_player_joins_by_the_directory() {
    let config = DirectoryConfig { secret: Some(SECRET.to_owned()), ..config("joins") };
    let directory = Directory::start(config).await.expect("started");
    let (players, url) = (client(&directory), format!("http://{}", directory.addresses()[0]));
    let issuer = players.issuer().await.expect("an answer");
    assert_eq!(issuer, directory.issuer());
    let announce = announce(&url, "frankfurt");
    let relay = Arc::new(relay(issuer.to_string(), &["arena"], Some(announce.clone())).await);
    let (described, settings) = (relay.clone(), announce.clone());
    let announcer = Announcer::start(announce, move || describe(&described, &settings)).expect("started");
    let start = Instant::now();
    let listing = loop {
        let listing = players.list().await.expect("an answer");
        if !listing.relays.is_empty() || start.elapsed() > Duration::from_secs(10) {
            break listing;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let [listed] = &listing.relays[..] else { panic!("{listing:?}") };
    assert_eq!((listed.name.as_str(), listed.rooms[0].name.as_str()), ("frankfurt", "arena"));
    assert_eq!(listed.address, relay.addresses()[0].to_string(), "the address that it called from");

    let measured = ping(listed.address.parse().expect("an address"), 3, Duration::from_secs(2)).await;
    assert_eq!(measured.expect("a socket").round_trips.len(), 3, "a relay answers without a token");

    let ticket =
        players.join(&name("frankfurt"), &name("arena"), &name("ada"), None).await.expect("a ticket");
    let mut ada = Client::start(ticket.client_config()).expect("started");
    ada.connected().await.expect("the relay accepts the directory's token");
    assert_eq!(relay.rooms(), [(name("arena"), 1, relay.rooms()[0].2)]);
    tokio::task::spawn_blocking(move || drop(ada)).await.expect("left");

    announcer.stop().await;
    assert_eq!(
        players.list().await.expect("an answer").relays,
        [],
        "a relay that stops takes itself off the list"
    );
    relay.stop().await;
}

#[tokio::test]
async fn only_relays_that_may_register_do_and_mistakes_are_explained() {
    let config = DirectoryConfig { secret: Some(SECRET.to_owned()), relays_max: 2, ..config("registers") };
    let directory = Directory::start(config).await.expect("started");
    let stranger = client(&directory);
    let with = |secret: &str| stranger.clone().with_secret(Some(secret.to_owned()));
    refused(stranger.register(&registration(&directory, "a")).await, 401, "wants a secret");
    refused(
        with("another secret").register(&registration(&directory, "a")).await,
        403,
        "not this directory's",
    );
    let relay = with(SECRET);
    let wrong = |change: fn(&mut Registration)| {
        let mut wrong = registration(&directory, "a");
        change(&mut wrong);
        wrong
    };
    refused(relay.register(&wrong(|wrong| wrong.name = "two words".to_owned())).await, 400, "name: ");
    refused(relay.register(&wrong(|wrong| wrong.address = "nowhere".to_owned())).await, 400, "HOST:PORT");
    refused(relay.register(&wrong(|wrong| wrong.address = "a/b:1".to_owned())).await, 400, "HOST:PORT");
    refused(relay.register(&wrong(|wrong| wrong.certificate.push("x".to_owned()))).await, 400, "SHA-256");
    refused(relay.register(&wrong(|wrong| wrong.rooms[0].name.clear())).await, 400, "rooms: ");
    let issuer = IssuerKey::generate().id().to_string();
    let other = Registration { issuer, ..registration(&directory, "a") };
    refused(relay.register(&other).await, 409, "set `issuer = ");
    for relay_name in ["a", "b", "a"] {
        relay.register(&registration(&directory, relay_name)).await.expect("registered");
    }
    refused(relay.register(&registration(&directory, "c")).await, 503, "full");
    refused(stranger.leave(&name("a")).await, 401, "wants a secret");
    relay.leave(&name("a")).await.expect("left");
    refused(relay.leave(&name("a")).await, 404, "no relay a");
    let gone = DirectoryClient::new("http://127.0.0.1:9").expect("an address").list().await;
    assert!(matches!(gone, Err(DirectoryError::NoAnswer { .. })), "{gone:?}");
    assert!(matches!(DirectoryClient::new("ftp://x"), Err(DirectoryError::NotAnAddress { .. })));
}

#[tokio::test]
async fn a_name_is_one_players_and_tokens_are_limited() {
    let config = DirectoryConfig { joins_per_minute: 8, ..config("names") };
    let directory = Directory::start(config).await.expect("started");
    let players = client(&directory);
    let mut full = registration(&directory, "near");
    full.rooms.push(RoomListing { name: "full".to_owned(), players: 2, players_max: 2 });
    players.register(&full).await.expect("from this machine no secret is needed");
    let join = async |room: &str, player: &str, former: Option<&str>| {
        players.join(&name("near"), &name(room), &name(player), former).await
    };
    let ticket = join("arena", "ada", None).await.expect("a ticket");
    assert_eq!(ticket.url, "https://127.0.0.1:7878/arena");
    let claims =
        directory.issuer().verify(&ticket.token, evenkeel_net::token::unix_seconds()).expect("valid");
    assert_eq!((claims.name, claims.room, claims.seats), (name("ada"), name("arena"), 1));
    refused(join("arena", "ada", None).await, 409, "is taken in arena");
    join("arena", "ada", Some(&ticket.token)).await.expect("its holder may have it again");
    refused(
        join("arena", "bob", Some("forged")).await.and(join("arena", "bob", None).await),
        409,
        "is taken",
    );
    refused(join("full", "ada", None).await, 409, "is full");
    refused(join("none", "ada", None).await, 404, "no room none");
    refused(players.join(&name("far"), &name("arena"), &name("ada"), None).await, 404, "no relay far");
    refused(join("arena", "eve", None).await, 429, "too many tokens");
}

#[tokio::test]
async fn malformed_requests_are_refused_in_bounds() {
    let config = DirectoryConfig { requests_per_minute: 12, ..config("malformed") };
    let directory = Directory::start(config).await.expect("started");
    let ask = async |head: &str, body: &str| {
        let mut stream = TcpStream::connect(directory.addresses()[0]).await.expect("connected");
        let length = body.len();
        let request = format!(
            "{head}\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        answer
    };
    let post = "POST /api/relays HTTP/1.1";
    let registration = serde_json::to_string(&registration(&directory, "a")).expect("JSON");
    let status = |answer: &str| answer.split(' ').nth(1).unwrap_or_default().to_owned();
    assert_eq!(status(&ask(&format!("{post}\r\nOrigin: http://evil.example"), &registration).await), "403");
    for body in ["", "{}", "{\"name\":1}", "[]", "\u{0}"] {
        assert_eq!(status(&ask(post, body).await), "400", "{body}");
    }
    let endless = format!("{{\"name\":\"{}\"}}", "a".repeat(100_000));
    assert_ne!(status(&ask(post, &endless).await), "200");
    let join = "POST /api/relays/a/rooms/%00/join HTTP/1.1";
    assert_eq!(status(&ask(join, "{\"name\":\"ada\"}").await), "400");
    assert_eq!(status(&ask("GET /nothing HTTP/1.1", "").await), "404");
    assert!(ask("GET / HTTP/1.1", "").await.contains("<title>Evenkeel: rooms to join</title>"));
    let mut last = String::new();
    for _ in 0..8 {
        last = status(&ask("GET /api/relays HTTP/1.1", "").await);
    }
    assert_eq!(last, "429", "an address that asks too often waits");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_local_network_nobody_needs_an_address() {
    let config = DirectoryConfig { lan: true, name: "party".to_owned(), ..config("lan") };
    let directory = Directory::start_within(config, Reach::Machine).await.expect("started");
    let settings =
        AnnounceConfig { name: "host".to_owned(), url: None, secret: None, address: None, lan: true };
    let relay = Arc::new(relay(directory.issuer().to_string(), &["arena"], None).await);
    let (described, describing) = (relay.clone(), settings.clone());
    let announcer =
        Announcer::start_within(settings, move || describe(&described, &describing), Reach::Machine);
    let announcer = announcer.expect("started");
    let url = lan::find_directory(Duration::from_secs(10), Reach::Machine).await.expect("searched");
    assert_eq!(url, Some(format!("http://{}", directory.addresses()[0])));
    let find = || {
        let is_ours = |found: &[lan::Found]| found.iter().any(|found| found.name == "host");
        lan::find(Service::Relay, Duration::from_secs(10), Reach::Machine, is_ours)
    };
    let found = tokio::task::spawn_blocking(find).await.expect("ran").expect("searched");
    let found = found.iter().find(|found| found.name == "host").expect("found");
    assert_eq!(found.addresses, relay.addresses());
    assert_eq!(found.properties["sha256"], relay.hashes()[0].to_string());
    let start = Instant::now();
    while client(&directory).list().await.expect("an answer").relays.is_empty() {
        assert!(start.elapsed() < Duration::from_secs(15), "the relay finds the directory by itself");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    announcer.stop().await;
    relay.stop().await;
}
