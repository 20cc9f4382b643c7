//! What only the inside of the proxy can bring about.

use std::time::Instant;

use evenkeel_net::transport::tunnel::SharedKey;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use super::*;
use crate::config::ClientConfig;
use crate::{SyncClient, quiet};

const SOON: Duration = Duration::from_secs(8);

fn local() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// A game that sends everything back, and the proxies before it.
async fn pair(tcp: Option<u16>, notify: Notify) -> (SyncServer, SyncClient, UdpSocket) {
    let game = UdpSocket::bind(local()).await.expect("bound");
    let (key, at) = (SharedKey::generate(), game.local_addr().expect("an address"));
    tokio::spawn(async move {
        let mut buffer = [0; 2_048];
        while let Ok((len, from)) = game.recv_from(&mut buffer).await {
            let _ = game.send_to(&buffer[..len], from).await;
        }
    });
    let tcp: Vec<u16> = tcp.into_iter().collect();
    let config = ServerConfig {
        game: at.to_string(),
        listen: local(),
        tcp: tcp.clone(),
        page: Some(local()),
        ..ServerConfig::default()
    };
    let server = SyncServer::start(config, &key, notify).await.expect("started");
    let listen = SocketAddr::from(([127, 0, 0, 2], 0));
    let config =
        ClientConfig { listen, server: server.address().to_string(), tcp, ..ClientConfig::default() };
    let client = SyncClient::start(config, &key, quiet()).await.expect("started");
    let player = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 2], 0))).await.expect("bound");
    player.connect(client.address()).await.expect("connected");
    (server, client, player)
}

/// Sends until an answer comes.
async fn insist(player: &UdpSocket) {
    let (start, mut buffer) = (Instant::now(), [0; 16]);
    loop {
        player.send(b"hello").await.expect("sent");
        if tokio::time::timeout(Duration::from_millis(100), player.recv(&mut buffer)).await.is_ok() {
            return;
        }
        assert!(start.elapsed() < SOON, "no answer in time");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_fails_is_replaced_and_players_play_on() {
    let restarts = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = restarts.clone();
    let notify: Notify = Arc::new(move |notice| {
        if notice == Notice::Restarted {
            noted.lock().expect("no panic").push(notice);
        }
    });
    let (server, client, player) = pair(None, notify).await;
    insist(&player).await;
    let state = &server.state;
    let mut told = None;
    // It may be replaced before anybody looks.
    for _ in 0..5 {
        let failed: Result<(), CrankError> = state.crank.with(NODE, |_, _| panic!("a defect")).await;
        assert_eq!(failed, Err(CrankError::NoSuchNode));
        told = state.failure().await;
        if told.is_some() {
            break;
        }
    }
    assert_eq!(told, Some(CrankError::NoSuchNode), "/healthz says so");
    // What came back before is still on its way.
    while tokio::time::timeout(Duration::from_millis(50), player.recv(&mut [0; 16])).await.is_ok() {}
    insist(&player).await;
    assert_eq!(state.failure().await, None);
    assert!(!restarts.lock().expect("no panic").is_empty());
    client.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tcp_connections_take_no_players_places() {
    let game = TcpListener::bind(local()).await.expect("bound");
    let port = game.local_addr().expect("an address").port();
    let (server, _client, player) = pair(Some(port), quiet()).await;
    let all = server.state.slots.streams.try_acquire_many(STREAMS_MAX as u32).expect("none is taken");
    let mut refused = TcpStream::connect(("127.0.0.2", port)).await.expect("the client listens");
    let end = tokio::time::timeout(SOON, refused.read(&mut [0; 16])).await.expect("in time");
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    insist(&player).await;
    drop(all);
    let accepted = async {
        let _forwarded = TcpStream::connect(("127.0.0.2", port)).await.expect("the client listens");
        game.accept().await.expect("forwarded")
    };
    tokio::time::timeout(SOON, accepted).await.expect("in time");
}
