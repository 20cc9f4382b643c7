//! Tunnels between programs that share a key.

use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use evenkeel_net::token::KeyFileError;
use evenkeel_net::transport::tunnel::{SharedKey, TunnelDialer, TunnelError, TunnelListener};
use evenkeel_net::transport::{CloseCode, Closed, Connection, Limits};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(5);

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(SOON, what).await.expect("done in time")
}

fn listen(address: SocketAddr, key: &SharedKey) -> TunnelListener {
    TunnelListener::bind(address, key, Limits::default()).expect("bound")
}

fn local() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

/// Opens a tunnel. Returns its ends at the server and at the client.
async fn pair(
    listener: &mut TunnelListener,
    dialer: &TunnelDialer,
    through: SocketAddr,
) -> (Connection, Connection) {
    let serve = async { listener.accept().await.expect("a client").accept(b"welcome").await.expect("open") };
    let connect = async { dialer.connect(through, b"hello").await.expect("connected") };
    soon(async { tokio::join!(serve, connect) }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn datagrams_and_reliable_messages_go_both_ways() {
    let key = SharedKey::generate();
    let mut listener = listen(local(), &key);
    let address = listener.local_address();
    let (server, client) = pair(&mut listener, &TunnelDialer::new(&key, Limits::default()), address).await;
    assert_eq!(client.greeting(), b"welcome");
    assert!(client.datagram_max() > 1_100 && server.datagram_max() > 1_100);
    for (from, to) in [(&server, &client), (&client, &server)] {
        from.send_datagram(Bytes::from_static(b"quick")).expect("sent");
        assert_eq!(soon(to.read_datagram()).await.expect("a datagram"), &b"quick"[..]);
        from.send_reliable(b"sure".to_vec()).expect("sent");
        let mut reader = to.take_reader().expect("the first call");
        assert_eq!(soon(reader.next()).await.expect("a message"), b"sure");
    }
    server.close(CloseCode::Full);
    assert_eq!(soon(client.closed()).await, Closed::ByPeer(CloseCode::Full.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_another_key_gets_nothing() {
    let mut listener = listen(local(), &SharedKey::generate());
    let address = listener.local_address();
    let dialer = TunnelDialer::new(&SharedKey::generate(), Limits::default());
    let error = soon(dialer.connect(address, b"hello")).await.expect_err("refused");
    assert_eq!(error, TunnelError::OtherKey { address });
    assert!(timeout(Duration::from_millis(100), listener.accept()).await.is_err(), "the server saw a client");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_client_learns_why() {
    let key = SharedKey::generate();
    let mut listener = listen(local(), &key);
    let address = listener.local_address();
    let dialer = TunnelDialer::new(&key, Limits::default());
    let refuse = async { listener.accept().await.expect("a client").refuse(CloseCode::Full).await };
    let (error, ()) = soon(async { tokio::join!(dialer.connect(address, b"hello"), refuse) }).await;
    assert_eq!(error.expect_err("refused"), TunnelError::Refused(CloseCode::Full.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_carries_more_than_fits_into_its_window() {
    const BYTES: usize = 5 * 1024 * 1024;
    let key = SharedKey::generate();
    let mut listener = listen(local(), &key);
    let address = listener.local_address();
    let dialer = TunnelDialer::new(&key, Limits::default());
    let echo = async {
        let mut tunnel = listener.accept().await.expect("a client").accept_stream(b"").await.expect("open");
        tokio::io::copy(&mut tunnel.reader, &mut tunnel.writer).await.expect("copied");
        tunnel.writer.shutdown().await.expect("ended");
        tunnel.finished().await;
    };
    let send = async {
        let mut tunnel = dialer.connect_stream(address, b"hello").await.expect("connected");
        let sent: Vec<u8> = (0..BYTES).map(|at| ((at * 31) >> 7) as u8).collect();
        let mut back = vec![0; BYTES];
        let write = async {
            tunnel.writer.write_all(&sent).await.expect("written");
            tunnel.writer.shutdown().await.expect("ended");
        };
        let read = async { tunnel.reader.read_exact(&mut back).await.expect("read") };
        tokio::join!(write, read);
        assert!(back == sent, "the bytes changed");
    };
    timeout(Duration::from_secs(30), async { tokio::join!(echo, send) }).await.expect("done in time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_server_resets_former_connections_at_once() {
    let key = SharedKey::generate();
    let mut listener = listen(local(), &key);
    let address = listener.local_address();
    // A server that is killed sends nothing, so the first one sits behind a socket that is closed first.
    let through = UdpSocket::bind(local()).expect("bound");
    let public = through.local_addr().expect("an address");
    let relaying = tokio::spawn(relay(through, address));
    let dialer = TunnelDialer::new(&key, Limits::default());
    let (_server, client) = pair(&mut listener, &dialer, public).await;
    relaying.abort();
    let _ = relaying.await;
    let start = Instant::now();
    let _restarted = listen(public, &key);
    client.send_datagram(Bytes::from_static(&[7; 100])).expect("sent");
    soon(client.closed()).await;
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tunnel_goes_on_when_the_clients_address_changes() {
    let key = SharedKey::generate();
    let mut listener = listen(local(), &key);
    let address = listener.local_address();
    let near = Arc::new(UdpSocket::bind(local()).expect("bound"));
    let public = near.local_addr().expect("an address");
    let relaying = tokio::spawn(relay(near.try_clone().expect("cloned"), address));
    let dialer = TunnelDialer::new(&key, Limits::default());
    let (server, client) = pair(&mut listener, &dialer, public).await;
    let before = server.remote_address();
    // A router forgets the mapping and makes another one.
    relaying.abort();
    let _ = relaying.await;
    let _relaying = tokio::spawn(relay(near.try_clone().expect("cloned"), address));
    for number in 0..20_u8 {
        client.send_datagram(Bytes::copy_from_slice(&[number])).expect("sent");
        assert_eq!(soon(server.read_datagram()).await.expect("a datagram"), [number][..]);
        server.send_datagram(Bytes::copy_from_slice(&[number])).expect("sent");
        assert_eq!(soon(client.read_datagram()).await.expect("a datagram"), [number][..]);
    }
    assert_ne!(server.remote_address(), before, "the address did not change");
}

/// Relays between the one client that sends to a socket and a server, over a socket of its own.
async fn relay(near: UdpSocket, server: SocketAddr) {
    near.set_nonblocking(true).expect("nonblocking");
    let near = tokio::net::UdpSocket::from_std(near).expect("a socket");
    let far = tokio::net::UdpSocket::bind(local()).await.expect("bound");
    let (mut from_client, mut from_server) = ([0; 2_048], [0; 2_048]);
    let mut client = None;
    loop {
        tokio::select! {
            Ok((len, from)) = near.recv_from(&mut from_client) => {
                client = Some(from);
                let _ = far.send_to(&from_client[..len], server).await;
            }
            Ok(len) = far.recv(&mut from_server) => {
                if let Some(client) = client {
                    let _ = near.send_to(&from_server[..len], client).await;
                }
            }
        }
    }
}

#[test]
fn processes_that_make_a_key_at_the_same_time_share_it() {
    let folder: PathBuf = std::env::temp_dir().join(format!("evenkeel-shared-key-{}", std::process::id()));
    let path = folder.join("state").join("shared.key");
    let make = || SharedKey::load_or_make(&path).expect("a key");
    std::thread::scope(|scope| {
        let makers: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        for maker in makers {
            maker.join().expect("no panic");
        }
    });
    let text = std::fs::read_to_string(&path).expect("a key file");
    assert!(text.starts_with("evenkeel-shared-key-1:"), "{}", text.len());
    assert_eq!(std::fs::read_dir(folder.join("state")).expect("a folder").count(), 1, "leftovers");
    assert!(matches!(SharedKey::generate().save(&path), Err(KeyFileError::Exists { .. })));
    assert!(matches!(SharedKey::load(&folder.join("other")), Err(KeyFileError::Missing { .. })));
    let _ = std::fs::remove_dir_all(folder);
}
