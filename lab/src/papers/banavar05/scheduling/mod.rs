//! Figures 3.2 to 3.13: the scheduling algorithms and the base case.

mod first;
mod second;

use super::SOURCE;
use crate::claims::Claim;
use crate::figure::Figure;
use crate::papers::cells::{Cell, Cells, Contender, product};
use crate::papers::elsewhere::Elsewhere;
use crate::papers::setting::Variation;
use crate::papers::study::Setup;
use crate::papers::view::{Quantity, View, draw_all};

const ONE: &[Contender] = &[
    Contender::BASE,
    Contender::SCHEDULING_1,
    Contender::SCHEDULING_1_ESTIMATE,
    Contender::CONSISTENT,
    Contender::AS_MANY_AS_SCHEDULING_1,
];
const TWO: &[Contender] =
    &[Contender::BASE, Contender::SCHEDULING_1, Contender::SCHEDULING_2, Contender::SCHEDULING_2_NEWEST];

const fn first(figure: &'static str, title: &'static str, what: Quantity, variation: Variation) -> View {
    let claims = match what {
        Quantity::Spread => first::spread,
        Quantity::Mean => first::mean,
        _ => first::receivers,
    };
    View::papers((figure, title), what, variation, ONE, Contender::BASE, claims)
}

const fn second(
    figure: &'static str,
    title: &'static str,
    what: Quantity,
    claims: fn(&View, &Cells) -> Vec<Claim>,
) -> View {
    View::papers((figure, title), what, Variation::None, TWO, Contender::BASE, claims)
}

/// The figures of the first algorithm.
const FIRST_VIEWS: [View; 9] = [
    first(
        "fig3.2",
        "Scheduling #1 leaves almost no difference between the players",
        Quantity::Spread,
        Variation::None,
    ),
    first(
        "fig3.3",
        "Scheduling #1 leaves almost no difference when delays vary by 100 ms",
        Quantity::Spread,
        Variation::Moderate,
    ),
    first(
        "fig3.4",
        "Scheduling #1 leaves almost no difference when delays vary by 180 ms",
        Quantity::Spread,
        Variation::High,
    ),
    first(
        "fig3.5",
        "Scheduling #1 makes the mean error three times as high",
        Quantity::Mean,
        Variation::None,
    ),
    first(
        "fig3.6",
        "Scheduling #1 raises the mean as much when delays vary by 100 ms",
        Quantity::Mean,
        Variation::Moderate,
    ),
    first(
        "fig3.7",
        "Scheduling #1 raises the mean as much when delays vary by 180 ms",
        Quantity::Mean,
        Variation::High,
    ),
    first(
        "fig3.8",
        "Under scheduling #1 every player is worse off than the farthest is under base",
        Quantity::Receivers,
        Variation::None,
    ),
    first(
        "fig3.9",
        "Each player's error when delays vary by 100 ms",
        Quantity::Receivers,
        Variation::Moderate,
    ),
    first("fig3.10", "Each player's error when delays vary by 180 ms", Quantity::Receivers, Variation::High),
];

/// The figures of the second algorithm.
const SECOND_VIEWS: [View; 3] = [
    second("fig3.11", "Scheduling #2 narrows the spread a little", Quantity::Spread, second::spread),
    second("fig3.12", "Scheduling #2 raises the mean a little", Quantity::Mean, second::mean),
    second(
        "fig3.13",
        "Under scheduling #2 the near players pay, and the far one gains nothing",
        Quantity::Receivers,
        second::receivers,
    ),
];

const FIRST_ELSEWHERE: Elsewhere = Elsewhere {
    figure: "scheduling-1-elsewhere",
    title: "Scheduling #1 beyond the thesis",
    contenders: &[Contender::SCHEDULING_1, Contender::CONSISTENT, Contender::AS_MANY_AS_SCHEDULING_1],
    reference: Contender::BASE,
    note: "",
};

const SECOND_ELSEWHERE: Elsewhere = Elsewhere {
    figure: "scheduling-2-elsewhere",
    title: "Scheduling #2 beyond the thesis",
    contenders: &[Contender::SCHEDULING_2],
    reference: Contender::BASE,
    note: "Scheduling #2 sends as many vectors as base, so base with as many vectors is base itself.",
};

/// Returns the cells of the first algorithm's figures.
pub(super) fn first_cells() -> Vec<Cell> {
    FIRST_VIEWS.iter().flat_map(View::cells).chain(FIRST_ELSEWHERE.cells()).collect()
}

/// Returns the cells of the second algorithm's figures.
pub(super) fn second_cells() -> Vec<Cell> {
    let views = SECOND_VIEWS.iter().flat_map(View::cells);
    let varying =
        product(&second::VARYING, &[Contender::BASE, Contender::SCHEDULING_1, Contender::SCHEDULING_2]);
    views.chain(varying).chain(SECOND_ELSEWHERE.cells()).collect()
}

/// Draws figures 3.2 to 3.10, and the figure of the settings beyond the thesis.
pub(super) fn draw_first(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, setup, cells, &FIRST_VIEWS, Some(&FIRST_ELSEWHERE))
}

/// Draws figures 3.11 to 3.13, and the figure of the settings beyond the thesis.
pub(super) fn draw_second(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    draw_all(SOURCE, setup, cells, &SECOND_VIEWS, Some(&SECOND_ELSEWHERE))
}
