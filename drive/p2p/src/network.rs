//! How a peer reaches others: on this machine only, directly, or with the help of a relay that opens holes in firewalls.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use iroh::endpoint::{Builder, QuicTransportConfig, presets};
use iroh::{RelayMode, RelayUrl};

/// Longer than the keep-alive interval, so that one lost packet does not end a connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// About a second of rounds with one peer. When it is full the oldest is dropped, as it is worth least.
const DATAGRAM_BUFFER: usize = 64 * 1024;
const STREAM_WINDOW: u32 = 128 * 1024;
const SEND_WINDOW: u64 = 256 * 1024;

/// Who helps peers behind firewalls to find each other.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Relay {
    /// Nobody: peers must be reachable at their addresses.
    #[default]
    None,
    /// A relay of one's own, at this URL.
    Own(String),
    /// The public relays of iroh's authors.
    Public,
}

/// How a peer reaches others.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Network {
    /// The addresses to bind; none for all addresses and any port.
    pub bind: Vec<SocketAddr>,
    /// Who helps.
    pub relay: Relay,
}

/// Why a peer could not open its socket.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NetworkError {
    /// The relay's URL is not one.
    #[error("\"{0}\" is not the URL of a relay: write it like https://relay.example.org")]
    RelayUrl(String),
    /// The address cannot be bound.
    #[error("cannot open a UDP socket: {0}; choose another address or port")]
    Bind(String),
    /// The relay does not answer.
    #[error("the relay {0} does not answer: is it running there, and is its certificate valid?")]
    NoRelay(String),
}

impl Network {
    /// Peers on this machine only.
    #[must_use]
    pub fn loopback() -> Self {
        Self { bind: vec![(Ipv4Addr::LOCALHOST, 0).into()], relay: Relay::None }
    }

    pub(crate) fn builder(&self) -> Result<Builder, NetworkError> {
        let relay_mode = match &self.relay {
            Relay::None => RelayMode::Disabled,
            Relay::Own(url) => {
                let parsed: RelayUrl = url.parse().map_err(|_| NetworkError::RelayUrl(url.clone()))?;
                if parsed.host_str().is_none() {
                    return Err(NetworkError::RelayUrl(url.clone()));
                }
                RelayMode::custom([parsed])
            }
            Relay::Public => RelayMode::Default,
        };
        let mut builder = Builder::new(presets::Minimal).relay_mode(relay_mode).transport_config(transport());
        if !self.bind.is_empty() {
            builder = builder.clear_ip_transports();
        }
        for address in &self.bind {
            builder = builder.bind_addr(*address).map_err(|error| NetworkError::Bind(error.to_string()))?;
        }
        Ok(builder)
    }
}

fn transport() -> QuicTransportConfig {
    QuicTransportConfig::builder()
        .max_concurrent_bidi_streams(1_u32.into())
        .max_concurrent_uni_streams(0_u32.into())
        .stream_receive_window(STREAM_WINDOW.into())
        .receive_window(STREAM_WINDOW.into())
        .send_window(SEND_WINDOW)
        .datagram_send_buffer_size(DATAGRAM_BUFFER)
        .datagram_receive_buffer_size(Some(DATAGRAM_BUFFER))
        .max_idle_timeout(IDLE_TIMEOUT.try_into().ok())
        .keep_alive_interval(KEEP_ALIVE)
        .build()
}
