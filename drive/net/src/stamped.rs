//! UDP datagrams with the time at which the system received them.
//!
//! Between the arrival of a datagram and the moment at which a task reads it lie some tens of microseconds, or milliseconds
//! while the cores are busy. On Linux the system notes the arrival itself; elsewhere the time of reading has to do.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use evenkeel_core::{LocalTime, Span};
use tokio::io::Interest;

use crate::clock::LocalClock;

/// A stamp that is older has been overtaken by a step of the system's clock.
#[cfg(target_os = "linux")]
const AGE_MAX: Duration = Duration::from_secs(1);

/// A datagram that was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamped {
    /// Its length.
    pub len: usize,
    /// Who sent it.
    pub from: SocketAddr,
    /// How long ago it arrived.
    pub age: Duration,
}

/// Asks the system to note arrivals. Without it, or where it can't, the age is zero.
pub fn enable(socket: &UdpSocket) {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::ReceiveTimestampns, &true);
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}

/// Receives a datagram.
///
/// # Errors
/// As [`UdpSocket::recv_from`].
#[cfg(target_os = "linux")]
pub fn receive(socket: &impl std::os::fd::AsRawFd, buffer: &mut [u8]) -> io::Result<Stamped> {
    use nix::cmsg_space;
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
    use nix::sys::time::TimeSpec;

    let mut control = cmsg_space!(TimeSpec);
    let mut slices = [io::IoSliceMut::new(buffer)];
    let fd = socket.as_raw_fd();
    let message = recvmsg::<SockaddrStorage>(fd, &mut slices, Some(&mut control), MsgFlags::empty())?;
    let stamp = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(Duration::from(stamp)),
        _ => None,
    });
    let from = message.address.as_ref().and_then(socket_address);
    let from = from.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the sender has no address"))?;
    Ok(Stamped { len: message.bytes, from, age: stamp.map_or(Duration::ZERO, age) })
}

/// Receives a datagram.
///
/// # Errors
/// As [`UdpSocket::recv_from`].
#[cfg(not(target_os = "linux"))]
pub fn receive(socket: &impl Receive, buffer: &mut [u8]) -> io::Result<Stamped> {
    let (len, from) = socket.receive(buffer)?;
    Ok(Stamped { len, from, age: Duration::ZERO })
}

/// A socket that receives datagrams.
#[cfg(not(target_os = "linux"))]
pub trait Receive {
    /// Receives a datagram.
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)>;
}

#[cfg(not(target_os = "linux"))]
impl Receive for UdpSocket {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.recv_from(buffer)
    }
}

#[cfg(not(target_os = "linux"))]
impl Receive for tokio::net::UdpSocket {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.try_recv_from(buffer)
    }
}

#[cfg(target_os = "linux")]
fn socket_address(address: &nix::sys::socket::SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|address| std::net::SocketAddrV4::from(*address).into());
    v4.or_else(|| address.as_sockaddr_in6().map(|address| std::net::SocketAddrV6::from(*address).into()))
}

/// How long ago that was, by the clock that the system stamps with.
#[cfg(target_os = "linux")]
fn age(stamp: Duration) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.checked_sub(stamp).filter(|age| *age <= AGE_MAX).unwrap_or_default()
}

/// A socket for tasks.
#[derive(Debug)]
pub struct StampedSocket {
    socket: tokio::net::UdpSocket,
    clock: LocalClock,
}

impl StampedSocket {
    /// Wraps a socket that does not block. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// If the runtime cannot watch the socket.
    pub fn new(socket: UdpSocket, clock: LocalClock) -> io::Result<Self> {
        enable(&socket);
        Ok(Self { socket: tokio::net::UdpSocket::from_std(socket)?, clock })
    }

    /// Waits for a datagram. Returns its length, its sender, and when it arrived.
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub async fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr, LocalTime)> {
        let read = || receive(&self.socket, buffer);
        let Stamped { len, from, age } = self.socket.async_io(Interest::READABLE, read).await?;
        let age = Span::from_nanos(i64::try_from(age.as_nanos()).unwrap_or(0));
        Ok((len, from, self.clock.now() - age))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_datagram_is_stamped_when_it_arrives_and_not_when_it_is_read() {
        let (receiver, sender) = ("127.0.0.1:0", "127.0.0.1:0");
        let bound = |address| UdpSocket::bind(address).expect("bound");
        let (receiver, sender) = (bound(receiver), bound(sender));
        receiver.set_nonblocking(true).expect("set");
        let to = receiver.local_addr().expect("an address");
        let clock = LocalClock::start();
        let receiver = StampedSocket::new(receiver, clock).expect("watched");
        // The system begins to stamp a moment after it is asked, so the first datagrams may lack a stamp.
        for _ in 0..20 {
            let before = clock.now();
            sender.send_to(b"hello", to).expect("sent");
            let after = clock.now();
            std::thread::sleep(Duration::from_millis(30));
            let mut buffer = [0; 16];
            let (len, from, at) = receiver.receive(&mut buffer).await.expect("received");
            assert_eq!((&buffer[..len], from), (&b"hello"[..], sender.local_addr().expect("an address")));
            // The system's clock and the local one are read one after the other.
            let slack = Span::from_millis(5);
            assert!(at >= before - slack, "{before:?} {at:?}");
            if at <= after + slack || !cfg!(target_os = "linux") {
                return;
            }
        }
        panic!("no datagram was stamped when it arrived");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn stamps_from_before_a_step_of_the_clock_are_not_believed() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        assert_eq!(age(now + Duration::from_secs(10)), Duration::ZERO);
        assert_eq!(age(now - Duration::from_secs(10)), Duration::ZERO);
        assert!(age(now - Duration::from_millis(3)) >= Duration::from_millis(3));
    }
}
