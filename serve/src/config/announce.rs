//! `[directory]`: where the relay lets players find it.

use evenkeel_net::token::Name;
use serde::Deserialize;

/// Where a relay lets players find it. What runs the relay announces it: the crate `evenkeel-directory`.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnnounceConfig {
    /// The relay's name in the list.
    pub name: String,
    /// The directory's address; without it, one on the local network.
    #[serde(default)]
    pub url: Option<String>,
    /// What the directory wants to hear from relays.
    #[serde(default)]
    pub secret: Option<String>,
    /// Where players connect, as `host:port`; without it, the address that the directory is called from.
    #[serde(default)]
    pub address: Option<String>,
    /// Whether to announce the relay on the local network.
    #[serde(default)]
    pub lan: bool,
}

impl AnnounceConfig {
    /// Checks the values. An error has the key and what is wrong.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        Name::new(&self.name).map_err(|error| ("name", error.to_string()))?;
        if self.url.is_none() && !self.lan {
            return Err(("url", "name the directory's address, or set lan = true to find one".to_owned()));
        }
        let is_url = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        if !self.url.as_ref().is_none_or(is_url) {
            return Err(("url", "expected http://HOST:PORT or https://HOST".to_owned()));
        }
        Ok(())
    }
}
