//! A running conditioner.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

use evenkeel_link::LinkFaultError;
use mio::net::UdpSocket;
use mio::{Interest, Poll, Token, Waker};
use socket2::{Domain, Protocol, Socket, Type};

use crate::clients::Clients;
use crate::config::{ConditionerConfig, Profile, StartError};
use crate::counters::Report;
use crate::flight::Flight;
use crate::{inbound, release};

pub(crate) const LISTENER: Token = Token(0);
pub(crate) const WAKER: Token = Token(1);

/// The buffers of the socket that all clients share, and of one client's; the system may grant less.
const LISTENER_BUFFER_BYTES: usize = 4 << 20;
pub(crate) const CLIENT_BUFFER_BYTES: usize = 512 << 10;

/// What the threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clients: Mutex<Clients>,
    pub(crate) flight: Flight,
    pub(crate) stopped: AtomicBool,
}

/// A running conditioner. Dropping it stops it and drops what is in flight.
pub struct Conditioner {
    shared: Arc<Shared>,
    waker: Waker,
    threads: Vec<JoinHandle<()>>,
    address: SocketAddr,
    started: Instant,
}

impl Conditioner {
    /// Starts to listen.
    ///
    /// # Errors
    /// [`StartError`] says what failed.
    pub fn start(config: ConditionerConfig) -> Result<Self, StartError> {
        config.check()?;
        let listen = config.listen;
        let not_bound = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => StartError::Taken(listen),
            _ => StartError::Bind { address: listen, source },
        };
        let mut listener = open(listen, LISTENER_BUFFER_BYTES).map_err(not_bound)?;
        let address = listener.local_addr().map_err(not_bound)?;
        let poll = Poll::new().map_err(StartError::Thread)?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE).map_err(StartError::Thread)?;
        let waker = Waker::new(poll.registry(), WAKER).map_err(StartError::Thread)?;
        let shared = Arc::new(Shared {
            clients: Mutex::new(Clients::new(config)),
            flight: Flight::default(),
            stopped: AtomicBool::new(false),
        });
        let listener = Arc::new(listener);
        let mut running = Self { shared, waker, threads: Vec::new(), address, started: Instant::now() };
        let (shared, socket) = (running.shared.clone(), listener.clone());
        let releasing = Builder::new().name("evenkeel-release".to_owned());
        let spawned = releasing.spawn(move || release::run(&shared.flight, &socket));
        running.threads.push(spawned.map_err(StartError::Thread)?);
        let shared = running.shared.clone();
        let receiving = Builder::new().name("evenkeel-link".to_owned());
        let spawned = receiving.spawn(move || inbound::run(poll, &listener, &shared));
        running.threads.push(spawned.map_err(StartError::Thread)?);
        Ok(running)
    }

    /// Returns where clients send to.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the links of all clients, present and future. Datagrams in flight keep their fates.
    ///
    /// # Errors
    /// [`LinkFaultError`] names the first invalid field; then nothing changes.
    pub fn change(&self, profiles: Vec<Profile>) -> Result<(), LinkFaultError> {
        profiles.iter().try_for_each(Profile::validate)?;
        if profiles.is_empty() {
            return Err(LinkFaultError::Empty { field: "profiles" });
        }
        self.shared.clients.lock().unwrap_or_else(PoisonError::into_inner).change(profiles);
        Ok(())
    }

    /// Returns what happened so far.
    #[must_use]
    pub fn report(&self) -> Report {
        let clients = self.shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let (reports, clients_seen, [to_server, to_client]) = clients.report();
        let turned_away = clients.turned_away;
        let up_s = self.started.elapsed().as_secs_f64();
        Report { up_s, clients: reports, clients_seen, turned_away, to_server, to_client }
    }
}

impl Drop for Conditioner {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Release);
        self.shared.flight.stop();
        let _ = self.waker.wake();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Conditioner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Conditioner({})", self.address)
    }
}

/// Opens a socket that never blocks.
pub(crate) fn open(address: SocketAddr, buffer_bytes: usize) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    let _ = socket.set_recv_buffer_size(buffer_bytes);
    let _ = socket.set_send_buffer_size(buffer_bytes);
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(UdpSocket::from_std(socket.into()))
}
