//! The clients, each with links and a socket towards the server of its own.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use evenkeel_core::Seed;
use evenkeel_link::{Fate, Link, TrueTime};
use mio::net::UdpSocket;
use mio::{Interest, Registry, Token};

use crate::config::{ConditionerConfig, Profile};
use crate::counters::{ClientReport, Counters, DirectionReport, count};
use crate::flight::{Direction, Flight, Load};
use crate::start::{CLIENT_BUFFER_BYTES, open};

/// Reports of clients that are gone, kept for the summary; older ones only count in the totals.
const GONE_MAX: usize = 1_000;
/// The tokens below belong to the listener and the waker.
pub(crate) const FIRST_CLIENT: usize = 2;

/// What both threads need of a client.
#[derive(Debug)]
pub(crate) struct ClientLine {
    pub(crate) number: u64,
    pub(crate) address: SocketAddr,
    pub(crate) upstream: UdpSocket,
    pub(crate) load: Load,
    to_server: Counters,
    to_client: Counters,
}

impl ClientLine {
    pub(crate) const fn counters(&self, direction: Direction) -> &Counters {
        match direction {
            Direction::ToServer => &self.to_server,
            Direction::ToClient => &self.to_client,
        }
    }

    fn report(&self, present: bool) -> ClientReport {
        let (to_server, to_client) = (self.to_server.report(), self.to_client.report());
        ClientReport { number: self.number, address: self.address, present, to_server, to_client }
    }
}

/// A client.
#[derive(Debug)]
struct Client {
    line: Arc<ClientLine>,
    /// To the server, and to the client.
    links: [Link; 2],
    /// The number of the next datagram of each direction, which keys its draws.
    next: [u64; 2],
    /// When its first datagram came.
    since: Instant,
    heard: Instant,
}

impl Client {
    /// Decides a datagram's fate and holds what the link lets through.
    fn carry(&mut self, direction: Direction, now: Instant, bytes: &[u8], flight: &Flight) {
        let counters = self.line.counters(direction);
        count(&counters.received);
        counters.bytes.fetch_add(bytes.len() as u64, Relaxed);
        self.heard = now;
        let since = i64::try_from((now - self.since).as_nanos()).unwrap_or(i64::MAX);
        let (at, label) = (TrueTime::from_nanos(since), self.next[direction as usize]);
        self.next[direction as usize] += 1;
        let fate = self.links[direction as usize].fate_of(at, bytes.len(), Some(label));
        match fate {
            Fate::Lost => count(&counters.lost),
            Fate::Once(_) => {}
            Fate::Twice(..) => count(&counters.doubled),
        }
        for arrival in fate.arrivals() {
            let delay = u64::try_from((arrival - at).as_nanos()).unwrap_or(0);
            let due = now + std::time::Duration::from_nanos(delay);
            if !flight.push(&self.line, direction, due, delay, bytes) {
                count(&counters.overflowed);
            }
        }
    }
}

/// All clients, in bounds.
#[derive(Debug)]
pub(crate) struct Clients {
    config: ConditionerConfig,
    numbers: HashMap<SocketAddr, u64>,
    present: HashMap<u64, Client>,
    gone: VecDeque<ClientReport>,
    /// Totals of those that `gone` no longer lists.
    forgotten: [DirectionReport; 2],
    seen: u64,
    pub(crate) turned_away: u64,
}

impl Clients {
    pub(crate) fn new(config: ConditionerConfig) -> Self {
        Self {
            config,
            numbers: HashMap::new(),
            present: HashMap::new(),
            gone: VecDeque::new(),
            forgotten: [DirectionReport::default(); 2],
            seen: 0,
            turned_away: 0,
        }
    }

    /// Takes a datagram from a client.
    ///
    /// # Errors
    /// If a new client cannot have a socket.
    pub(crate) fn take_from_client(
        &mut self,
        from: SocketAddr,
        bytes: &[u8],
        registry: &Registry,
        flight: &Flight,
    ) -> io::Result<()> {
        let now = Instant::now();
        let number = match self.numbers.get(&from) {
            Some(number) => *number,
            None if self.present.len() >= self.config.clients_max => {
                self.turned_away += 1;
                return Ok(());
            }
            None => self.welcome(from, now, registry)?,
        };
        if let Some(client) = self.present.get_mut(&number) {
            client.carry(Direction::ToServer, now, bytes, flight);
        }
        Ok(())
    }

    /// Takes a datagram from the server to a client.
    pub(crate) fn take_from_server(&mut self, number: u64, bytes: &[u8], flight: &Flight) {
        if let Some(client) = self.present.get_mut(&number) {
            client.carry(Direction::ToClient, Instant::now(), bytes, flight);
        }
    }

    /// Returns what both threads need of a client.
    pub(crate) fn line(&self, number: u64) -> Option<Arc<ClientLine>> {
        self.present.get(&number).map(|client| client.line.clone())
    }

    fn welcome(&mut self, address: SocketAddr, now: Instant, registry: &Registry) -> io::Result<u64> {
        let mut upstream = open(towards(self.config.to), CLIENT_BUFFER_BYTES)?;
        upstream.connect(self.config.to)?;
        let number = self.seen + 1;
        let token = Token(FIRST_CLIENT + usize::try_from(number).unwrap_or(usize::MAX - FIRST_CLIENT));
        registry.register(&mut upstream, token, Interest::READABLE)?;
        self.seen = number;
        let profile = self.profile(number).clone();
        let seed = Seed::new(self.config.seed).child(number);
        let links =
            [Link::new(profile.to_server, seed.child(0)), Link::new(profile.to_client, seed.child(1))];
        let line = Arc::new(ClientLine {
            number,
            address,
            upstream,
            load: Load::default(),
            to_server: Counters::default(),
            to_client: Counters::default(),
        });
        self.numbers.insert(address, number);
        self.present.insert(number, Client { line, links, next: [0; 2], since: now, heard: now });
        Ok(number)
    }

    fn profile(&self, number: u64) -> &Profile {
        &self.config.profiles[(number - 1) as usize % self.config.profiles.len()]
    }

    /// Replaces all links. What is in flight keeps its fate.
    pub(crate) fn change(&mut self, profiles: Vec<Profile>) {
        self.config.profiles = profiles;
        let numbers: Vec<u64> = self.present.keys().copied().collect();
        for number in numbers {
            let Profile { to_server, to_client } = self.profile(number).clone();
            if let Some(client) = self.present.get_mut(&number) {
                client.links[0].change(to_server);
                client.links[1].change(to_client);
            }
        }
    }

    /// Forgets clients that have been silent for long.
    pub(crate) fn forget_idle(&mut self) {
        let (idle, now) = (self.config.idle, Instant::now());
        let is_idle = |client: &Client| now.saturating_duration_since(client.heard) > idle;
        let silent: Vec<u64> =
            self.present.iter().filter(|(_, client)| is_idle(client)).map(|(number, _)| *number).collect();
        for number in silent {
            let Some(client) = self.present.remove(&number) else { continue };
            self.numbers.remove(&client.line.address);
            self.gone.push_back(client.line.report(false));
            if self.gone.len() > GONE_MAX
                && let Some(oldest) = self.gone.pop_front()
            {
                self.forgotten[0].add(&oldest.to_server);
                self.forgotten[1].add(&oldest.to_client);
            }
        }
    }

    /// Returns the clients' reports by number, how many there have been, and the totals of both directions.
    pub(crate) fn report(&self) -> (Vec<ClientReport>, u64, [DirectionReport; 2]) {
        let present = self.present.values().map(|client| client.line.report(true));
        let mut clients: Vec<ClientReport> = self.gone.iter().cloned().chain(present).collect();
        clients.sort_unstable_by_key(|client| client.number);
        let mut totals = self.forgotten;
        for client in &clients {
            totals[0].add(&client.to_server);
            totals[1].add(&client.to_client);
        }
        (clients, self.seen, totals)
    }
}

/// A local address from which a server is reached.
fn towards(server: SocketAddr) -> SocketAddr {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    match server.ip() {
        ip if ip.is_loopback() => (ip, 0).into(),
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}
