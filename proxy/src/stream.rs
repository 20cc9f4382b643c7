//! Forwarded TCP connections: each is a tunnel of its own, so one that stalls holds up nothing else.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use evenkeel_net::transport::tunnel::TunnelStream;
use socket2::SockRef;
use tokio::io::{copy_bidirectional, join};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::counters::{add, count};

/// Forwarded TCP connections at a time.
pub(crate) const STREAMS_MAX: usize = 256;
/// How long the game server's machine may take to accept a connection.
const DIAL_MAX: Duration = Duration::from_secs(10);
/// How long the other side may take to read what was left when a connection ended.
const FINISH_MAX: Duration = Duration::from_secs(30);

/// Copies between a TCP connection and a tunnel until both have ended. If one breaks, the other is reset, so that nobody
/// takes a part for the whole.
pub(crate) async fn carry(mut tcp: TcpStream, mut tunnel: TunnelStream, bytes: &AtomicU64) {
    let _ = tcp.set_nodelay(true);
    let copied = {
        let mut both = join(&mut tunnel.reader, &mut tunnel.writer);
        copy_bidirectional(&mut tcp, &mut both).await
    };
    match copied {
        Ok((up, down)) => {
            add(bytes, up + down);
            let _ = tokio::time::timeout(FINISH_MAX, tunnel.finished()).await;
        }
        Err(_) => {
            let _ = SockRef::from(&tcp).set_linger(Some(Duration::ZERO));
        }
    }
}

/// Accepts TCP connections and hands each to `serve`, at most [`STREAMS_MAX`] at a time.
pub(crate) async fn listen<F>(socket: TcpListener, refused: impl Fn(), serve: impl Fn(TcpStream) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let (slots, mut carried) = (Arc::new(Semaphore::new(STREAMS_MAX)), JoinSet::new());
    loop {
        let Ok((tcp, _)) = socket.accept().await else {
            // Out of file descriptors, usually: they come back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        while carried.try_join_next().is_some() {}
        let Ok(slot) = slots.clone().try_acquire_owned() else {
            refused();
            continue;
        };
        let served = serve(tcp);
        carried.spawn(async move {
            served.await;
            drop(slot);
        });
    }
}

/// Connects to a TCP port of the game server's machine.
pub(crate) async fn dial(game: SocketAddr, port: u16, refused: &AtomicU64) -> io::Result<TcpStream> {
    let connecting = tokio::time::timeout(DIAL_MAX, TcpStream::connect((game.ip(), port)));
    let connected = connecting.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    if connected.is_err() {
        count(refused);
    }
    connected
}
