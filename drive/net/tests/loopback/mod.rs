//! A listener on loopback and its clients.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of it")]

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_net::certificate::Certificate;
use evenkeel_net::token::unix_seconds;
use evenkeel_net::transport::{ConnectError, Connection, Limits, Listener, Trust, connect};

pub const SOON: Duration = Duration::from_secs(5);

pub struct Relay {
    pub listener: Listener,
    pub certificate: Certificate,
    pub limits: Limits,
}

impl Relay {
    pub fn start(addresses: &[&str], limits: Limits) -> Self {
        let certificate = Certificate::self_signed(&[], unix_seconds()).expect("a certificate");
        let addresses: Vec<SocketAddr> =
            addresses.iter().map(|address| address.parse().expect("an address")).collect();
        let listener = Listener::bind(&addresses, &certificate, limits).expect("bound");
        Self { listener, certificate, limits }
    }

    pub fn local() -> Self {
        Self::start(&["127.0.0.1:0"], Limits::default())
    }

    pub fn url(&self) -> String {
        format!("https://{}/room", self.listener.local_addresses()[0])
    }

    pub fn trust(&self) -> Trust {
        Trust::Pinned(vec![self.certificate.hash()])
    }

    /// Opens a connection. Returns its ends at the relay and at the client.
    pub async fn pair(&mut self) -> (Connection, Connection) {
        let (url, trust, limits) = (self.url(), self.trust(), self.limits);
        let coming = async { connect(&url, None, &trust, limits).await.expect("connected") };
        let letting_in =
            async { self.listener.accept().await.expect("a client").accept(b"").await.expect("let in") };
        let (client, served) = tokio::join!(coming, letting_in);
        (served, client)
    }

    pub async fn connect(&self) -> Result<Connection, ConnectError> {
        connect(&self.url(), None, &self.trust(), self.limits).await
    }
}

pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, what).await.expect("done in time")
}
