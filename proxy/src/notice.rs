//! What operators are told while a proxy runs.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// What has happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// A player is here.
    PlayerCame {
        /// Its number.
        player: u32,
        /// Where it comes from.
        from: SocketAddr,
    },
    /// A player is gone.
    PlayerLeft {
        /// Its number.
        player: u32,
        /// Why.
        why: String,
    },
    /// Nobody waits for a player from now on, so its place is not guaranteed; or it is again.
    Guaranteed {
        /// Its number.
        player: u32,
        /// Where it comes from.
        from: SocketAddr,
        /// Whether it has the guarantee.
        is_guaranteed: bool,
    },
    /// The server's proxy can't be reached; the client keeps trying.
    ServerLost {
        /// The server.
        server: String,
        /// Why.
        why: String,
    },
    /// The server's proxy is reached, again.
    ServerFound {
        /// The server.
        server: String,
    },
    /// A TCP connection was not forwarded.
    StreamRefused {
        /// The port.
        port: u16,
        /// Why.
        why: String,
    },
    /// The service failed and goes on anew: a defect of this program. Players are connected again.
    Restarted,
    /// The game server does not listen at its address.
    GameUnreachable {
        /// The address.
        game: SocketAddr,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PlayerCame { player, from } => write!(f, "player {player} is here, from {from}"),
            Self::PlayerLeft { player, why } => write!(f, "player {player} has left: {why}"),
            Self::Guaranteed { player, from, is_guaranteed: true, .. } => {
                write!(f, "player {player} ({from}) has its fair place again")
            }
            Self::Guaranteed { player, from, .. } => write!(
                f,
                "player {player} ({from}) is silent, or farther away than the cap: nobody waits for it, its place is not promised"
            ),
            Self::ServerLost { server, why } => write!(f, "{server} is not reached: {why}; trying again"),
            Self::ServerFound { server } => write!(f, "connected to {server}"),
            Self::StreamRefused { port, why } => {
                write!(f, "a connection to TCP port {port} was not forwarded: {why}")
            }
            Self::Restarted => write!(
                f,
                "the service failed and was started again; the log above says where: please report it"
            ),
            Self::GameUnreachable { game } => write!(f, "no game server listens on {game} (UDP)"),
        }
    }
}

/// Receives notices. It must be quick: precise threads call it.
pub type Notify = Arc<dyn Fn(Notice) + Send + Sync>;

/// Ignores notices.
#[must_use]
pub fn quiet() -> Notify {
    Arc::new(|_| {})
}
