//! The settings of a peer.

use std::net::SocketAddr;
use std::path::PathBuf;

use evenkeel_core::{PeerId, Seed, Span};
use evenkeel_games::eater::EaterConfig;
use evenkeel_link::{DelayLaw, Jitter, LinkFaults, Loss};
use evenkeel_p2p::{Network, SessionId};

/// Who plays at a peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Player {
    /// A person, at the peer's page. Until the first key, a bot plays.
    Person,
    /// A bot.
    Bot,
    /// A bot that tells these peers other moves than the rest.
    Cheater(Vec<PeerId>),
}

/// Where a peer serves its page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Page {
    /// Nowhere.
    None,
    /// At this address, which must be on this machine.
    At(SocketAddr),
}

/// The settings of a peer.
#[derive(Clone, Debug)]
pub struct EaterPeerConfig {
    /// The session.
    pub session: SessionId,
    /// The player's name, for people.
    pub name: String,
    /// Who plays.
    pub player: Player,
    /// How it reaches others.
    pub network: Network,
    /// The file of its key, made if it is missing; `None` for a new key each time.
    pub key_file: Option<PathBuf>,
    /// The faults of the links to the others.
    pub faults: LinkFaults,
    /// Its page.
    pub page: Page,
}

impl EaterPeerConfig {
    /// A peer on this machine, without faults or page.
    #[must_use]
    pub fn new(session: SessionId, name: impl Into<String>, player: Player) -> Self {
        Self {
            session,
            name: name.into(),
            player,
            network: Network::loopback(),
            key_file: None,
            faults: LinkFaults::default(),
            page: Page::None,
        }
    }
}

/// The game of a session: the same at all peers, as it follows from the session.
#[must_use]
pub(crate) fn game_of(session: SessionId) -> EaterConfig {
    let [a, b, c, d, e, f, g, h, ..] = session.0;
    let seed = Seed::from_key(u64::from_le_bytes([a, b, c, d, e, f, g, h]));
    EaterConfig { seed, ..EaterConfig::default() }
}

/// A link with exponential delays of this mean, and this share of losses.
#[must_use]
pub fn exponential_faults(mean: Span, loss: f64) -> LinkFaults {
    LinkFaults {
        delay: DelayLaw { base: Span::ZERO, jitter: Jitter::Exponential { mean } },
        loss: if loss > 0.0 { Loss::Independent { probability: loss } } else { Loss::None },
        ..LinkFaults::default()
    }
}
