//! UDP sockets towards games.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

/// The longest datagram.
pub(crate) const DATAGRAM_MAX: usize = 65_535;

/// The system may grant less.
const BUFFER_BYTES: usize = 4 << 20;

/// Binds a socket that never blocks.
pub(crate) fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    let _ = socket.set_recv_buffer_size(BUFFER_BYTES);
    let _ = socket.set_send_buffer_size(BUFFER_BYTES);
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Opens a socket that only the game server at this address reaches, at this port if it is free and not 0.
pub(crate) fn towards(game: SocketAddr, port: u16) -> io::Result<UdpSocket> {
    let local = match game.ip() {
        ip if ip.is_loopback() => ip,
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = bind((local, port).into()).or_else(|_| bind((local, 0).into()))?;
    socket.connect(game)?;
    Ok(socket)
}

/// Sends to a connected socket. The system reports that a former datagram was refused in place of sending the next, so that
/// is tried once more; the report is passed on.
pub(crate) fn send(socket: &UdpSocket, bytes: &[u8]) -> (io::Result<usize>, bool) {
    match socket.send(bytes) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => (socket.send(bytes), true),
        sent => (sent, false),
    }
}

/// Resolves `host:port`.
pub(crate) async fn resolve(name: &str) -> Option<SocketAddr> {
    tokio::net::lookup_host(name).await.ok()?.next()
}
