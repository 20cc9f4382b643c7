//! A game's own traffic through the proxies of Sync-MS: players at different distances, each of whom acts and is updated
//! many times a second.
//!
//! Game and players are threads of this process, the proxies are processes of their own. Every datagram is stamped by one
//! clock when it is sent and when it arrives, so what is judged is what game and players saw, and not what the service
//! claims. An action's fair place is the paper's: when it would have been sent if the update that it reacts to had taken no
//! time.

mod processes;
mod traffic;
mod truth;

use std::time::{Duration, Instant};

use crate::{Check, Harness, SoakError, Verdict};
use processes::{ProxyPair, ProxyReading};
use traffic::Traffic;
use truth::Truth;

/// How long the players are measured by the service before they are measured here: the hold rises by 10 ms per second.
const WARM_UP: Duration = Duration::from_secs(20);
/// How long what was sent last may take.
const DRAIN: Duration = Duration::from_secs(2);

/// The largest spread of an update's times until it is shown, and the least share of updates within it.
pub const SPREAD_MAX_MS: f64 = 2.0;
/// The least share of updates within that spread.
pub const TOGETHER_MIN: f64 = 0.99;
/// The largest share of actions that are served behind later ones.
pub const BEHIND_MAX: f64 = 0.005;
/// Actions that are closer than this in fair order are a tie: what passes between a game's `send` and the proxy's `recv` is
/// not known better.
pub const TIE_MS: f64 = 1.0;

/// What is run.
#[derive(Clone, PartialEq, Debug)]
pub struct ProxyLoad {
    /// Players.
    pub players: usize,
    /// The nearest and the farthest player's one-way delay, in milliseconds.
    pub delay_ms: (f64, f64),
    /// The jitter, as a share of the delay, up and down.
    pub jitter: f64,
    /// The percentage of datagrams that the emulated links lose.
    pub loss_percent: f64,
    /// Updates per second and player.
    pub updates: f64,
    /// Actions per second and player.
    pub actions: f64,
    /// The order of actions.
    pub order: String,
    /// Whether updates are shown at once.
    pub out: bool,
}

impl Default for ProxyLoad {
    fn default() -> Self {
        Self {
            players: 32,
            delay_ms: (5.0, 120.0),
            jitter: 0.1,
            loss_percent: 0.0,
            updates: 40.0,
            actions: 60.0,
            order: "reaction".to_owned(),
            out: true,
        }
    }
}

impl ProxyLoad {
    fn delays(&self) -> Vec<f64> {
        let (near, far) = self.delay_ms;
        let steps = (self.players - 1).max(1) as f64;
        (0..self.players).map(|player| near + (far - near) * player as f64 / steps).collect()
    }

    fn describe(&self) -> String {
        format!(
            "{} players, {} to {} ms away with {:.0} % of jitter and {} % of loss, {} updates and {} actions per second each, \
             order {}, updates {}",
            self.players,
            self.delay_ms.0,
            self.delay_ms.1,
            100.0 * self.jitter,
            self.loss_percent,
            self.updates,
            self.actions,
            self.order,
            if self.out { "at once" } else { "not held" },
        )
    }
}

/// Runs the load for this long and judges it.
///
/// # Errors
/// [`SoakError`] if a proxy does not start, or not all players get through.
pub async fn run(harness: &Harness, load: &ProxyLoad, duration: Duration) -> Result<Verdict, SoakError> {
    let traffic = Traffic::bind(load)?;
    let mut pair = ProxyPair::start(harness, load, traffic.game()).await?;
    let running = traffic.start(pair.players)?;
    running.wait_until_all_are_known().await?;
    harness.report(&format!("{} players are in the game; warming up", load.players));
    harness.sleep_until(Instant::now() + WARM_UP).await;
    let (before, from) = (pair.read().await?, running.now());
    let mut next = Instant::now();
    let end = next + duration;
    while next < end && !harness.is_stopped() {
        next = end.min(next + Duration::from_secs(30));
        harness.sleep_until(next).await;
        harness.report(&format!("{} s left", end.saturating_duration_since(Instant::now()).as_secs()));
    }
    let (after, until) = (pair.read().await?, running.now());
    running.stop_sending();
    tokio::time::sleep(DRAIN).await;
    let drained = pair.read().await?;
    let is_alive = pair.is_running();
    let truth = Truth::of(&running.stop(), from, until);
    let mut verdict = judge(load, &truth, &[before, after, drained], is_alive);
    verdict.stopped_early = harness.is_stopped();
    Ok(verdict)
}

fn percent(share: f64) -> String {
    format!("{:.3} %", 100.0 * share)
}

fn judge(load: &ProxyLoad, truth: &Truth, readings: &[ProxyReading; 3], is_alive: bool) -> Verdict {
    let [before, after, drained] = readings;
    let mut checks =
        vec![Check::new("both proxies keep running", is_alive, if is_alive { "yes" } else { "no" })];
    if load.out {
        let together = truth.share_within(SPREAD_MAX_MS);
        checks.push(Check::new(
            format!("{:.0} % of updates are shown to all within {SPREAD_MAX_MS} ms", 100.0 * TOGETHER_MIN),
            together >= TOGETHER_MIN,
            format!("{} of {} updates", percent(together), truth.spreads_ms.len()),
        ));
    }
    if load.order != "none" {
        let behind = truth.behind_share(TIE_MS);
        checks.push(Check::new(
            format!(
                "at most {} of actions are served behind those of more than {TIE_MS} ms later",
                percent(BEHIND_MAX)
            ),
            behind <= BEHIND_MAX,
            format!("{} of {} actions", percent(behind), truth.actions_served()),
        ));
    }
    let lost = drained.lost_on_links() - before.lost_on_links();
    let missing = (truth.updates_missing + truth.actions_missing) as f64;
    checks.push(Check::new(
        "nothing is lost that the emulated links did not lose",
        missing <= lost,
        format!(
            "{} of {} updates and {} of {} actions missing; the links lost {lost:.0} datagrams",
            truth.updates_missing, truth.updates_sent, truth.actions_missing, truth.actions_sent
        ),
    ));
    let overflows = drained.overflows() - before.overflows();
    checks.push(Check::new("no queue reaches its limit", overflows == 0.0, format!("{overflows:.0} times")));
    Verdict { title: load.describe(), checks, figures: figures(truth, before, after), stopped_early: false }
}

fn figures(truth: &Truth, before: &ProxyReading, after: &ProxyReading) -> Vec<(String, String)> {
    let spread = |share: f64| truth::quantile(&truth.spreads_ms, share);
    let shown = |share: f64| truth::quantile(&truth.shown_ms, share);
    let mut figures = vec![
        (
            "an update's spread: half, 99 %, 99.9 % of updates".to_owned(),
            format!("{:.2}, {:.2}, {:.2} ms", spread(0.5), spread(0.99), spread(0.999)),
        ),
        (
            "from sending an update until a player gets it: least, half, 99 %".to_owned(),
            format!("{:.1}, {:.1}, {:.1} ms", shown(0.0), shown(0.5), shown(0.99)),
        ),
    ];
    for tie in [0.0, 0.25, 0.5, 1.0, 2.0, 5.0] {
        let (all, worst) = (truth.behind_share(tie), truth.behind_worst(tie));
        figures.push((
            format!("behind, with ties of {tie} ms: all, worst player"),
            format!("{}, {}", percent(all), percent(worst)),
        ));
    }
    figures.push(("behind, by the service's own count".to_owned(), percent(after.behind_share(before))));
    figures.push(("late for their place, clamped tags".to_owned(), after.late_and_clamped(before)));
    figures
        .push(("waiting added to an action on average".to_owned(), format!("{:.1} ms", after.added_up_ms())));
    figures.extend(after.costs(before));
    figures
}
