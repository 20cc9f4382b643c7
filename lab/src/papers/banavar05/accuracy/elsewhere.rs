//! Local and global clocks beyond the thesis: delays that vary, today's delays, a relay, and recorded tanks.

use super::measure;
use super::measured::Measured;
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::setting::{Setting, Variation};
use crate::papers::study::Setup;
use crate::parallel::Cancelled;
use crate::scenario::Scenario;

/// Where, in words.
pub(super) const SETTINGS: [(&str, Setting); 5] = [
    ("fixed delays", Setting::Papers(Variation::None)),
    ("±100 ms", Setting::Papers(Variation::Moderate)),
    ("120 / 40 / 15 ms", Setting::Modern),
    ("through a relay", Setting::Relay),
    ("recorded tanks", Setting::Tanks),
];

/// The figure: one row for each setting, one mark for each receiver.
pub(super) fn figure(setup: &Setup<'_>) -> Result<Figure, Cancelled> {
    let scenarios = SETTINGS.map(|(name, setting)| {
        // As long as the others, so that a unit of distance is the same everywhere.
        let duration = Setting::Modern.scenario().duration;
        (name, Scenario { duration, ..setting.scenario() })
    });
    let measured = measure(setup, scenarios.to_vec(), None)?;
    Ok(Figure {
        key: "banavar05/fig2.2-elsewhere".to_owned(),
        title: "Local clocks trail wherever there is a delay, today's included".to_owned(),
        caption: format!(
            "Distance between real and placed position, relative to that with global clocks. Random motion and 800 / 500 / 200 ms, \
             where nothing else is said; today's delays with gamma jitter of a tenth; the relay 100 ms from the owner; four recorded \
             tanks, whose distances are summed. Threshold 0.09, heartbeat 1 s, 100 s, {}.",
            setup.seeds_in_words()
        ),
        plots: vec![plot(&measured)],
        columns: 1,
        table: table(&measured),
        claims: Vec::new(),
    })
}

fn plot(measured: &[Measured]) -> Plot {
    let marks = |(receiver, name): (usize, &str)| Bars {
        name: name.to_owned(),
        heights: measured.iter().map(|one| one.distance_ratio(receiver).value).collect(),
    };
    Plot {
        title: "distance, local / global".to_owned(),
        x_label: "distance with local / with global clocks".to_owned(),
        y_label: String::new(),
        drawing: Drawing::Dots {
            rows: measured.iter().map(|one| one.name.to_owned()).collect(),
            groups: ["far", "middle", "near"].into_iter().enumerate().map(marks).collect(),
            mark: Some(1.0),
        },
    }
}

fn table(measured: &[Measured]) -> Table {
    let head = ["setting", "player", "local, mean (units)", "global, mean (units)", "local / global"];
    let mut rows = Vec::new();
    for one in measured {
        for (index, receiver) in one.scenario.receivers.iter().enumerate() {
            let mut row = vec![one.name.to_owned(), receiver.name.clone()];
            row.extend(one.distances(index).map(|distance| format!("{distance:.3}")));
            row.push(one.distance_ratio(index).to_string());
            rows.push(row);
        }
    }
    Table { head: head.map(str::to_owned).to_vec(), rows }
}
