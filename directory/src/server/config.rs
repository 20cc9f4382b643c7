//! A directory's settings, from a TOML file or by default.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use evenkeel_net::files::{TEXT_BYTES_MAX, read_regular};
use serde::Deserialize;

use super::StartError;

/// A directory's settings.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DirectoryConfig {
    /// Addresses that it listens on (TCP).
    pub listen: Vec<SocketAddr>,
    /// Its name on the local network.
    pub name: String,
    /// The issuer's key file; created if it is missing.
    pub key: PathBuf,
    /// What relays must know to register. Without it they may register from this machine, and with `lan` from private
    /// addresses.
    pub secret: Option<String>,
    /// Whether it announces itself on the local network.
    pub lan: bool,
    /// Whether it stands behind a reverse proxy, and learns the callers' addresses from the last one in `X-Forwarded-For`.
    pub behind_proxy: bool,
    /// How long tokens are valid.
    pub token_minutes: u64,
    /// The most relays.
    pub relays_max: usize,
    /// The most rooms that are listed of a relay.
    pub rooms_max: usize,
    /// The most names that are taken at a time, in all rooms.
    pub names_max: usize,
    /// Tokens per minute for one address.
    pub joins_per_minute: u32,
    /// All other requests per minute from one address.
    pub requests_per_minute: u32,
}

impl Default for DirectoryConfig {
    fn default() -> Self {
        Self {
            listen: vec![(Ipv4Addr::LOCALHOST, crate::PORT).into()],
            name: "evenkeel".to_owned(),
            key: PathBuf::from("evenkeel.key"),
            secret: None,
            lan: false,
            behind_proxy: false,
            token_minutes: 120,
            relays_max: 1_000,
            rooms_max: 256,
            names_max: 100_000,
            joins_per_minute: 30,
            requests_per_minute: 600,
        }
    }
}

impl DirectoryConfig {
    /// Reads a file. Its paths are relative to its folder.
    ///
    /// # Errors
    /// [`StartError::Config`] names the file and what is wrong.
    pub fn load(path: &Path) -> Result<Self, StartError> {
        let wrong = |message: String| StartError::Config { path: path.to_owned(), message };
        let bytes = read_regular(path, TEXT_BYTES_MAX).map_err(|error| wrong(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
        let mut config: Self =
            toml::from_str(&text).map_err(|error| wrong(error.to_string().trim().to_owned()))?;
        config.key = path.parent().unwrap_or(Path::new("")).join(&config.key);
        config.check().map_err(wrong)?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        if self.listen.is_empty() {
            return Err("listen: a directory needs an address to listen on".to_owned());
        }
        if !(1..=60 * 24 * 30).contains(&self.token_minutes) {
            return Err(format!(
                "token_minutes: {} is not between 1 and 43200 (30 days)",
                self.token_minutes
            ));
        }
        let short = self.secret.as_ref().is_some_and(|secret| secret.len() < 16);
        if short {
            return Err("secret: too short to be one: at least 16 characters".to_owned());
        }
        let limits = [self.relays_max, self.rooms_max, self.names_max];
        if limits.contains(&0) || self.joins_per_minute == 0 || self.requests_per_minute == 0 {
            return Err("a limit of 0 would refuse everybody".to_owned());
        }
        Ok(())
    }
}
