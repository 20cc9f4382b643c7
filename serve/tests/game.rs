//! Messages of a game between players and the game's logic at the relay, over real sockets.

mod support;

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use evenkeel_core::clock::ServerClock;
use evenkeel_core::transcript::{Transcript, replay};
use evenkeel_core::{Channel, Malformed, PeerId, Reader, SessionTime, Vec3};
use evenkeel_dr::{MotionState, RoomEntity};
use evenkeel_game::{GameConfig, GameLogic, GameOutbox, GameRoom};
use evenkeel_net::token::{Claims, IssuerKey, Name, unix_seconds};
use evenkeel_serve::{
    Client, ClientConfig, ClientEvent, GAME_RECORDING, Game, MessageError, RelayConfig, RelayServer,
    ServedRoom, Status,
};
use support::until;
use tokio::runtime::Runtime;

/// Greets players by name, repeats what they say, and tells them where the leftmost entity is.
#[derive(Default)]
struct Parrot {
    left: u64,
}

impl GameLogic for Parrot {
    fn joined(&mut self, player: PeerId, name: &str, outbox: &mut GameOutbox) {
        outbox.send(player, format!("welcome, {name}").as_bytes());
    }

    fn left(&mut self, _player: PeerId, outbox: &mut GameOutbox) {
        self.left += 1;
        outbox.broadcast(b"somebody left");
    }

    fn message(&mut self, from: PeerId, message: &[u8], outbox: &mut GameOutbox) -> Result<(), Malformed> {
        if message == b"nonsense" {
            return Err(Malformed::Version { found: 9, supported: 1 });
        }
        outbox.send(from, message);
        Ok(())
    }

    fn tick(&mut self, now: SessionTime, entities: &[RoomEntity], outbox: &mut GameOutbox) {
        let left = entities.iter().map(|entity| entity.newest.project(now).x).reduce(f64::min);
        if let Some(x) = left {
            outbox.broadcast_datagram(&x.to_le_bytes());
        }
    }

    fn tallies(&self, _player: PeerId) -> Vec<(&'static str, u64)> {
        vec![("left", self.left)]
    }
}

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

struct Relay<R: ServedRoom> {
    runtime: Runtime,
    server: RelayServer<R>,
    key: IssuerKey,
}

impl<R: ServedRoom> Relay<R> {
    fn start(game: Game<R>) -> Self {
        Self::record(game, None)
    }

    fn record(game: Game<R>, record: Option<Box<dyn Write + Send>>) -> Self {
        let (runtime, key) = (Runtime::new().expect("a runtime"), IssuerKey::generate());
        let config = RelayConfig {
            listen: vec![(Ipv4Addr::LOCALHOST, 0).into()],
            http: vec![(Ipv4Addr::LOCALHOST, 0).into()],
            issuer: Some(key.id().to_string()),
            token_key: PathBuf::from("/nonexistent"),
            ..RelayConfig::default()
        };
        let server =
            runtime.block_on(RelayServer::start_with(config, record, game)).expect("the relay starts");
        Self { runtime, server, key }
    }

    fn config(&self, player: &str) -> ClientConfig {
        let token = self.key.sign(&Claims::issue(name("arena"), name(player), unix_seconds(), 60));
        let url = format!("https://{}/arena", self.server.addresses()[0]);
        ClientConfig::pinned(&url, &token, &self.server.hashes())
    }

    fn player(&self, player: &str) -> Client {
        Client::connect(self.config(player)).expect("admitted")
    }
}

/// Waits for a message on a channel; others are skipped.
fn wait_for(client: &Client, expected: Channel, is_it: impl Fn(&[u8]) -> bool) {
    until("the message comes", || {
        client.events().iter().any(|(_, event)| {
            matches!(event, ClientEvent::Message { channel, bytes } if *channel == expected && is_it(bytes))
        })
    });
}

#[test]
fn players_talk_with_the_games_logic_on_both_channels() {
    let relay = Relay::start(Game::new(|_| Parrot::default()));
    let ada = relay.player("ada");
    wait_for(&ada, Channel::Reliable, |bytes| bytes == b"welcome, ada");
    ada.send(b"hello").expect("sent");
    wait_for(&ada, Channel::Reliable, |bytes| bytes == b"hello");
    ada.send_datagram(b"quick").expect("sent");
    wait_for(&ada, Channel::Reliable, |bytes| bytes == b"quick");
    assert_eq!(ada.send_datagram(&[0; 1_001]), Err(MessageError::TooLong { len: 1_001, len_max: 1_000 }));

    let here = MotionState { position: Vec3::xy(-7.0, 0.0), ..MotionState::default() };
    until("the relay knows the entity", || {
        ada.observe(&[(0, here)]).expect("valid");
        ada.events().iter().any(|(_, event)| matches!(event, ClientEvent::Message { channel: Channel::Datagram, bytes } if **bytes == (-7.0f64).to_le_bytes()))
    });

    let bob = relay.player("bob");
    wait_for(&bob, Channel::Reliable, |bytes| bytes == b"welcome, bob");
    bob.send(b"nonsense").expect("sent");
    let report = || relay.runtime.block_on(relay.server.report(&name("arena"))).expect("the room exists");
    until("the nonsense is counted", || report().players.iter().any(|player| player.rejected > 0));
    assert!(matches!(bob.status(), Status::Connected(_)), "the game's versions close no connection");
    drop(bob);
    wait_for(&ada, Channel::Reliable, |bytes| bytes == b"somebody left");
    assert_eq!(report().players[0].tallies["left"], 1);
}

/// A recording in memory.
#[derive(Clone, Default)]
struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_room_with_a_game_replays_byte_for_byte() {
    let file = MemoryFile::default();
    let relay = Relay::record(Game::new(|_| Parrot::default()), Some(Box::new(file.clone())));
    let (ada, bob) = (relay.player("ada"), relay.player("bob"));
    ada.send(b"hello").expect("sent");
    wait_for(&ada, Channel::Reliable, |bytes| bytes == b"hello");
    drop(bob);
    wait_for(&ada, Channel::Reliable, |bytes| bytes == b"somebody left");
    relay.runtime.block_on(relay.server.stop());
    let recorded = file.0.lock().expect("no panic").clone();
    let transcript = Transcript::open(&recorded).expect("a transcript");
    assert_eq!(transcript.config, GAME_RECORDING);
    let replayed = replay(transcript, |_, bytes| {
        let config: GameConfig = Reader::new(bytes).read()?;
        Ok(GameRoom::with_clock(&config, ServerClock::default(), Parrot::default()))
    });
    assert!(replayed.as_ref().is_ok_and(|done| done.transmits >= 3), "{replayed:?}");
}

#[test]
fn a_relay_without_a_game_counts_its_messages_and_keeps_the_player() {
    let relay = Relay::start(Game::default());
    let ada = relay.player("ada");
    ada.send(b"is anybody there?").expect("sent");
    ada.send_datagram(b"hello?").expect("sent");
    until("both are counted", || {
        let room = relay.runtime.block_on(relay.server.report(&name("arena"))).expect("the room exists");
        room.players.first().is_some_and(|ada| ada.rejected == 2)
    });
    assert!(matches!(ada.status(), Status::Connected(_)));
}

#[test]
fn a_client_whose_relay_does_not_answer_says_that_it_is_connecting() {
    let silent = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let url = format!("https://{}/arena", silent.local_addr().expect("an address"));
    let ada = Client::start(ClientConfig::pinned(&url, "token", &[])).expect("threads");
    assert_eq!(ada.status(), Status::Connecting(None));
    assert_eq!(ada.send(b"too soon"), Err(MessageError::NotConnected));
    assert!(ada.others().is_empty() && ada.events().is_empty() && ada.player().is_none());
    ada.observe(&[(0, MotionState::default())]).expect("valid, though nobody sees it");
}

#[test]
fn a_client_starts_without_blocking_and_leaves_on_a_runtime() {
    let relay = Relay::start(Game::new(|_| Parrot::default()));
    let config = relay.config("ada");
    relay.runtime.block_on(async {
        let mut ada = Client::start(config).expect("threads");
        ada.connected().await.expect("admitted");
        assert!(ada.player().is_some() && ada.others().is_empty());
    });
    until("the room is empty", || {
        let room = relay.runtime.block_on(relay.server.report(&name("arena")));
        room.is_some_and(|room| room.players.is_empty())
    });
    let mut refused = relay.config("bob");
    refused.target.token.clear();
    let failed = relay.runtime.block_on(async {
        let mut bob = Client::start(refused).expect("threads");
        bob.connected().await
    });
    assert!(failed.expect_err("no token").to_string().contains("there is no token"));
}
