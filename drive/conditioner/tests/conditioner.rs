//! The conditioner over real sockets: a server that echoes, clients at different distances, floods.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use evenkeel_conditioner::{Conditioner, ConditionerConfig, IN_FLIGHT_MAX, Profile, Report, StartError};
use evenkeel_core::Span;
use evenkeel_link::{DelayLaw, DelayStep, Jitter, LinkFaultError, LinkFaults, Loss, RateLimit, TrueTime};

/// A server that answers each datagram with itself, like a name server its question's id. It tells clients apart by address.
struct Echo {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<SocketAddr>>>,
}

impl Echo {
    fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("bound");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("set");
        let (address, stop) = (socket.local_addr().expect("an address"), Arc::new(AtomicBool::new(false)));
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            let (mut buffer, mut seen) = ([0; 2_048], Vec::new());
            while !stopped.load(Ordering::Relaxed) {
                let Ok((len, from)) = socket.recv_from(&mut buffer) else { continue };
                if !seen.contains(&from) {
                    seen.push(from);
                }
                socket.send_to(&buffer[..len], from).expect("sent");
            }
            seen
        });
        Self { address, stop, thread: Some(thread) }
    }

    /// Ends it and returns the addresses that it saw.
    fn stop(mut self) -> Vec<SocketAddr> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("running").join().expect("it ends")
    }
}

fn start(to: SocketAddr, profiles: Vec<Profile>, seed: u64) -> Conditioner {
    let listen = "127.0.0.1:0".parse().expect("an address");
    let config =
        ConditionerConfig { profiles, seed, ..ConditionerConfig::new(listen, to, Profile::default()) };
    Conditioner::start(config).expect("started")
}

fn client(conditioner: &Conditioner, patience: Duration) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("bound");
    socket.connect(conditioner.address()).expect("connected");
    socket.set_read_timeout(Some(patience)).expect("set");
    socket
}

/// Asks once. Returns how long the answer took.
fn ask(socket: &UdpSocket, id: u16) -> Duration {
    let (start, mut buffer) = (Instant::now(), [0; 64]);
    socket.send(&id.to_be_bytes()).expect("sent");
    let len = socket.recv(&mut buffer).expect("an answer");
    assert_eq!(buffer[..len], id.to_be_bytes());
    start.elapsed()
}

fn far(ms: i64) -> Profile {
    Profile::both_ways(LinkFaults::constant(Span::from_millis(ms)))
}

/// Waits until the counts are as expected, or for long.
fn until(conditioner: &Conditioner, is_so: impl Fn(&Report) -> bool) -> Report {
    let start = Instant::now();
    loop {
        let report = conditioner.report();
        if is_so(&report) || start.elapsed() > Duration::from_secs(10) {
            return report;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn each_client_has_its_own_delay_and_its_own_socket_towards_the_server() {
    let echo = Echo::start();
    let conditioner = start(echo.address, vec![far(10), far(40)], 1);
    let (near, distant) =
        (client(&conditioner, Duration::from_secs(5)), client(&conditioner, Duration::from_secs(5)));
    let took = [ask(&near, 1), ask(&distant, 2), ask(&near, 3), ask(&distant, 4)];
    for (took, ms) in took.into_iter().zip([20, 80, 20, 80]) {
        assert!(took >= Duration::from_millis(ms), "{took:?} is less than the two ways' {ms} ms");
    }
    // The last answer is counted just after it has been sent.
    let report = until(&conditioner, |report| report.to_client.delivered == 4);
    assert_eq!((report.clients_seen, report.to_server.received, report.to_client.delivered), (2, 4, 4));
    assert!((report.clients[1].to_server.delay_mean_ms() - 40.0).abs() < 1e-9);
    assert_eq!(echo.stop().len(), 2, "the server tells the clients apart");
}

/// Sends numbered datagrams through a lossy, jittery link; returns which came back, and the report.
fn survivors(seed: u64) -> (Vec<u16>, Report) {
    let echo = Echo::start();
    let faults = LinkFaults {
        delay: DelayLaw {
            base: Span::from_millis(2),
            jitter: Jitter::Uniform { half_width: Span::from_millis(2) },
        },
        loss: Loss::Independent { probability: 0.2 },
        duplicate: 0.1,
        ..LinkFaults::default()
    };
    let conditioner = start(echo.address, vec![Profile::both_ways(faults)], seed);
    let socket = client(&conditioner, Duration::from_millis(300));
    for id in 0..300_u16 {
        socket.send(&id.to_be_bytes()).expect("sent");
        if id % 20 == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
    let (mut back, mut buffer) = (Vec::new(), [0; 16]);
    while let Ok(len) = socket.recv(&mut buffer) {
        back.push(u16::from_be_bytes(buffer[..len].try_into().expect("two bytes")));
    }
    (back, conditioner.report())
}

#[test]
fn one_seed_loses_the_same_datagrams_again_and_another_seed_others() {
    let ((first, report), (again, repeated), (_, other)) = (survivors(7), survivors(7), survivors(8));
    let sent = |report: &Report| (report.to_server.lost, report.to_server.doubled);
    assert_eq!(sent(&report), sent(&repeated), "the way to the server is a function of the seed");
    assert_ne!(sent(&report), sent(&other));
    let share = report.to_server.lost as f64 / report.to_server.received as f64;
    assert_eq!(report.to_server.received, 300);
    assert!((0.12..0.28).contains(&share), "{share}");
    assert!(report.to_server.doubled > 10, "{report:?}");
    // Which answers return depends on the order in which the questions arrived, their number nearly not.
    assert!(first.len() > 120 && again.len() > 120, "{} and {}", first.len(), again.len());
    let in_order = first.windows(2).all(|pair| pair[0] <= pair[1]);
    assert!(!in_order, "jitter wider than the gap between datagrams reorders them");
}

#[test]
fn a_flood_is_dropped_beyond_the_bounds_and_leaves_other_clients_alone() {
    let echo = Echo::start();
    let conditioner = start(echo.address, vec![far(2_000), far(5)], 1);
    let (flood, other) =
        (client(&conditioner, Duration::from_millis(1)), client(&conditioner, Duration::from_secs(5)));
    // The flood comes first and is far away, so all of it is in flight at once.
    let count = IN_FLIGHT_MAX + 2_000;
    for number in 0..count {
        flood.send(&[0; 100]).expect("sent");
        // The system's own queue must not be what drops it.
        if number % 100 == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
    let report = until(&conditioner, |report| report.to_server.overflowed > 0);
    let (received, overflowed) = (report.to_server.received, report.to_server.overflowed);
    assert!(overflowed > 0, "{report:?}");
    assert_eq!(received - overflowed, IN_FLIGHT_MAX as u64, "{report:?}");
    assert!(ask(&other, 9) >= Duration::from_millis(10));
    assert_eq!(conditioner.report().clients[1].to_server.overflowed, 0);
}

#[test]
fn clients_beyond_the_table_are_turned_away_and_silent_ones_make_room() {
    let echo = Echo::start();
    let listen = "127.0.0.1:0".parse().expect("an address");
    let config = ConditionerConfig {
        clients_max: 2,
        idle: Duration::from_millis(200),
        ..ConditionerConfig::new(listen, echo.address, far(0))
    };
    let conditioner = Conditioner::start(config).expect("started");
    let sockets: Vec<UdpSocket> = (0..20).map(|_| client(&conditioner, Duration::from_millis(300))).collect();
    for socket in &sockets {
        socket.send(b"hello").expect("sent");
    }
    let report = until(&conditioner, |report| report.turned_away == 18);
    assert_eq!((report.turned_away, report.clients_seen), (18, 2));
    let left = until(&conditioner, |report| report.clients.iter().all(|client| !client.present));
    assert!(left.clients.iter().all(|client| !client.present), "{left:?}");
    ask(&sockets[19], 3);
    assert_eq!(conditioner.report().clients_seen, 3);
    assert_eq!(conditioner.report().to_server.received, 3, "totals include those that are gone");
}

#[test]
fn links_step_change_and_hold_a_rate_while_they_run() {
    let echo = Echo::start();
    let at = TrueTime::default() + Span::from_millis(1_000);
    let faults =
        LinkFaults { steps: vec![DelayStep { at, delay: Span::from_millis(30) }], ..LinkFaults::default() };
    let conditioner =
        start(echo.address, vec![Profile { to_server: faults, to_client: LinkFaults::default() }], 1);
    let socket = client(&conditioner, Duration::from_secs(5));
    ask(&socket, 1);
    assert_eq!(conditioner.report().to_server.delay_sum_ns, 0);
    thread::sleep(Duration::from_millis(1_050));
    assert!(ask(&socket, 2) >= Duration::from_millis(30), "the step's delay");
    let rate = RateLimit { bytes_per_s: 2_000.0, queue_max_bytes: 500.0 };
    let limited = LinkFaults { rate: Some(rate), ..LinkFaults::default() };
    let limited = Profile { to_server: limited, to_client: LinkFaults::default() };
    conditioner.change(vec![limited]).expect("valid");
    (0..20).for_each(|_| assert_eq!(socket.send(&[0; 100]).expect("sent"), 100));
    let report = until(&conditioner, |report| report.to_server.received == 22);
    assert!(report.to_server.lost >= 13, "100 bytes are on the way and 400 wait: {report:?}");
    let wrong = LinkFaults { duplicate: 2.0, ..LinkFaults::default() };
    assert!(matches!(
        conditioner.change(vec![Profile::both_ways(wrong)]),
        Err(LinkFaultError::Probability { .. })
    ));
}

#[test]
fn nobody_at_the_server_is_counted_and_mistakes_are_named() {
    let gone = UdpSocket::bind("127.0.0.1:0").expect("bound").local_addr().expect("an address");
    let conditioner = start(gone, vec![Profile::default()], 1);
    let socket = client(&conditioner, Duration::from_millis(10));
    for _ in 0..5 {
        socket.send(b"anybody?").expect("sent");
        thread::sleep(Duration::from_millis(2));
    }
    let report = until(&conditioner, |report| report.to_server.received == 5);
    assert_eq!(report.to_server.received, 5);
    let config = |listen, to, profiles| ConditionerConfig {
        profiles,
        ..ConditionerConfig::new(listen, to, Profile::default())
    };
    let taken = Conditioner::start(config(conditioner.address(), gone, vec![Profile::default()]));
    assert!(matches!(taken, Err(StartError::Taken(_))), "{taken:?}");
    let looped = Conditioner::start(config(gone, gone, vec![Profile::default()]));
    assert!(matches!(looped, Err(StartError::Loop(_))), "{looped:?}");
    let free = "127.0.0.1:0".parse().expect("an address");
    assert!(matches!(Conditioner::start(config(free, gone, vec![])), Err(StartError::NoProfile)));
}
