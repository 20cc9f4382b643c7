//! Table 3: the paper's example of ahead and behind.

use evenkeel_sync_ms::fair_order::{Steps, steps};

use super::{SOURCE, claims};
use crate::claims::Verdict;
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::judgement::Test;
use crate::parallel::Cancelled;

/// The first action of the example in the order of delivery.
const FIRST: u32 = 14;
/// The fair places of the actions, in the order of delivery.
const FAIR: [u32; 15] = [16, 18, 19, 15, 20, 17, 22, 23, 14, 24, 25, 26, 27, 28, 21];
/// What the paper computes from them.
const AHEAD: [u32; 15] = [2, 3, 3, 1, 2, 1, 2, 2, 0, 1, 1, 1, 1, 1, 0];
const BEHIND: [u32; 15] = [0, 0, 0, 3, 0, 3, 0, 0, 8, 0, 0, 0, 0, 0, 7];

pub(super) fn run(_: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let steps = steps(&FAIR);
    let agree = |printed: &[u32; 15], step: fn(&Steps) -> u32| {
        printed.iter().zip(&steps).filter(|(printed, steps)| **printed == step(steps)).count()
    };
    let (ahead, behind) = (agree(&AHEAD, |steps| steps.ahead), agree(&BEHIND, |steps| steps.behind));
    let row = |name: &str, values: Vec<u32>| {
        let cells =
            values.into_iter().map(|value| if value == 0 { String::new() } else { value.to_string() });
        [name.to_owned()].into_iter().chain(cells).collect::<Vec<_>>()
    };
    let delivery = (0..).map(|index| FIRST + index).take(FAIR.len());
    let bars = |name: &str, step: fn(&Steps) -> u32| Bars {
        name: name.to_owned(),
        heights: steps.iter().map(|steps| f64::from(step(steps))).collect(),
    };
    Ok(vec![Figure {
        key: format!("{}/table3", SOURCE.paper),
        title: "An action can be ahead of some and behind others".to_owned(),
        caption: "The paper's example: actions delivered as number 14 to 28, by their places in the fair order. Ahead: actions before it \
                  in fair order that are delivered after it. Behind: actions after it in fair order that are delivered before it."
            .to_owned(),
        plots: vec![Plot {
            title: String::new(),
            x_label: "order of delivery".to_owned(),
            y_label: "actions".to_owned(),
            drawing: Drawing::Bars {
                categories: delivery.clone().map(|place| place.to_string()).collect(),
                groups: vec![bars("ahead", |steps| steps.ahead), bars("behind", |steps| steps.behind)],
            },
        }],
        columns: 1,
        table: Table {
            head: row("delivery order", delivery.collect()),
            rows: vec![
                row("fair order", FAIR.to_vec()),
                row("ahead", steps.iter().map(|steps| steps.ahead).collect()),
                row("behind", steps.iter().map(|steps| steps.behind).collect()),
            ],
        },
        claims: claims("table3", "6.1.2")
            .add(
                "Ahead and behind of the fifteen actions of the example.",
                format!("ahead agrees for {ahead} and behind for {behind} of {}", FAIR.len()),
                Test::fact(ahead == FAIR.len() && behind == FAIR.len()),
                Verdict::Holds,
            )
            .all(),
    }])
}
