//! Worse networks than the paper's: loss, delay spikes, wrong clocks, and more players.

use evenkeel_core::Span;
use evenkeel_link::{ClockFaults, Reorder};

use super::sweep::{SweptRuns, SyncSweep};
use super::{MAX, PathLaw, SELECT, Service, SyncSetting, claims, in_words};
use crate::claims::Verdict;
use crate::figure::Figure;
use crate::papers::Setup;
use crate::papers::judgement::Test;
use crate::parallel::Cancelled;
use crate::sync_ms::{PlayerFigures, SyncPlayer};

const REACTION: Service = Service::Reaction;

pub(super) const LOSS: SyncSweep = SyncSweep {
    figure: "loss",
    quantity: "packets lost each way (%)",
    xs: &[0.0, 1.0, 2.0, 5.0],
    setting: |law, percent| SyncSetting { loss: percent / 100.0, ..SyncSetting::paper(law) },
    services: &[SELECT, REACTION],
    words: "The paper's network, with independent losses. Reaction repeats actions, the paper's orders do not.",
};

/// The share of packets with a spike.
const SPIKE_SHARE: f64 = 0.01;

pub(super) const SPIKES: SyncSweep = SyncSweep {
    figure: "spikes",
    quantity: "spikes (ms)",
    xs: &[0.0, 10.0, 20.0, 30.0, 50.0, 100.0],
    setting: |law, millis| SyncSetting {
        spikes: Some(Reorder { share: SPIKE_SHARE, extra: Span::from_millis_f64(millis) }),
        ..SyncSetting::paper(law)
    },
    services: &[SELECT, REACTION],
    words: "The paper's network, where 1 % of the packets each way take longer. An update that is late by more than the gap between two \
            actions and less than the update period makes the fair order run backwards for its player, and no order can serve that.",
};

pub(super) const CLOCKS: SyncSweep = SyncSweep {
    figure: "clocks",
    quantity: "clock error (% of the certified interval)",
    xs: &[0.0, 50.0, 100.0],
    setting: |law, percent| {
        with_clocks(law, |sign, player| ClockFaults {
            // A certified interval is as wide as the round trip.
            offset: Span::from_millis_f64(sign * percent / 100.0 * player.mean.as_millis_f64()),
            ..ClockFaults::default()
        })
    },
    services: &[MAX, REACTION],
    words: "The paper's network, with clocks that are off by a part of half the round trip, alternately ahead and behind.",
};

pub(super) const SKEW: SyncSweep = SyncSweep {
    figure: "skew",
    quantity: "skew (ppm)",
    xs: &[0.0, 20.0, 50.0, 100.0, 200.0],
    setting: |law, ppm| {
        with_clocks(law, |sign, _| ClockFaults { skew_ppm: sign * ppm, ..ClockFaults::default() })
    },
    services: &[REACTION],
    words: "The paper's network, with clocks that run too fast or too slow, alternately. Over a reaction of 50 ms, 50 ppm are 2.5 µs: \
            actions that are as close as that are swapped.",
};

/// The paper's network with wrong clocks: neighbours err in opposite directions.
fn with_clocks(law: PathLaw, clock: impl Fn(f64, &SyncPlayer) -> ClockFaults) -> SyncSetting {
    let paper = SyncSetting::paper(law);
    let players = paper.players.into_iter().enumerate().map(|(index, player)| {
        let sign = if index % 2 == 0 { 1.0 } else { -1.0 };
        SyncPlayer { clock: clock(sign, &player), ..player }
    });
    SyncSetting { players: players.collect(), ..paper }
}

pub(super) const PLAYERS: SyncSweep = SyncSweep {
    figure: "players",
    quantity: "players",
    xs: &[2.0, 10.0, 20.0, 50.0],
    setting: |law, players| SyncSetting {
        duration: Span::from_secs(25),
        settled: Span::from_secs(5),
        ..SyncSetting::many(law, players as u32)
    },
    services: &[SELECT, REACTION, Service::Clairvoyant],
    words: "As many players, between 4 and 30 ms, otherwise like the paper's network, 25 s of which the first 5 do not count: the SMS gets to know \
            the paths.",
};

/// The worst player's share behind under Reaction is at most this under both readings of the delays.
fn at_most(swept: &SweptRuns<'_>, place: usize, bar: f64) -> Test {
    Test::all(swept.both(place, REACTION).iter().map(|runs| Test::below(runs.worst_behind(), bar)))
}

fn measured(swept: &SweptRuns<'_>, place: usize, service: Service) -> String {
    let [exponential, gamma] = swept.both(place, service).map(|runs| in_words(&runs));
    format!("shifted exponential {exponential}; gamma {gamma}")
}

pub(super) fn run_loss(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    const ONE: usize = 1;
    let swept = LOSS.run(setup)?;
    let claims = claims("loss").add(
        "With 1 % of the packets lost, Reaction leaves at most 0.1 % of the worst player's actions behind.",
        measured(&swept, ONE, REACTION),
        at_most(&swept, ONE, 0.1),
        Verdict::Holds,
    );
    let title = format!(
        "With 1 % of the packets lost, {:.2} % of the worst player's actions are behind by reactions, {:.1} % with SelectWait",
        swept.at(0, ONE, REACTION).worst_behind().value,
        swept.at(0, ONE, SELECT).worst_behind().value
    );
    Ok(swept.draw(title, claims.all(), setup))
}

pub(super) fn run_spikes(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let (swept, last) = (SPIKES.run(setup)?, SPIKES.xs.len() - 1);
    let worst = (0..=last).flat_map(|place| swept.both(place, REACTION).map(|runs| runs.worst_behind()));
    let worst = worst.max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or_default();
    let most = |figure: fn(&PlayerFigures) -> f64| {
        let worst = (0..=last).flat_map(|place| swept.both(place, REACTION).map(|runs| runs.worst(figure)));
        worst.max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or_default()
    };
    let others = most(|player| player.behind() - player.backwards());
    let servable = most(PlayerFigures::behind_servable);
    let claims = claims("spikes")
        .add(
            "With spikes of 100 ms in 1 % of the packets, Reaction leaves at most 0.3 % of the worst player's actions behind.",
            measured(&swept, last, REACTION),
            at_most(&swept, last, 0.3),
            Verdict::Holds,
        )
        .add(
            "The same with spikes of any size.",
            format!("{} % at most", worst.in_words(2)),
            Test::below(worst, 0.3),
            Verdict::Fails,
        )
        .add(
            "Spikes of any size leave at most 0.1 % behind, but for actions that come before an earlier one of the same player in \
             fair order: to serve those in fair order, a service would have to swap a player's own actions.",
            format!("{} % at most", others.in_words(3)),
            Test::below(others, 0.1),
            Verdict::Holds,
        )
        .add(
            "In the order that a service can serve, in which no action of a player comes before its former ones, spikes of any size \
             leave at most 0.3 % of the worst player's actions behind.",
            format!("{} % at most", servable.in_words(3)),
            Test::below(servable, 0.3),
            Verdict::Holds,
        );
    let title = format!(
        "Spikes of 100 ms in 1 % of the packets leave {:.2} % behind; spikes about as long as the gap between actions {:.1} %",
        swept.at(0, last, REACTION).worst_behind().value,
        worst.value
    );
    Ok(swept.draw(title, claims.all(), setup))
}

pub(super) fn run_clocks(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let (swept, last) = (CLOCKS.run(setup)?, CLOCKS.xs.len() - 1);
    let claims = claims("clocks").add(
        "Reaction needs no synchronized clocks: however wrong within their certified intervals, at most 0.02 % are behind.",
        format!("{}; MaxWait: {}", measured(&swept, last, REACTION), measured(&swept, last, MAX)),
        at_most(&swept, last, 0.02),
        Verdict::Holds,
    );
    let title = format!(
        "Clocks that are off by half a round trip do not matter to reactions; MaxWait leaves {:.0} % behind",
        swept.at(0, last, MAX).worst_behind().value
    );
    Ok(swept.draw(title, claims.all(), setup))
}

pub(super) fn run_skew(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    const FIFTY: usize = 2;
    let swept = SKEW.run(setup)?;
    let claims = claims("skew").add(
        "Clocks that run 50 ppm too fast or too slow leave at most 0.2 % of the worst player's actions behind.",
        measured(&swept, FIFTY, REACTION) + "; these actions are microseconds apart",
        at_most(&swept, FIFTY, 0.2),
        Verdict::Holds,
    );
    let title = format!(
        "Clocks that run 50 ppm wrong swap actions that are microseconds apart: {:.2} % of the worst player's",
        swept.at(0, FIFTY, REACTION).worst_behind().value
    );
    Ok(swept.draw(title, claims.all(), setup))
}

pub(super) fn run_players(setup: &Setup<'_>) -> Result<Vec<Figure>, Cancelled> {
    let (swept, last) = (PLAYERS.run(setup)?, PLAYERS.xs.len() - 1);
    let claims = claims("players").add(
        "With 50 players Reaction leaves at most 0.1 % of the worst player's actions behind.",
        format!(
            "{}; a clairvoyant: {}",
            measured(&swept, last, REACTION),
            measured(&swept, last, Service::Clairvoyant)
        ),
        at_most(&swept, last, 0.1),
        Verdict::Holds,
    );
    let title = format!(
        "With 50 players {:.2} % of the worst player's actions are behind by reactions, {:.0} % with SelectWait",
        swept.at(0, last, REACTION).worst_behind().value,
        swept.at(0, last, SELECT).worst_behind().value
    );
    Ok(swept.draw(title, claims.all(), setup))
}
