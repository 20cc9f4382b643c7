//! A game, its players, and the proxies between them, over real sockets.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of it")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use evenkeel_net::transport::tunnel::SharedKey;
use evenkeel_proxy::{ClientConfig, Notice, Notify, ServerConfig, SyncClient, SyncServer, TrialLink};
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};

pub const SOON: Duration = Duration::from_secs(8);

pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(SOON, what).await.expect("done in time")
}

pub fn local() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

/// Waits until a condition holds.
pub async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !condition().await {
        assert!(start.elapsed() < SOON, "not in time: {what}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// Notices, kept.
#[derive(Clone, Default)]
pub struct Heard(Arc<Mutex<Vec<Notice>>>);

impl Heard {
    pub fn notify(&self) -> Notify {
        let heard = self.0.clone();
        Arc::new(move |notice| heard.lock().expect("no panic").push(notice))
    }

    pub fn any(&self, matches: impl Fn(&Notice) -> bool) -> bool {
        self.0.lock().expect("no panic").iter().any(matches)
    }

    pub fn count(&self, matches: impl Fn(&Notice) -> bool) -> usize {
        self.0.lock().expect("no panic").iter().filter(|notice| matches(notice)).count()
    }
}

/// The pair of proxies in front of a game.
pub struct Pair {
    pub key: SharedKey,
    pub game: Arc<UdpSocket>,
    pub server: SyncServer,
    pub client: SyncClient,
    pub heard: Heard,
}

pub fn server_config(game: SocketAddr) -> ServerConfig {
    ServerConfig { game: game.to_string(), listen: local(), ..ServerConfig::default() }
}

pub fn client_config(server: SocketAddr) -> ClientConfig {
    ClientConfig { listen: local(), server: server.to_string(), ..ClientConfig::default() }
}

pub fn delays(delay_ms: &[f64]) -> TrialLink {
    TrialLink { delay_ms: delay_ms.to_vec(), seed: 7, ..TrialLink::default() }
}

impl Pair {
    pub async fn start() -> Self {
        Self::with(|_| {}, |_| {}).await
    }

    pub async fn with(
        server: impl FnOnce(&mut ServerConfig),
        client: impl FnOnce(&mut ClientConfig),
    ) -> Self {
        let (key, heard) = (SharedKey::generate(), Heard::default());
        let game = Arc::new(UdpSocket::bind(local()).await.expect("bound"));
        let mut config = server_config(game.local_addr().expect("an address"));
        server(&mut config);
        let server = SyncServer::start(config, &key, heard.notify()).await.expect("started");
        let mut config = client_config(server.address());
        client(&mut config);
        let client = SyncClient::start(config, &key, heard.notify()).await.expect("started");
        Self { key, game, server, client, heard }
    }

    /// A player's game.
    pub async fn player(&self) -> Player {
        Player::at(self.client.address()).await
    }
}

/// A player's game.
pub struct Player(pub UdpSocket);

impl Player {
    pub async fn at(address: SocketAddr) -> Self {
        let socket = UdpSocket::bind(local()).await.expect("bound");
        socket.connect(address).await.expect("connected");
        Self(socket)
    }

    pub async fn send(&self, bytes: &[u8]) {
        self.0.send(bytes).await.expect("sent");
    }

    pub async fn receive(&self) -> Vec<u8> {
        let mut buffer = vec![0; 65_536];
        let len = soon(self.0.recv(&mut buffer)).await.expect("received");
        buffer.truncate(len);
        buffer
    }

    pub async fn receive_within(&self, time: Duration) -> Option<Vec<u8>> {
        let mut buffer = vec![0; 65_536];
        let len = timeout(time, self.0.recv(&mut buffer)).await.ok()?.ok()?;
        buffer.truncate(len);
        Some(buffer)
    }

    /// Sends until an answer comes. A game that loses its server does the same.
    pub async fn insist(&self, bytes: &[u8]) -> Vec<u8> {
        let start = Instant::now();
        loop {
            self.send(bytes).await;
            if let Some(answer) = self.receive_within(Duration::from_millis(100)).await {
                return answer;
            }
            assert!(start.elapsed() < SOON, "no answer in time");
        }
    }
}

/// A game server that sends everything back to its sender. Returns how many datagrams each address has sent.
pub fn echo(game: &Arc<UdpSocket>) -> Arc<Mutex<BTreeMap<SocketAddr, usize>>> {
    let (seen, game) = (Arc::new(Mutex::new(BTreeMap::new())), game.clone());
    let noting = seen.clone();
    tokio::spawn(async move {
        let mut buffer = vec![0; 65_536];
        loop {
            let Ok((len, from)) = game.recv_from(&mut buffer).await else { continue };
            *noting.lock().expect("no panic").entry(from).or_default() += 1;
            let _ = game.send_to(&buffer[..len], from).await;
        }
    });
    seen
}

/// The value of a metric without labels.
pub fn metric(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
    line.rsplit_once(' ').expect("a value").1.parse().expect("a number")
}
