//! Listener, client and connections over real sockets on loopback.

mod loopback;

use std::time::{Duration, Instant};

use bytes::Bytes;
use evenkeel_net::certificate::{Certificate, CertificateHash};
use evenkeel_net::token::unix_seconds;
use evenkeel_net::transport::{
    AcceptError, BindError, CloseCode, CloseReason, Closed, ConnectError, Connection, Limits, Listener,
    RELIABLE_BYTES_MAX, SendError, Trust, connect,
};

use web_transport_quinn::{SessionError, WebTransportError};

use loopback::{Relay, soon};

/// Sends a datagram until one arrives: they may be lost even here.
async fn exchange(from: &Connection, to: &Connection) {
    for _ in 0..20 {
        from.send_datagram(Bytes::from_static(b"datagram")).expect("sent");
        if let Ok(arrived) = tokio::time::timeout(Duration::from_millis(500), to.read_datagram()).await {
            assert_eq!(arrived.expect("open"), "datagram");
            return;
        }
    }
    panic!("no datagram arrived");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn datagrams_and_reliable_messages_arrive_over_both_families() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let mut relay = Relay::start(&[address], Limits::default());
        let (served, client) = soon(relay.pair()).await;
        assert!((1_100..1_200).contains(&client.datagram_max()), "{}", client.datagram_max());
        soon(exchange(&client, &served)).await;
        soon(exchange(&served, &client)).await;
        let (mut at_relay, mut at_client) =
            (served.take_reader().expect("first"), client.take_reader().expect("first"));
        assert!(served.take_reader().is_none());
        for len in [0, 1, 1_000, RELIABLE_BYTES_MAX] {
            client.send_reliable(vec![7; len]).expect("sent");
            assert_eq!(soon(at_relay.next()).await, Ok(vec![7; len]));
            served.send_reliable(vec![8; len]).expect("sent");
            assert_eq!(soon(at_client.next()).await, Ok(vec![8; len]));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_families_share_a_port_and_localhost_finds_it() {
    let mut relay = Relay::start(&["127.0.0.1:0", "[::1]:0"], Limits::default());
    let addresses = relay.listener.local_addresses();
    assert_eq!(addresses[0].port(), addresses[1].port());
    let url = format!("https://localhost:{}/room?seat=3", addresses[0].port());
    let (trust, limits) = (relay.trust(), relay.limits);
    let client = tokio::spawn(async move { connect(&url, Some("tick-tock"), &trust, limits).await });
    let request = soon(relay.listener.accept()).await.expect("a client");
    assert_eq!(request.path(), "/room");
    assert_eq!(request.query("seat").as_deref(), Some("3"));
    assert_eq!(request.token().as_deref(), Some("tick-tock"));
    assert!(!format!("{request:?}").contains("tick-tock"));
    let _served = soon(request.accept(b"hello")).await.expect("let in");
    soon(client).await.expect("no panic").expect("connected");
}

#[tokio::test]
async fn a_taken_port_is_reported_with_advice() {
    let relay = Relay::local();
    let taken = relay.listener.local_addresses()[0];
    let error = Listener::bind(&[taken], &relay.certificate, Limits::default()).expect_err("taken");
    assert!(matches!(error, BindError::Taken { address } if address == taken));
    assert!(error.to_string().contains("choose another port"), "{error}");
}

#[tokio::test]
async fn an_unpinned_certificate_is_rejected_with_an_explanation() {
    let relay = Relay::local();
    let trust = Trust::Pinned(vec![CertificateHash::of(b"another")]);
    let error = soon(connect(&relay.url(), None, &trust, relay.limits)).await.expect_err("refused");
    assert_eq!(error, ConnectError::OtherCertificate { seen: relay.certificate.hash() });
    assert!(error.to_string().contains("does not match the pinned hash"));
    let error = soon(connect(&relay.url(), None, &Trust::System, relay.limits)).await.expect_err("refused");
    assert!(matches!(error, ConnectError::Untrusted(_)), "{error}");
}

#[tokio::test]
async fn the_client_can_read_why_it_was_refused() {
    let mut relay = Relay::local();
    let (url, trust) = (relay.url(), relay.trust());
    let refusing = async {
        let request = relay.listener.accept().await.expect("a client");
        request.refuse(CloseReason::new(CloseCode::TokenRefused, "the token expired 5 minutes ago")).await;
    };
    let (_, refused) =
        soon(async { tokio::join!(refusing, connect(&url, Some("old"), &trust, Limits::default())) }).await;
    let error = refused.expect_err("refused");
    assert_eq!(error.to_string(), "the relay refused: the token expired 5 minutes ago");
    assert!(matches!(error, ConnectError::Refused(reason) if reason.code == CloseCode::TokenRefused));
}

#[tokio::test]
async fn a_full_relay_says_so() {
    let limits = Limits { connections_max: 1, ..Limits::default() };
    let mut relay = Relay::start(&["127.0.0.1:0"], limits);
    let (served, client) = soon(relay.pair()).await;
    let error = soon(relay.connect()).await.expect_err("full");
    assert!(matches!(error, ConnectError::Refused(reason) if reason.code == CloseCode::Full));
    served.close(CloseCode::Done);
    soon(served.closed()).await;
    drop((served, client));
    soon(relay.pair()).await;
}

#[tokio::test]
async fn clients_are_turned_away_while_too_many_handshakes_are_in_progress() {
    let limits = Limits { handshakes_max: 1, ..Limits::default() };
    let mut relay = Relay::start(&["127.0.0.1:0"], limits);
    let (url, trust) = (relay.url(), relay.trust());
    let first = tokio::spawn(async move { connect(&url, None, &trust, limits).await });
    let request = soon(relay.listener.accept()).await.expect("the first");
    let error = soon(relay.connect()).await.expect_err("the second");
    assert!(matches!(error, ConnectError::Refused(reason) if reason.code == CloseCode::Full));
    let served = soon(request.accept(b"")).await.expect("let in");
    soon(first).await.expect("no panic").expect("connected");
    served.close(CloseCode::Done);
    soon(relay.pair()).await;
}

#[tokio::test]
async fn a_missing_relay_is_reported_in_bounded_time() {
    let unused = std::net::UdpSocket::bind("127.0.0.1:0").expect("bound");
    let url = format!("https://{}/", unused.local_addr().expect("an address"));
    let limits = Limits { handshake_timeout: Duration::from_millis(500), ..Limits::default() };
    let error = soon(connect(&url, None, &Trust::System, limits)).await.expect_err("nobody");
    assert!(matches!(error, ConnectError::NoAnswer { .. }), "{error}");
    let error = soon(connect("http://x/", None, &Trust::System, limits)).await.expect_err("wrong");
    assert!(matches!(error, ConnectError::InvalidUrl(_)), "{error}");
}

#[tokio::test]
async fn a_relay_without_a_published_hash_is_distinguished_from_a_missing_one() {
    let relay = Relay::local();
    let error = soon(connect(&relay.url(), None, &Trust::Local, relay.limits)).await.expect_err("no hash");
    let hash_url = format!("http://{}/api/certificate", relay.listener.local_addresses()[0]);
    assert_eq!(error, ConnectError::NoPublishedHash { url: hash_url.clone() });
    let message = error.to_string();
    assert!(
        message.contains(&hash_url) && message.contains("name the hash") && !message.contains("UDP"),
        "{message}"
    );
}

#[tokio::test]
async fn both_sides_learn_why_a_connection_was_closed() {
    let mut relay = Relay::local();
    let (served, client) = soon(relay.pair()).await;
    // From a thread without a runtime, like the crank's.
    let closing = served.clone();
    std::thread::spawn(move || closing.close(CloseCode::Replaced)).join().expect("closed");
    assert_eq!(soon(client.closed()).await, Closed::ByPeer(CloseCode::Replaced.into()));
    assert_eq!(soon(served.closed()).await, Closed::ByUs(CloseCode::Replaced.into()));
    assert_eq!(client.send_reliable(vec![1]), Err(SendError::Closed));
    assert_eq!(client.send_datagram(Bytes::new()), Err(SendError::Closed));
}

#[tokio::test]
async fn a_gentle_close_delivers_what_was_sent_before() {
    let mut relay = Relay::local();
    let (served, client) = soon(relay.pair()).await;
    for number in 0..100 {
        served.send_reliable(vec![number; 1_000]).expect("sent");
    }
    let closing =
        tokio::spawn(
            async move { served.close_gently(CloseCode::ShuttingDown, Duration::from_secs(2)).await },
        );
    let mut reader = client.take_reader().expect("first");
    for number in 0..100 {
        assert_eq!(soon(reader.next()).await, Ok(vec![number; 1_000]));
    }
    assert_eq!(soon(reader.next()).await, Err(Closed::ByPeer(CloseCode::ShuttingDown.into())));
    soon(closing).await.expect("no panic");
}

#[tokio::test]
async fn a_slow_reader_is_closed_with_a_reason() {
    let mut relay = Relay::local();
    let (served, client) = soon(relay.pair()).await;
    let mut sent = 0;
    let error = loop {
        match served.send_reliable(vec![0; 32 * 1_024]) {
            Ok(()) => sent += 32,
            Err(error) => break error,
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(error, SendError::TooSlow);
    assert!(sent < 2_048, "{sent} KiB were buffered");
    assert_eq!(soon(client.closed()).await.code(), Some(CloseCode::TooSlow));
}

#[tokio::test]
async fn a_message_that_is_too_long_is_not_sent() {
    let mut relay = Relay::local();
    let (served, _client) = soon(relay.pair()).await;
    let error = served.send_reliable(vec![0; RELIABLE_BYTES_MAX + 1]).expect_err("too long");
    assert!(matches!(error, SendError::TooLong { .. }));
    let error = served.send_datagram(vec![0; 1_500].into()).expect_err("too long");
    assert!(matches!(error, SendError::TooLong { .. }));
    assert!(!served.is_closed());
}

/// A client that implements only WebTransport: writes these bytes to its first stream and returns how the session ended.
async fn raw_client(url: String, hash: CertificateHash, bytes: Vec<u8>) -> (u32, String) {
    let client = web_transport_quinn::ClientBuilder::new()
        .with_server_certificate_hashes(vec![hash.as_bytes().to_vec()])
        .expect("a client");
    let url: url::Url = url.parse().expect("a URL");
    let session = client.connect(url).await.expect("connected");
    let (mut writer, _reader) = session.open_bi().await.expect("opened");
    writer.write_all(&bytes).await.expect("written");
    match session.closed().await {
        SessionError::WebTransportError(WebTransportError::Closed(code, message)) => (code, message),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_message_announced_as_too_long_closes_the_connection() {
    let mut relay = Relay::local();
    let bytes = [b"EVK\x01".as_slice(), &70_000u32.to_le_bytes()].concat();
    let raw = tokio::spawn(raw_client(relay.url(), relay.certificate.hash(), bytes));
    let served = soon(async { relay.listener.accept().await.expect("a client").accept(b"").await }).await;
    let served = served.expect("let in");
    let closed = soon(served.take_reader().expect("first").next()).await.expect_err("too long");
    assert_eq!(closed.code(), Some(CloseCode::MessageTooLong));
    let (code, message) = soon(raw).await.expect("no panic");
    assert_eq!(code, CloseCode::MessageTooLong.number());
    assert!(message.contains("70000 bytes"), "{message}");
}

#[tokio::test]
async fn a_client_of_another_version_is_told_so() {
    let mut relay = Relay::local();
    let raw = tokio::spawn(raw_client(relay.url(), relay.certificate.hash(), b"EVK\x02".to_vec()));
    let served = soon(async { relay.listener.accept().await.expect("a client").accept(b"").await }).await;
    assert_eq!(served.expect_err("another version"), AcceptError::Version);
    assert_eq!(soon(raw).await.expect("no panic").0, CloseCode::VersionMismatch.number());
}

#[test]
fn a_dead_relay_is_noticed_in_bounded_time() {
    let limits = Limits {
        idle_timeout: Duration::from_millis(800),
        keep_alive: Duration::from_millis(200),
        ..Limits::default()
    };
    let server = tokio::runtime::Runtime::new().expect("a runtime");
    let client = tokio::runtime::Runtime::new().expect("a runtime");
    let mut relay = server.block_on(async { Relay::start(&["127.0.0.1:0"], limits) });
    let (url, trust) = (relay.url(), relay.trust());
    let accepting = server.spawn(async move {
        let served = relay.listener.accept().await.expect("a client").accept(b"").await.expect("let in");
        (relay, served)
    });
    let connection = client.block_on(connect(&url, None, &trust, limits)).expect("connected");
    let alive = server.block_on(accepting).expect("no panic");
    server.shutdown_background();
    let start = Instant::now();
    let closed = client.block_on(soon(connection.closed()));
    assert_eq!(closed, Closed::Silent);
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    std::mem::forget(alive);
}

#[tokio::test]
async fn closing_the_listener_closes_its_connections() {
    let mut relay = Relay::local();
    let (_served, client) = soon(relay.pair()).await;
    relay.listener.handle().close();
    soon(client.closed()).await;
    assert!(soon(relay.listener.accept()).await.is_none());
    soon(relay.listener.handle().wait_idle()).await;
}

#[tokio::test]
async fn another_certificate_is_served_without_a_restart() {
    let mut relay = Relay::local();
    let (served, _client) = soon(relay.pair()).await;
    let next = Certificate::self_signed(&[], unix_seconds()).expect("made");
    relay.listener.handle().serve(&next).expect("served");
    let error = soon(relay.connect()).await.expect_err("the old hash");
    assert_eq!(error, ConnectError::OtherCertificate { seen: next.hash() });
    relay.certificate = next;
    soon(relay.pair()).await;
    assert!(!served.is_closed());
}
