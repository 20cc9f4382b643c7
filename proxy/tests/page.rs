//! The pages: who may read them, and how long a connection may take.

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use support::{Pair, local, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

async fn pages() -> (Pair, [SocketAddr; 2]) {
    let pair = Pair::with(
        |config| (config.page, config.page_names) = (Some(local()), vec!["game.example".to_owned()]),
        |config| config.page = Some(local()),
    );
    let pair = pair.await;
    let pages = [pair.server.page(), pair.client.page()].map(|page| page.expect("a page"));
    (pair, pages)
}

/// The status of an answer.
async fn get(page: SocketAddr, path: &str, host: &str) -> u16 {
    let mut stream = TcpStream::connect(page).await.expect("connected");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.expect("an answer");
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_is_not_read_under_a_foreign_name() {
    let (_pair, pages) = pages().await;
    for page in pages {
        for path in ["/api/players", "/metrics"] {
            assert_eq!(get(page, path, "evil.example").await, 403, "{path}");
            for host in ["localhost", "127.0.0.1:8080", "10.0.0.7"] {
                assert_eq!(get(page, path, host).await, 200, "{path} of {host}");
            }
        }
        assert_eq!(get(page, "/", "evil.example").await, 200, "the page itself says nothing");
        assert_eq!(get(page, "/healthz", "localhost").await, 200);
    }
    assert_eq!(get(pages[0], "/metrics", "game.example:8080").await, 200, "a name of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn half_sent_heads_and_idle_connections_end() {
    let (_pair, pages) = pages().await;
    let start = Instant::now();
    let mut streams = Vec::new();
    for page in pages {
        for head in ["GET / HTTP/1.1\r\nHost: local", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"] {
            let mut stream = TcpStream::connect(page).await.expect("connected");
            stream.write_all(head.as_bytes()).await.expect("sent");
            streams.push(stream);
        }
    }
    for mut stream in streams {
        let mut answer = Vec::new();
        let end = timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await;
        assert!(end.is_ok(), "it is still open after {:?}", start.elapsed());
    }
    assert!(start.elapsed() >= Duration::from_secs(5), "an honest client has time: {:?}", start.elapsed());
}
