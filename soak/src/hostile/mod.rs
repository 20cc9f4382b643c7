//! The soak under attack: two honest players in a room, while strangers and members of the same room send noise, lies and
//! floods.
//!
//! The honest players are 20 ms away over emulated links, and the budget suffices for everybody. So their error is that of
//! the delay alone, and an attack that costs them anything shows as more. The policy still ranks all receivers at every
//! trigger, as it does in games. The error is measured at both ends: where a player shows the other, against where that one
//! exports itself at the same time.
//!
//! An attack that the relay discards unread proves nothing, so each kind must also get as far into the relay as it can.

mod attack;
mod checks;
mod forge;
mod honest;
mod kind;
mod members;
mod reach;
mod strangers;
mod verdict;

use std::sync::Arc;
use std::time::{Duration, Instant};

use evenkeel_dr::policy::PolicyKind;
use serde::Serialize;

use crate::judge::megabytes;
use crate::load::Sample;
use crate::relay_process::RelayProcess;
use crate::usage::usage;
use crate::{Harness, SoakError, Verdict};
use attack::Attack;
use checks::Lasted;
use honest::{HonestPlayers, Observations};
pub use reach::AttackCount;
use reach::AttackReach;
use verdict::Survival;

const ROOM: &str = "arena";
/// Settings of the room. The limits of speed and position are far above what the honest players need.
const ROOM_CONFIG: &str = "\
budget = 64.0
tick_ms = 20.0
players_max = 64
position_max = 10000.0
speed_max = 1000.0
";

/// The settings of an attack.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AttackPlan {
    /// The room's policy.
    pub policy: PolicyKind,
    /// The number of datagrams and messages to send.
    pub messages: u64,
    /// How long the attack lasts.
    pub duration: Duration,
    /// How long the honest players play before, in the company of harmless members. Without company, their error would
    /// lack what sharing a tick with others costs, and that is not the attack's doing.
    pub control: Duration,
}

impl AttackPlan {
    /// The relay's configuration.
    fn config(&self) -> String {
        format!("[room]\npolicy = \"{}\"\n{ROOM_CONFIG}", self.policy)
    }
}

/// The result of an attack.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outcome {
    /// The judgement.
    pub verdict: Verdict,
    /// What was sent, by kind.
    pub attacks: Vec<AttackCount>,
}

/// Attacks a relay, and judges how the relay and the honest players took it.
///
/// # Errors
/// [`SoakError`] if nothing can be measured.
pub async fn run(harness: &Harness, plan: AttackPlan) -> Result<Outcome, SoakError> {
    let control = control(harness, plan).await?;
    let mut relay = RelayProcess::start(harness, &plan.config()).await?;
    let honest = HonestPlayers::start(&relay).await?;
    let attack = Attack::new(&relay, plan, false);
    let (start, own) = (Instant::now(), usage(std::process::id()));
    let attackers = [strangers::start(&attack), members::start(&attack)];
    let watched = watch(harness, &mut relay, &honest, &attack, plan).await;
    let own = own.zip(usage(std::process::id())).map(|(then, now)| now.cpu - then.cpu);
    let own = own.map_or(f64::NAN, |cpu| cpu.as_secs_f64() / start.elapsed().as_secs_f64());
    attack.finish();
    for mut attackers in attackers {
        attackers.shutdown().await;
    }
    let (observed, samples, reach) = watched?;
    let is_running = relay.is_running();
    honest.stop().await;
    let survival = Survival { is_running, panics: relay.panics() };

    let attacks = reach.counts(&attack);
    let mut verdict = verdict::judge(&control, &observed, &samples, survival);
    let (first, last) = (&samples[0], &samples[samples.len() - 1]);
    let lasted = Lasted(if harness.is_stopped() { last.at } else { plan.duration });
    verdict.checks.push(lasted.check(
        "as much is sent as was planned",
        attack.total() >= plan.messages,
        plan.duration,
        format!("{} of {}", attack.total(), plan.messages),
    ));
    let growth = |name: &str| last.metrics.growth(&first.metrics, name);
    verdict.checks.extend(checks::checks(&reach, &attacks, &attack.ends, growth, lasted));
    verdict.figures.extend(reach.figures());
    let own = format!("{:.1} % of a core", 100.0 * own);
    verdict.figures.push(("used by the attackers and honest players themselves".to_owned(), own));
    verdict.title = format!(
        "{} datagrams and messages of attackers in {:.0} s, beside two honest players; policy {}, tick 20 ms",
        attack.total(),
        last.at.as_secs_f64(),
        plan.policy
    );
    verdict.stopped_early = harness.is_stopped();
    Ok(Outcome { verdict, attacks })
}

/// Observes the honest players in harmless company.
async fn control(harness: &Harness, plan: AttackPlan) -> Result<Observations, SoakError> {
    harness.report("the honest players in harmless company");
    let relay = RelayProcess::start(harness, &plan.config()).await?;
    let honest = HonestPlayers::start(&relay).await?;
    let harmless = Attack::new(&relay, plan, true);
    let mut company = members::company(&harmless);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let until = Instant::now() + plan.control;
    let observed = honest.watch(harness, until, || harmless.player_numbers()).await;
    company.shutdown().await;
    honest.stop().await;
    Ok(observed)
}

/// Observes the honest players and samples the relay until the attack is over.
async fn watch(
    harness: &Harness,
    relay: &mut RelayProcess,
    honest: &HonestPlayers,
    attack: &Arc<Attack>,
    plan: AttackPlan,
) -> Result<(Observations, Vec<Sample>, AttackReach), SoakError> {
    let start = Instant::now();
    let (mut observed, mut samples) = (Observations::default(), vec![Sample::take(relay, start).await?]);
    let mut reach = AttackReach::default();
    while Instant::now() < attack.until && !harness.is_stopped() && relay.is_running() {
        let until = attack.until.min(Instant::now() + honest::WINDOW);
        observed.extend(honest.watch(harness, until, || attack.player_numbers()).await);
        samples.push(Sample::take(relay, start).await?);
        reach.add(&relay.report(ROOM).await?);
        let memory = samples.last().and_then(|sample| sample.usage).map_or(0, |usage| usage.memory);
        harness.report(&format!(
            "{:.0} of {:.0} s: {} sent, {:.1} MiB",
            start.elapsed().as_secs_f64(),
            plan.duration.as_secs_f64(),
            attack.total(),
            megabytes(memory)
        ));
    }
    Ok((observed, samples, reach))
}
