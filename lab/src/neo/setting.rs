//! What is compared: a protocol, a number of peers, and their network.

use evenkeel_core::{Seed, Span};
use evenkeel_games::eater::EaterConfig;
use evenkeel_link::{DelayLaw, Jitter, LinkFaults, Loss};

use super::protocol::MoveProtocol;

/// A game of Eater among peers.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct NeoSetting {
    pub(crate) protocol: MoveProtocol,
    pub(crate) peers: usize,
    /// The law of the delays between two peers.
    pub(crate) delay: DelayLaw,
    /// That between the server and the rest of the network, if there is one: it comes on top on one of the two ways.
    pub(crate) server_delay: Span,
    /// The share of datagrams that is lost.
    pub(crate) loss: f64,
    pub(crate) duration: Span,
    /// Nothing before it counts: the peers get to know each other and the time.
    pub(crate) settled: Span,
    pub(crate) game: EaterConfig,
}

/// The time that the peers have to find each other.
const SETTLED: Span = Span::from_secs(5);

/// An exponential delay of this mean, in milliseconds.
pub(crate) fn exponential(mean_ms: f64) -> DelayLaw {
    let mean = Span::from_millis_f64(mean_ms);
    DelayLaw { base: Span::ZERO, jitter: Jitter::Exponential { mean } }
}

impl NeoSetting {
    /// The spec's network: 45 ms mean exponential delay, 1 % loss.
    pub(crate) fn demanding(protocol: MoveProtocol, peers: usize) -> Self {
        Self {
            protocol,
            peers,
            delay: exponential(45.0),
            server_delay: Span::from_millis(14),
            loss: 0.01,
            duration: Span::from_secs(30),
            settled: SETTLED,
            game: Self::game(peers),
        }
    }

    /// A maze and stones that suit so many eaters: the thesis' for up to ten.
    pub(crate) fn game(peers: usize) -> EaterConfig {
        let small = EaterConfig { seed: Seed::new(1), ..EaterConfig::default() };
        match peers {
            0..=10 => small,
            11..=25 => EaterConfig { columns: 36, rows: 28, stones: 20, ..small },
            _ => EaterConfig { columns: 50, rows: 40, stones: 40, ..small },
        }
    }

    /// The faults of the links between two peers.
    pub(crate) fn faults(&self) -> LinkFaults {
        self.faults_by(self.delay.clone())
    }

    /// The faults of the links to the server and from it.
    pub(crate) fn server_faults(&self) -> [LinkFaults; 2] {
        let near = exponential(self.server_delay.as_millis_f64());
        [self.faults_by(self.delay.clone()), self.faults_by(near)]
    }

    fn faults_by(&self, delay: DelayLaw) -> LinkFaults {
        LinkFaults { delay, loss: Loss::Independent { probability: self.loss }, ..LinkFaults::default() }
    }
}
