//! The game and its players: threads that send, and threads that note what arrives.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use evenkeel_core::Seed;
use evenkeel_net::stamped::{self, Stamped};

use super::ProxyLoad;
use crate::SoakError;

/// Sizes of the game's datagrams, as those of a shooter.
const UPDATE_BYTES: usize = 200;
const ACTION_BYTES: usize = 60;
/// How long players may take to get into the game.
const JOIN_MAX: Duration = Duration::from_secs(20);
/// How often blocked threads look whether they are to stop.
const GLANCE: Duration = Duration::from_millis(100);
const BUFFER_BYTES: usize = 4 << 20;

/// Nanoseconds since the start of the traffic.
pub(super) type Nanos = i64;

/// A datagram that arrived: whose it is or for whom, its number, and when it was sent and arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Noted {
    pub(super) player: usize,
    pub(super) number: u32,
    pub(super) sent: Nanos,
    pub(super) arrived: Nanos,
}

/// All that was sent and arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    pub(super) players: usize,
    /// Updates and actions that were sent: player, number, and when.
    pub(super) updates_sent: Vec<(usize, u32, Nanos)>,
    pub(super) actions_sent: Vec<(usize, u32, Nanos)>,
    /// Updates at the players.
    pub(super) shown: Vec<Noted>,
    /// Actions at the game, in the order of arrival.
    pub(super) served: Vec<Noted>,
}

fn emit(player: usize, number: u32, sent: Nanos, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    bytes[..4].copy_from_slice(&(player as u32).to_le_bytes());
    bytes[4..8].copy_from_slice(&number.to_le_bytes());
    bytes[8..16].copy_from_slice(&sent.to_le_bytes());
    bytes
}

fn parse(bytes: &[u8], arrived: Nanos) -> Option<Noted> {
    let player = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
    let number = u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?);
    let sent = Nanos::from_le_bytes(*bytes.get(8..)?.first_chunk()?);
    Some(Noted { player, number, sent, arrived })
}

fn bind() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(BUFFER_BYTES);
    stamped::enable(&socket);
    socket.set_read_timeout(Some(GLANCE))?;
    Ok(socket)
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The game's and the players' sockets.
pub(super) struct Traffic {
    game: UdpSocket,
    players: Vec<UdpSocket>,
    updates: Duration,
    actions: Duration,
}

/// What the threads share.
struct Shared {
    start: Instant,
    sends: AtomicBool,
    runs: AtomicBool,
    /// Where each player is, once the game knows.
    addresses: Mutex<Vec<Option<SocketAddr>>>,
}

impl Shared {
    fn now(&self) -> Nanos {
        self.start.elapsed().as_nanos() as Nanos
    }
}

/// Traffic that flows.
pub(super) struct RunningTraffic {
    shared: Arc<Shared>,
    players: usize,
    updater: JoinHandle<Vec<(usize, u32, Nanos)>>,
    actor: JoinHandle<Vec<(usize, u32, Nanos)>>,
    server: JoinHandle<Vec<Noted>>,
    viewers: Vec<JoinHandle<Vec<Noted>>>,
}

impl Traffic {
    pub(super) fn bind(load: &ProxyLoad) -> io::Result<Self> {
        let players = (0..load.players).map(|_| bind()).collect::<io::Result<_>>()?;
        let every = |rate: f64| Duration::from_secs_f64(1.0 / rate);
        Ok(Self { game: bind()?, players, updates: every(load.updates), actions: every(load.actions) })
    }

    pub(super) fn game(&self) -> SocketAddr {
        self.game.local_addr().expect("a bound socket has an address")
    }

    /// Lets it flow through the proxy at this address.
    pub(super) fn start(self, proxy: SocketAddr) -> io::Result<RunningTraffic> {
        let players = self.players.len();
        let shared = Arc::new(Shared {
            start: Instant::now(),
            sends: AtomicBool::new(true),
            runs: AtomicBool::new(true),
            addresses: Mutex::new(vec![None; players]),
        });
        let sockets: Vec<Arc<UdpSocket>> = self.players.into_iter().map(Arc::new).collect();
        for socket in &sockets {
            socket.connect(proxy)?;
        }
        let game = Arc::new(self.game);
        let viewers = sockets.iter().map(|socket| {
            let (socket, shared) = (socket.clone(), shared.clone());
            thread::spawn(move || receive(&socket, &shared, |_, _| {}))
        });
        let viewers = viewers.collect();
        let (reading, knowing) = (game.clone(), shared.clone());
        let server = thread::spawn(move || {
            receive(&reading, &knowing, |noted, from| lock(&knowing.addresses)[noted.player] = Some(from))
        });
        let (updating, every) = (shared.clone(), self.updates);
        let updater = thread::spawn(move || update(&game, &updating, every));
        let (acting, every) = (shared.clone(), self.actions);
        let actor = thread::spawn(move || act(&sockets, &acting, every));
        Ok(RunningTraffic { shared, players, updater, actor, server, viewers })
    }
}

/// Notes what arrives.
fn receive(
    socket: &UdpSocket,
    shared: &Shared,
    mut on_arrival: impl FnMut(&Noted, SocketAddr),
) -> Vec<Noted> {
    let (mut log, mut buffer) = (Vec::new(), [0; 2_048]);
    while shared.runs.load(Ordering::Relaxed) {
        let Ok(Stamped { len, from, age }) = stamped::receive(socket, &mut buffer) else { continue };
        let arrived = shared.now() - age.as_nanos() as Nanos;
        if let Some(noted) = parse(&buffer[..len], arrived) {
            on_arrival(&noted, from);
            log.push(noted);
        }
    }
    log
}

/// Sends an update to each player that is known, in turn.
fn update(game: &UdpSocket, shared: &Shared, every: Duration) -> Vec<(usize, u32, Nanos)> {
    let (mut log, mut next) = (Vec::new(), Instant::now());
    for number in 0.. {
        next += every;
        thread::sleep(next.saturating_duration_since(Instant::now()));
        if !shared.sends.load(Ordering::Relaxed) {
            break;
        }
        let known = lock(&shared.addresses).clone();
        for (player, address) in known.into_iter().enumerate() {
            let Some(address) = address else { continue };
            let sent = shared.now();
            if game.send_to(&emit(player, number, sent, UPDATE_BYTES), address).is_ok() {
                log.push((player, number, sent));
            }
        }
    }
    log
}

/// Lets each player act, at intervals that vary by a quarter up and down.
fn act(sockets: &[Arc<UdpSocket>], shared: &Shared, every: Duration) -> Vec<(usize, u32, Nanos)> {
    let (mut log, mut draws) = (Vec::new(), Seed::new(24).draws());
    let mut due: BinaryHeap<Reverse<(Instant, usize, u32)>> = (0..sockets.len())
        .map(|player| Reverse((Instant::now() + every.mul_f64(draws.unit()), player, 0)))
        .collect();
    while let Some(Reverse((at, player, number))) = due.pop() {
        thread::sleep(at.saturating_duration_since(Instant::now()));
        if !shared.sends.load(Ordering::Relaxed) {
            break;
        }
        let sent = shared.now();
        if sockets[player].send(&emit(player, number, sent, ACTION_BYTES)).is_ok() {
            log.push((player, number, sent));
        }
        due.push(Reverse((at + every.mul_f64(0.75 + 0.5 * draws.unit()), player, number + 1)));
    }
    log
}

impl RunningTraffic {
    pub(super) fn now(&self) -> Nanos {
        self.shared.now()
    }

    pub(super) async fn wait_until_all_are_known(&self) -> Result<(), SoakError> {
        let start = Instant::now();
        loop {
            let known = lock(&self.shared.addresses).iter().flatten().count();
            if known == self.players {
                return Ok(());
            }
            if start.elapsed() > JOIN_MAX {
                let words = format!("only {known} of {} players got through the proxies", self.players);
                return Err(SoakError::RelayNotStarted(words));
            }
            tokio::time::sleep(GLANCE).await;
        }
    }

    pub(super) fn stop_sending(&self) {
        self.shared.sends.store(false, Ordering::Relaxed);
    }

    /// Ends all threads. Returns what they have noted.
    pub(super) fn stop(self) -> Log {
        self.stop_sending();
        self.shared.runs.store(false, Ordering::Relaxed);
        let ended = "a thread of the traffic ends without a panic";
        Log {
            players: self.players,
            updates_sent: self.updater.join().expect(ended),
            actions_sent: self.actor.join().expect(ended),
            shown: self.viewers.into_iter().flat_map(|viewer| viewer.join().expect(ended)).collect(),
            served: self.server.join().expect(ended),
        }
    }
}
