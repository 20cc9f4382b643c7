//! UDP sockets set up for QUIC.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

/// Enough for a burst of datagrams while the reading task waits for a core. The system may grant less.
const BUFFER_BYTES: usize = 2 * 1024 * 1024;

/// Binds an address. An IPv6 socket accepts IPv6 only, so that both families can use the same port.
pub(super) fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    let _ = socket.set_recv_buffer_size(BUFFER_BYTES);
    let _ = socket.set_send_buffer_size(BUFFER_BYTES);
    socket.bind(&address.into())?;
    Ok(socket.into())
}
