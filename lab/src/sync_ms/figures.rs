//! The figures of a run: how fairly each player was served, and how long it waited for answers.

use evenkeel_core::Span;
use evenkeel_link::TrueTime;
use evenkeel_sync_ms::ClientReport;
use evenkeel_sync_ms::fair_order::steps;

use super::setting::{PlayerRole, SyncSetting, UNCOUNTED};
use super::truth::{SeenAction, SeenPlayer, SyncTruth};
use crate::stats::mean;

/// How a player was served. Counts are of its actions.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct PlayerFigures {
    pub(crate) actions: u64,
    /// Those of which at least one action that is later in fair order was served before; also those never served.
    pub(crate) behind: u64,
    /// The same in the order that never lets an action of a player go before its former ones: what a service can serve.
    pub(crate) behind_servable: u64,
    /// Those that were sent after an action of the same player that is later in fair order.
    pub(crate) backwards: u64,
    /// Those that were served before at least one action that is earlier in fair order.
    pub(crate) ahead: u64,
    /// The sum of how many places they were served ahead.
    pub(crate) places_ahead: u64,
    /// Those never served.
    pub(crate) unserved: u64,
    /// Those served before an action of the farthest player that was sent at the same time can arrive.
    pub(crate) brief: u64,
    /// The mean time from sending an action until its effect is shown, in milliseconds.
    pub(crate) response_ms: f64,
    /// By how much earlier than it is the service believed the virtual sending time: the mean, in milliseconds.
    pub(crate) gained_ms: f64,
    /// Datagrams to the server and from it.
    pub(crate) datagrams: (u64, u64),
    /// What the service says about the player.
    pub(crate) report: Option<ClientReport>,
}

impl PlayerFigures {
    /// The share of actions behind, in percent.
    pub(crate) fn behind(&self) -> f64 {
        percent(self.behind, self.actions)
    }

    /// The share of actions behind in the order that a service can serve, in percent.
    pub(crate) fn behind_servable(&self) -> f64 {
        percent(self.behind_servable, self.actions)
    }

    /// The share of actions for which the fair order runs backwards, in percent.
    pub(crate) fn backwards(&self) -> f64 {
        percent(self.backwards, self.actions)
    }

    /// The share of actions ahead, in percent.
    pub(crate) fn ahead(&self) -> f64 {
        percent(self.ahead, self.actions)
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// The figures of a run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SyncFigures {
    pub(crate) players: Vec<PlayerFigures>,
}

impl SyncFigures {
    /// Measures a run.
    pub(super) fn of(
        setting: &SyncSetting,
        truth: &SyncTruth,
        details: &[((u64, u64), Option<ClientReport>)],
    ) -> Self {
        let place = |(player, number): &(usize, usize)| {
            (truth.players[*player].actions[*number].virtual_at, *player, *number)
        };
        let places: Vec<_> = truth.served.iter().map(place).collect();
        let forwards = forwards(truth);
        let servable: Vec<_> = truth
            .served
            .iter()
            .map(|(player, number)| (forwards[*player][*number], *player, *number))
            .collect();
        let mut players: Vec<Tally> = vec![Tally::default(); setting.players.len()];
        let judged = steps(&places).into_iter().zip(steps(&servable));
        for ((player, number), (steps, servable)) in truth.served.iter().zip(judged) {
            let action = &truth.players[*player].actions[*number];
            if is_counted(setting, *player, action) {
                let tally = &mut players[*player];
                tally.figures.behind_servable += u64::from(servable.behind > 0);
                tally.figures.behind += u64::from(steps.behind > 0);
                tally.figures.ahead += u64::from(steps.ahead > 0);
                tally.figures.places_ahead += u64::from(steps.ahead);
            }
        }
        let farthest =
            setting.players.iter().map(|player| player.mean - player.sd).max().unwrap_or(Span::ZERO);
        for (player, seen) in truth.players.iter().enumerate() {
            let mut latest = TrueTime::MIN;
            for action in &seen.actions {
                if is_counted(setting, player, action) {
                    players[player].add(action, truth.response(player, action), farthest);
                    players[player].figures.backwards += u64::from(action.virtual_at < latest);
                }
                latest = latest.max(action.virtual_at);
            }
        }
        let figures = players.into_iter().zip(details).map(|(tally, (datagrams, report))| PlayerFigures {
            datagrams: *datagrams,
            report: *report,
            ..tally.finish()
        });
        Self { players: figures.collect() }
    }

    /// The largest share of actions behind of any player, in percent.
    pub(crate) fn worst_behind(&self) -> f64 {
        self.players.iter().map(PlayerFigures::behind).fold(0.0, f64::max)
    }

    /// The mean over the players of the share of actions behind, in percent.
    pub(crate) fn mean_behind(&self) -> f64 {
        mean(&self.players.iter().map(PlayerFigures::behind).collect::<Vec<_>>())
    }

    /// The mean over the players of the response time, in milliseconds.
    pub(crate) fn mean_response(&self) -> f64 {
        mean(&self.players.iter().map(|player| player.response_ms).collect::<Vec<_>>())
    }
}

/// By player and action: the virtual sending time, but not before that of the player's former actions.
fn forwards(truth: &SyncTruth) -> Vec<Vec<TrueTime>> {
    let of_player = |player: &SeenPlayer| {
        let mut latest = TrueTime::MIN;
        let forward = |action: &SeenAction| {
            latest = latest.max(action.virtual_at);
            latest
        };
        player.actions.iter().map(forward).collect()
    };
    truth.players.iter().map(of_player).collect()
}

/// Figures in the making.
#[derive(Clone, Debug, Default)]
struct Tally {
    figures: PlayerFigures,
    responses_ms: Vec<f64>,
    gains_ms: Vec<f64>,
}

impl Tally {
    fn add(&mut self, action: &SeenAction, response: Option<Span>, farthest: Span) {
        self.figures.actions += 1;
        let Some(served) = action.served else {
            self.figures.unserved += 1;
            self.figures.behind += 1;
            self.figures.behind_servable += 1;
            return;
        };
        self.figures.brief += u64::from(served - action.sent < farthest);
        self.responses_ms.extend(response.map(Span::as_millis_f64));
        let gained = action.believed.map(|at| action.virtual_at - TrueTime::from_nanos(at.as_nanos()));
        self.gains_ms.extend(gained.map(Span::as_millis_f64));
    }

    fn finish(self) -> PlayerFigures {
        PlayerFigures {
            response_ms: mean(&self.responses_ms),
            gained_ms: mean(&self.gains_ms),
            ..self.figures
        }
    }
}

/// Whether an action counts: not at the start or end of the run or of its player's visit, nor while nothing of its player
/// arrives.
fn is_counted(setting: &SyncSetting, player: usize, action: &SeenAction) -> bool {
    let since_start = action.sent - TrueTime::default();
    let during = |from: Span, until: Span| from <= since_start && since_start < until;
    let (settled, ending) = (setting.settled, UNCOUNTED.1);
    let is_present = match setting.players[player].role {
        PlayerRole::Visits { joins, leaves } => during(joins + settled, leaves - ending),
        PlayerRole::Freezes { from, until } => !during(from, until),
        _ => true,
    };
    is_present && during(settled, setting.duration - ending)
}
