//! The thread that receives datagrams of both directions and decides their fates.
//!
//! It waits for all sockets at once by `mio`, the layer below tokio: a runtime inside a game would be one too many, and a
//! thread per client a way to have too many threads.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering::Acquire;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use mio::net::UdpSocket;
use mio::{Events, Poll, Token};

use crate::clients::FIRST_CLIENT;
use crate::start::{LISTENER, Shared, WAKER};

/// Datagrams read from one socket before the others have their turn.
const TURN: usize = 64;
/// How often silent clients are looked for.
const SWEEP: Duration = Duration::from_secs(1);
/// The longest datagram.
const DATAGRAM_MAX: usize = 65_535;

/// Runs until the conditioner stops.
pub(crate) fn run(mut poll: Poll, listener: &Arc<UdpSocket>, shared: &Shared) {
    let mut events = Events::with_capacity(256);
    // Sockets that may hold more. The system reports each change once only.
    let mut ready: VecDeque<Token> = VecDeque::new();
    let mut buffer = vec![0; DATAGRAM_MAX];
    let mut swept = Instant::now();
    while !shared.stopped.load(Acquire) {
        let wait = if ready.is_empty() { SWEEP } else { Duration::ZERO };
        if let Err(error) = poll.poll(&mut events, Some(wait))
            && error.kind() != io::ErrorKind::Interrupted
        {
            return;
        }
        for event in &events {
            if event.token() != WAKER && !ready.contains(&event.token()) {
                ready.push_back(event.token());
            }
        }
        for _ in 0..ready.len() {
            let Some(token) = ready.pop_front() else { break };
            let may_hold_more = match token {
                LISTENER => read_clients(listener, &poll, shared, &mut buffer),
                Token(token) => read_server((token - FIRST_CLIENT) as u64, shared, &mut buffer),
            };
            if may_hold_more {
                ready.push_back(token);
            }
        }
        if swept.elapsed() >= SWEEP {
            swept = Instant::now();
            shared.clients.lock().unwrap_or_else(PoisonError::into_inner).forget_idle();
        }
    }
}

/// Reads what clients sent. Returns whether there may be more.
fn read_clients(listener: &UdpSocket, poll: &Poll, shared: &Shared, buffer: &mut [u8]) -> bool {
    for _ in 0..TURN {
        match listener.recv_from(buffer) {
            Ok((len, from)) => {
                let mut clients = shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
                let taken = clients.take_from_client(from, &buffer[..len], poll.registry(), &shared.flight);
                if taken.is_err() {
                    clients.turned_away += 1;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            // A client that is gone makes the system report an error here.
            Err(_) => {}
        }
    }
    true
}

/// Reads what the server sent to a client. Returns whether there may be more.
fn read_server(number: u64, shared: &Shared, buffer: &mut [u8]) -> bool {
    let line = shared.clients.lock().unwrap_or_else(PoisonError::into_inner).line(number);
    let Some(line) = line else { return false };
    for _ in 0..TURN {
        match line.upstream.recv(buffer) {
            Ok(len) => {
                let mut clients = shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
                clients.take_from_server(number, &buffer[..len], &shared.flight);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            // Nobody listens at the server's address at the moment.
            Err(_) => {}
        }
    }
    true
}
