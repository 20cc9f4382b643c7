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

/// Ports below this are the system's.
const PORT_MIN: u16 = 1_024;

/// Opens a socket that only the game server at this address reaches, at this port if it is free. A client asks for it, so the
/// ports of the system and of the game server itself are not for it.
pub(crate) fn towards(game: SocketAddr, port: u16) -> io::Result<UdpSocket> {
    let port = if port < PORT_MIN || port == game.port() { 0 } else { port };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn port_of(socket: &UdpSocket) -> u16 {
        socket.local_addr().expect("an address").port()
    }

    #[test]
    fn a_client_gets_its_former_port_but_none_of_the_systems_and_not_the_games() {
        let free = bind("127.0.0.1:0".parse().expect("an address")).expect("bound");
        let port = port_of(&free);
        drop(free);
        let game = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(port_of(&towards(game(9), port).expect("opened")), port);
        // The game server is not running, so its port is free.
        assert_ne!(port_of(&towards(game(port), port).expect("opened")), port);
        assert_ne!(port_of(&towards(game(9), 80).expect("opened")), 80);
    }
}
