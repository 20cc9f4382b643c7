//! A relay's settings, from a TOML file or by default.

mod addresses;
mod announce;
mod room;

pub use announce::AnnounceConfig;
pub(crate) use room::budget;
pub use room::{POLICY, RoomConfig};

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use evenkeel_net::crank::Allowance;
use evenkeel_net::files::{TEXT_BYTES_MAX, read_regular};
use evenkeel_net::token::{IssuerId, Name};

/// The port that a relay listens on by default.
pub const PORT: u16 = 7878;

/// The most threads that drive rooms.
const THREADS_MAX: usize = 64;

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
    #[error("{path}: {key}: {message}", path = path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The error.
        message: String,
    },
}

/// A certificate signed by an authority.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateConfig {
    /// The PEM file of the chain, relative to the configuration's folder.
    pub chain: PathBuf,
    /// The PEM file of the key, relative to the configuration's folder.
    pub key: PathBuf,
}

/// Pages for browsers.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PagesConfig {
    /// The folder of the pages, relative to the configuration's folder.
    pub folder: PathBuf,
    /// Addresses to serve them on over HTTPS (TCP), with the configured certificate. They are always served beside the API.
    #[serde(default, deserialize_with = "addresses::https")]
    pub https: Vec<SocketAddr>,
}

/// A relay's settings.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RelayConfig {
    /// Addresses that WebTransport listens on (UDP).
    #[serde(deserialize_with = "addresses::listen")]
    pub listen: Vec<SocketAddr>,
    /// Addresses that the API and the metrics listen on (TCP); by default loopback at the port of `listen`.
    #[serde(deserialize_with = "addresses::http")]
    pub http: Vec<SocketAddr>,
    /// Names under which the API and the metrics may be read, besides `localhost` and all addresses.
    pub http_names: Vec<String>,
    /// The public key that verifies tokens, as `evenkeel token --issuer` prints it.
    pub issuer: Option<String>,
    /// The issuer's key file, used without `issuer`.
    pub token_key: PathBuf,
    /// A certificate signed by an authority. Without it the relay signs its own, and clients pin its hash.
    pub certificate: Option<CertificateConfig>,
    /// The file that keeps the relay's own certificates, so that their hashes survive a restart. By default beside the
    /// configuration file; without such a file nothing is kept.
    pub keep_certificate: Option<PathBuf>,
    /// Pages for browsers, if there are any.
    pub pages: Option<PagesConfig>,
    /// Where players find the relay, if anywhere.
    pub directory: Option<AnnounceConfig>,
    /// Threads that drive rooms; each room stays on one. By default one per core. A recorded relay has one.
    pub threads: usize,
    /// The most rooms at a time.
    pub rooms_max: usize,
    /// The most connections at a time.
    pub connections_max: usize,
    /// Whether a token for a room that is not listed creates the room.
    pub open: bool,
    /// Messages that a player may send per second.
    pub messages_per_second: u32,
    /// Bytes that a player may send per second.
    pub bytes_per_second: u32,
    /// The default settings of rooms.
    pub room: RoomConfig,
    /// Rooms with their own settings.
    pub rooms: BTreeMap<String, RoomConfig>,
}

impl Default for RelayConfig {
    fn default() -> Self {
        let allowance = Allowance::default();
        Self {
            listen: vec![(Ipv4Addr::LOCALHOST, PORT).into(), (Ipv6Addr::LOCALHOST, PORT).into()],
            http: Vec::new(),
            http_names: Vec::new(),
            issuer: None,
            token_key: PathBuf::from("evenkeel.key"),
            certificate: None,
            keep_certificate: None,
            pages: None,
            directory: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX),
            rooms_max: 64,
            connections_max: 4096,
            open: true,
            messages_per_second: allowance.messages_per_second,
            bytes_per_second: allowance.bytes_per_second,
            room: RoomConfig::default(),
            rooms: BTreeMap::new(),
        }
    }
}

impl RelayConfig {
    /// Reads a file. Its paths are relative to its folder.
    ///
    /// # Errors
    /// [`ConfigError`] names the file, the line or key, and what is wrong.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let not_text = |_| std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8");
        let text = read_regular(path, TEXT_BYTES_MAX)
            .and_then(|bytes| String::from_utf8(bytes).map_err(not_text))
            .map_err(|error| ConfigError::Unreadable { path: path.to_owned(), error })?;
        let mut config = Self::parse(&text, path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.token_key = folder.join(&config.token_key);
        let kept = config.keep_certificate.unwrap_or_else(|| PathBuf::from("evenkeel.pem"));
        config.keep_certificate = Some(folder.join(kept));
        if let Some(certificate) = &mut config.certificate {
            certificate.chain = folder.join(&certificate.chain);
            certificate.key = folder.join(&certificate.key);
        }
        if let Some(pages) = &mut config.pages {
            pages.folder = folder.join(&pages.folder);
        }
        config.check_folders(path)?;
        Ok(config)
    }

    /// Parses a file's text; `path` is for error messages.
    ///
    /// # Errors
    /// [`ConfigError`] names the file, the line or key, and what is wrong.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let not_toml = |error: toml::de::Error| {
            let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            let place = line.map_or(String::new(), |line| format!("line {line}: "));
            ConfigError::NotToml {
                path: path.to_owned(),
                message: format!("{place}{}", error.message().trim()),
            }
        };
        let mut config: Self = toml::from_str(text).map_err(not_toml)?;
        config.check_issuer(text, path)?;
        config.inherit(text);
        config.check(path)?;
        Ok(config)
    }

    /// Checks that the text names one key that verifies tokens, not two.
    fn check_issuer(&self, text: &str, path: &Path) -> Result<(), ConfigError> {
        let has_file = text.parse::<toml::Table>().is_ok_and(|document| document.contains_key("token_key"));
        if self.issuer.is_none() || !has_file {
            return Ok(());
        }
        Err(ConfigError::Value {
            path: path.to_owned(),
            key: "token_key".to_owned(),
            message: "there is an `issuer` already: a relay needs the public key, or the file of the secret one, not both"
                .to_owned(),
        })
    }

    /// Fills in each room's missing settings from `[room]`. The text must have been parsed before.
    fn inherit(&mut self, text: &str) {
        let Ok(document) = text.parse::<toml::Table>() else { return };
        let table = |value: Option<&toml::Value>| value.and_then(toml::Value::as_table).cloned();
        let common = table(document.get("room")).unwrap_or_default();
        let rooms = table(document.get("rooms")).unwrap_or_default();
        for (name, own) in rooms {
            let mut whole = common.clone();
            whole.extend(table(Some(&own)).unwrap_or_default());
            if let Ok(room) = whole.try_into() {
                self.rooms.insert(name, room);
            }
        }
    }

    /// Checks all values; `path` is for error messages.
    pub(crate) fn check(&self, path: &Path) -> Result<(), ConfigError> {
        let wrong = |key: String, message: String| ConfigError::Value { path: path.to_owned(), key, message };
        if self.listen.is_empty() {
            return Err(wrong("listen".to_owned(), "a relay needs an address to listen on".to_owned()));
        }
        let range = |key: &str, value: usize, low: usize, high: usize| {
            let fits = (low..=high).contains(&value);
            let message = || format!("{value} is not between {low} and {high}");
            if fits { Ok(()) } else { Err(wrong(key.to_owned(), message())) }
        };
        range("threads", self.threads, 1, THREADS_MAX)?;
        range("rooms_max", self.rooms_max, 1, 100_000)?;
        if self.rooms.len() > self.rooms_max {
            let message =
                format!("{} is less than the {} rooms in this file", self.rooms_max, self.rooms.len());
            return Err(wrong("rooms_max".to_owned(), message));
        }
        range("connections_max", self.connections_max, 1, 1_000_000)?;
        range("messages_per_second", self.messages_per_second as usize, 1, 1_000_000)?;
        range("bytes_per_second", self.bytes_per_second as usize, 1_000, u32::MAX as usize)?;
        if self.certificate.is_none() && self.pages.as_ref().is_some_and(|pages| !pages.https.is_empty()) {
            let message =
                "browsers require a certificate signed by an authority for HTTPS pages: add a [certificate]";
            return Err(wrong("pages.https".to_owned(), message.to_owned()));
        }
        if let Some(issuer) = &self.issuer {
            IssuerId::parse(issuer).map_err(|error| wrong("issuer".to_owned(), error.to_string()))?;
        }
        if let Some(directory) = &self.directory {
            directory.check().map_err(|(key, message)| wrong(format!("directory.{key}"), message))?;
        }
        self.room.check().map_err(|(key, message)| wrong(format!("room.{key}"), message))?;
        for (name, room) in &self.rooms {
            Name::new(name).map_err(|error| wrong(format!("rooms.{name}"), error.to_string()))?;
            room.check().map_err(|(key, message)| wrong(format!("rooms.{name}.{key}"), message))?;
        }
        Ok(())
    }

    /// Checks that the folders exist; `path` is for error messages.
    pub(crate) fn check_folders(&self, path: &Path) -> Result<(), ConfigError> {
        let Some(PagesConfig { folder, .. }) = &self.pages else { return Ok(()) };
        if folder.is_dir() {
            return Ok(());
        }
        Err(ConfigError::Value {
            path: path.to_owned(),
            key: "pages.folder".to_owned(),
            message: format!("{} is not a folder: correct the path, or create it", folder.display()),
        })
    }

    /// Returns the settings of a room; `None` if there is no such room.
    pub(crate) fn room(&self, name: &Name) -> Option<&RoomConfig> {
        self.rooms.get(name.as_str()).or_else(|| self.open.then_some(&self.room))
    }

    /// Returns the addresses that the API listens on, given WebTransport's port.
    #[must_use]
    pub fn http_addresses(&self, port: u16) -> Vec<SocketAddr> {
        if !self.http.is_empty() {
            return self.http.clone();
        }
        let mut addresses = Vec::new();
        for address in &self.listen {
            let loopback = match address {
                SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
                SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
            };
            if !addresses.contains(&loopback) {
                addresses.push(loopback);
            }
        }
        addresses
    }

    pub(crate) const fn allowance(&self) -> Allowance {
        Allowance { messages_per_second: self.messages_per_second, bytes_per_second: self.bytes_per_second }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_dr::Budget;

    use super::*;

    fn read(text: &str) -> Result<RelayConfig, String> {
        RelayConfig::parse(text, Path::new("my.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn rooms_inherit_missing_settings() {
        let config = read("[room]\nspeed_max = 30.0\nbudget = 2.5\n[rooms.arena]\nbudget = \"40%\"\n[rooms.b]\nbudget = 3\n")
            .expect("a valid configuration");
        let budget = |text: &str| text.parse::<Budget>().expect("a budget");
        let arena = config.room(&Name::new("arena").expect("a name")).expect("a listed room");
        assert_eq!((arena.speed_max, arena.budget, arena.tick_ms), (30.0, budget("40%"), 20.0));
        let other = config.room(&Name::new("other").expect("a name")).expect("rooms are open");
        assert_eq!((other.speed_max, other.budget), (30.0, budget("2.5")));
        assert_eq!(config.rooms["b"].budget, budget("3"));
    }

    #[test]
    fn http_addresses_are_unique() {
        let config =
            read("listen = [\"10.0.0.1:1\", \"[::1]:1\", \"10.0.0.2:1\"]").expect("a valid configuration");
        let loopback = ["127.0.0.1:1", "[::1]:1"].map(|address| address.parse().expect("an address"));
        assert_eq!(config.http_addresses(1), loopback);
    }

    #[test]
    fn invalid_settings_are_named() {
        let refused = |text: &str, message: &str| {
            let error = read(text).expect_err("an invalid configuration");
            assert!(error.contains(message), "{error}");
        };
        refused("connections_max = 0", "my.toml: connections_max: 0 is not between 1 and");
        refused("threads = 0", "threads: 0 is not between 1 and 64");
        refused("rooms_max = 1\n[rooms.a]\n[rooms.b]", "rooms_max: 1 is less than the 2 rooms in this file");
        refused("issuer = \"me\"\ntoken_key = \"k\"", "token_key: there is an `issuer` already");
        refused("[room]\nbudget = 0", "a budget of 0 would send nothing");
        refused("[rooms.a]\nbudget = \"0%\"", "a budget of 0 would send nothing");
        refused("[room]\ntick_ms = 1e-300", "room.tick_ms: 0.00");
        refused("[room]\ntick_ms = 0.5", "room.tick_ms: 0.5 is not 0 and not between 1 and");
        refused("messages_per_second = 0", "messages_per_second: 0");
        refused("[room]\nspeed_max = -1.0", "room.speed_max: -1 is not between 0 and");
        refused("[room]\nbudget = -1", "\"-1\" is no budget");
        refused("[room]\nbudget = \"120%\"", "\"120%\" is no budget");
        refused("[room]\nkind = \"damped\"", "room.kind: \"damped\" is not one of as-sent, auto");
        refused("[room]\norder = \"fifo\"", "room.order: \"fifo\" is no order: give reaction,");
        refused("[room]\ncap_ms = -1", "room.cap_ms: -1 is not between 0 and 1000");
        refused("[rooms.\"a room\"]", "rooms.a room: a name has");
        refused(
            "[pages]\nfolder = \"www\"\nhttps = [\"[::]:443\"]",
            "pages.https: browsers require a certificate",
        );
        refused(
            "\nlisten = [\"localhost:7878\"]",
            "my.toml: line 2: listen: \"localhost:7878\" is not an address",
        );
        refused("http = [\"127.0.0.1:70000\"]", "line 1: http: \"127.0.0.1:70000\" is not an address");
        refused(
            "[pages]\nfolder = \"www\"\nhttps = [\"::1:443\"]",
            "line 3: pages.https: \"::1:443\" is not an address",
        );
        refused("listen = [7878]", "line 1: ");
        refused("issuer = \"me\"", "issuer: this is not an issuer");
        refused("[room]\nfairness = 1", "line 2: unknown field `fairness`");
        let closed = read("open = false\n[rooms.arena]").expect("a valid configuration");
        assert!(closed.room(&Name::new("other").expect("a name")).is_none());
    }
}
