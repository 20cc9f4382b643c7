//! Players in a room over real sockets.

mod support;

use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use evenkeel_core::clock::ServerClock;
use evenkeel_core::transcript::{Call, Record, Transcript, replay};
use evenkeel_core::{PeerChange, Reader, Vec3};
use evenkeel_dr::{DrCommand, DrRelay, EntityId, MotionState};
use evenkeel_game::{GameConfig, PlayerCommand};
use evenkeel_net::NodeId;
use evenkeel_net::token::{Claims, IssuerKey, Name, unix_seconds};
use evenkeel_net::transport::{BindError, CloseCode, ConnectError, Connection, Limits, connect};
use evenkeel_serve::client::player_machine;
use evenkeel_serve::{Client, ClientConfig, ClientError, RELAY, RelayConfig, RelayServer, Status};
use evenkeel_serve::{RoomReport, StartError};
use support::until;
use tokio::runtime::Runtime;

/// A relay with its own runtime.
struct Relay {
    runtime: Runtime,
    server: Option<RelayServer>,
    key: IssuerKey,
}

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

impl Relay {
    fn start(change: impl FnOnce(&mut RelayConfig), record: Option<Box<dyn Write + Send>>) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let key = IssuerKey::generate();
        let mut config = RelayConfig {
            listen: vec![(Ipv4Addr::LOCALHOST, 0).into(), (Ipv6Addr::LOCALHOST, 0).into()],
            http: vec![(Ipv4Addr::LOCALHOST, 0).into()],
            issuer: Some(key.id().to_string()),
            token_key: PathBuf::from("/nonexistent"),
            ..RelayConfig::default()
        };
        change(&mut config);
        let server = Self::serve(&runtime, &config, record);
        Self { runtime, server: Some(server), key }
    }

    /// Starts it, retrying while another process's client briefly holds the port.
    fn serve(
        runtime: &Runtime,
        config: &RelayConfig,
        mut record: Option<Box<dyn Write + Send>>,
    ) -> RelayServer {
        let start = Instant::now();
        loop {
            match runtime.block_on(RelayServer::start(config.clone(), record.take())) {
                Err(StartError::Bind(BindError::Taken { .. }))
                    if start.elapsed() < Duration::from_secs(20) =>
                {
                    sleep(Duration::from_millis(100));
                }
                started => return started.expect("the relay starts"),
            }
        }
    }

    fn server(&self) -> &RelayServer {
        self.server.as_ref().expect("the relay is running")
    }

    fn token(&self, room: &str, player: &str) -> String {
        self.key.sign(&Claims::issue(name(room), name(player), unix_seconds(), 60))
    }

    fn config(&self, room: &str, token: &str) -> ClientConfig {
        let address = self.server().addresses()[0];
        ClientConfig::pinned(&format!("https://{address}/{room}"), token, &self.server().hashes())
    }

    fn player(&self, room: &str, player: &str) -> Client {
        Client::connect(self.config(room, &self.token(room, player))).expect("admitted")
    }

    /// A player that controls its connection itself.
    fn connection(&self, room: &str, player: &str) -> Connection {
        let target = self.config(room, &self.token(room, player)).target;
        let connecting = connect(&target.url, Some(&target.token), &target.trust, Limits::default());
        self.runtime.block_on(connecting).expect("admitted")
    }

    /// Returns the names of the players in a room.
    fn names(&self, room: &str) -> Option<Vec<String>> {
        Some(self.report(room)?.players.into_iter().map(|player| player.name).collect())
    }

    fn report(&self, room: &str) -> Option<RoomReport> {
        self.runtime.block_on(self.server().report(&name(room)))
    }

    fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop());
        }
    }
}

fn at(x: f64) -> MotionState {
    MotionState { position: Vec3::xy(x, 0.0), velocity: Vec3::xy(3.0, 0.0), ..MotionState::default() }
}

/// Moves two players.
fn play(ada: &Client, bob: &Client, ticks: u32) {
    for tick in 0..ticks {
        ada.observe(&[(0, at(f64::from(tick)))]).expect("valid");
        bob.observe(&[(0, at(-f64::from(tick))), (1, at(100.0))]).expect("valid");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn two_players_see_each_other_and_the_relay_reports_on_them() {
    let mut relay = Relay::start(|_| {}, None);
    let (ada, bob) = (relay.player("arena", "ada"), relay.player("arena", "bob"));
    until("they see each other", || {
        play(&ada, &bob, 5);
        ada.others().len() == 2 && bob.others().len() == 1
    });
    assert_eq!(bob.others()[0].entity, EntityId::of(ada.player().expect("connected"), 0));
    until("the certified interval is less than a millisecond wide on loopback", || {
        ada.clock_error_max().is_some_and(|half| half.as_secs_f64() < 0.5e-3)
    });
    until("the first reports have arrived", || {
        play(&ada, &bob, 5);
        relay.report("arena").is_some_and(|room| room.players.iter().all(|player| player.delay_ms[1] > 0.0))
    });
    let room = relay.report("arena").expect("the room exists");
    let names: Vec<_> = room.players.iter().map(|player| player.name.as_str()).collect();
    assert_eq!(names, ["ada", "bob"]);
    assert_eq!(relay.report("elsewhere"), None);
    bob.end(1).expect("a valid number");
    until("ada sees the entity end", || ada.others().len() == 1);
    drop(bob);
    until("ada sees bob leave", || ada.others().is_empty());
    assert_eq!(relay.report("arena").expect("the room exists").players.len(), 1);
    drop(ada);
    until("the room is empty", || relay.names("arena").is_some_and(|names| names.is_empty()));
    let empty = relay.report("arena").expect("the room still exists");
    for figure in [empty.mean_aee, empty.std_aee, empty.mean_aee_per_s, empty.std_aee_per_s, empty.sent_per_s]
    {
        assert!(figure == 0.0 && figure.is_sign_positive(), "{empty:?}");
    }
    relay.stop();
}

#[test]
fn a_local_relay_is_trusted_by_its_address_alone() {
    let at_the_same_port = |config: &mut RelayConfig| {
        config.listen.truncate(1);
        config.http.clear();
    };
    let mut relay = Relay::start(at_the_same_port, None);
    let address = relay.server().addresses()[0];
    let config = ClientConfig::new(&format!("https://{address}/arena"), &relay.token("arena", "ada"));
    let ada = Client::connect(config).expect("admitted");
    assert!(ada.player().is_some());
    drop(ada);
    relay.stop();
}

#[test]
fn a_session_over_real_sockets_replays_byte_for_byte() {
    let files: [Arc<Mutex<Vec<u8>>>; 2] = Default::default();
    // A slow disk shows that stopping waits for the end of the recording.
    let pause = Duration::from_millis(100);
    let writer =
        |index: usize| -> Box<dyn Write + Send> { Box::new(SlowFile { file: files[index].clone(), pause }) };
    let mut relay = Relay::start(|_| {}, Some(writer(0)));
    let mut config = relay.config("arena", &relay.token("arena", "ada"));
    config.record = Some(writer(1));
    let ada = Client::connect(config).expect("admitted");
    let bob = relay.player("arena", "bob");
    until("they see each other", || {
        play(&ada, &bob, 20);
        !ada.others().is_empty() && !bob.others().is_empty()
    });
    play(&ada, &bob, 100);
    ada.observe(&[(0, at(LAST))]).expect("valid");
    drop(ada);
    let hers = files[1].lock().expect("no panic").clone();
    drop(bob);
    relay.stop();
    let config = |bytes: &[u8]| Reader::new(bytes).read::<GameConfig>();
    let relays = files[0].lock().expect("no panic").clone();
    let open = |recorded| Transcript::open(recorded).expect("a transcript");
    let relayed =
        replay(open(&relays), |_, bytes| Ok(DrRelay::with_clock(&config(bytes)?.dr, ServerClock::default())));
    assert!(relayed.as_ref().is_ok_and(|done| done.calls > 100 && done.transmits > 100), "{relayed:?}");
    let played = replay(open(&hers), |_, bytes| Ok(player_machine(&config(bytes)?)));
    assert!(played.as_ref().is_ok_and(|done| done.calls > 100 && done.transmits > 50), "{played:?}");
    let calls = calls(&hers);
    let is_last = |state: &MotionState| *state == at(LAST);
    let last = calls.iter().position(
        |call| matches!(call, Call::Command(PlayerCommand::Motion(DrCommand::ObserveAll { states })) if is_last(&states[0].1)),
    );
    let after = &calls[last.expect("the last observation is recorded")..];
    assert!(after.contains(&Call::Peer(PeerChange::Left { peer: RELAY })), "leaving is recorded");
}

/// A position that occurs nowhere else.
const LAST: f64 = 1234.0;

/// Returns every call of a recording.
fn calls(recorded: &[u8]) -> Vec<Call<'_, PlayerCommand>> {
    let mut transcript = Transcript::open(recorded).expect("a transcript");
    let mut calls = Vec::new();
    while let Some(record) = transcript.next_record().expect("a complete record") {
        if let Record::Call { call, .. } = record {
            calls.push(call);
        }
    }
    calls
}

#[test]
fn an_entity_ended_while_disconnected_is_gone_after_reconnecting() {
    let relay = Relay::start(|_| {}, None);
    let file = Arc::default();
    let mut config = relay.config("arena", &relay.token("arena", "ada"));
    config.record = Some(Box::new(SlowFile { file: Arc::clone(&file), pause: Duration::ZERO }));
    let ada = Client::connect(config).expect("admitted");
    let bob = relay.player("arena", "bob");
    until("bob sees both entities", || {
        ada.observe(&[(0, at(1.0)), (1, at(2.0))]).expect("valid");
        bob.observe(&[(0, at(3.0))]).expect("valid");
        bob.others().len() == 2
    });
    let number = ada.player().expect("connected");
    until("ada is disconnected", || {
        ada.crank().detach(NodeId(0), RELAY, CloseCode::TooSlow).expect("running");
        sleep(Duration::from_millis(5));
        ada.player().is_none()
    });
    ada.end(1).expect("a valid number");
    until("bob sees only the remaining entity", || {
        ada.observe(&[(0, at(1.0))]).expect("valid");
        bob.observe(&[(0, at(3.0))]).expect("valid");
        ada.player().is_some() && bob.others().len() == 1
    });
    drop(ada);
    let recorded = file.lock().expect("no panic");
    let end = DrCommand::End { entity: EntityId::of(number, 1) };
    assert!(calls(&recorded).contains(&Call::Command(PlayerCommand::Motion(end))));
}

/// A recording in memory that is written slowly.
struct SlowFile {
    file: Arc<Mutex<Vec<u8>>>,
    pause: Duration,
}

impl Write for SlowFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        sleep(self.pause);
        self.file.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_player_without_a_valid_token_is_told_why() {
    let relay = Relay::start(|_| {}, None);
    let refusal = |token: &str, room: &str| match Client::connect(relay.config(room, token)) {
        Err(ClientError::Connect(ConnectError::Refused(reason))) => {
            (reason.code, reason.message().to_owned())
        }
        other => panic!("{other:?}"),
    };
    let (code, message) = refusal("", "arena");
    assert_eq!(code, CloseCode::TokenRefused);
    assert!(message.contains("there is no token"), "{message}");
    let expired = relay.key.sign(&Claims::issue(name("arena"), name("ada"), unix_seconds() - 400, 100));
    assert!(refusal(&expired, "arena").1.contains("expired 5 minutes ago"));
    let foreign = IssuerKey::generate().sign(&Claims::issue(name("arena"), name("ada"), unix_seconds(), 60));
    assert!(refusal(&foreign, "arena").1.contains("signed by another key"));
    assert!(refusal(&relay.token("arena", "ada"), "pit").1.contains("for the room arena"));
    assert!(relay.report("arena").is_none(), "no room was created");
}

#[test]
fn a_player_that_connects_again_replaces_its_connection_and_keeps_its_number() {
    let relay = Relay::start(|_| {}, None);
    let first = relay.player("arena", "ada");
    let number = first.player();
    let second = relay.player("arena", "ada");
    assert_eq!(second.player(), number);
    until(
        "the first connection ends",
        || matches!(first.status(), Status::Over(message) if message.contains("replaced by a newer connection")),
    );
    drop(first);
    sleep(Duration::from_millis(50));
    assert_eq!(relay.names("arena").expect("the room exists"), ["ada"]);
}

#[test]
fn a_second_connection_without_a_stream_does_not_hide_the_first() {
    let relay = Relay::start(|_| {}, None);
    let ada = relay.player("arena", "ada");
    until("ada is present", || relay.names("arena").expect("the room exists") == ["ada"]);
    let target = relay.config("arena", &relay.token("arena", "ada")).target;
    let hash = relay.server().hashes()[0].as_bytes().to_vec();
    relay.runtime.block_on(async {
        let client = web_transport_quinn::ClientBuilder::new().with_server_certificate_hashes(vec![hash]);
        let url: url::Url = format!("{}?token={}", target.url, target.token).parse().expect("a URL");
        let session = client.expect("a client").connect(url).await.expect("connected");
        session.close(0, b"");
    });
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(500) {
        assert_eq!(relay.names("arena").expect("the room exists"), ["ada"]);
        sleep(Duration::from_millis(10));
    }
    drop(ada);
    until("ada is gone", || relay.names("arena").expect("the room exists").is_empty());
}

/// Checks that a player that closes with this code leaves, and that nothing else happens.
fn is_gone_after_closing_with(code: CloseCode) {
    let relay = Relay::start(|_| {}, None);
    let _bob = relay.player("arena", "bob");
    let ada = relay.connection("arena", "ada");
    until("ada is present", || relay.names("arena").expect("the room exists") == ["bob", "ada"]);
    ada.close(code);
    until("only bob is left in the room", || relay.names("arena").expect("the room exists") == ["bob"]);
}

#[test]
fn a_player_that_closes_as_replaced_leaves() {
    is_gone_after_closing_with(CloseCode::Replaced);
}

#[test]
fn a_player_that_closes_with_an_internal_error_does_not_end_the_room() {
    is_gone_after_closing_with(CloseCode::Internal);
}

#[test]
fn players_reconnect_when_the_relay_restarts() {
    let kept = std::env::temp_dir().join(format!("evenkeel-relay-{}.pem", std::process::id()));
    let mut relay = Relay::start(|config| config.keep_certificate = Some(kept.clone()), None);
    let (address, issuer) = (relay.server().addresses()[0], relay.key.id().to_string());
    let (ada, bob) = (relay.player("arena", "ada"), relay.player("arena", "bob"));
    relay.stop();
    until(
        "ada notices",
        || matches!(ada.status(), Status::Connecting(Some(message)) if message.contains("shutting down")),
    );
    // Another relay at that address is not trusted: the players keep trying, and report why.
    let mut impostor = Relay::start(|config| config.listen = vec![address], None);
    until("bob reports the wrong certificate", || {
        let pinned = "does not match the pinned hash";
        matches!(bob.status(), Status::Connecting(Some(message)) if message.contains(pinned))
    });
    impostor.stop();
    let again = Relay::start(
        |config| {
            config.issuer = Some(issuer);
            (config.listen, config.keep_certificate) = (vec![address], Some(kept.clone()));
        },
        None,
    );
    until("both are back", || again.report("arena").is_some_and(|room| room.players.len() == 2));
    until("both know their numbers", || ada.player().is_some() && bob.player().is_some());
    assert_ne!(ada.player(), bob.player());
    let _ = std::fs::remove_file(&kept);
    drop((ada, bob, again));
}

#[test]
fn a_vector_beyond_the_rooms_limits_is_rejected_and_counted() {
    let relay = Relay::start(|config| config.room.speed_max = 10.0, None);
    let (ada, bob) = (relay.player("arena", "ada"), relay.player("arena", "bob"));
    let racing = MotionState { velocity: Vec3::xy(50.0, 0.0), ..MotionState::default() };
    until("the vector is counted", || {
        ada.observe(&[(0, racing)]).expect("valid");
        bob.observe(&[(0, at(1.0))]).expect("valid");
        relay.report("arena").expect("the room exists").players[0].rejected > 0 && !ada.others().is_empty()
    });
    assert!(bob.others().is_empty());
}

#[test]
fn a_client_of_another_version_is_told_so() {
    let relay = Relay::start(|_| {}, None);
    let connection = relay.connection("arena", "ada");
    connection.send_datagram(vec![9, 1, 2, 3].into()).expect("sent");
    let closed = relay.runtime.block_on(connection.closed());
    assert_eq!(closed.code(), Some(CloseCode::VersionMismatch));
    assert!(closed.to_string().contains("a message of version 9, expected 1: update"), "{closed}");
}

#[test]
fn a_full_room_refuses_returning_players_too() {
    let relay = Relay::start(|config| config.room.players_max = 1, None);
    let refused = |player: &str| match Client::connect(relay.config("arena", &relay.token("arena", player))) {
        Err(ClientError::Connect(ConnectError::Refused(reason))) => assert_eq!(reason.code, CloseCode::Full),
        other => panic!("{other:?}"),
    };
    let ada = relay.player("arena", "ada");
    refused("bob");
    drop(ada);
    until("ada is gone", || relay.report("arena").is_some_and(|room| room.players.is_empty()));
    let bob = relay.player("arena", "bob");
    refused("ada");
    drop(bob);
}

#[test]
fn a_room_whose_machine_failed_while_empty_is_created_again() {
    let relay = Relay::start(|_| {}, None);
    let ada = relay.player("arena", "ada");
    until("ada is present", || relay.names("arena").expect("the room exists") == ["ada"]);
    drop(ada);
    until("ada is gone", || relay.names("arena").expect("the room exists").is_empty());
    let failed = relay.server().crank(NodeId(0)).with(NodeId(0), |_, _| panic!("as if by a bug"));
    assert!(relay.runtime.block_on(failed).is_err());
    assert_eq!(relay.report("arena"), None);
    let _bob = relay.player("arena", "bob");
    until("bob is in a new room", || relay.names("arena").is_some_and(|names| names == ["bob"]));
}

#[test]
fn a_busy_room_does_not_hold_up_a_room_on_another_thread() {
    let relay = Relay::start(|config| config.threads = 2, None);
    let (ada, bob) = (relay.player("first", "ada"), relay.player("second", "bob"));
    let node = |room| relay.server().node(&name(room)).expect("the room exists");
    let (first, second) = (node("first"), node("second"));
    let (begin, has_begun) = std::sync::mpsc::channel();
    let (release, until_released) = std::sync::mpsc::channel::<()>();
    let crank = relay.server().crank(first).clone();
    let busy = relay.runtime.spawn(async move {
        let work = move |_: &mut DrRelay<ServerClock>, _| {
            begin.send(()).expect("the test waits");
            until_released.recv().expect("the test ends it");
        };
        crank.with(first, work).await
    });
    has_begun.recv().expect("the room is busy");
    let timeouts = relay.server().crank(second).counts().timeouts;
    until("bob plays", || {
        bob.observe(&[(0, at(1.0))]).expect("valid");
        relay.report("second").is_some_and(|room| room.players.len() == 1)
            && relay.server().crank(second).counts().timeouts > timeouts
    });
    release.send(()).expect("the room waits");
    relay.runtime.block_on(busy).expect("no panic").expect("the room exists");
    until("ada is still there", || relay.names("first").is_some_and(|names| names == ["ada"]));
    drop((ada, bob));
}

#[test]
fn an_empty_room_is_closed_for_a_new_one() {
    let relay = Relay::start(|config| config.rooms_max = 2, None);
    let (ada, bob) = (relay.player("first", "ada"), relay.player("second", "bob"));
    match Client::connect(relay.config("third", &relay.token("third", "cyd"))) {
        Err(ClientError::Connect(ConnectError::Refused(reason))) => assert_eq!(reason.code, CloseCode::Full),
        other => panic!("{other:?}"),
    }
    drop(ada);
    until("the first is empty", || relay.report("first").is_some_and(|room| room.players.is_empty()));
    let cyd = relay.player("third", "cyd");
    until("cyd is in the third room", || relay.names("third").is_some_and(|names| names == ["cyd"]));
    assert_eq!(relay.report("first"), None);
    assert_eq!(relay.report("second").expect("the room exists").players.len(), 1);
    drop((bob, cyd));
}
