//! The thesis' experiments: all combinations of round length, depth and number of clients (table 1), each run once.

use std::collections::BTreeMap;

use evenkeel_core::Span;

use super::seeds;
use crate::neo::{MoveProtocol, NeoFigures, NeoSetting, exponential, run_setting};
use crate::papers::Setup;
use crate::papers::cells::Ratio;
use crate::parallel::{self, Cancelled};

/// Where the thesis ran its games.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Network {
    /// On a LAN with emulated delays.
    Lab,
    /// Over the Internet.
    Internet,
}

/// One of its experiments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ThesisCell {
    pub(super) network: Network,
    pub(super) clients: usize,
    /// Round length in milliseconds and depth; `None` for client-server.
    pub(super) tempo: Option<(u32, u32)>,
}

/// Round lengths and the depths of each that give at least 50 ms between updates.
const TEMPOS: [(u32, &[u32]); 5] = [
    (50, &[1]),
    (100, &[1, 2]),
    (250, &[1, 2, 3, 4, 5]),
    (500, &[1, 2, 3, 4, 5, 10]),
    (1_000, &[1, 2, 3, 4, 5, 10, 20]),
];
/// The mean delay between clients in the lab, by their number (table 7; for 5 as for 4), in milliseconds.
const LAB_MS: [f64; 4] = [34.0, 42.0, 44.0, 44.0];
/// The same over the Internet (figure 23): below 60 ms for up to 4 clients, below 70 ms for 5.
const INTERNET_MS: [f64; 4] = [50.0, 55.0, 58.0, 66.0];
/// The share of datagrams lost. The thesis says "small".
const LOSS: f64 = 0.01;
/// The time between updates of client-server: that of the setting it is compared with (table 7).
const SERVER_SLOT: Span = Span::from_millis(125);
const DURATION: Span = Span::from_secs(45);

impl ThesisCell {
    pub(super) const fn neo(network: Network, clients: usize, round: u32, depth: u32) -> Self {
        Self { network, clients, tempo: Some((round, depth)) }
    }

    pub(super) const fn server(clients: usize) -> Self {
        Self { network: Network::Lab, clients, tempo: None }
    }

    /// The time between updates, in milliseconds: the thesis' arrival delay.
    pub(super) fn arrival_ms(self) -> f64 {
        self.tempo.map_or(0.0, |(round, depth)| f64::from(round) / f64::from(depth))
    }

    fn setting(self) -> NeoSetting {
        let means = match self.network {
            Network::Lab => LAB_MS,
            Network::Internet => INTERNET_MS,
        };
        let protocol = match self.tempo {
            Some((round, depth)) => MoveProtocol::thesis(round, depth),
            None => MoveProtocol::ClientServer(SERVER_SLOT),
        };
        NeoSetting {
            delay: exponential(means[self.clients.clamp(2, 5) - 2]),
            loss: LOSS,
            duration: DURATION,
            ..NeoSetting::demanding(protocol, self.clients)
        }
    }

    /// All combinations of round length and depth with so many clients.
    pub(super) fn tempos(network: Network, clients: usize) -> impl Iterator<Item = Self> {
        let of = move |(round, depths): (u32, &'static [u32])| {
            depths.iter().map(move |depth| Self::neo(network, clients, round, *depth))
        };
        TEMPOS.into_iter().flat_map(of)
    }
}

/// The experiments on a network.
pub(super) fn plan(network: Network) -> Vec<ThesisCell> {
    match network {
        Network::Lab => {
            let neo = (2..=4).flat_map(|clients| ThesisCell::tempos(network, clients));
            // What table 8 extrapolates is run.
            let many = (5..=9).map(|clients| ThesisCell::neo(network, clients, 250, 2));
            neo.chain(many).chain((2..=4).map(ThesisCell::server)).collect()
        }
        Network::Internet => (2..=5).flat_map(|clients| ThesisCell::tempos(network, clients)).collect(),
    }
}

/// The runs of a network's experiments.
pub(super) struct ThesisGrid {
    runs: BTreeMap<ThesisCell, Vec<NeoFigures>>,
}

impl ThesisGrid {
    pub(super) fn run(network: Network, setup: &Setup<'_>) -> Result<Self, Cancelled> {
        let jobs: Vec<(ThesisCell, u64)> = plan(network)
            .into_iter()
            .flat_map(|cell| (1..=seeds(setup) as u64).map(move |seed| (cell, seed)))
            .collect();
        let figures = parallel::map(&jobs, setup.progress, |(cell, seed)| {
            run_setting(&cell.setting(), *seed, setup.progress)
        })?;
        let mut runs = BTreeMap::new();
        for ((cell, _), figures) in jobs.into_iter().zip(figures) {
            runs.entry(cell).or_insert_with(Vec::new).push(figures);
        }
        Ok(Self { runs })
    }

    /// The mean over the seeds of a figure.
    pub(super) fn of(&self, cell: ThesisCell, figure: impl Fn(&NeoFigures) -> f64) -> Ratio {
        let runs = self.runs.get(&cell).unwrap_or_else(|| panic!("{cell:?} was not planned"));
        Ratio::mean(&runs.iter().map(figure).collect::<Vec<_>>())
    }
}

/// The setting whose updates the trace lists.
pub(super) fn traced() -> NeoSetting {
    ThesisCell::neo(Network::Lab, 3, 250, 2).setting()
}
