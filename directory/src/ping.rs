//! The round trip to a relay, measured without a token and without any state at the relay.
//!
//! A QUIC server answers a first packet of an unknown version with the versions that it knows (RFC 9000, section 6), and
//! forgets the packet. The version here is one of those reserved to provoke that answer. So whatever answers is a QUIC server,
//! and every relay does, also older ones. The answer repeats a random number of the question.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;

/// Shorter first packets are ignored, so that servers cannot be used to flood others.
const PACKET_BYTES: usize = 1_200;
/// One of the versions that nobody may ever use.
const UNKNOWN_VERSION: [u8; 4] = [0x1a, 0x2a, 0x3a, 0x4a];
/// The pause between two questions.
const PAUSE: Duration = Duration::from_millis(20);

/// Round trips to a relay.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Ping {
    /// Questions sent.
    pub sent: u32,
    /// The round trips of those answered, the shortest first.
    pub round_trips: Vec<Duration>,
}

impl Ping {
    /// Returns the median of the round trips; `None` if nothing was answered.
    #[must_use]
    pub fn median(&self) -> Option<Duration> {
        self.round_trips.get(self.round_trips.len() / 2).copied()
    }
}

/// Asks a relay several times, one after the other, and waits at most this long for each answer.
///
/// # Errors
/// If there is no socket to be had.
pub async fn ping(relay: SocketAddr, count: u32, wait: Duration) -> std::io::Result<Ping> {
    let local: SocketAddr = if relay.is_ipv6() { ([0_u16; 8], 0).into() } else { ([0_u8; 4], 0).into() };
    let socket = UdpSocket::bind(local).await?;
    socket.connect(relay).await?;
    let mut ping = Ping { sent: count, round_trips: Vec::new() };
    for turn in 0..count {
        if turn > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        let nonce = evenkeel_net::random().to_be_bytes();
        let start = Instant::now();
        // Where nobody listens the system says so, sooner or later: then there is no answer.
        if socket.send(&question(nonce)).await.is_err() {
            continue;
        }
        let answer = async {
            let mut buffer = [0; 2_048];
            loop {
                match socket.recv(&mut buffer).await {
                    Ok(len) if is_answer(&buffer[..len], nonce) => return true,
                    Ok(_) => {}
                    Err(_) => return false,
                }
            }
        };
        if tokio::time::timeout(wait, answer).await == Ok(true) {
            ping.round_trips.push(start.elapsed());
        }
    }
    ping.round_trips.sort_unstable();
    Ok(ping)
}

/// A first packet with a long header: version, the server's connection id, and ours.
fn question(nonce: [u8; 8]) -> Vec<u8> {
    let mut packet = vec![0xc0];
    packet.extend_from_slice(&UNKNOWN_VERSION);
    for _ in 0..2 {
        packet.push(nonce.len() as u8);
        packet.extend_from_slice(&nonce);
    }
    packet.resize(PACKET_BYTES, 0);
    packet
}

/// Whether a packet is a list of versions (version 0) for the connection ids of the question.
fn is_answer(packet: &[u8], nonce: [u8; 8]) -> bool {
    let id_len = nonce.len();
    packet.len() > 7 + 2 * id_len
        && packet[0] & 0x80 != 0
        && packet[1..5] == [0; 4]
        && usize::from(packet[5]) == id_len
        && packet[6..6 + id_len] == nonce
}
