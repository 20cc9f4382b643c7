//! `cargo xtask campaign`: plays seeded games until one breaks an invariant, or all are played.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use clap::Parser;
use evenkeel_campaign::run::{Campaign, Failure, Progress, play_one, run};
use evenkeel_campaign::{Game, Machine};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const EXAMPLES: &str = "Examples:
  cargo xtask campaign --games 100000
  cargo xtask campaign --games 1000000 --resume target/campaign.json   # goes on where it stopped
  cargo xtask campaign --games 5000 --machine dr-relay --jobs 1 --json
  cargo xtask campaign --only 1099511628032                            # one game, by its seed

Status: 0 if every invariant held, 1 if one broke, 2 for wrong arguments, 130 if interrupted.";

/// Play seeded games of every machine under random faults, and check what must hold after each.
#[derive(Parser)]
#[command(name = "cargo xtask campaign", bin_name = "cargo xtask campaign", after_help = EXAMPLES)]
struct Arguments {
    /// How many games.
    #[arg(long, default_value_t = 10_000)]
    games: u64,
    /// The number of the campaign; each has seeds of its own.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..1 << 20))]
    seed: u64,
    /// One machine instead of all: dr-direct, dr-relay, sync-ms, objects, neo.
    #[arg(long)]
    machine: Option<Machine>,
    /// How many threads play; all cores by default.
    #[arg(long)]
    jobs: Option<usize>,
    /// The file that progress is written to, and taken up from if it exists.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// End after this many failures.
    #[arg(long, default_value_t = 20)]
    failures: usize,
    /// Play only the game of this seed.
    #[arg(long, value_name = "SEED", conflicts_with_all = ["games", "resume"])]
    only: Option<u64>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    match conduct(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn conduct(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(seed) = arguments.only {
        let failure = play_one(&Game::of_seed(seed, arguments.machine));
        print_failures(failure.as_slice());
        return Ok(if failure.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let campaign = Campaign {
        games: arguments.games,
        seed: arguments.seed,
        machine: arguments.machine,
        jobs: arguments.jobs.unwrap_or(cores),
        failures_max: arguments.failures,
    };
    let file = arguments.resume.as_deref();
    let progress = match file {
        Some(file) => Progress::read(&campaign, file)?,
        None => Progress::new(&campaign),
    };
    let is_stopped = Arc::new(AtomicBool::new(false));
    let (stop, mut was_interrupted) = (Arc::clone(&is_stopped), false);
    let interrupted = Arc::new(AtomicBool::new(false));
    let interrupt = Arc::clone(&interrupted);
    ctrlc::set_handler(move || {
        interrupt.store(true, Ordering::Relaxed);
        stop.store(true, Ordering::Relaxed);
    })
    .context("cannot listen for Ctrl-C")?;
    let bar = progress_bar(campaign.games);
    let progress = run(&campaign, progress, file, &is_stopped, |progress| {
        bar.set_position(progress.games);
        bar.set_message(format!("{} failed", progress.failures.len()));
    })?;
    bar.finish_and_clear();
    was_interrupted |= interrupted.load(Ordering::Relaxed);
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&progress)?);
    } else {
        print_table(&progress);
        print_failures(&progress.failures);
    }
    Ok(match (progress.failures.is_empty(), was_interrupted) {
        (false, _) => ExitCode::FAILURE,
        (true, true) => ExitCode::from(130),
        (true, false) => ExitCode::SUCCESS,
    })
}

fn progress_bar(games: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(Some(games), ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} games, {msg}, {eta} left");
    ProgressBar::new(games).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn print_table(progress: &Progress) {
    println!(
        "{:<12} {:>9} {:>13} {:>11} {:>10} {:>11} {:>10}",
        "machine", "games", "calls", "compared", "estimated", "followed", "memory"
    );
    for (machine, tally) in &progress.machines {
        println!(
            "{:<12} {:>9} {:>13} {:>11} {:>10} {:>11} {:>7} kB",
            machine,
            tally.games,
            tally.calls,
            tally.compared,
            tally.estimated,
            tally.followed,
            tally.memory_max / 1_000
        );
    }
    let failed = progress.failures.len();
    println!("{} games in {:.0} s, {failed} failed", progress.games, progress.seconds);
}

fn print_failures(failures: &[Failure]) {
    for Failure { seed, what, test } in failures {
        println!("\nseed {seed}: {what}\nThe shortest game that shows it:\n{test}");
    }
}
