//! A campaign: many games on several threads, with progress that is written down and can be taken up again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Once, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::game::{Game, Machine, Violation};
use crate::shrink::shrink;

/// Games that a thread plays before it reports.
const BATCH: u64 = 64;
/// Failures that are shrunk; further ones are only named.
const SHRUNK_MAX: usize = 12;
/// How often progress is written.
const WRITE_EVERY: Duration = Duration::from_secs(5);
/// Campaigns leave room for this many seeds each.
const SEEDS: u64 = 1 << 40;
/// The name of the threads whose panics are findings, not crashes of this program.
const PLAYER: &str = "campaign-player";

/// What is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Campaign {
    /// How many games.
    pub games: u64,
    /// The number of the campaign. Each has seeds of its own.
    pub seed: u64,
    /// The machine; any, if absent.
    pub machine: Option<Machine>,
    /// How many threads play.
    pub jobs: usize,
    /// Failures after which it ends: there is enough to do.
    pub failures_max: usize,
}

/// What has been played of one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Games.
    pub games: u64,
    /// Calls that machines handled.
    pub calls: u64,
    /// Accounts compared with the truth.
    pub compared: u64,
    /// Accounts that the ledger counts as estimated.
    pub estimated: u64,
    /// Reliable messages, or entities, that were followed to their end.
    pub followed: u64,
    /// The most memory that a game held, in bytes.
    pub memory_max: i64,
}

/// A game that broke an invariant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The seed of the game that failed first.
    pub seed: u64,
    /// The invariant, and what was seen in the shortest game.
    pub what: String,
    /// The shortest game, as a test.
    pub test: String,
}

/// How far a campaign is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The number of the campaign.
    pub seed: u64,
    /// Its machine; any, if absent.
    pub machine: Option<String>,
    /// Games played.
    pub games: u64,
    /// Seconds played.
    pub seconds: f64,
    /// By machine.
    pub machines: BTreeMap<String, Tally>,
    /// What failed.
    pub failures: Vec<Failure>,
}

impl Progress {
    /// No game of a campaign.
    #[must_use]
    pub fn new(campaign: &Campaign) -> Self {
        let machine = campaign.machine.map(|machine| machine.name().to_owned());
        Self { seed: campaign.seed, machine, ..Self::default() }
    }

    /// Reads what was written of a campaign; a fresh one if the file does not exist.
    ///
    /// # Errors
    /// If the file cannot be read, or is of another campaign.
    pub fn read(campaign: &Campaign, path: &Path) -> Result<Self> {
        let fresh = Self::new(campaign);
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(fresh),
            read => read.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let read: Self = serde_json::from_str(&text)
            .with_context(|| format!("{} holds no campaign: name another file", path.display()))?;
        if (read.seed, &read.machine) != (fresh.seed, &fresh.machine) {
            bail!("{} is of another campaign (seed {}): name another file", path.display(), read.seed);
        }
        Ok(read)
    }

    /// Writes the progress, in one step.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let aside = path.with_extension("part");
        let text = serde_json::to_string_pretty(self)?;
        std::fs::write(&aside, text).with_context(|| format!("cannot write {}", aside.display()))?;
        std::fs::rename(&aside, path).with_context(|| format!("cannot write {}", path.display()))
    }

    fn merge(&mut self, batch: Batch) {
        self.games += batch.games;
        for (machine, new) in batch.tallies {
            let tally = self.machines.entry(machine.name().to_owned()).or_default();
            tally.games += new.games;
            tally.calls += new.calls;
            tally.compared += new.compared;
            tally.estimated += new.estimated;
            tally.followed += new.followed;
            tally.memory_max = tally.memory_max.max(new.memory_max);
        }
        self.failures.extend(batch.failures);
    }
}

/// Consecutive games.
#[derive(Default)]
struct Batch {
    games: u64,
    tallies: BTreeMap<Machine, Tally>,
    failures: Vec<Failure>,
}

impl Batch {
    fn play(
        campaign: &Campaign,
        first: u64,
        end: u64,
        is_stopped: &AtomicBool,
        shrunk: &AtomicUsize,
    ) -> Self {
        let mut batch = Self::default();
        for number in first..end {
            if is_stopped.load(Ordering::Relaxed) {
                break;
            }
            batch.add(&Game::of_seed(campaign.seed.wrapping_mul(SEEDS) + number, campaign.machine), shrunk);
        }
        batch
    }

    fn add(&mut self, game: &Game, shrunk: &AtomicUsize) {
        self.games += 1;
        let tally = self.tallies.entry(game.machine).or_default();
        tally.games += 1;
        match game.play() {
            Ok(played) => {
                tally.calls += played.calls;
                tally.compared += played.compared;
                tally.estimated += played.estimated;
                tally.followed += played.followed;
                tally.memory_max = tally.memory_max.max(played.memory);
            }
            Err(violation) if shrunk.fetch_add(1, Ordering::Relaxed) < SHRUNK_MAX => {
                self.failures.push(failure(game, &violation));
            }
            Err(violation) => self.failures.push(named(game, &violation)),
        }
    }
}

/// Shrinks a game that failed.
fn failure(game: &Game, violation: &Violation) -> Failure {
    let (least, violation) = shrink(game, violation);
    Failure { seed: game.seed, ..named(&least, &violation) }
}

fn named(game: &Game, Violation { invariant, what }: &Violation) -> Failure {
    Failure { seed: game.seed, what: format!("{invariant:?}: {what}"), test: game.to_string() }
}

/// Plays one game, and shrinks it if it fails.
#[must_use]
pub fn play_one(game: &Game) -> Option<Failure> {
    quiet_panics();
    let player = std::thread::Builder::new().name(PLAYER.to_owned());
    let game = *game;
    let played = player.spawn(move || game.play().err().map(|violation| failure(&game, &violation)));
    played.ok().and_then(|thread| thread.join().ok()).flatten()
}

/// Plays what is left of a campaign. `watch` sees the progress from time to time; it is written to `file` if there is one.
///
/// # Errors
/// If the progress cannot be written.
pub fn run(
    campaign: &Campaign,
    mut progress: Progress,
    file: Option<&Path>,
    is_stopped: &AtomicBool,
    mut watch: impl FnMut(&Progress),
) -> Result<Progress> {
    quiet_panics();
    let (start, seconds_before) = (Instant::now(), progress.seconds);
    let (next, shrunk) = (AtomicU64::new(progress.games), AtomicUsize::new(progress.failures.len()));
    let (report, reports) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..campaign.jobs.max(1) {
            let (report, next, shrunk) = (report.clone(), &next, &shrunk);
            let player = std::thread::Builder::new().name(PLAYER.to_owned());
            player.spawn_scoped(scope, move || {
                while !is_stopped.load(Ordering::Relaxed) {
                    let first = next.fetch_add(BATCH, Ordering::Relaxed);
                    if first >= campaign.games {
                        break;
                    }
                    let end = (first + BATCH).min(campaign.games);
                    let batch = Batch::play(campaign, first, end, is_stopped, shrunk);
                    // A batch that was interrupted is played again.
                    if batch.games < end - first || report.send((first, batch)).is_err() {
                        break;
                    }
                }
            })?;
        }
        drop(report);
        // Batches count in order, so that what is written is a beginning of the campaign.
        let (mut waiting, mut written) = (BTreeMap::new(), Instant::now());
        for (first, batch) in reports {
            waiting.insert(first, batch);
            while let Some(batch) = waiting.remove(&progress.games) {
                progress.merge(batch);
            }
            if progress.failures.len() >= campaign.failures_max {
                is_stopped.store(true, Ordering::Relaxed);
            }
            progress.seconds = seconds_before + start.elapsed().as_secs_f64();
            watch(&progress);
            if let Some(file) = file.filter(|_| written.elapsed() >= WRITE_EVERY) {
                progress.write(file)?;
                written = Instant::now();
            }
        }
        Ok::<(), anyhow::Error>(())
    })?;
    if let Some(file) = file {
        progress.write(file)?;
    }
    Ok(progress)
}

/// Panics of machines are findings, which are printed once, as tests.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name() != Some(PLAYER) {
                usual(panic);
            }
        }));
    });
}
