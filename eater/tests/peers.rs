//! Peers of the Eater game on this machine, over real connections.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use evenkeel_core::Span;
use evenkeel_eater::demo::{Demo, DemoConfig};
use evenkeel_eater::{EaterPeer, EaterPeerConfig, Page, Player, Summary, exponential_faults};
use evenkeel_p2p::SessionId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

const PAGE: Page = Page::At(SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0));

/// Waits until a peer has measured this.
async fn until(peer: &EaterPeer, is_met: impl Fn(&Summary) -> bool) -> Summary {
    let mut last = Summary::default();
    let waiting = async {
        loop {
            last = peer.summary().await;
            if is_met(&last) {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(timeout(Duration::from_secs(60), waiting).await.is_ok(), "{last:#?}");
    last
}

async fn ask(page: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(page).await.expect("the page is served");
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer
}

async fn get(page: SocketAddr, path: &str, origin: &str) -> String {
    ask(page, &format!("GET {path} HTTP/1.1\r\nHost: {page}\r\n{origin}Connection: close\r\n\r\n")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_is_played_and_its_cheater_is_caught_with_a_valid_proof() {
    let config = DemoConfig { page: PAGE, delay: Span::from_millis(5), loss: 0.0 };
    let mut demo = Demo::start(config).await.expect("started");
    let all = until(&demo.person, |summary| summary.peers == 2 && summary.played > 60).await;
    // The bots eat: the game's time goes on.
    until(&demo.person, |summary| summary.scores.iter().any(|(_, stones)| *stones > 0)).await;
    assert!(all.caught.is_empty() && all.playout_ms.is_some_and(|millis| millis > 0.0), "{all:?}");
    demo.admit_cheater().await.expect("let in");
    let cheater = demo.others.last().expect("three others").key();
    let hex: String = cheater.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    for honest in [&demo.person, &demo.others[0], &demo.others[1]] {
        let summary = until(honest, |summary| !summary.caught.is_empty() && summary.peers == 2).await;
        assert_eq!(summary.caught, std::slice::from_ref(&hex), "only the cheater");
    }
    let page = demo.person.page().expect("a page");
    let figures = get(page, "/api/eater", "").await;
    assert!(figures.contains("\"is_valid\":true") && figures.contains("Mallory"), "{figures}");
    let summary = demo.stop().await;
    assert!(summary.committed > 60 && summary.wire_bytes > summary.payload_bytes, "{summary:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_come_and_go_and_a_page_can_only_be_steered_from_this_machine() {
    let session = SessionId::random();
    let config = |name: &str| EaterPeerConfig {
        faults: exponential_faults(Span::from_millis(10), 0.01),
        page: PAGE,
        ..EaterPeerConfig::new(session, name, Player::Bot)
    };
    let host = EaterPeer::start(config("host")).await.expect("started");
    let guest = EaterPeer::start(config("guest\u{7}")).await.expect("started");
    guest.join(&host.ticket()).await.expect("joined");
    until(&host, |summary| summary.peers == 1 && summary.played > 20).await;
    let page = host.page().expect("a page");
    let figures = get(page, "/api/eater", "").await;
    assert!(figures.contains("\"name\":\"guest\"") && figures.contains("evenkeel-"), "{figures}");
    assert!(get(page, "/", "").await.contains("<title>Eater"));
    let foreign = get(page, "/api/eater", "Origin: http://evil.example\r\n").await;
    assert!(foreign.starts_with("HTTP/1.1 403") && !foreign.contains("evenkeel-"), "{foreign}");
    for (origin, status) in [("Origin: http://evil.example\r\n", "403"), ("", "204")] {
        let body = "{\"go\":\"north\"}";
        let head = format!(
            "Host: {page}\r\n{origin}Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let answer = ask(page, &format!("POST /api/eater/steer HTTP/1.1\r\n{head}{body}")).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
    let gone = guest.stop().await;
    assert!(gone.played > 0 && gone.name.starts_with("guest"));
    let left = until(&host, |summary| summary.peers == 0).await;
    assert!(left.comings.iter().any(|(_, what, _)| what == "left"), "{:?}", left.comings);
    host.stop().await;
}
