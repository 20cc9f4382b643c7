//! Four peers on this machine, over real connections: a person with a page, two bots, and a cheater.

use evenkeel_core::Span;
use evenkeel_p2p::SessionId;

use crate::config::{EaterPeerConfig, Page, Player, exponential_faults};
use crate::peer::{EaterPeer, StartError};

/// The bots' names; the last one cheats.
const NAMES: [&str; 3] = ["Ada", "Bob", "Mallory"];

/// The settings of the demo.
#[derive(Clone, Copy, Debug)]
pub struct DemoConfig {
    /// The person's page.
    pub page: Page,
    /// Mean one-way delay of the emulated links.
    pub delay: Span,
    /// Their losses, as a share.
    pub loss: f64,
    /// How long the cheater plays honestly, so that people see it come.
    pub cheats_after: Span,
}

/// A running demo.
#[derive(Debug)]
pub struct Demo {
    /// The person's peer.
    pub person: EaterPeer,
    /// The others.
    pub others: Vec<EaterPeer>,
}

impl Demo {
    /// Starts the four peers and connects them.
    ///
    /// # Errors
    /// [`StartError`] says what to do.
    pub async fn start(config: DemoConfig) -> Result<Self, StartError> {
        let session = SessionId::random();
        let faults = exponential_faults(config.delay, config.loss);
        let peer = |name: &str, player| EaterPeerConfig {
            faults: faults.clone(),
            ..EaterPeerConfig::new(session, name, player)
        };
        let mut person = peer("You", Player::Person);
        person.page = config.page;
        let person = EaterPeer::start(person).await?;
        let ticket = person.ticket();
        let mut others = Vec::new();
        for (number, name) in NAMES.iter().enumerate() {
            let player =
                if number + 1 == NAMES.len() { Player::Cheater(config.cheats_after) } else { Player::Bot };
            let other = EaterPeer::start(peer(name, player)).await?;
            other.join(&ticket).await?;
            others.push(other);
        }
        Ok(Self { person, others })
    }

    /// Stops all peers; returns what the person's has measured.
    pub async fn stop(self) -> crate::Summary {
        for other in self.others {
            other.stop().await;
        }
        self.person.stop().await
    }
}
