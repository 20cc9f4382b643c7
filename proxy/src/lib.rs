//! Sync-MS in front of an unmodified UDP game: a proxy beside the game server, and one beside each player.
//!
//! ```text
//! game client ── UDP ── SyncClient ══ tunnel ══ SyncServer ── UDP ── game server
//!                        (an Smc per player)     (the Sms)
//! ```
//!
//! Each address that sends to the client's proxy is a player. Its datagrams are *actions*, which the server's proxy passes to
//! the game in fair order, from a socket of the player's own: the game sees each player at an address of its own. Each
//! datagram of the game to that address is an *update*, which the client's proxy shows to the player at the time at which
//! everybody sees it. Datagrams are neither read nor changed, and the tunnel between the proxies is encrypted and admits only
//! who has the key ([`evenkeel_net::transport::tunnel`]).
//!
//! Datagrams are released on the crank's thread, which keeps deadlines precisely. The async runtime reads the sockets.
//!
//! ```
//! use evenkeel_net::transport::tunnel::SharedKey;
//! use evenkeel_proxy::{ClientConfig, ServerConfig, SyncClient, SyncServer, quiet};
//! use tokio::net::UdpSocket;
//!
//! # #[tokio::main(flavor = "multi_thread", worker_threads = 2)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let game = UdpSocket::bind("127.0.0.1:0").await?;
//! let key = SharedKey::generate();
//! let any = "127.0.0.1:0".parse()?;
//! let server = ServerConfig { game: game.local_addr()?.to_string(), listen: any, ..ServerConfig::default() };
//! let server = SyncServer::start(server, &key, quiet()).await?;
//! let client = ClientConfig { listen: any, server: server.address().to_string(), ..ClientConfig::default() };
//! let client = SyncClient::start(client, &key, quiet()).await?;
//!
//! let player = UdpSocket::bind("127.0.0.1:0").await?;
//! player.connect(client.address()).await?;
//! player.send(b"I jump").await?;
//! let mut bytes = [0; 64];
//! let (len, from) = game.recv_from(&mut bytes).await?;
//! assert_eq!(&bytes[..len], b"I jump");
//! game.send_to(b"you are in the air", from).await?;
//! let len = player.recv(&mut bytes).await?;
//! assert_eq!(&bytes[..len], b"you are in the air");
//! # Ok(())
//! # }
//! ```

mod client;
mod config;
mod counters;
mod hello;
mod key;
mod metrics;
mod notice;
mod page;
mod report;
mod server;
mod stream;
mod trial;
mod udp;

pub use client::SyncClient;
pub use config::{ClientConfig, ConfigError, PORT, ServerConfig};
pub use key::{KeyError, find_key};
pub use notice::{Notice, Notify, quiet};
pub use report::{ClientReport, ClientTotals, LocalPlayerReport, PlayerReport, ServerReport, ServerTotals};
pub use server::SyncServer;
pub use trial::TrialLink;

/// Why a proxy could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A setting has an invalid value.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// A name has no address.
    #[error("{name} has no address: is it spelled correctly, with a port, and is the network up?")]
    UnknownHost {
        /// The name.
        name: String,
    },
    /// The tunnel's address cannot be listened on.
    #[error(transparent)]
    Bind(#[from] evenkeel_net::transport::BindError),
    /// The address for players, for TCP or for the page cannot be listened on.
    #[error(
        "cannot listen on {address} ({what}): {source}; stop the program that uses it, or choose another"
    )]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// What for.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// The other side does not let this one in.
    #[error(transparent)]
    NotAdmitted(evenkeel_net::transport::tunnel::TunnelError),
    /// The system refused a thread.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}
