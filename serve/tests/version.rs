//! Clients of relays of another version give up for good.

mod support;

use std::net::Ipv4Addr;

use evenkeel_core::{PeerId, Span, Wire};
use evenkeel_net::certificate::Certificate;
use evenkeel_net::token::unix_seconds;
use evenkeel_net::transport::{CloseCode, Connection, Limits, Listener};
use evenkeel_serve::{Client, ClientConfig, Status, Welcome};
use support::until;
use tokio::runtime::Runtime;

/// Starts a relay that admits one client per greeting and passes each connection to `treat`.
fn strange_relay(
    runtime: &Runtime,
    greetings: Vec<Vec<u8>>,
    treat: impl Fn(&Connection) + Send + 'static,
) -> ClientConfig {
    let certificate = Certificate::self_signed(&[], unix_seconds()).expect("a certificate");
    let _runtime = runtime.enter();
    let address = (Ipv4Addr::LOCALHOST, 0).into();
    let mut listener = Listener::bind(&[address], &certificate, Limits::default()).expect("bound");
    let url = format!("https://{}", listener.local_addresses()[0]);
    runtime.spawn(async move {
        let mut connections = Vec::new();
        for greeting in greetings {
            let request = listener.accept().await.expect("a client");
            let connection = request.accept(&greeting).await.expect("accepted");
            treat(&connection);
            connections.push(connection);
        }
        std::future::pending::<()>().await;
    });
    ClientConfig::pinned(&url, "token", &[certificate.hash()])
}

fn greeting() -> Vec<u8> {
    let mut greeting = Vec::new();
    Welcome { player: PeerId(1), tick: Span::from_millis(20) }.emit(&mut greeting);
    greeting
}

#[test]
fn a_client_gives_up_on_messages_of_another_version() {
    let runtime = Runtime::new().expect("a runtime");
    let config = strange_relay(&runtime, vec![greeting(), greeting()], |connection| {
        connection.send_reliable(vec![9, 1, 2, 3]).expect("sent");
    });
    const WORDS: &str = "a message of version 9, expected";
    match Client::connect(config) {
        Ok(ada) => {
            until(
                "ada gives up",
                || matches!(ada.status(), Status::Over(message) if message.contains(WORDS)),
            );
        }
        // The message arrived before the client was connected.
        Err(error) => assert!(error.to_string().contains(WORDS), "{error}"),
    }
}

#[test]
fn a_client_gives_up_on_a_relay_that_returns_in_another_version() {
    let runtime = Runtime::new().expect("a runtime");
    let config = strange_relay(&runtime, vec![greeting(), vec![9, 9, 9]], |connection| {
        connection.close(CloseCode::ShuttingDown);
    });
    let ada = Client::connect(config).expect("admitted");
    until(
        "ada gives up",
        || matches!(ada.status(), Status::Over(message) if message.contains("speaks another version")),
    );
}
