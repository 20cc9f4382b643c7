//! An iroh connection as the [`Carrier`] of a [`Connection`](evenkeel_net::transport::Connection).

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use evenkeel_net::transport::{BoxFuture, Carrier, CarrierWriter, CloseCode, CloseReason, Closed, SendError};
use iroh::TransportAddr;
use iroh::endpoint::{Connection, ConnectionError, SendDatagramError, SendStream, VarInt};

/// The longest datagram on any path: what fits into the least packet of the Internet, less the overhead of QUIC and of a
/// relay. A connection may change its path at any time, so the bound is not that of the path on which it began.
const DATAGRAM_MAX: usize = 1_120;

/// An iroh connection.
#[derive(Clone, Debug)]
pub(crate) struct IrohCarrier(pub(crate) Connection);

impl Carrier for IrohCarrier {
    fn remote_address(&self) -> SocketAddr {
        let paths = self.0.paths();
        let direct =
            paths.iter().filter(|path| path.is_selected()).find_map(|path| match path.remote_addr() {
                TransportAddr::Ip(address) => Some(*address),
                _ => None,
            });
        direct.unwrap_or_else(|| (Ipv4Addr::UNSPECIFIED, 0).into())
    }

    fn round_trip(&self) -> Duration {
        let paths = self.0.paths();
        paths.iter().find(|path| path.is_selected()).map_or(Duration::ZERO, |path| path.rtt())
    }

    fn wire_bytes(&self) -> (u64, u64) {
        let stats = self.0.stats();
        (stats.udp_tx.bytes, stats.udp_rx.bytes)
    }

    fn datagram_max(&self) -> usize {
        DATAGRAM_MAX
    }

    fn send_datagram(&self, bytes: Bytes) -> Result<(), SendError> {
        let len = bytes.len();
        self.0.send_datagram(bytes).map_err(|error| match error {
            SendDatagramError::TooLarge => SendError::TooLong {
                bytes: len,
                bytes_max: self.0.max_datagram_size().unwrap_or(0).min(DATAGRAM_MAX),
            },
            _ => SendError::Closed,
        })
    }

    fn read_datagram(&self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async { self.0.read_datagram().await.ok() })
    }

    fn close(&self, reason: &CloseReason) {
        self.0.close(VarInt::from_u32(reason.code.number()), reason.message().as_bytes());
    }

    fn ended(&self) -> Option<Closed> {
        self.0.close_reason().map(|error| closed(&error))
    }

    fn closed(&self) -> BoxFuture<'_, Closed> {
        Box::pin(async { closed(&self.0.closed().await) })
    }
}

/// How a connection ended.
pub(crate) fn closed(error: &ConnectionError) -> Closed {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            let number = u32::try_from(close.error_code.into_inner()).unwrap_or(0);
            let message = String::from_utf8_lossy(&close.reason);
            Closed::ByPeer(CloseReason::new(CloseCode::from_number(number), message))
        }
        ConnectionError::LocallyClosed => Closed::ByUs(CloseCode::Done.into()),
        ConnectionError::TimedOut => Closed::Silent,
        other => Closed::Broken(other.to_string()),
    }
}

/// The writing side of the reliable stream.
pub(crate) struct IrohWriter(pub(crate) SendStream);

impl CarrierWriter for IrohWriter {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, bool> {
        Box::pin(async move { self.0.write_all(bytes).await.is_ok() })
    }

    fn finish(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.0.finish().is_ok() {
                let _ = self.0.stopped().await;
            }
        })
    }
}
