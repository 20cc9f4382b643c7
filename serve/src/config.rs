//! How a relay is set up: a TOML file, or nothing at all.

mod addresses;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use evenkeel_core::{Seed, Span};
use evenkeel_dr::{Budget, Compensation, Content, DrConfig, Limits, PolicyKind};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::welcome::TICK_MAX;
use evenkeel_net::crank::Allowance;
use evenkeel_net::token::{IssuerId, Name};

/// The policy of a room that is not told otherwise. Members who are far away, or pretend to be, cost the others no more than
/// its kappa says.
pub const POLICY: &str = "even:kappa=3";

/// The port that a relay listens on if it is not told otherwise.
pub const PORT: u16 = 7878;

/// As which kind of motion a room's vectors are passed on.
const KINDS: [&str; 2] = ["as-sent", "auto"];

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("{path}: {error}", path = path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is not TOML, or has a key that there is not, or a value of the wrong kind.
    #[error("{path}: {words}", path = path.display())]
    NotToml {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        words: String,
    },
    /// A value makes no sense.
    #[error("{path}: {key}: {words}", path = path.display())]
    Value {
        /// Which file.
        path: PathBuf,
        /// Which key.
        key: String,
        /// What would be right.
        words: String,
    },
}

/// A real certificate.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateConfig {
    /// The chain, in PEM; relative to the configuration's folder.
    pub chain: PathBuf,
    /// Its key, in PEM.
    pub key: PathBuf,
}

/// Pages for browsers.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PagesConfig {
    /// The folder whose files they are; relative to the configuration's folder.
    pub folder: PathBuf,
    /// Where they are served over HTTPS (TCP), with the real certificate. Beside the API they are served anyway.
    #[serde(default, deserialize_with = "addresses::https")]
    pub https: Vec<SocketAddr>,
}

/// A relay's settings.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RelayConfig {
    /// Where WebTransport listens (UDP).
    #[serde(deserialize_with = "addresses::listen")]
    pub listen: Vec<SocketAddr>,
    /// Where the API and the metrics listen (TCP); if empty, on loopback at the port of `listen`.
    #[serde(deserialize_with = "addresses::http")]
    pub http: Vec<SocketAddr>,
    /// The public key that tokens are checked with, as `evenkeel token --issuer` prints it.
    pub issuer: Option<String>,
    /// Without `issuer`: the issuer's key file.
    pub token_key: PathBuf,
    /// A real certificate; without it the relay signs its own, and clients pin its hash.
    pub certificate: Option<CertificateConfig>,
    /// Where a certificate of the relay's own is kept, so that whoever pinned it finds it again after a restart. Beside
    /// the file if the settings come from one; a relay without a file keeps none unless it is told to.
    pub keep_certificate: Option<PathBuf>,
    /// Pages for browsers, if there are any.
    pub pages: Option<PagesConfig>,
    /// Rooms that there may be.
    pub rooms_max: usize,
    /// Connections that there may be.
    pub connections_max: usize,
    /// Whether players may make rooms that are not listed, by a token for one.
    pub open: bool,
    /// What a player may send.
    pub messages_per_second: u32,
    /// What a player may send.
    pub bytes_per_second: u32,
    /// What holds for rooms that do not say otherwise.
    pub room: RoomConfig,
    /// Rooms with settings of their own.
    pub rooms: BTreeMap<String, RoomConfig>,
}

impl Default for RelayConfig {
    fn default() -> Self {
        let allowance = Allowance::default();
        Self {
            listen: vec![(Ipv4Addr::LOCALHOST, PORT).into(), (Ipv6Addr::LOCALHOST, PORT).into()],
            http: Vec::new(),
            issuer: None,
            token_key: PathBuf::from("evenkeel.key"),
            certificate: None,
            keep_certificate: None,
            pages: None,
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

/// A room's settings.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoomConfig {
    /// The fairness policy, by its name in the lab.
    pub policy: String,
    /// For the policies that have one: DR vectors per trigger, or a part of the receivers.
    #[serde(deserialize_with = "budget")]
    pub budget: Budget,
    /// As which kind of motion vectors are passed on: `as-sent`, or `auto`, the one that serves best at each player's distance.
    pub kind: String,
    /// At most one datagram each way per player in this time.
    pub tick_ms: f64,
    /// Players that may be in it.
    pub players_max: usize,
    /// How much of a player's delay is compensated at most.
    pub compensation_max_ms: f64,
    /// No coordinate may be larger.
    pub position_max: f64,
    /// Units per second.
    pub speed_max: f64,
    /// Units per second, per second.
    pub acceleration_max: f64,
    /// Radians per second.
    pub turn_rate_max: f64,
    /// DR vectors that one player may send in a second.
    pub vectors_per_second: f64,
    /// Entities that one player may begin in a second, beyond its first 256.
    pub births_per_second: f64,
}

/// Reads a budget: a number, or a text with a number or a part in per cent.
pub(crate) fn budget<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Budget, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Said {
        Whole(i64),
        Number(f64),
        Text(String),
    }
    let text = match Said::deserialize(deserializer)? {
        Said::Whole(number) => number.to_string(),
        Said::Number(number) => number.to_string(),
        Said::Text(text) => text,
    };
    text.parse().map_err(D::Error::custom)
}

impl Default for RoomConfig {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            policy: POLICY.to_owned(),
            budget: Budget::ONE,
            kind: KINDS[0].to_owned(),
            tick_ms: 20.0,
            players_max: 256,
            compensation_max_ms: 500.0,
            position_max: limits.position_max,
            speed_max: limits.speed_max,
            acceleration_max: limits.acceleration_max,
            turn_rate_max: limits.turn_rate_max,
            vectors_per_second: 200.0,
            births_per_second: 20.0,
        }
    }
}

impl RoomConfig {
    /// The machine's settings. Only for what [`RelayConfig::parse`] has let through.
    #[must_use]
    pub fn machine(&self, seed: Seed) -> DrConfig {
        let span = |millis: f64| Span::from_secs_f64(millis / 1e3);
        DrConfig {
            policy: self.policy.parse().unwrap_or_default(),
            budget: self.budget,
            kind: if self.kind == KINDS[1] { Content::Auto } else { Content::default() },
            compensation: Some(Compensation {
                delay_max: span(self.compensation_max_ms),
                ..Compensation::default()
            }),
            tick: span(self.tick_ms),
            limits: Limits {
                position_max: self.position_max,
                speed_max: self.speed_max,
                acceleration_max: self.acceleration_max,
                turn_rate_max: self.turn_rate_max,
                vectors_per_second: self.vectors_per_second,
                births_per_second: self.births_per_second,
                own_names: true,
            },
            seed,
            ..DrConfig::default()
        }
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        if let Err(error) = self.policy.parse::<PolicyKind>() {
            return Err(("policy", error.to_string()));
        }
        if !KINDS.contains(&self.kind.as_str()) {
            return Err(("kind", format!("\"{}\" is not one of {}", self.kind, KINDS.join(", "))));
        }
        let range = |key, value: f64, low: f64, high: f64| {
            let fits = (low..=high).contains(&value);
            if fits { Ok(()) } else { Err((key, format!("{value} is not between {low} and {high}"))) }
        };
        let most = Limits::default();
        range("tick_ms", self.tick_ms, 0.0, 1e3 * TICK_MAX.as_secs_f64())?;
        range("players_max", self.players_max as f64, 1.0, 1000.0)?;
        range("compensation_max_ms", self.compensation_max_ms, 0.0, 10_000.0)?;
        range("position_max", self.position_max, 0.0, most.position_max)?;
        range("speed_max", self.speed_max, 0.0, most.speed_max)?;
        range("acceleration_max", self.acceleration_max, 0.0, most.acceleration_max)?;
        range("turn_rate_max", self.turn_rate_max, 0.0, most.turn_rate_max)?;
        range("vectors_per_second", self.vectors_per_second, 1.0, 1e6)?;
        range("births_per_second", self.births_per_second, 1.0, 1e6)
    }
}

impl RelayConfig {
    /// Reads a file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// [`ConfigError`] names the file, the place and what would be right.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
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

    /// Reads a file's text; the path is for messages.
    ///
    /// # Errors
    /// [`ConfigError`] names the file, the place and what would be right.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let not_toml = |error: toml::de::Error| {
            let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            let place = line.map_or(String::new(), |line| format!("line {line}: "));
            ConfigError::NotToml {
                path: path.to_owned(),
                words: format!("{place}{}", error.message().trim()),
            }
        };
        let mut config: Self = toml::from_str(text).map_err(not_toml)?;
        config.inherit(text);
        config.check(path)?;
        Ok(config)
    }

    /// What a room leaves out is as `[room]` has it. The text has been read before.
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

    /// Whether everything makes sense; the path is for messages.
    pub(crate) fn check(&self, path: &Path) -> Result<(), ConfigError> {
        let wrong = |key: String, words: String| ConfigError::Value { path: path.to_owned(), key, words };
        if self.listen.is_empty() {
            return Err(wrong("listen".to_owned(), "a relay needs an address to listen on".to_owned()));
        }
        let range = |key: &str, value: usize, low: usize, high: usize| {
            let fits = (low..=high).contains(&value);
            let words = || format!("{value} is not between {low} and {high}");
            if fits { Ok(()) } else { Err(wrong(key.to_owned(), words())) }
        };
        range("rooms_max", self.rooms_max, 1, 100_000)?;
        range("connections_max", self.connections_max, 1, 1_000_000)?;
        range("messages_per_second", self.messages_per_second as usize, 1, 1_000_000)?;
        range("bytes_per_second", self.bytes_per_second as usize, 1_000, u32::MAX as usize)?;
        if self.certificate.is_none() && self.pages.as_ref().is_some_and(|pages| !pages.https.is_empty()) {
            let words = "browsers open pages over HTTPS with a real certificate only: add a [certificate]";
            return Err(wrong("pages.https".to_owned(), words.to_owned()));
        }
        if let Some(issuer) = &self.issuer {
            IssuerId::parse(issuer).map_err(|error| wrong("issuer".to_owned(), error.to_string()))?;
        }
        self.room.check().map_err(|(key, words)| wrong(format!("room.{key}"), words))?;
        for (name, room) in &self.rooms {
            Name::new(name).map_err(|error| wrong(format!("rooms.{name}"), error.to_string()))?;
            room.check().map_err(|(key, words)| wrong(format!("rooms.{name}.{key}"), words))?;
        }
        Ok(())
    }

    /// Whether the folders that must be there are; the path is for messages.
    pub(crate) fn check_folders(&self, path: &Path) -> Result<(), ConfigError> {
        let Some(PagesConfig { folder, .. }) = &self.pages else { return Ok(()) };
        if folder.is_dir() {
            return Ok(());
        }
        Err(ConfigError::Value {
            path: path.to_owned(),
            key: "pages.folder".to_owned(),
            words: format!("{} is no folder here: correct the path, or make it", folder.display()),
        })
    }

    /// The settings of a room; `None` if there is no such room.
    pub(crate) fn room(&self, name: &Name) -> Option<&RoomConfig> {
        self.rooms.get(name.as_str()).or_else(|| self.open.then_some(&self.room))
    }

    /// Where the API listens.
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
    use super::*;

    fn read(text: &str) -> Result<RelayConfig, String> {
        RelayConfig::parse(text, Path::new("my.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_room_is_as_all_rooms_where_it_does_not_say_otherwise() {
        let config = read("[room]\nspeed_max = 30.0\nbudget = 2.5\n[rooms.arena]\nbudget = \"40%\"\n[rooms.b]\nbudget = 3\n")
            .expect("it is right");
        let budget = |text: &str| text.parse::<Budget>().expect("it is one");
        let arena = config.room(&Name::new("arena").expect("a name")).expect("it is listed");
        assert_eq!((arena.speed_max, arena.budget, arena.tick_ms), (30.0, budget("40%"), 20.0));
        let other = config.room(&Name::new("other").expect("a name")).expect("rooms are open");
        assert_eq!((other.speed_max, other.budget), (30.0, budget("2.5")));
        assert_eq!(config.rooms["b"].budget, budget("3"));
    }

    #[test]
    fn no_address_is_listened_on_twice() {
        let config = read("listen = [\"10.0.0.1:1\", \"[::1]:1\", \"10.0.0.2:1\"]").expect("it is right");
        let loopback = ["127.0.0.1:1", "[::1]:1"].map(|address| address.parse().expect("an address"));
        assert_eq!(config.http_addresses(1), loopback);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let refused = |text: &str, words: &str| {
            let error = read(text).expect_err("it is wrong");
            assert!(error.contains(words), "{error}");
        };
        refused("connections_max = 0", "my.toml: connections_max: 0 is not between 1 and");
        refused("messages_per_second = 0", "messages_per_second: 0");
        refused("[room]\nspeed_max = -1.0", "room.speed_max: -1 is not between 0 and");
        refused("[room]\nbudget = -1", "\"-1\" is no budget");
        refused("[room]\nbudget = \"120%\"", "\"120%\" is no budget");
        refused("[room]\nkind = \"damped\"", "room.kind: \"damped\" is not one of as-sent, auto");
        refused("[rooms.\"a room\"]", "rooms.a room: a name has");
        refused("[pages]\nfolder = \"www\"\nhttps = [\"[::]:443\"]", "pages.https: browsers open pages");
        refused(
            "\nlisten = [\"localhost:7878\"]",
            "my.toml: line 2: listen: \"localhost:7878\" is no address",
        );
        refused("http = [\"127.0.0.1:70000\"]", "line 1: http: \"127.0.0.1:70000\" is no address");
        refused(
            "[pages]\nfolder = \"www\"\nhttps = [\"::1:443\"]",
            "line 3: pages.https: \"::1:443\" is no address",
        );
        refused("listen = [7878]", "line 1: ");
        refused("issuer = \"me\"", "issuer: this is not an issuer");
        refused("[room]\nfairness = 1", "line 2: unknown field `fairness`");
        let closed = read("open = false\n[rooms.arena]").expect("it is right");
        assert!(closed.room(&Name::new("other").expect("a name")).is_none());
    }
}
