//! What bounds a listener and its connections.

use std::sync::Arc;
use std::time::Duration;

use quinn::{IdleTimeout, TransportConfig, VarInt};

/// Streams that a client may have open: the request, the reliable stream, and two that a browser may try.
const BIDI_STREAMS_MAX: u32 = 4;
/// HTTP/3 itself needs three.
const UNI_STREAMS_MAX: u32 = 8;
const STREAM_WINDOW: u32 = 128 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
const SEND_WINDOW: u64 = 256 * 1024;
/// Some 50 full datagrams. When it is full the oldest goes: what waited longest is worth least.
const DATAGRAM_SEND_BUFFER: usize = 64 * 1024;
const DATAGRAM_RECEIVE_BUFFER: usize = 256 * 1024;
/// The MTU that every path has. It is not probed for more, so that the largest datagram that a machine is told when
/// a peer joins stays true for the whole connection.
const MTU: u16 = 1_200;

/// What bounds a listener and its connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How long a client may take from its first packet until its reliable stream is open.
    pub handshake_timeout: Duration,
    /// How many clients may be in that state; others are turned away, and from half of it on have to prove their
    /// address first.
    pub handshakes_max: usize,
    /// How many of them may come from one address (IPv6: from one /64), loopback excepted; with the same consequences.
    pub handshakes_per_address_max: usize,
    /// How many connections there may be; others are refused with [`Full`](super::CloseCode::Full).
    pub connections_max: usize,
    /// A connection over which nothing came for so long is dead.
    pub idle_timeout: Duration,
    /// A connection over which nothing goes for so long sends a sign of life.
    pub keep_alive: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake_timeout: Duration::from_secs(5),
            handshakes_max: 256,
            handshakes_per_address_max: 32,
            connections_max: 4_096,
            idle_timeout: Duration::from_secs(5),
            keep_alive: Duration::from_secs(1),
        }
    }
}

impl Limits {
    pub(super) fn transport(&self) -> Arc<TransportConfig> {
        let mut config = TransportConfig::default();
        let idle = IdleTimeout::try_from(self.idle_timeout)
            .unwrap_or_else(|_| IdleTimeout::from(VarInt::from_u32(u32::MAX)));
        config
            .max_idle_timeout(Some(idle))
            .keep_alive_interval(Some(self.keep_alive))
            .max_concurrent_bidi_streams(BIDI_STREAMS_MAX.into())
            .max_concurrent_uni_streams(UNI_STREAMS_MAX.into())
            .stream_receive_window(STREAM_WINDOW.into())
            .receive_window(CONNECTION_WINDOW.into())
            .send_window(SEND_WINDOW)
            .initial_mtu(MTU)
            .mtu_discovery_config(None)
            .datagram_send_buffer_size(DATAGRAM_SEND_BUFFER)
            .datagram_receive_buffer_size(Some(DATAGRAM_RECEIVE_BUFFER));
        Arc::new(config)
    }
}
