//! Limits of a listener and its connections.

use std::sync::Arc;
use std::time::Duration;

use quinn::{IdleTimeout, TransportConfig, VarInt};

/// Bidirectional streams of a client: the request, the reliable stream, and two that a browser may try.
const BIDI_STREAMS_MAX: u32 = 4;
/// Unidirectional streams of a client; HTTP/3 itself needs three.
const UNI_STREAMS_MAX: u32 = 8;
const STREAM_WINDOW: u32 = 128 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
const SEND_WINDOW: u64 = 256 * 1024;
/// About 50 full datagrams. When it is full the oldest is dropped, as it is worth least.
const DATAGRAM_SEND_BUFFER: usize = 64 * 1024;
const DATAGRAM_RECEIVE_BUFFER: usize = 256 * 1024;
/// The MTU that every path supports. Larger ones are not probed, so that the datagram size that a machine learns when a
/// peer joins stays true.
const MTU: u16 = 1_200;

/// Limits of a listener and its connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How long a client may take from its first packet until its reliable stream is open.
    pub handshake_timeout: Duration,
    /// Handshakes in progress. Further clients are turned away; from half of it on, clients have to prove their address
    /// first.
    pub handshakes_max: usize,
    /// Handshakes in progress per address (IPv6: per /64), limited in the same way. Loopback is exempt.
    pub handshakes_per_address_max: usize,
    /// Open connections; further clients are refused with [`Full`](super::CloseCode::Full).
    pub connections_max: usize,
    /// A connection that received nothing for this long is dead.
    pub idle_timeout: Duration,
    /// A connection that sent nothing for this long sends a keep-alive.
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
        Arc::new(self.transport_config())
    }

    pub(super) fn transport_config(&self) -> TransportConfig {
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
        config
    }
}
