//! The settings of both proxies, from a TOML file or by default.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use evenkeel_core::Span;
use evenkeel_net::crank::Allowance;
use evenkeel_net::files::{TEXT_BYTES_MAX, read_regular};
use evenkeel_sync_ms::Order;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

use crate::trial::TrialLink;

/// The port of the server's proxy by default.
pub const PORT: u16 = 7979;

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: {error}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// It is not TOML, or has an unknown key or a value of the wrong type.
    #[error("{path}: {message}", path = path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// The line and the error.
        message: String,
    },
    /// A value is invalid.
    #[error("{key}: {message}")]
    Value {
        /// The setting.
        key: &'static str,
        /// What is wrong with it, and what would be right.
        message: String,
    },
}

/// The settings of the proxy beside the game server.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// The game server's UDP address, as `host:port`.
    pub game: String,
    /// The address that the tunnel listens on (UDP).
    #[serde(deserialize_with = "address")]
    pub listen: SocketAddr,
    /// The file of the key that both sides share; required beyond loopback.
    pub key: Option<PathBuf>,
    /// The order in which actions are served.
    #[serde(deserialize_with = "order")]
    pub order: Order,
    /// Whether everybody sees an update at the same time.
    pub out: bool,
    /// The most that anybody is delayed for the others' sake, each way, in milliseconds.
    pub cap_ms: f64,
    /// TCP ports of the game server's machine that clients may reach.
    pub tcp: Vec<u16>,
    /// The address of the page and the metrics (TCP).
    #[serde(deserialize_with = "maybe_address")]
    pub page: Option<SocketAddr>,
    /// Names under which the API and the metrics may be read, beside `localhost` and addresses.
    pub page_names: Vec<String>,
    /// The most players at a time.
    pub players_max: usize,
    /// A player who is gone for this long is forgotten, in seconds.
    pub idle_s: f64,
    /// Datagrams per second that a player's tunnel may bring.
    pub datagrams_per_second: u32,
    /// Bytes per second that a player's tunnel may bring.
    pub bytes_per_second: u32,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            game: String::new(),
            listen: (Ipv4Addr::LOCALHOST, PORT).into(),
            key: None,
            order: Order::Reaction,
            out: true,
            cap_ms: 150.0,
            tcp: Vec::new(),
            page: None,
            page_names: Vec::new(),
            players_max: 128,
            idle_s: 60.0,
            datagrams_per_second: 2_000,
            bytes_per_second: 4 << 20,
        }
    }
}

/// The settings of the proxy beside players.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClientConfig {
    /// The address that players' games connect to (UDP).
    #[serde(deserialize_with = "address")]
    pub listen: SocketAddr,
    /// The server's proxy, as `host:port`.
    pub server: String,
    /// The file of the key that both sides share; required beyond loopback.
    pub key: Option<PathBuf>,
    /// TCP ports that are forwarded to the game server's machine.
    pub tcp: Vec<u16>,
    /// The address of the page and the metrics (TCP).
    #[serde(deserialize_with = "maybe_address")]
    pub page: Option<SocketAddr>,
    /// Names under which the API and the metrics may be read, beside `localhost` and addresses.
    pub page_names: Vec<String>,
    /// The most players at a time.
    pub players_max: usize,
    /// A player whose game has sent nothing for this long is forgotten, in seconds.
    pub idle_s: f64,
    /// Datagrams per second that a player's game may send.
    pub datagrams_per_second: u32,
    /// Bytes per second that a player's game may send.
    pub bytes_per_second: u32,
    /// Emulated distance, for trials.
    pub link: TrialLink,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, PORT + 1).into(),
            server: String::new(),
            key: None,
            tcp: Vec::new(),
            page: None,
            page_names: Vec::new(),
            players_max: 32,
            idle_s: 60.0,
            datagrams_per_second: 1_000,
            bytes_per_second: 2 << 20,
            link: TrialLink::default(),
        }
    }
}

impl ServerConfig {
    /// Reads a file. The key's path is relative to its folder.
    ///
    /// # Errors
    /// [`ConfigError`] names the file, the line, and what is wrong.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let mut config: Self = load(path)?;
        config.key = beside(path, config.key);
        Ok(config)
    }

    /// Checks all values.
    ///
    /// # Errors
    /// [`ConfigError::Value`] names the first invalid one.
    pub fn check(&self) -> Result<(), ConfigError> {
        host("game", &self.game)?;
        within("cap_ms", self.cap_ms, 1.0, 10_000.0)?;
        within("players_max", self.players_max as f64, 1.0, 1_000.0)?;
        within("idle_s", self.idle_s, 1.0, 86_400.0)?;
        check_allowance(self.allowance())
    }

    pub(crate) fn cap(&self) -> Span {
        Span::from_millis_f64(self.cap_ms)
    }

    pub(crate) const fn allowance(&self) -> Allowance {
        Allowance { messages_per_second: self.datagrams_per_second, bytes_per_second: self.bytes_per_second }
    }
}

impl ClientConfig {
    /// Reads a file. The key's path is relative to its folder.
    ///
    /// # Errors
    /// [`ConfigError`] names the file, the line, and what is wrong.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let mut config: Self = load(path)?;
        config.key = beside(path, config.key);
        Ok(config)
    }

    /// Checks all values.
    ///
    /// # Errors
    /// [`ConfigError::Value`] names the first invalid one.
    pub fn check(&self) -> Result<(), ConfigError> {
        host("server", &self.server)?;
        within("players_max", self.players_max as f64, 1.0, 1_000.0)?;
        within("idle_s", self.idle_s, 1.0, 86_400.0)?;
        check_allowance(self.allowance())?;
        self.link.check()
    }

    pub(crate) const fn allowance(&self) -> Allowance {
        Allowance { messages_per_second: self.datagrams_per_second, bytes_per_second: self.bytes_per_second }
    }
}

fn load<T: DeserializeOwned>(path: &Path) -> Result<T, ConfigError> {
    let not_text = |_| std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8");
    let text = read_regular(path, TEXT_BYTES_MAX)
        .and_then(|bytes| String::from_utf8(bytes).map_err(not_text))
        .map_err(|error| ConfigError::Unreadable { path: path.to_owned(), error })?;
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        let place = line.map_or(String::new(), |line| format!("line {line}: "));
        ConfigError::NotToml { path: path.to_owned(), message: format!("{place}{}", error.message().trim()) }
    })
}

fn beside(path: &Path, key: Option<PathBuf>) -> Option<PathBuf> {
    key.map(|key| path.parent().unwrap_or(Path::new("")).join(key))
}

fn host(key: &'static str, text: &str) -> Result<(), ConfigError> {
    let port = text.rsplit_once(':').and_then(|(name, port)| (!name.is_empty()).then(|| port.parse::<u16>()));
    if matches!(port, Some(Ok(1..))) {
        return Ok(());
    }
    let message = match text {
        "" => "is missing: name an address, like 127.0.0.1:27960 or game.example:27960".to_owned(),
        text => {
            format!("\"{text}\" is not an address with a port, like 127.0.0.1:27960 or game.example:27960")
        }
    };
    Err(ConfigError::Value { key, message })
}

pub(crate) fn within(key: &'static str, value: f64, low: f64, high: f64) -> Result<(), ConfigError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(ConfigError::Value { key, message: format!("{value} is not between {low} and {high}") })
}

fn check_allowance(allowance: Allowance) -> Result<(), ConfigError> {
    within("datagrams_per_second", f64::from(allowance.messages_per_second), 1.0, 1e6)?;
    within("bytes_per_second", f64::from(allowance.bytes_per_second), 1e3, f64::from(u32::MAX))
}

fn parse_address<E: Error>(text: &str) -> Result<SocketAddr, E> {
    text.parse().map_err(|_| {
        E::custom(format!(
            "\"{text}\" is not an IP address with a port, like \"127.0.0.1:7979\" or \"[::]:7979\""
        ))
    })
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    parse_address(&String::deserialize(deserializer)?)
}

fn maybe_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    parse_address(&String::deserialize(deserializer)?).map(Some)
}

fn order<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Order, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> Result<ServerConfig, String> {
        let path = std::env::temp_dir().join(format!("evenkeel-proxy-{:x}.toml", evenkeel_net::random()));
        std::fs::write(&path, text).expect("written");
        let config = ServerConfig::load(&path).map_err(|error| error.to_string());
        let _ = std::fs::remove_file(path);
        config
    }

    #[test]
    fn a_file_may_set_everything() {
        let config = server(
            "game = \"127.0.0.1:27960\"\nlisten = \"[::]:7979\"\nkey = \"shared.key\"\norder = \"toss-wait=100:50,50:50\"\n\
             out = false\ncap_ms = 100\ntcp = [27960]\npage = \"127.0.0.1:80\"\n",
        )
        .expect("a valid configuration");
        assert_eq!((config.order.to_string().as_str(), config.out), ("toss-wait=100:50,50:50", false));
        assert_eq!(config.key, Some(std::env::temp_dir().join("shared.key")), "beside the file");
        assert!(config.check().is_ok());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("\nlisten = \"localhost:1\"", "line 2: \"localhost:1\" is not an IP address with a port"),
            ("orders = 1", "line 1: unknown field `orders`"),
            ("order = \"fifo\"", "line 1: \"fifo\" is no order"),
        ] {
            let error = server(text).expect_err("an invalid configuration");
            assert!(error.contains(expected), "{error}");
        }
        let config = ServerConfig::default();
        let checked = |config: ServerConfig| config.check().map_err(|error| error.to_string());
        assert!(checked(config.clone()).is_err_and(|error| error.starts_with("game: is missing")));
        let config = ServerConfig { game: "127.0.0.1:27960".to_owned(), ..config };
        assert_eq!(checked(config.clone()), Ok(()));
        assert!(
            checked(ServerConfig { cap_ms: f64::NAN, ..config.clone() })
                .is_err_and(|error| error.starts_with("cap_ms: "))
        );
        assert!(
            checked(ServerConfig { game: "27960".to_owned(), ..config })
                .is_err_and(|error| error.contains("not an address"))
        );
    }
}
