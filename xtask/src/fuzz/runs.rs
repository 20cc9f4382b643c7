//! Runs of targets: in turn, several at a time, until the time is up, one crashes or somebody presses Ctrl-C.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::options::FuzzOptions;
use super::report::{self, Figures};

/// The most memory of a target, in megabytes: far above that of full queues.
const MEMORY_MB_MAX: usize = 1024;
/// The longest that one input may take.
const INPUT_SECONDS_MAX: usize = 20;
/// How often the runs are looked at.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a run may take to stop by the signal of the terminal, before it gets one of its own.
const GRACE: Duration = Duration::from_secs(1);

/// A target that runs.
struct Running {
    target: String,
    child: Child,
    log: PathBuf,
    started: Instant,
}

/// Runs the targets that the options name, and tells of each run that ends well.
pub(super) fn run(
    root: &Path,
    options: &FuzzOptions,
    tell: &mut dyn FnMut(&str, &Figures) -> Result<()>,
) -> Result<()> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_stopped);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed)).context("Ctrl-C cannot be handled")?;
    let mut schedule = Schedule::new(options);
    let mut running: Vec<Running> = Vec::new();
    let mut outcome = Ok(());
    loop {
        while running.len() < options.jobs && outcome.is_ok() && !is_stopped.load(Ordering::Relaxed) {
            let busy: Vec<&str> = running.iter().map(|run| run.target.as_str()).collect();
            let Some((target, seconds)) = schedule.next(&busy) else { break };
            match start(root, &target, seconds) {
                Ok(run) => running.push(run),
                Err(error) => outcome = Err(error),
            }
        }
        if running.is_empty() {
            break;
        }
        sleep(PAUSE);
        let (ended, rest) = running
            .into_iter()
            .map(|mut run| (!matches!(run.child.try_wait(), Ok(None)), run))
            .partition::<Vec<_>, _>(|(is_over, _)| *is_over);
        running = rest.into_iter().map(|(_, run)| run).collect();
        for (_, run) in ended {
            let ended = conclude(root, run, is_stopped.load(Ordering::Relaxed));
            let ended = ended.and_then(|(target, figures)| tell(&target, &figures));
            outcome = outcome.and(ended);
        }
        if outcome.is_err() || is_stopped.load(Ordering::Relaxed) {
            stop(&mut running);
        }
    }
    if is_stopped.load(Ordering::Relaxed) {
        println!("xtask: stopped by Ctrl-C");
    }
    outcome
}

/// Whose turn it is.
struct Schedule<'a> {
    options: &'a FuzzOptions,
    /// How many runs have begun.
    begun: usize,
    ends: Option<Instant>,
}

impl<'a> Schedule<'a> {
    fn new(options: &'a FuzzOptions) -> Self {
        let ends = options.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
        Self { options, begun: 0, ends }
    }

    /// The next target and for how many seconds it runs; `None` if there is none, or if its last run is not over.
    fn next(&mut self, busy: &[&str]) -> Option<(String, u64)> {
        let all = &self.options.targets;
        let mut seconds = self.options.seconds;
        match self.ends {
            Some(ends) => seconds = seconds.min(ends.saturating_duration_since(Instant::now()).as_secs()),
            None if self.begun == all.len() => return None,
            None => {}
        }
        let target = &all[self.begun % all.len()];
        if seconds == 0 || busy.contains(&target.as_str()) {
            return None;
        }
        self.begun += 1;
        Some((target.clone(), seconds))
    }
}

fn start(root: &Path, target: &str, seconds: u64) -> Result<Running> {
    println!("xtask: fuzz {target} for {seconds} s ...");
    let artifacts = root.join("fuzz/artifacts").join(target);
    fs::create_dir_all(&artifacts).with_context(|| format!("cannot make {}", artifacts.display()))?;
    let log = artifacts.with_extension("log");
    let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let tracked = super::corpus::tracked(root, target);
    let child = super::program(root, target)?
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args([format!("-max_total_time={seconds}"), format!("-max_len={}", super::LEN_MAX)])
        .args(["-len_control=0", "-print_final_stats=1", "-timeout_exitcode=70"])
        .args([format!("-timeout={INPUT_SECONDS_MAX}"), format!("-rss_limit_mb={MEMORY_MB_MAX}")])
        // New inputs go to the first.
        .arg(super::working_corpus(root, target))
        .args(tracked.is_dir().then_some(tracked))
        .stderr(file)
        .spawn()
        .with_context(|| format!("cannot start the fuzz target {target}"))?;
    Ok(Running { target: target.to_owned(), child, log, started: Instant::now() })
}

/// Reads what a run that is over has printed.
fn conclude(root: &Path, mut run: Running, is_stopped: bool) -> Result<(String, Figures)> {
    let status = run.child.wait().context("a fuzz target is gone")?;
    // A panic may print bytes that are not UTF-8.
    let output = String::from_utf8_lossy(&fs::read(&run.log)?).into_owned();
    let has_crashed = output.contains("Test unit written to ");
    if has_crashed || !(status.success() || is_stopped) {
        bail!("{}", report::crash(root, &run.target, &output, &run.log));
    }
    let figures = Figures::parse(&output, run.started.elapsed().as_secs());
    let Figures { executions, edges, features, .. } = figures;
    println!("xtask: fuzz {}: {executions} executions, {edges} edges, {features} features", run.target);
    Ok((run.target, figures))
}

/// Stops runs as Ctrl-C does, so that they print their figures.
fn stop(running: &mut [Running]) {
    let asked = Instant::now();
    while asked.elapsed() < GRACE && running.iter_mut().any(|run| matches!(run.child.try_wait(), Ok(None))) {
        sleep(PAUSE);
    }
    for run in running.iter_mut().filter_map(|run| matches!(run.child.try_wait(), Ok(None)).then_some(run)) {
        let asks =
            Command::new("kill").args(["-INT", &run.child.id().to_string()]).stderr(Stdio::null()).status();
        if !asks.is_ok_and(|status| status.success()) {
            let _ = run.child.kill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(minutes: Option<u64>) -> FuzzOptions {
        let targets = vec!["a".to_owned(), "b".to_owned()];
        FuzzOptions { seconds: 7, minutes, jobs: 2, records: false, minimizes: false, targets }
    }

    #[test]
    fn without_minutes_every_target_runs_once() {
        let options = options(None);
        let mut schedule = Schedule::new(&options);
        assert_eq!(schedule.next(&[]), Some(("a".to_owned(), 7)));
        assert_eq!(schedule.next(&["a"]), Some(("b".to_owned(), 7)));
        assert_eq!(schedule.next(&[]), None);
    }

    #[test]
    fn with_minutes_targets_take_turns_and_none_runs_twice_at_a_time() {
        let options = options(Some(9));
        let mut schedule = Schedule::new(&options);
        let first: Vec<_> = (0..3).filter_map(|_| schedule.next(&[])).map(|(target, _)| target).collect();
        assert_eq!(first, ["a", "b", "a"]);
        assert_eq!(schedule.next(&["b"]), None);
        schedule.ends = Some(Instant::now());
        assert_eq!(schedule.next(&[]), None);
    }
}
