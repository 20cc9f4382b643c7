//! The soak under attack: two honest players in a room, while strangers and members of the same room send nonsense,
//! lies and floods.
//!
//! The honest players are 20 ms away, by emulated links, and the budget is enough for everybody, so their error is that of
//! the delay, and what an attack costs them is seen as more of it; while the policy looks at everybody's error at every
//! trigger, as it does in games. It is measured at both ends: where a player's
//! copy is shown, against where its owner exports it at that time.

mod forge;
mod honest;
mod members;
mod reached;
mod strangers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use evenkeel_dr::policy::PolicyKind;
use evenkeel_dr::relay::limits::PLAYERS_MAX;
use evenkeel_serve::Target;
use serde::Serialize;

use crate::child::RelayChild;
use crate::judge::{costs, memory, on_time};
use crate::load::Sample;
use crate::proc::usage;
use crate::{Bench, Check, SoakError, Verdict};
use honest::{Honest, Seen};
pub use reached::Count;
use reached::{Ends, Lasted, Reached, Tally};

/// The honest players' error may be larger by this part of the control's, and by so many standard errors of both: a run
/// of a minute differs from the next by a few per cent, because deadlines fall differently.
const ERROR_GROWTH_MAX: f64 = 0.10;
const STANDARD_ERRORS: f64 = 3.0;
/// The part of the attack that is warm-up for the relay's memory: what is kept of each of 4,000 pairs of players becomes as large as the
/// attack ever makes it, which takes minutes.
const WARM_UP_SHARE: f64 = 0.2;
const ROOM: &str = "arena";
/// The limits of speed and position are far above what the honest players need.
const LIMITS: &str = "\
budget = 64.0
tick_ms = 20.0
players_max = 64
position_max = 10000.0
speed_max = 1000.0
";

/// How hard the attack is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plan {
    /// Who decides in the room.
    pub policy: PolicyKind,
    /// How many datagrams and messages in all.
    pub messages: u64,
    /// In how much time.
    pub duration: Duration,
    /// How long the honest players play before, in the company of members that do no harm: among others, vectors wait for
    /// their tick, which is no attack's doing.
    pub control: Duration,
}

impl Plan {
    /// The settings of the relay.
    fn config(&self) -> String {
        format!("[room]\npolicy = \"{}\"\n{LIMITS}", self.policy)
    }
}

macro_rules! kinds {
    ($($name:ident = $words:literal,)*) => {
        /// The kinds of attack.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Kind { $($name,)* }

        impl Kind {
            const ALL: &[(Self, &str)] = &[$((Self::$name, $words),)*];
        }
    };
}

kinds! {
    Garbage = "strangers: random packets to the port",
    MutatedInitial = "strangers: mutated first packets of handshakes",
    HalfOpen = "strangers: first packets of handshakes, and no more",
    BadToken = "strangers: connections without a token or with a bad one",
    NoToken = "strangers: connections without a token that are held open",
    Stall = "token holders: connections that stall after the handshake",
    RandomDatagram = "members: random datagrams",
    MutatedDatagram = "members: mutated copies of all that follow",
    Vectors = "members: valid vectors, far beyond the quota",
    Untrue = "members: vectors with gaps, old, reordered, dead, teleporting",
    Beyond = "members: vectors too fast, too far, too early, of others",
    Reports = "members: acknowledgments late, early, untrue, with gaps",
    Flood = "members: floods far beyond the allowance",
    RandomReliable = "members: random and mutated reliable messages",
    Births = "members: ends and new lives in quick succession",
    BrokenStream = "members: too long and half messages, streams in excess",
    NeverReads = "members: connections that never read",
}

impl Kind {
    /// Whether those who attack like this have entities that the relay knows.
    const fn has_entities(self) -> bool {
        matches!(
            self,
            Self::MutatedDatagram
                | Self::Vectors
                | Self::Untrue
                | Self::Beyond
                | Self::Reports
                | Self::Births
        )
    }
}

fn tally(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

/// What became of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outcome {
    /// What was judged.
    pub verdict: Verdict,
    /// What was sent.
    pub attacks: Vec<Count>,
}

/// What all attackers share.
pub(super) struct Attack {
    target: Target,
    /// For as many members as attack.
    member_token: String,
    relay: std::net::SocketAddr,
    /// What was sent, by kind.
    tallies: Vec<Tally>,
    /// Vectors that attackers got from the relay, by the player whose entities they are of.
    passed_on: Vec<AtomicU64>,
    /// Whether it is none: members keep the honest players company.
    harmless: bool,
    ends: Ends,
    /// The numbers of the members that attack, and how.
    players: Mutex<BTreeMap<u32, Kind>>,
    over: AtomicBool,
    messages: u64,
    until: Instant,
}

impl Attack {
    fn new(relay: &RelayChild, plan: Plan, harmless: bool) -> Arc<Self> {
        Arc::new(Self {
            target: relay.target(ROOM, String::new()),
            member_token: relay.token(ROOM, members::NAME, members::MEMBERS),
            relay: relay.players,
            tallies: Kind::ALL.iter().map(|_| Tally::default()).collect(),
            passed_on: (0..PLAYERS_MAX).map(|_| AtomicU64::new(0)).collect(),
            harmless,
            ends: Ends::default(),
            players: Mutex::default(),
            over: AtomicBool::new(false),
            messages: plan.messages,
            until: Instant::now() + plan.duration,
        })
    }

    fn count(&self, kind: Kind, count: u64) {
        tally(&self.tallies[kind as usize].sent, count);
    }

    fn total(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.sent.load(Ordering::Relaxed)).sum()
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn players(&self) -> BTreeSet<u32> {
        self.players.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }
}

/// Attacks a relay, and judges how it and the honest players took it.
///
/// # Errors
/// [`SoakError`] if it can't be measured at all.
pub async fn run(bench: &Bench, plan: Plan) -> Result<Outcome, SoakError> {
    bench.tell("the honest players in good company");
    let relay = RelayChild::start(bench, &plan.config()).await?;
    let honest = Honest::start(&relay).await?;
    let harmless = Attack::new(&relay, plan, true);
    let mut company = members::company(&harmless);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let control = honest.watch(bench, Instant::now() + plan.control, || harmless.players()).await;
    company.shutdown().await;
    honest.stop().await;
    drop(relay);
    let mut relay = RelayChild::start(bench, &plan.config()).await?;
    let honest = Honest::start(&relay).await?;
    let attack = Attack::new(&relay, plan, false);
    let (began, own) = (Instant::now(), usage(std::process::id()));
    let attackers = [strangers::start(&attack), members::start(&attack)];
    let watched = watch(bench, &mut relay, &honest, &attack, plan).await;
    let own = own.zip(usage(std::process::id())).map(|(then, now)| now.cpu - then.cpu);
    let own = own.map_or(f64::NAN, |cpu| cpu.as_secs_f64() / began.elapsed().as_secs_f64());
    attack.over.store(true, Ordering::Relaxed);
    for mut attackers in attackers {
        attackers.shutdown().await;
    }
    let (seen, samples, reached) = watched?;
    let lives = relay.lives();
    honest.stop().await;
    let attacks = reached.counts(&attack);
    let mut verdict = judge(&control, &seen, &samples, (lives, relay.said().0));
    let (first, last) = (&samples[0], &samples[samples.len() - 1]);
    let lasted = Lasted(if bench.is_stopped() { last.at } else { plan.duration });
    let turned = |name: &str| last.metrics.since(&first.metrics, name);
    verdict.checks.push(lasted.check(
        "as much was sent as was asked for",
        attack.total() >= plan.messages,
        plan.duration,
        format!("{} of {}", attack.total(), plan.messages),
    ));
    verdict.checks.extend(reached.checks(&attacks, &attack.ends, turned, lasted));
    verdict.figures.extend(reached.figures());
    let own = format!("{:.1} % of a core", 100.0 * own);
    verdict.figures.push(("what attackers and honest players used themselves".to_owned(), own));
    verdict.title = format!(
        "{} datagrams and messages of attackers in {:.0} s, beside two honest players; policy {}, tick 20 ms",
        attack.total(),
        last.at.as_secs_f64(),
        plan.policy
    );
    verdict.stopped_early = bench.is_stopped();
    Ok(Outcome { verdict, attacks })
}

/// Watches the honest players and samples the relay until the attack is over.
async fn watch(
    bench: &Bench,
    relay: &mut RelayChild,
    honest: &Honest,
    attack: &Arc<Attack>,
    plan: Plan,
) -> Result<(Seen, Vec<Sample>, Reached), SoakError> {
    let start = Instant::now();
    let (mut seen, mut samples) = (Seen::default(), vec![Sample::take(relay, start).await?]);
    let mut reached = Reached::default();
    while Instant::now() < attack.until && !bench.is_stopped() && relay.lives() {
        let until = attack.until.min(Instant::now() + honest::WINDOW);
        seen.extend(honest.watch(bench, until, || attack.players()).await);
        samples.push(Sample::take(relay, start).await?);
        reached.note(&relay.report(ROOM).await?);
        let memory = samples.last().and_then(|sample| sample.usage).map_or(0, |usage| usage.memory);
        bench.tell(&format!(
            "{:.0} of {:.0} s: {} sent, {:.1} MiB",
            start.elapsed().as_secs_f64(),
            plan.duration.as_secs_f64(),
            attack.total(),
            crate::judge::megabytes(memory)
        ));
    }
    Ok((seen, samples, reached))
}

fn judge(control: &Seen, seen: &Seen, samples: &[Sample], (lives, panics): (bool, usize)) -> Verdict {
    let (first, last) = (&samples[0], &samples[samples.len() - 1]);
    let failed = last.metrics.sum("room_panics_total");
    let words = if lives { "it lives" } else { "it is gone" };
    let warm = ((samples.len() as f64 * WARM_UP_SHARE) as usize + 1).min(samples.len() - 1);
    let checks = vec![
        Check::new(
            "the relay lives, and nothing in it panicked",
            lives && panics == 0 && failed == 0.0,
            format!("{words}; {panics} panics on standard error, {failed:.0} rooms failed"),
        ),
        memory(&samples[warm..]),
        error(control, seen),
        Check::new(
            "the honest players stay connected and see each other",
            seen.broken == 0 && seen.unseen == 0 && !seen.windows.is_empty(),
            format!("{} breaks; unseen at {} of {} looks", seen.broken, seen.unseen, seen.looks),
        ),
        Check::new(
            "no entity is shown under a name that is not its owner's",
            seen.foreign == 0 && seen.looks > 0,
            format!(
                "{} such at {} looks; up to {} entities shown",
                seen.foreign, seen.looks, seen.entities_max
            ),
        ),
    ];
    let late = on_time(&first.metrics, &last.metrics);
    let mut figures = vec![("the relay's deadlines".to_owned(), late.measured)];
    figures.extend(costs(first, last));
    for (words, name) in [
        ("messages rejected", "rejected_total"),
        ("datagrams beyond the allowance", "over_allowance_total"),
        ("closed for flooding", "flooding_total"),
        ("closed for reading too slowly", "too_slow_total"),
        ("datagrams dropped, queue full", "queue_full_total"),
        ("datagrams crowded out", "room_crowded_out_total"),
        ("players admitted", "players_admitted_total"),
        ("players refused", "players_refused_total"),
    ] {
        figures.push((words.to_owned(), format!("{:.0}", last.metrics.since(&first.metrics, name))));
    }
    Verdict { title: String::new(), checks, figures, stopped_early: false }
}

/// The honest players' error is what it was without the attack.
fn error(control: &Seen, seen: &Seen) -> Check {
    let ((before, before_error), (after, after_error)) = (control.mean(), seen.mean());
    let noise = STANDARD_ERRORS * (before_error * before_error + after_error * after_error).sqrt();
    let most = before * (1.0 + ERROR_GROWTH_MAX) + noise;
    let what = format!(
        "the honest players' error grows by at most {:.0} % and {STANDARD_ERRORS:.0} standard errors",
        100.0 * ERROR_GROWTH_MAX
    );
    let measured = format!(
        "{after:.4} +- {after_error:.4} units under attack, {before:.4} +- {before_error:.4} without; {most:.4} allowed"
    );
    Check::new(what, after <= most && !seen.windows.is_empty(), measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_passes_and_a_larger_error_fails() {
        let seen = |windows: &[f64]| Seen { windows: windows.to_vec(), ..Seen::default() };
        let control = seen(&[1.0, 1.1, 0.9, 1.0]);
        assert!(error(&control, &seen(&[1.05, 1.0, 1.1, 0.95])).passed);
        assert!(!error(&control, &seen(&[1.9, 2.0, 2.1, 2.0])).passed);
        assert!(!error(&control, &Seen::default()).passed, "nothing was seen");
    }

    #[test]
    fn every_kind_has_its_own_count() {
        for (index, (kind, _)) in Kind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, index);
        }
    }
}
