//! What goes wrong on one side or for one player, and that the others' service goes on.

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use evenkeel_net::transport::tunnel::SharedKey;
use evenkeel_proxy::{Notice, StartError, SyncClient, SyncServer, quiet};
use support::{Pair, Player, client_config, delays, echo, local, metric, server_config, soon, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::sleep;

/// Plays for a while. Returns the share of datagrams that were answered.
async fn plays(player: &Player, rounds: u32) -> f64 {
    let mut answered = 0;
    for round in 0..rounds {
        player.send(&round.to_le_bytes()).await;
        let mut wait = Duration::from_millis(250);
        while let Some(back) = player.receive_within(wait).await {
            if back == round.to_le_bytes() {
                answered += 1;
                break;
            }
            wait = Duration::from_millis(100);
        }
        sleep(Duration::from_millis(5)).await;
    }
    f64::from(answered) / f64::from(rounds)
}

/// Starts a proxy again. The system frees the port of the former one a little later.
async fn again<T>(start: impl AsyncFn() -> Result<T, StartError>) -> T {
    let attempts = async {
        loop {
            match start().await {
                Err(StartError::Bind(_) | StartError::Listen { .. }) => sleep(Duration::from_millis(5)).await,
                started => return started.expect("restarted"),
            }
        }
    };
    soon(attempts).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_server_finds_the_players_and_the_game_their_addresses() {
    let pair = Pair::start().await;
    let seen = echo(&pair.game);
    let players = [pair.player().await, pair.player().await];
    for player in &players {
        assert_eq!(player.insist(b"before").await, b"before");
    }
    let known: Vec<SocketAddr> = seen.lock().expect("no panic").keys().copied().collect();
    let (address, game) = (pair.server.address(), pair.game.local_addr().expect("an address"));
    let Pair { key, server, client, heard, .. } = pair;
    server.stop().await;
    until("the client says so", async || heard.any(|notice| matches!(notice, Notice::ServerLost { .. })))
        .await;
    assert_eq!(client.report().await.is_connected, Some(false));
    let mut config = server_config(game);
    config.listen = address;
    let restarted = again(async || SyncServer::start(config.clone(), &key, heard.notify()).await).await;
    for player in &players {
        assert_eq!(player.insist(b"after").await, b"after");
    }
    let found = |notice: &Notice| matches!(notice, Notice::ServerFound { .. });
    until("the client says so", async || heard.count(found) == 2).await;
    assert_eq!(restarted.report().await.players.len(), 2);
    assert_eq!(seen.lock().expect("no panic").keys().copied().collect::<Vec<_>>(), known);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_client_goes_on_and_the_others_notice_nothing() {
    let pair = Pair::start().await;
    echo(&pair.game);
    let other = SyncClient::start(client_config(pair.server.address()), &pair.key, quiet()).await;
    let other = other.expect("started");
    let unaffected = Player::at(other.address()).await;
    unaffected.insist(b"hello").await;
    let player = pair.player().await;
    player.insist(b"before").await;
    let (listen, server) = (pair.client.address(), pair.server.address());
    let restarting = async {
        pair.client.stop().await;
        let mut config = client_config(server);
        config.listen = listen;
        let client = again(async || SyncClient::start(config.clone(), &pair.key, quiet()).await).await;
        assert_eq!(player.insist(b"after").await, b"after");
        client
    };
    let (_client, share) = tokio::join!(restarting, plays(&unaffected, 100));
    assert!(share >= 0.99, "{share}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_may_start_before_its_server() {
    let (key, heard) = (SharedKey::generate(), support::Heard::default());
    let game = Arc::new(UdpSocket::bind(local()).await.expect("bound"));
    echo(&game);
    let free = std::net::UdpSocket::bind(local()).expect("bound");
    let address = free.local_addr().expect("an address");
    drop(free);
    let starting = SyncClient::start(client_config(address), &key, heard.notify());
    let client = soon(starting).await.expect("started");
    assert!(heard.any(|notice| matches!(notice, Notice::ServerLost { .. })));
    let mut config = server_config(game.local_addr().expect("an address"));
    config.listen = address;
    let _server = SyncServer::start(config, &key, quiet()).await.expect("started");
    let player = Player::at(client.address()).await;
    assert_eq!(player.insist(b"hello").await, b"hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_key_is_a_mistake_at_the_start() {
    let pair = Pair::start().await;
    let config = client_config(pair.server.address());
    let error = SyncClient::start(config, &SharedKey::generate(), quiet()).await.err().expect("refused");
    assert!(matches!(error, StartError::NotAdmitted(_)), "{error}");
    assert!(error.to_string().contains("the same key file"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_flooding_player_does_not_disturb_the_others() {
    let set = |config: &mut evenkeel_proxy::ClientConfig| config.link = delays(&[5.0]);
    let pair = Pair::with(|_| {}, set).await;
    echo(&pair.game);
    let (player, flooder) = (pair.player().await, pair.player().await);
    player.insist(b"hello").await;
    flooder.insist(b"hello").await;
    let is_over = Arc::new(AtomicBool::new(false));
    let flooding = {
        let (is_over, address) = (is_over.clone(), pair.client.address());
        let socket = flooder.0.into_std().expect("a socket");
        std::thread::spawn(move || {
            let mut sent = 0_u64;
            while !is_over.load(Ordering::Relaxed) {
                for _ in 0..50 {
                    sent += u64::from(socket.send_to(&[7; 800], address).is_ok());
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            sent
        })
    };
    let share = plays(&player, 150).await;
    is_over.store(true, Ordering::Relaxed);
    let sent = flooding.join().expect("no panic");
    let metrics = pair.client.metrics().await;
    assert!(sent > 20_000, "only {sent} datagrams");
    assert!(metric(&metrics, "evenkeel_proxy_over_game_allowance_total") > sent as f64 / 2.0);
    assert!(share >= 0.98, "{share}");
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_to_every_port_changes_nothing() {
    let set = |config: &mut evenkeel_proxy::ServerConfig| config.page = Some(local());
    let pair = Pair::with(set, |config| config.page = Some(local())).await;
    let seen = echo(&pair.game);
    let player = pair.player().await;
    player.insist(b"hello").await;
    let game_side: SocketAddr = *seen.lock().expect("no panic").keys().next().expect("a player");
    let stranger = UdpSocket::bind(local()).await.expect("bound");
    let mut draws = evenkeel_core::Seed::new(3).draws();
    let garbage = async {
        for round in 0..2_000_u64 {
            let len = 1 + draws.below(1_300) as usize;
            let mut bytes: Vec<u8> = (0..len).map(|_| draws.below(256) as u8).collect();
            // Every other one looks like QUIC.
            bytes[0] |= if round % 2 == 0 { 0xc0 } else { 0x40 };
            for target in [pair.server.address(), game_side, pair.client.address()] {
                let _ = stranger.send_to(&bytes, target).await;
            }
            for page in [pair.server.page(), pair.client.page()].into_iter().flatten() {
                if round % 100 == 0
                    && let Ok(mut tcp) = TcpStream::connect(page).await
                {
                    let _ = tcp.write_all(&bytes).await;
                }
            }
            sleep(Duration::from_micros(500)).await;
        }
    };
    let (share, ()) = tokio::join!(plays(&player, 150), garbage);
    assert!(share >= 0.98, "{share}");
    // The stranger is a player like any other; what it sent to the player's own socket did not get through.
    let report = pair.server.report().await;
    assert_eq!(report.players.len(), 2, "{report:?}");
    for metrics in [pair.server.metrics().await, pair.client.metrics().await] {
        assert_eq!(metric(&metrics, "evenkeel_proxy_panics_total"), 0.0);
        assert_eq!(metric(&metrics, "evenkeel_queue_full_total"), 0.0);
    }
}

/// Relays UDP between whoever sends to `near` and a server, over a socket of its own.
async fn relay(near: Arc<UdpSocket>, server: SocketAddr) {
    let far = UdpSocket::bind(local()).await.expect("bound");
    let (mut from_client, mut from_server) = ([0; 2_048], [0; 2_048]);
    let mut client = None;
    loop {
        tokio::select! {
            Ok((len, from)) = near.recv_from(&mut from_client) => {
                client = Some(from);
                let _ = far.send_to(&from_client[..len], server).await;
            }
            Ok(len) = far.recv(&mut from_server) => {
                if let Some(client) = client {
                    let _ = near.send_to(&from_server[..len], client).await;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_plays_on_when_its_routers_address_changes() {
    let pair = Pair::start().await;
    let seen = echo(&pair.game);
    let router = Arc::new(UdpSocket::bind(local()).await.expect("bound"));
    let mut config = client_config(router.local_addr().expect("an address"));
    config.listen = local();
    let mut mapping = tokio::spawn(relay(router.clone(), pair.server.address()));
    let client = SyncClient::start(config, &pair.key, quiet()).await.expect("started");
    let player = Player::at(client.address()).await;
    player.insist(b"hello").await;
    let addresses = seen.lock().expect("no panic").len();
    for _ in 0..3 {
        mapping.abort();
        mapping = tokio::spawn(relay(router.clone(), pair.server.address()));
        let share = plays(&player, 30).await;
        assert!(share >= 0.9, "{share}");
    }
    mapping.abort();
    assert_eq!(seen.lock().expect("no panic").len(), addresses, "the game saw the change");
    let metrics = client.metrics().await;
    assert_eq!(metric(&metrics, "evenkeel_proxy_connected_total"), 1.0, "a new tunnel was needed");
}

#[tokio::test(flavor = "multi_thread")]
async fn tcp_ports_are_forwarded_unchanged_and_only_those_allowed() {
    const BYTES: usize = 3 << 20;
    let game = TcpListener::bind(local()).await.expect("bound");
    let open = game.local_addr().expect("an address").port();
    // The client listens on the same port number, so it needs another address of this machine.
    let here = "127.0.0.2:0".parse().expect("an address");
    let closed =
        TcpListener::bind("127.0.0.2:0").await.expect("bound").local_addr().expect("an address").port();
    let server = |config: &mut evenkeel_proxy::ServerConfig| config.tcp = vec![open];
    let client = |config: &mut evenkeel_proxy::ClientConfig| {
        (config.listen, config.tcp) = (here, vec![open, closed]);
    };
    let pair = Pair::with(server, client).await;
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = game.accept().await {
            tokio::spawn(async move {
                let (mut reader, mut writer) = tcp.split();
                let _ = tokio::io::copy(&mut reader, &mut writer).await;
            });
        }
    });
    let mut tcp = TcpStream::connect(("127.0.0.2", open)).await.expect("connected");
    let sent: Vec<u8> = (0..BYTES).map(|at| ((at * 131) >> 5) as u8).collect();
    let (mut reader, mut writer) = tcp.split();
    let write = async {
        writer.write_all(&sent).await.expect("written");
        writer.shutdown().await.expect("ended");
    };
    let mut back = Vec::new();
    let ((), read) = soon(async { tokio::join!(write, reader.read_to_end(&mut back)) }).await;
    read.expect("read to the end");
    assert!(back == sent, "{} bytes of {BYTES}", back.len());
    let mut refused = TcpStream::connect(("127.0.0.2", closed)).await.expect("the client listens");
    let end = soon(refused.read(&mut [0; 16])).await;
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    let said = |notice: &Notice| matches!(notice, Notice::StreamRefused { port, .. } if *port == closed);
    until("the client says so", async || pair.heard.any(said)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_server_that_is_not_there_is_named_and_may_come_back() {
    let pair = Pair::start().await;
    let address = pair.game.local_addr().expect("an address");
    let player = pair.player().await;
    let Pair { game, server: _server, client: _client, heard, .. } = pair;
    drop(game);
    for _ in 0..20 {
        player.send(b"hello?").await;
        sleep(Duration::from_millis(20)).await;
    }
    until("it is named", async || heard.any(|notice| matches!(notice, Notice::GameUnreachable { .. }))).await;
    let game = Arc::new(UdpSocket::bind(address).await.expect("bound again"));
    echo(&game);
    assert_eq!(player.insist(b"hello").await, b"hello");
}
