//! A game's datagrams through a pair of proxies, compared with a plain UDP relay, one after another within one run: players,
//! game and forwarders over loopback in this process.
//!
//! `cargo bench -p evenkeel-proxy --bench forwarding`
//!
//! - *Throughput*: as many datagrams as get through from all players to the game, and back. Senders keep a window in flight,
//!   so that full buffers lose nothing. Everybody shares the cores, so the rate describes the whole.
//! - *Time on the way* at a game's rates, and with Sync-out how far it is from its usual value: everybody shall see an update
//!   at one time, so being early is as bad as being late.
//!
//! The bars: the pair carries at least a tenth of what the plain relay does, which neither encrypts nor orders, and 99 % of
//! updates are shown within 1 ms of their usual time. Otherwise the exit status is 1.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenkeel_net::transport::tunnel::SharedKey;
use evenkeel_proxy::{ClientConfig, ServerConfig, SyncClient, SyncServer, TrialLink, quiet};
use evenkeel_sync_ms::Order;
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

const PLAYERS: usize = 8;
const BYTES: usize = 200;
const THROUGHPUT: Duration = Duration::from_secs(3);
const PACED: Duration = Duration::from_secs(10);
/// What a game sends each way, per player.
const EVERY: Duration = Duration::from_millis(16);
/// Datagrams of a player in flight.
const WINDOW: u64 = 32;
/// The least ratio of the rates, pair to plain relay.
const RATIO_MIN: f64 = 0.1;
/// How far from its usual time an update may be shown, and the least share of those that are nearer.
const OFF_MAX: Duration = Duration::from_millis(1);
const PUNCTUAL_MIN: f64 = 0.99;

fn main() -> ExitCode {
    let runtime = Runtime::new().expect("a runtime");
    println!("{PLAYERS} players, {BYTES} bytes a datagram\n");
    println!("{:<46}{:>14}{:>14}{:>30}", "", "to the game", "to players", "paced, on the way: p50 p99 p99.9");
    let plain = measure(&runtime, &Forwarder::Plain);
    let pass = measure(&runtime, &Forwarder::Pair { order: Order::None, out: false, delay_ms: 0.0 });
    let _ = measure(&runtime, &Forwarder::Pair { order: Order::Reaction, out: true, delay_ms: 0.0 });
    let held = measure(&runtime, &Forwarder::Pair { order: Order::Reaction, out: true, delay_ms: 20.0 });
    let ratio = (pass.up / plain.up).min(pass.down / plain.down);
    let punctual = held.punctual();
    println!("\nthe pair carries {ratio:.2} of what the plain relay does (at least {RATIO_MIN})");
    println!("{:.2} % of updates are shown within {OFF_MAX:?} of their usual time", 100.0 * punctual);
    if ratio >= RATIO_MIN && punctual >= PUNCTUAL_MIN { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What stands between players and game.
enum Forwarder {
    Plain,
    Pair { order: Order, out: bool, delay_ms: f64 },
}

impl Forwarder {
    fn name(&self) -> String {
        match self {
            Self::Plain => "plain UDP relay".to_owned(),
            Self::Pair { order, out, delay_ms } => {
                let out = if *out { "at once" } else { "not held" };
                format!("proxies, order {order}, updates {out}, {delay_ms} ms away")
            }
        }
    }
}

/// A running forwarder.
enum Running {
    Plain(Vec<AbortHandle>),
    Pair(Box<(SyncServer, SyncClient)>),
}

#[derive(Default)]
struct Figures {
    /// Datagrams per second.
    up: f64,
    down: f64,
    /// Updates' times on the way, sorted.
    paced: Vec<Duration>,
}

impl Figures {
    fn quantile(&self, share: f64) -> Duration {
        self.paced[((self.paced.len() - 1) as f64 * share).round() as usize]
    }

    fn punctual(&self) -> f64 {
        let usual = self.quantile(0.5);
        let near = self.paced.iter().filter(|took| took.abs_diff(usual) <= OFF_MAX).count();
        near as f64 / self.paced.len() as f64
    }
}

fn measure(runtime: &Runtime, forwarder: &Forwarder) -> Figures {
    let game = Arc::new(socket());
    let (address, running) = runtime.block_on(start(forwarder, local(&game)));
    let players: Vec<_> = (0..PLAYERS).map(|_| socket()).collect();
    for player in &players {
        player.connect(address).expect("connected");
    }
    let players: Vec<_> = players.into_iter().map(Arc::new).collect();
    let addresses = introduce(&game, &players);
    let mut figures = Figures::default();
    let is_far = matches!(forwarder, Forwarder::Pair { delay_ms, .. } if *delay_ms > 0.0);
    if !is_far {
        figures.up = stream(
            &players.iter().map(|player| (player.clone(), None)).collect::<Vec<_>>(),
            std::slice::from_ref(&game),
        );
        thread::sleep(Duration::from_millis(500));
        let back: Vec<_> = addresses.iter().map(|to| (game.clone(), Some(*to))).collect();
        figures.down = stream(&back, &players);
        thread::sleep(Duration::from_millis(500));
    }
    figures.paced = paced(&game, &players, &addresses);
    let rate = |rate: f64| if is_far { "-".to_owned() } else { format!("{rate:.0}/s") };
    let times = [0.5, 0.99, 0.999].map(|share| format!("{:.2}", figures.quantile(share).as_secs_f64() * 1e3));
    println!(
        "{:<46}{:>14}{:>14}{:>27} ms",
        forwarder.name(),
        rate(figures.up),
        rate(figures.down),
        times.join(" ")
    );
    match running {
        Running::Plain(tasks) => tasks.iter().for_each(AbortHandle::abort),
        Running::Pair(pair) => runtime.block_on(async {
            pair.1.stop().await;
            pair.0.stop().await;
        }),
    }
    figures
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("bound");
    socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
    socket
}

fn local(socket: &UdpSocket) -> SocketAddr {
    socket.local_addr().expect("an address")
}

async fn start(forwarder: &Forwarder, game: SocketAddr) -> (SocketAddr, Running) {
    let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let Forwarder::Pair { order, out, delay_ms } = forwarder else { return plain(any, game).await };
    let key = SharedKey::generate();
    let (datagrams_per_second, bytes_per_second) = (1_000_000, u32::MAX);
    let server = ServerConfig {
        game: game.to_string(),
        listen: any,
        order: order.clone(),
        out: *out,
        datagrams_per_second,
        bytes_per_second,
        ..ServerConfig::default()
    };
    let server = SyncServer::start(server, &key, quiet()).await.expect("started");
    let client = ClientConfig {
        listen: any,
        server: server.address().to_string(),
        datagrams_per_second,
        bytes_per_second,
        link: TrialLink { delay_ms: vec![*delay_ms], ..TrialLink::default() },
        ..ClientConfig::default()
    };
    let client = SyncClient::start(client, &key, quiet()).await.expect("started");
    (client.address(), Running::Pair(Box::new((server, client))))
}

/// One socket towards the players, and one towards the game for each player.
async fn plain(any: SocketAddr, game: SocketAddr) -> (SocketAddr, Running) {
    let near = Arc::new(tokio::net::UdpSocket::bind(any).await.expect("bound"));
    let address = near.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        let (mut buffer, mut far) = ([0; 2_048], BTreeMap::new());
        loop {
            let Ok((len, from)) = near.recv_from(&mut buffer).await else { continue };
            if let Entry::Vacant(place) = far.entry(from) {
                let socket = Arc::new(tokio::net::UdpSocket::bind(any).await.expect("bound"));
                socket.connect(game).await.expect("connected");
                let (back, near) = (socket.clone(), near.clone());
                let returning = tokio::spawn(async move {
                    let mut buffer = [0; 2_048];
                    loop {
                        let Ok(len) = back.recv(&mut buffer).await else { continue };
                        let _ = near.send_to(&buffer[..len], from).await;
                    }
                });
                place.insert((socket, AbortOnDrop(returning.abort_handle())));
            }
            let _ = far[&from].0.send(&buffer[..len]).await;
        }
    });
    (address, Running::Plain(vec![task.abort_handle()]))
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns the address at which the game sees each player, and gives the service time to measure the paths.
fn introduce(game: &UdpSocket, players: &[Arc<UdpSocket>]) -> Vec<SocketAddr> {
    let (mut addresses, mut buffer) = (vec![None; players.len()], [0; 2_048]);
    let start = Instant::now();
    game.set_nonblocking(true).expect("set");
    while start.elapsed() < Duration::from_secs(4) {
        for (number, player) in players.iter().enumerate() {
            player.send(&[number as u8; BYTES]).expect("sent");
            while let Ok((_, from)) = game.recv_from(&mut buffer) {
                addresses[usize::from(buffer[0])] = Some(from);
            }
        }
        for address in addresses.iter().flatten() {
            let _ = game.send_to(&[0; BYTES], address);
        }
        thread::sleep(EVERY);
    }
    game.set_nonblocking(false).expect("set");
    for player in players {
        player.set_nonblocking(true).expect("set");
        while player.recv(&mut buffer).is_ok() {}
        player.set_nonblocking(false).expect("set");
    }
    addresses.into_iter().map(|address| address.expect("every player got through")).collect()
}

/// Sends as much as gets through. Returns the datagrams per second that arrive.
fn stream(senders: &[(Arc<UdpSocket>, Option<SocketAddr>)], receivers: &[Arc<UdpSocket>]) -> f64 {
    let (is_over, arrived) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = Instant::now();
    thread::scope(|scope| {
        for receiver in receivers {
            scope.spawn(|| {
                let mut buffer = [0; 2_048];
                while !is_over.load(Ordering::Relaxed) {
                    arrived.fetch_add(u64::from(receiver.recv(&mut buffer).is_ok()), Ordering::Relaxed);
                }
            });
        }
        let window = WINDOW * senders.len() as u64;
        let (mut sent, mut stalled) = (0_u64, Instant::now());
        let mut seen = 0;
        while start.elapsed() < THROUGHPUT {
            let now = arrived.load(Ordering::Relaxed);
            if now != seen {
                (seen, stalled) = (now, Instant::now());
            }
            if stalled.elapsed() > Duration::from_millis(50) {
                // What was lost never arrives.
                (sent, stalled) = (now, Instant::now());
            }
            if sent >= now + window {
                thread::yield_now();
                continue;
            }
            for (socket, to) in senders {
                let bytes = [1; BYTES];
                let taken = match to {
                    Some(to) => socket.send_to(&bytes, to),
                    None => socket.send(&bytes),
                };
                sent += u64::from(taken.is_ok());
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    arrived.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
}

/// Sends updates at a game's rate while the players act. Returns how long the updates took, sorted.
fn paced(game: &UdpSocket, players: &[Arc<UdpSocket>], addresses: &[SocketAddr]) -> Vec<Duration> {
    let (is_over, epoch) = (AtomicBool::new(false), Instant::now());
    let mut times: Vec<Duration> = thread::scope(|scope| {
        let viewers: Vec<_> = players
            .iter()
            .map(|player| {
                let is_over = &is_over;
                scope.spawn(move || {
                    let (mut times, mut buffer) = (Vec::new(), [0; 2_048]);
                    while !is_over.load(Ordering::Relaxed) {
                        let Ok(len) = player.recv(&mut buffer) else { continue };
                        let arrived = epoch.elapsed();
                        let sent = buffer[..len].first_chunk().map_or(0, |sent| u64::from_le_bytes(*sent));
                        // What was sent before the clock started is left out.
                        if len == BYTES && (1..u64::MAX / 2).contains(&sent) && buffer[8] == 2 {
                            times.push(arrived.saturating_sub(Duration::from_nanos(sent)));
                        }
                    }
                    times
                })
            })
            .collect();
        let mut next = Instant::now();
        while epoch.elapsed() < PACED {
            for (player, address) in players.iter().zip(addresses) {
                let _ = player.send(&[3; BYTES]);
                let mut bytes = [2; BYTES];
                bytes[..8].copy_from_slice(&(epoch.elapsed().as_nanos() as u64).to_le_bytes());
                let _ = game.send_to(&bytes, address);
            }
            next += EVERY;
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        thread::sleep(Duration::from_millis(300));
        is_over.store(true, Ordering::Relaxed);
        viewers.into_iter().flat_map(|viewer| viewer.join().expect("no panic")).collect()
    });
    times.sort_unstable();
    assert!(!times.is_empty(), "no update got through");
    times
}
