//! Figures of a liar among four players: what it gains and what the others lose under each policy.

use super::cells::{Cell, Cells, Contender, Ratio, product};
use super::judgement::Test;
use super::setting::{Belief, ExperimentSetting, LIAR, Lie};
use crate::claims::Claim;
use crate::dr::RunFigures;
use crate::figure::{Bars, Drawing, Figure, Plot, Table};

/// The largest gain of the liar, and the largest loss of the others, that we call small.
pub(crate) const GAIN_MAX: f64 = 0.10;
pub(crate) const LOSS_MAX: f64 = 0.05;

/// A liar among four players, under some policies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiarStudy {
    /// Returns the setting for a lie and for how far it is believed.
    pub(crate) setting: fn(Lie, Belief) -> ExperimentSetting,
    /// The policies.
    pub(crate) policies: &'static [Contender],
}

/// The errors of the liar and of the others, relative to those under honesty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiePrice {
    pub(crate) liar: Ratio,
    pub(crate) others: Ratio,
}

impl LiePrice {
    /// Tests that the liar gains little and the others lose little.
    pub(crate) fn is_small(&self) -> Test {
        Test::above(self.liar, 1.0 - GAIN_MAX).and(Test::below(self.others, 1.0 + LOSS_MAX))
    }
}

fn others(run: &RunFigures) -> f64 {
    run.receivers.iter().enumerate().filter(|(index, _)| *index != LIAR).map(|(_, one)| one.aee).sum()
}

impl LiarStudy {
    /// Returns the cells it needs.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let lies = [Lie::None, Lie::Stamps, Lie::StampsAndHolds];
        let settings =
            lies.map(|lie| [Belief::Blind, Belief::Bounded].map(|belief| (self.setting)(lie, belief)));
        product(settings.as_flattened(), self.policies)
    }

    /// Returns the effect of a lie under a policy.
    pub(crate) fn price(&self, cells: &Cells, lie: Lie, belief: Belief, policy: Contender) -> LiePrice {
        let honest = cells.of((self.setting)(Lie::None, belief), policy);
        let lying = cells.of((self.setting)(lie, belief), policy);
        LiePrice {
            liar: lying.ratio(&honest, |run| run.receivers[LIAR].aee),
            others: lying.ratio(&honest, others),
        }
    }

    /// Formats one figure of every policy.
    pub(crate) fn in_words(&self, figure: impl Fn(Contender) -> Ratio) -> String {
        let words =
            self.policies.iter().map(|policy| format!("{} {}", policy.label(), figure(*policy).in_words(2)));
        words.collect::<Vec<_>>().join(", ")
    }

    /// Draws the figure of a lie. `setup` describes the duration and the seeds.
    pub(crate) fn draw(
        &self,
        cells: &Cells,
        lie: Lie,
        (key, title, setup): (String, String, &str),
        claims: Vec<Claim>,
    ) -> Figure {
        let does = match lie {
            Lie::None => "tells the truth",
            Lie::Stamps => "claims that everything arrives 300 ms later than it does",
            Lie::StampsAndHolds => {
                "claims that everything arrives 300 ms later than it does, and delays its acknowledgments by 600 ms"
            }
        };
        Figure {
            key,
            title,
            caption: format!(
                "Players at 150, 100, 50 and 30 ms with gamma jitter of a tenth; the nearest {does}. Errors relative to those when it \
                 tells the truth: below 1 is a gain. Bounded: the sender compensates at most the least round trip that it measured \
                 itself, up to 500 ms, growing by 10 ms per second. Random motion, threshold 0.09; budget, for policies that have one, a \
                 third of the players per trigger; {setup}."
            ),
            plots: vec![self.plot(cells, lie, Belief::Blind), self.plot(cells, lie, Belief::Bounded)],
            columns: 2,
            table: self.table(cells, lie),
            claims,
        }
    }

    fn plot(&self, cells: &Cells, lie: Lie, belief: Belief) -> Plot {
        let marks = |name: &str, part: fn(&LiePrice) -> f64| Bars {
            name: name.to_owned(),
            heights: self
                .policies
                .iter()
                .map(|policy| part(&self.price(cells, lie, belief, *policy)))
                .collect(),
        };
        Plot {
            title: match belief {
                Belief::Blind => "believed blindly",
                Belief::Bounded => "bounded by what the sender measured",
            }
            .to_owned(),
            x_label: "error / error when it tells the truth".to_owned(),
            y_label: String::new(),
            drawing: Drawing::Dots {
                rows: self.policies.iter().map(|policy| policy.label()).collect(),
                groups: vec![
                    marks("the liar", |price| price.liar.value),
                    marks("the others", |price| price.others.value),
                ],
                mark: Some(1.0),
            },
        }
    }

    fn table(&self, cells: &Cells, lie: Lie) -> Table {
        let head = ["policy", "liar, blindly", "others, blindly", "liar, bounded", "others, bounded"];
        let row = |policy: &Contender| {
            let mut row = vec![policy.label()];
            for belief in [Belief::Blind, Belief::Bounded] {
                let LiePrice { liar, others } = self.price(cells, lie, belief, *policy);
                row.extend([liar.in_words(2), others.in_words(2)]);
            }
            row
        };
        Table { head: head.map(str::to_owned).to_vec(), rows: self.policies.iter().map(row).collect() }
    }
}
