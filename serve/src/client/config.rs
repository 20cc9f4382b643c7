//! The settings of a player.

use std::io::Write;

use evenkeel_dr::{Content, Threshold};
use evenkeel_net::certificate::CertificateHash;
use evenkeel_net::clock::LocalClock;
use evenkeel_net::emulate::Emulation;
use evenkeel_net::transport::Trust;
use evenkeel_objects::Schema;
use evenkeel_objects::schema::EMPTY;

use crate::dial::Target;

/// The settings of a player.
pub struct ClientConfig {
    /// The relay and room to connect to.
    pub target: Target,
    /// How far and for how long an entity's exported path may differ from its real one.
    pub threshold: Threshold,
    /// The kind of motion of the exported vectors.
    pub kind: Content,
    /// Links to emulate on each connection, to try how the game feels over a bad network.
    pub emulation: Option<Box<dyn Fn() -> Emulation + Send + Sync>>,
    /// Where to record every call.
    pub record: Option<Box<dyn Write + Send>>,
    /// The clock, which several players of a process can share.
    pub clock: LocalClock,
    /// The game's objects and typed messages. The relay refuses a player whose schema differs from its own.
    pub schema: &'static Schema,
}

impl ClientConfig {
    /// Settings for a token and a URL, with the papers' thresholds. A relay on this machine is trusted by the hash that it
    /// publishes there; other relays need a certificate that the system trusts.
    #[must_use]
    pub fn new(url: &str, token: &str) -> Self {
        let target = Target { url: url.to_owned(), token: token.to_owned(), seat: None, trust: Trust::Local };
        Self {
            target,
            threshold: Threshold::default(),
            kind: Content::default(),
            emulation: None,
            record: None,
            clock: LocalClock::start(),
            schema: &EMPTY,
        }
    }

    /// Gives the player a game's objects and typed messages.
    #[must_use]
    pub const fn with_schema(mut self, schema: &'static Schema) -> Self {
        self.schema = schema;
        self
    }

    /// Settings for a relay whose certificate has one of these hashes.
    #[must_use]
    pub fn pinned(url: &str, token: &str, hashes: &[CertificateHash]) -> Self {
        let mut config = Self::new(url, token);
        config.target.trust = Trust::Pinned(hashes.to_vec());
        config
    }
}
