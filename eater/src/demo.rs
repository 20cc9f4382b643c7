//! Four peers on this machine, over real connections: a person with a page, two bots, and later a cheater.

use evenkeel_core::Span;
use evenkeel_p2p::{SessionId, Ticket};

use crate::config::{EaterPeerConfig, Page, Player, exponential_faults};
use crate::peer::{EaterPeer, StartError};

/// The bots' names.
const BOTS: [&str; 2] = ["Ada", "Bob"];
const CHEATER: &str = "Mallory";

/// The settings of the demo.
#[derive(Clone, Copy, Debug)]
pub struct DemoConfig {
    /// The person's page.
    pub page: Page,
    /// Mean one-way delay of the emulated links.
    pub delay: Span,
    /// Their losses, as a share.
    pub loss: f64,
}

/// A running demo.
#[derive(Debug)]
pub struct Demo {
    config: DemoConfig,
    session: SessionId,
    ticket: Ticket,
    /// The person's peer.
    pub person: EaterPeer,
    /// The others.
    pub others: Vec<EaterPeer>,
}

impl Demo {
    /// Starts the person's peer and the bots, and connects them.
    ///
    /// # Errors
    /// [`StartError`] says what to do.
    pub async fn start(config: DemoConfig) -> Result<Self, StartError> {
        let session = SessionId::random();
        let mut person = peer(&config, session, "You", Player::Person);
        person.page = config.page;
        let person = EaterPeer::start(person).await?;
        let ticket = person.ticket();
        let mut demo = Self { config, session, ticket, person, others: Vec::new() };
        for name in BOTS {
            demo.admit(name, Player::Bot).await?;
        }
        Ok(demo)
    }

    /// Lets the cheater in: it tells the person other moves than the bots.
    ///
    /// # Errors
    /// [`StartError`] says what to do.
    pub async fn admit_cheater(&mut self) -> Result<(), StartError> {
        let victim = self.person.key().peer_id();
        self.admit(CHEATER, Player::Cheater(vec![victim])).await
    }

    async fn admit(&mut self, name: &str, player: Player) -> Result<(), StartError> {
        let other = EaterPeer::start(peer(&self.config, self.session, name, player)).await?;
        other.join(&self.ticket).await?;
        self.others.push(other);
        Ok(())
    }

    /// Stops all peers; returns what the person's has measured.
    pub async fn stop(self) -> crate::Summary {
        for other in self.others {
            other.stop().await;
        }
        self.person.stop().await
    }
}

fn peer(config: &DemoConfig, session: SessionId, name: &str, player: Player) -> EaterPeerConfig {
    let faults = exponential_faults(config.delay, config.loss);
    EaterPeerConfig { faults, ..EaterPeerConfig::new(session, name, player) }
}
