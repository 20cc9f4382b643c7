//! NEO beside the protocols that it descends from, and client-server: the price of being safe from cheats.

use super::{MoveProtocol, NETWORK, NeoFigures, NeoSetting, claims, key, run_all, setting};
use crate::claims::Verdict;
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::Ratio;
use crate::papers::judgement::Test;
use crate::parallel::Cancelled;

const PEERS: usize = 10;
/// The place of plain lockstep among the protocols.
const LOCKSTEP: usize = 3;

fn protocols() -> Vec<(&'static str, MoveProtocol)> {
    let mut all = MoveProtocol::baselines();
    all.push(("NEO: thesis", MoveProtocol::thesis(250, 2)));
    all.push(("NEO: ours", MoveProtocol::ours()));
    all
}

pub(super) fn plan(setup: &Setup<'_>) -> Vec<NeoSetting> {
    protocols().into_iter().map(|(_, protocol)| setting(protocol, PEERS, setup)).collect()
}

/// The runs of all protocols.
struct Ancestors {
    names: Vec<String>,
    results: Vec<Vec<NeoFigures>>,
    /// For how long moves counted.
    seconds: f64,
}

impl Ancestors {
    fn of(&self, index: usize, figure: impl Fn(&NeoFigures) -> f64) -> Ratio {
        Ratio::mean(&self.results[index].iter().map(figure).collect::<Vec<_>>())
    }

    /// Moves per second that a player is shown of another.
    fn rate(&self, index: usize) -> Ratio {
        let pairs = (PEERS * (PEERS - 1)) as f64;
        self.of(index, |one| one.playout.count() as f64 / pairs / self.seconds)
    }

    fn bars(&self, name: &str, figure: fn(&NeoFigures) -> f64) -> Bars {
        let heights = (0..self.names.len()).map(|index| self.of(index, figure).value);
        Bars { name: name.to_owned(), heights: heights.collect() }
    }

    fn frame(&self, y_label: &str, groups: Vec<Bars>) -> Plot {
        Plot {
            title: String::new(),
            x_label: "protocol".to_owned(),
            y_label: y_label.to_owned(),
            drawing: Drawing::Bars { categories: self.names.clone(), groups },
        }
    }

    fn row(&self, index: usize) -> Vec<String> {
        let ms = |figure: fn(&NeoFigures) -> f64| self.of(index, figure).in_words(1);
        vec![
            self.names[index].clone(),
            self.rate(index).in_words(1),
            ms(|one| one.playout.mean()),
            ms(|one| one.age.mean()),
            ms(|one| one.age.quantile(0.99)),
            self.of(index, NeoFigures::unused_percent).in_words(2),
            self.of(index, NeoFigures::up_kbps).in_words(0),
            ms(|one| one.location.mean()),
        ]
    }
}

const HEAD: [&str; 8] = [
    "protocol",
    "moves shown (1/s)",
    "playout (ms)",
    "total age (ms)",
    "age p99 (ms)",
    "unused (%)",
    "upload (kbps)",
    "location error (px)",
];

pub(super) fn run(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let plan = plan(setup);
    let ancestors = Ancestors {
        names: protocols().iter().map(|(name, _)| (*name).to_owned()).collect(),
        results: run_all(&plan, setup)?,
        seconds: (plan[0].duration - plan[0].settled).as_secs_f64(),
    };
    let ours = ancestors.names.len() - 1;
    let [server, age] = [0, ours].map(|index| ancestors.of(index, |one| one.age.mean()));
    let (rate, lockstep) = (ancestors.rate(ours), ancestors.rate(LOCKSTEP));
    Ok(vec![Figure {
        key: key("ancestors"),
        title: format!(
            "Being safe from cheats has a price: moves are {:.0} ms old when they are shown, {:.0} ms through a server",
            age.value, server.value
        ),
        caption: format!(
            "{NETWORK}; {PEERS} peers. A lockstep's loss is made up for by its reliable channel. The server is 14 ms away from its network."
        ),
        plots: vec![
            ancestors.frame(
                "delay (ms)",
                vec![
                    ancestors.bars("playout", |one| one.playout.mean()),
                    ancestors.bars("total age", |one| one.age.mean()),
                ],
            ),
            ancestors.frame(
                "location error (px)",
                vec![ancestors.bars("location error", |one| one.location.mean())],
            ),
        ],
        columns: 1,
        table: Table {
            head: HEAD.map(str::to_owned).to_vec(),
            rows: (0..=ours).map(|index| ancestors.row(index)).collect(),
        },
        claims: claims("ancestors")
            .add(
                "No protocol without a server that hides moves until all have committed comes near client-server in age.",
                format!("NEO {} ms, client-server {} ms", age.in_words(0), server.in_words(0)),
                Test::above(age.over(server), 2.0),
                Verdict::Holds,
            )
            .add(
                "Plain lockstep is as slow as its slowest peer: it shows fewer moves than NEO.",
                format!("{} of {} moves per second", lockstep.in_words(1), rate.in_words(1)),
                Test::above(rate.less(lockstep), 0.0),
                Verdict::Holds,
            )
            .all(),
    }])
}
