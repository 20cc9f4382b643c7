//! The thread that passes datagrams on when they are due.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use mio::net::UdpSocket;

use crate::counters::count;
use crate::flight::{Direction, Flight};

/// Runs until the flight is stopped.
pub(crate) fn run(flight: &Flight, listener: &Arc<UdpSocket>) {
    while let Some(datagram) = flight.next_due() {
        let client = &datagram.client;
        let late = Instant::now().saturating_duration_since(datagram.due);
        let counters = client.counters(datagram.direction);
        let sent = match datagram.direction {
            Direction::ToServer => send(&datagram.bytes, |bytes| client.upstream.send(bytes)),
            Direction::ToClient => {
                let to: SocketAddr = client.address;
                send(&datagram.bytes, |bytes| listener.send_to(bytes, to))
            }
        };
        if sent {
            counters.deliver(datagram.delay_ns, u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
        } else {
            count(&counters.refused);
        }
    }
}

/// Sends. The system may report in place of sending that an earlier datagram was refused, so that is tried once more.
fn send(bytes: &[u8], attempt: impl Fn(&[u8]) -> std::io::Result<usize>) -> bool {
    attempt(bytes).or_else(|_| attempt(bytes)).is_ok()
}
