//! Whom `even` serves: what one player whom no policy can serve, or who pretends to be far away, costs the others, and
//! what bounding that (`keep`, `kappa`) costs honest players.

use super::case::RoomDelays;
use super::{EvenCase, cells_for, key, percent, runs_of, seeds};
use crate::claims::{Claim, Verdict};
use crate::dr::RunFigures;
use crate::figure::{Bars, Drawing, Figure, Plot, Table};
use crate::papers::Setup;
use crate::papers::cells::{Cell, Cells, Contender, Ratio};
use crate::papers::judgement::Test;
use crate::papers::setting::{Belief, Lie};

/// Without a bound, with one on each player's error alone, and the default of a relay's rooms.
const POLICIES: [Contender; 3] =
    [Contender::EVEN, Contender::Policy("even:kappa=3"), Contender::Policy(evenkeel_serve::POLICY)];
const IN_ROOMS: Contender = POLICIES[2];
/// The most that one player may cost the others, as a multiple of their error.
const BORNE_MAX: f64 = 1.3;
/// The part of 1/m base's spread that may remain in honest rooms.
const SPREAD_MAX: f64 = 0.02;

/// Where one of the players may lie.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Four,
    Room(RoomDelays),
}

const PLACES: [Place; 3] = [Place::Four, Place::Room(RoomDelays::Spaced), Place::Room(RoomDelays::OneFar)];

impl Place {
    const fn case(self, lie: Lie) -> EvenCase {
        match self {
            Self::Four => EvenCase::Lying(lie, Belief::Bounded),
            Self::Room(delays) => EvenCase::Room(delays, lie),
        }
    }

    fn label(self) -> String {
        match self {
            Self::Four => "150/100/50/30 ms".to_owned(),
            Self::Room(_) => self.case(Lie::None).label(),
        }
    }
}

/// The players of a case; honest players are no liars.
fn label(case: EvenCase) -> String {
    match case {
        EvenCase::Lying(..) => Place::Four.label(),
        _ => case.label(),
    }
}

/// Honest settings in which the cost of the bound is measured.
fn honest() -> Vec<EvenCase> {
    let places = PLACES.map(|place| place.case(Lie::None));
    let others = [
        EvenCase::Broadband(9),
        EvenCase::Tanks(9),
        EvenCase::Papers(100),
        EvenCase::Papers(30),
        EvenCase::Papers(9),
    ];
    places.into_iter().chain(others).collect()
}

/// 1/m base with as many messages as the policies have in this case.
const fn base(case: EvenCase) -> Contender {
    match case {
        EvenCase::Room(..) | EvenCase::Unserved(true) => Contender::Policy("base-1/5"),
        _ => Contender::THIRD,
    }
}

pub(super) fn cells() -> Vec<Cell> {
    let lying = PLACES.map(|place| place.case(Lie::StampsAndHolds));
    let unserved = [false, true].map(EvenCase::Unserved);
    let cases: Vec<EvenCase> = honest().into_iter().chain(lying).chain(unserved).collect();
    let mut cells = cells_for(&cases, &POLICIES);
    cells.extend(honest().into_iter().flat_map(|case| cells_for(&[case], &[base(case)])));
    let served = EvenCase::Unserved(true);
    cells.extend(cells_for(&[served], &[base(served)]));
    cells
}

/// The error of the last player, the liar.
fn last(run: &RunFigures) -> f64 {
    run.receivers.last().map_or(0.0, |receiver| receiver.aee)
}

/// The liar's error relative to that when it is honest, and the others', and that of the worst off of them.
fn price(cells: &Cells, place: Place, policy: Contender) -> [Ratio; 3] {
    let [honest, lying] = [Lie::None, Lie::StampsAndHolds].map(|lie| runs_of(cells, place.case(lie), policy));
    let mut changes = lying.changes(&honest);
    let liar = changes.pop().unwrap_or_default();
    let worst = changes.into_iter().max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or_default();
    let others = |run: &RunFigures| run.receivers.iter().map(|one| one.aee).sum::<f64>() - last(run);
    [liar, lying.ratio(&honest, others), worst]
}

/// What the near players bear for one whom no policy can serve: their error relative to that without it; and its own error
/// relative to that under 1/5 base.
fn borne(cells: &Cells, policy: Contender) -> [Ratio; 2] {
    let (alone, together) = (EvenCase::Unserved(false), EvenCase::Unserved(true));
    let near = |run: &RunFigures| run.receivers[..4].iter().map(|one| one.aee).sum::<f64>();
    let with = runs_of(cells, together, policy);
    let base = runs_of(cells, together, base(together));
    [with.ratio(&runs_of(cells, alone, policy), near), with.ratio(&base, last)]
}

/// Spread, mean and messages relative to 1/m base.
fn cost(cells: &Cells, case: EvenCase, policy: Contender) -> [Ratio; 3] {
    let (ours, base) = (runs_of(cells, case, policy), runs_of(cells, case, base(case)));
    [ours.spread_ratio(&base), ours.mean_ratio(&base), ours.sent_ratio(&base)]
}

fn plot(title: &str, rows: Vec<String>, mark: f64, ratio: impl Fn(usize, Contender) -> Ratio) -> Plot {
    let count = rows.len();
    let bars = |policy: &Contender| Bars {
        name: policy.label(),
        heights: (0..count).map(|row| ratio(row, *policy).value).collect(),
    };
    Plot {
        title: String::new(),
        x_label: title.to_owned(),
        y_label: String::new(),
        drawing: Drawing::Dots { rows, groups: POLICIES.iter().map(bars).collect(), mark: Some(mark) },
    }
}

fn table(head: &[&str], rows: Vec<Vec<String>>) -> Table {
    Table { head: head.iter().map(|head| (*head).to_owned()).collect(), rows }
}

pub(super) fn draw(setup: &Setup<'_>, cells: &Cells) -> Vec<Figure> {
    vec![draw_liars(setup, cells), draw_unserved(setup, cells), draw_honest(setup, cells)]
}

/// The most that the others bear in any of the places.
fn price_max(cells: &Cells, policy: Contender) -> Ratio {
    let prices = PLACES.map(|place| price(cells, place, policy)[1]);
    prices.into_iter().max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or_default()
}

fn draw_liars(setup: &Setup<'_>, cells: &Cells) -> Figure {
    let rows = PLACES.iter().flat_map(|place| {
        POLICIES.iter().map(|policy| {
            let figures = price(cells, *place, *policy).map(|ratio| ratio.in_words(2));
            [place.label(), policy.label()].into_iter().chain(figures).collect()
        })
    });
    Figure {
        key: key("rooms"),
        title: format!(
            "A liar raises the others' error to at most {:.2} times under {}, and {:.2} times under even",
            price_max(cells, IN_ROOMS).value,
            evenkeel_serve::POLICY,
            price_max(cells, Contender::EVEN).value
        ),
        caption: format!(
            "The nearest player claims that everything arrives 300 ms later than it does, and delays its acknowledgments by 600 ms. \
             Four players of the owner, or five behind a relay 20 ms from the owner; gamma jitter of a tenth; compensation as in a \
             relay's rooms. Random motion, threshold 0.09, heartbeat 1 s, 300 s; budget a third of the four players, a fifth of the five; {}.",
            seeds(setup)
        ),
        plots: vec![plot(
            "error of the others / when all are honest",
            PLACES.map(Place::label).to_vec(),
            BORNE_MAX,
            |row, policy| price(cells, PLACES[row], policy)[1],
        )],
        columns: 1,
        table: table(
            &[
                "players",
                "policy",
                "liar's error / when honest",
                "the others'",
                "the worst off of the others'",
            ],
            rows.collect(),
        ),
        claims: liar_claims(cells),
    }
}

fn liar_claims(cells: &Cells) -> Vec<Claim> {
    let words = |policy: Contender| {
        let each = PLACES.map(|place| {
            let [liar, others, worst] = price(cells, place, policy).map(|ratio| ratio.in_words(2));
            format!("{}: liar {liar}, others {others}, worst off {worst}", place.label())
        });
        format!("{}: {}", policy.label(), each.join("; "))
    };
    let borne = |part: usize| {
        Test::all(PLACES.map(|place| Test::below(price(cells, place, IN_ROOMS)[part], BORNE_MAX)))
    };
    super::claims("rooms")
        .add(
            "In a relay's rooms a liar that also delays its acknowledgments raises the others' error to at most 1.3 times theirs when \
             it is honest.",
            POLICIES.map(words).join(". "),
            borne(1),
            Verdict::Holds,
        )
        .add(
            "It raises no single player's error to more than 1.3 times.",
            format!(
                "the worst off of the others: {}",
                PLACES
                    .map(|place| format!("{} in {}", price(cells, place, IN_ROOMS)[2].in_words(2), place.label()))
                    .join(", ")
            ),
            borne(2),
            Verdict::Fails,
        )
        .all()
}

fn draw_unserved(setup: &Setup<'_>, cells: &Cells) -> Figure {
    let row = |policy: &Contender| {
        let figures = borne(cells, *policy).map(|ratio| ratio.in_words(2));
        [policy.label()].into_iter().chain(figures).collect()
    };
    let [even, capped, in_rooms] = POLICIES.map(|policy| borne(cells, policy)[0]);
    Figure {
        key: key("unserved"),
        title: format!(
            "A player at 2 s with 50 % loss multiplies the others' error by {:.1} under even, by {:.1} with kappa = 3, by {:.2} under {}",
            even.value,
            capped.value,
            in_rooms.value,
            evenkeel_serve::POLICY
        ),
        caption: format!(
            "Players at 60, 40, 30 and 20 ms, with and without one at 2 s that loses half of all packets each way, behind a relay 20 ms \
             from the owner; gamma jitter of a tenth; compensation as in a relay's rooms. Random motion, threshold 0.09, heartbeat \
             1 s, 300 s; budget a fifth of the players; {}.",
            seeds(setup)
        ),
        plots: vec![plot(
            "error of the near players / without the far one",
            vec!["2 s, 50 % loss".to_owned()],
            BORNE_MAX,
            |_, policy| borne(cells, policy)[0],
        )],
        columns: 1,
        table: table(
            &["policy", "near players' error / without the far one", "the far one's / under 1/5 base"],
            POLICIES.iter().map(row).collect(),
        ),
        claims: super::claims("unserved")
            .add(
                "In a relay's rooms a player whom no policy can serve costs the others at most 1.3 times their error.",
                format!(
                    "{} times; under even {even}, with kappa = 3 {capped}. Its own error is {} times that under 1/5 base",
                    in_rooms,
                    borne(cells, IN_ROOMS)[1]
                ),
                Test::below(in_rooms, BORNE_MAX),
                Verdict::Holds,
            )
            .all(),
    }
}

fn draw_honest(setup: &Setup<'_>, cells: &Cells) -> Figure {
    let cases = honest();
    let rows = cases.iter().flat_map(|case| {
        POLICIES.iter().map(|policy| {
            let [spread, mean, sent] = cost(cells, *case, *policy);
            vec![label(*case), policy.label(), percent(spread), mean.to_string(), sent.to_string()]
        })
    });
    let rooms = PLACES.map(|place| cost(cells, place.case(Lie::None), IN_ROOMS)[0]);
    let most = rooms.iter().map(|ratio| ratio.value).fold(0.0, f64::max);
    let words = |policy: Contender| {
        let each = honest().into_iter().map(|case| {
            let [spread, mean, _] = cost(cells, case, policy);
            format!("{}: {}, {}", label(case), percent(spread), mean.in_words(2))
        });
        format!("{}: {}", policy.label(), each.collect::<Vec<_>>().join("; "))
    };
    Figure {
        key: key("honest"),
        title: format!(
            "{} leaves at most {:.1} % of 1/m base's spread in honest rooms",
            evenkeel_serve::POLICY,
            100.0 * most
        ),
        caption: format!(
            "Honest players in the rooms of the liars and in the settings of the papers; threshold 0.09 in the rooms, 300 s; {}.",
            seeds(setup)
        ),
        plots: vec![
            plot(
                "spread / 1/m base",
                cases.iter().map(|case| label(*case)).collect(),
                SPREAD_MAX,
                |row, policy| cost(cells, cases[row], policy)[0],
            ),
            plot("mean / 1/m base", cases.iter().map(|case| label(*case)).collect(), 1.0, |row, policy| {
                cost(cells, cases[row], policy)[1]
            }),
        ],
        columns: 2,
        table: table(
            &["players", "policy", "spread / 1/m base", "mean / 1/m base", "sent / 1/m base"],
            rows.collect(),
        ),
        claims: super::claims("honest")
            .add(
                "In honest rooms the default of a relay's rooms leaves at most 2 % of 1/m base's spread.",
                format!("spread and mean relative to 1/m base's. {}", POLICIES.map(words).join(". ")),
                Test::all(rooms.map(|ratio| Test::below(ratio, SPREAD_MAX))),
                Verdict::Fails,
            )
            .all(),
    }
}
