//! Datagrams through a crank whose machine forwards them, compared with a plain quinn forwarder, alternating within one
//! run: one sender and several receivers over loopback in this process.
//!
//! `cargo bench -p evenkeel-net --bench forwarding`
//!
//! The bar: per core the crank forwards at least half as much as plain quinn. Otherwise the exit status is 1.
//!
//! Clients and forwarder share the cores, so the rate describes the whole. "Per core" means per second of processor time
//! of the forwarder's own threads, which are identified by name: the forwarder has its own runtime, and the crank its own
//! thread. Both use packets of 1,200 bytes with several datagrams each. The sender is paced by the first receiver, so that
//! full buffers lose nothing.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected};
use evenkeel_net::certificate::Certificate;
use evenkeel_net::token::unix_seconds;
use evenkeel_net::transport::{Limits, Listener, Trust, connect};
use evenkeel_net::{Crank, NodeId};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::runtime::{Handle, Runtime};

/// The allocator that the relay uses.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const ROUNDS: usize = 3;
const SECONDS: u64 = 2;
const DATAGRAM: [u8; 100] = [7; 100];
/// The lowest allowed ratio of the rates per core, crank to plain quinn.
const RATIO_MIN: f64 = 0.5;
/// Datagrams in flight.
const WINDOW: u64 = 64;

/// A machine that forwards what any peer sends to all others.
#[derive(Default)]
struct Forwarder {
    peers: Vec<PeerId>,
    outbox: VecDeque<(PeerId, Arc<[u8]>)>,
}

impl Endpoint for Forwarder {
    type Command = ();
    type Event = ();

    fn handle_command(&mut self, _: LocalTime, (): ()) {}

    fn handle_message(
        &mut self,
        _: LocalTime,
        from: PeerId,
        _: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        let bytes: Arc<[u8]> = bytes.into();
        let others = self.peers.iter().filter(|peer| **peer != from);
        self.outbox.extend(others.map(|peer| (*peer, bytes.clone())));
        Ok(())
    }

    fn handle_peer(&mut self, _: LocalTime, change: PeerChange) {
        self.peers.retain(|peer| *peer != change.peer());
        if let PeerChange::Joined { peer, .. } = change {
            self.peers.push(peer);
        }
    }

    fn handle_timeout(&mut self, _: LocalTime) {}

    fn poll_transmit(&mut self, _: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        let (to, message) = self.outbox.pop_front()?;
        bytes.clear();
        bytes.extend_from_slice(&message);
        Some((to, Channel::Datagram))
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        None
    }
}

/// The result of one run.
#[derive(Clone, Copy, Default)]
struct Run {
    delivered: u64,
    seconds: f64,
    core_seconds: f64,
}

impl Run {
    fn plus(self, other: Self) -> Self {
        Self {
            delivered: self.delivered + other.delivered,
            seconds: self.seconds + other.seconds,
            core_seconds: self.core_seconds + other.core_seconds,
        }
    }

    fn per_second(self) -> f64 {
        self.delivered as f64 / self.seconds
    }

    fn per_core(self) -> f64 {
        self.delivered as f64 / self.core_seconds
    }
}

/// Names of the threads that forward.
const FORWARDER: [&str; 2] = ["forwarder", "evenkeel-crank"];

/// Returns the processor time of the forwarder's running threads; 0 on systems without `/proc`.
fn core_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let seconds = tasks.filter_map(|task| {
        let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        FORWARDER.iter().any(|ours| name.starts_with(ours)).then(|| (ticks(11) + ticks(12)) / 100.0)
    });
    seconds.sum()
}

/// Counts deliveries and paces the sender by the first receiver.
#[derive(Default)]
struct DeliveryCounter {
    delivered: AtomicU64,
    first: AtomicU64,
    is_done: AtomicBool,
}

impl DeliveryCounter {
    fn note(&self, receiver: usize) {
        self.delivered.fetch_add(1, Ordering::Relaxed);
        if receiver == 0 {
            self.first.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sends at the first receiver's pace for the duration of a run.
    async fn drive(&self, send: impl Fn()) -> Run {
        let (start, busy) = (Instant::now(), core_seconds());
        let (mut sent, mut seen, mut seen_at) = (0, 0, Instant::now());
        while start.elapsed() < Duration::from_secs(SECONDS) {
            let first = self.first.load(Ordering::Relaxed);
            if first != seen {
                (seen, seen_at) = (first, Instant::now());
            }
            if sent < first + WINDOW {
                send();
                sent += 1;
            } else if seen_at.elapsed() > Duration::from_millis(50) {
                // The missing datagrams were lost.
                (sent, seen_at) = (first, Instant::now());
            } else {
                tokio::task::yield_now().await;
            }
        }
        self.is_done.store(true, Ordering::Relaxed);
        Run {
            delivered: self.delivered.load(Ordering::Relaxed),
            seconds: start.elapsed().as_secs_f64(),
            core_seconds: core_seconds() - busy,
        }
    }
}

async fn through_crank(forwarder: &Handle, receivers: usize) -> Run {
    let certificate = Certificate::self_signed(&[], unix_seconds()).expect("a certificate");
    let address: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let trust = Trust::Pinned(vec![certificate.hash()]);
    let bound = async move { Listener::bind(&[address], &certificate, Limits::default()).expect("bound") };
    let mut listener = forwarder.spawn(bound).await.expect("no panic");
    let url = format!("https://{}/", listener.local_addresses()[0]);
    let crank = Crank::new().start().expect("a thread");
    crank.add(NodeId(0), Forwarder::default()).expect("running");
    let (deliveries, mut clients) = (Arc::new(DeliveryCounter::default()), Vec::new());
    for peer in 0..=receivers {
        let accepting = forwarder.spawn(async move {
            let served = listener.accept().await.expect("a client").accept(b"").await.expect("let in");
            (listener, served)
        });
        let (client, accepted) = tokio::join!(connect(&url, None, &trust, Limits::default()), accepting);
        let served;
        (listener, served) = accepted.expect("no panic");
        crank.attach(NodeId(0), PeerId(peer as u32), served).expect("running");
        clients.push(client.expect("connected"));
    }
    let sender = clients.pop().expect("one more than receivers");
    for (receiver, client) in clients.into_iter().enumerate() {
        let deliveries = deliveries.clone();
        tokio::spawn(async move {
            while client.read_datagram().await.is_ok() {
                deliveries.note(receiver);
            }
        });
    }
    let run =
        deliveries.drive(|| sender.send_datagram(Bytes::from_static(&DATAGRAM)).unwrap_or_default()).await;
    crank.stop(Duration::ZERO).await.expect("running");
    run
}

/// The configurations of a plain quinn server and its clients.
fn plain_configs() -> (quinn::ServerConfig, quinn::ClientConfig) {
    let key = rcgen::KeyPair::generate().expect("a key");
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate").der().clone();
    let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], secret)
        .expect("a matching key");
    let mut server =
        quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).expect("QUIC")));
    let mut transport = quinn::TransportConfig::default();
    transport.mtu_discovery_config(None);
    let transport = Arc::new(transport);
    server.transport_config(transport.clone());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("a root");
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut client = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).expect("QUIC")));
    client.transport_config(transport);
    (server, client)
}

async fn through_quinn(forwarder: &Handle, receivers: usize) -> Run {
    let (server_config, client_config) = plain_configs();
    let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let bound = async move { quinn::Endpoint::server(server_config, any).expect("bound") };
    let server = forwarder.spawn(bound).await.expect("no panic");
    let address = server.local_addr().expect("an address");
    let (deliveries, mut served, mut endpoints, mut sender) =
        (Arc::new(DeliveryCounter::default()), Vec::new(), Vec::new(), None);
    for peer in 0..=receivers {
        let endpoint = quinn::Endpoint::client(any).expect("bound");
        let connecting =
            endpoint.connect_with(client_config.clone(), address, "localhost").expect("a valid address");
        let accepting = server.clone();
        let accepting = forwarder
            .spawn(async move { accepting.accept().await.expect("a client").await.expect("let in") });
        let (client, accepted) = tokio::join!(connecting, accepting);
        let client = client.expect("connected");
        endpoints.push(endpoint);
        served.push(accepted.expect("no panic"));
        if peer == receivers {
            sender = Some(client);
            continue;
        }
        let deliveries = deliveries.clone();
        tokio::spawn(async move {
            while client.read_datagram().await.is_ok() {
                deliveries.note(peer);
            }
        });
    }
    let from = served.pop().expect("the sender is the last");
    forwarder.spawn(async move {
        while let Ok(bytes) = from.read_datagram().await {
            for to in &served {
                let _ = to.send_datagram(bytes.clone());
            }
        }
    });
    let sender = sender.expect("a sender");
    let run =
        deliveries.drive(|| sender.send_datagram(Bytes::from_static(&DATAGRAM)).unwrap_or_default()).await;
    endpoints.iter().chain([&server]).for_each(|endpoint| endpoint.close(0u32.into(), b""));
    run
}

fn runtime(name: &str) -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).thread_name(name).enable_all().build().expect("a runtime")
}

/// The exit status: failure if the bar was missed in a benchmark run. Test runs do not judge.
fn status(is_missed: bool) -> ExitCode {
    let is_bench = std::env::args().any(|word| word == "--bench");
    if is_missed && is_bench { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn main() -> ExitCode {
    let mut is_missed = false;
    let (clients, forwarder) = (runtime("clients"), runtime(FORWARDER[0]));
    println!(
        "receivers      crank/s     quinn/s   ratio   crank/core  quinn/core   ratio   at least {RATIO_MIN}"
    );
    for receivers in [1, 8, 32] {
        let (mut crank, mut quinn) = (Run::default(), Run::default());
        for _ in 0..ROUNDS {
            crank = crank.plus(clients.block_on(through_crank(forwarder.handle(), receivers)));
            quinn = quinn.plus(clients.block_on(through_quinn(forwarder.handle(), receivers)));
        }
        let ratio = crank.per_core() / quinn.per_core();
        let verdict = match ratio {
            // Other systems do not report the processor time of threads.
            ratio if !ratio.is_finite() && !cfg!(target_os = "linux") => "not measured",
            ratio if ratio.is_finite() && ratio >= RATIO_MIN => "pass",
            _ => "FAIL",
        };
        is_missed |= verdict == "FAIL";
        println!(
            "{receivers:>9} {:>12.0} {:>11.0} {:>7.2} {:>12.0} {:>11.0} {ratio:>7.2}   {verdict}",
            crank.per_second(),
            quinn.per_second(),
            crank.per_second() / quinn.per_second(),
            crank.per_core(),
            quinn.per_core(),
        );
    }
    status(is_missed)
}
