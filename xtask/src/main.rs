//! The project's own chores, run as `cargo xtask <task>`: everything that CI runs, on any machine that has Rust.
//!
//! `cargo xtask test` runs all checks in the order of [`TASKS`] and stops at the first that fails. Each check can also
//! be run by its own name. `cargo xtask fuzz` is not among them: it has no end but the one it is given.

mod browser;
mod cargo;
mod files;
mod fuzz;
mod instructions;
mod layers;
mod metadata;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;

/// One task of the command line, and one step of `test`.
struct Task {
    name: &'static str,
    about: &'static str,
    run: fn(&Path) -> Result<Outcome>,
}

/// How a check ended that found nothing wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// It needs a tool that is not here, and has said so: not a failure, but not a pass either.
    Skipped,
}

/// The checks, in the order in which `test` runs them.
const TASKS: [Task; 9] = [
    Task { name: "fmt", about: "check the formatting (`fmt --write` repairs it)", run: cargo::fmt_check },
    Task { name: "clippy", about: "lint every target; a warning is an error", run: cargo::clippy },
    Task { name: "unit", about: "run unit, integration and doc tests", run: cargo::unit },
    Task { name: "browser", about: "run the browser's client and pages in Chromium", run: browser::run },
    Task { name: "doc", about: "build the documentation; a warning is an error", run: cargo::doc },
    Task { name: "layers", about: "check who imports whom", run: layers::run },
    Task { name: "tidy", about: "check sizes, white space, leftovers and links", run: tidy::run },
    Task {
        name: "instructions",
        about: "count what the hot path costs, with valgrind",
        run: instructions::run,
    },
    Task { name: "deny", about: "check licences, bans and sources with cargo-deny", run: cargo::deny },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = workspace_root();
    match words.as_slice() {
        [] | ["help" | "--help" | "-h"] => {
            print!("{}", usage());
            ExitCode::SUCCESS
        }
        ["test"] => run_all(&root),
        ["soak", "arena", words @ ..] => {
            conclude(browser::soak(&root, words).inspect_err(|error| eprintln!("{error:#}")))
        }
        ["soak", words @ ..] => cargo::soak(&root, words),
        ["fmt", "--write"] => {
            let write = Task { name: "fmt --write", about: "", run: cargo::fmt_write };
            conclude(run_task(&write, &root))
        }
        ["browser", words @ ..] if !words.is_empty() => {
            conclude(browser::run_named(&root, words).inspect_err(|error| eprintln!("{error:#}")))
        }
        ["fuzz", rest @ ..] => conclude(fuzz::run(&root, rest).inspect_err(|error| eprintln!("{error:#}"))),
        // What `fmt` does anyway; spelled out by those who know cargo's own flag.
        ["fmt", "--check"] => conclude(run_task(&TASKS[0], &root)),
        [name] if let Some(task) = TASKS.iter().find(|task| task.name == *name) => {
            conclude(run_task(task, &root))
        }
        _ => {
            eprintln!("xtask: no task is called `{}`\n\n{}", words.join(" "), usage());
            ExitCode::from(2)
        }
    }
}

/// Cargo tells the running binary where its manifest lies. The value at build time serves a binary that is started
/// by hand; it comes second, since clones that share a target folder can share the binary.
fn workspace_root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let manifest = PathBuf::from(manifest);
    manifest.parent().map(Path::to_path_buf).unwrap_or(manifest)
}

fn run_all(root: &Path) -> ExitCode {
    let started = Instant::now();
    let mut skipped = Vec::new();
    for (done, task) in TASKS.iter().enumerate() {
        match run_task(task, root) {
            Ok(Outcome::Passed) => {}
            Ok(Outcome::Skipped) => skipped.push(task.name),
            Err(_) => {
                let (name, steps) = (task.name, TASKS.len());
                eprintln!("xtask: test FAILED at `{name}`, step {} of {steps}", done + 1);
                eprintln!("xtask: run `cargo xtask {name}` to see it alone");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{}", summary(&skipped, started.elapsed()));
    ExitCode::SUCCESS
}

fn summary(skipped: &[&str], took: Duration) -> String {
    let passed = TASKS.len() - skipped.len();
    let mut line = format!("xtask: {passed} of {} steps passed in {}", TASKS.len(), seconds(took));
    if !skipped.is_empty() {
        line.push_str(&format!("; skipped: {}", skipped.join(", ")));
    }
    line
}

/// Runs one task between two lines that name it, so that a log shows where its output begins and what it cost.
fn run_task(task: &Task, root: &Path) -> Result<Outcome> {
    println!("xtask: {} ...", task.name);
    let started = Instant::now();
    let outcome = (task.run)(root);
    let took = seconds(started.elapsed());
    match &outcome {
        Ok(Outcome::Passed) => println!("xtask: {} passed in {took}", task.name),
        Ok(Outcome::Skipped) => println!("xtask: {} skipped", task.name),
        Err(error) => eprintln!("{error:#}\nxtask: {} FAILED after {took}", task.name),
    }
    outcome
}

fn conclude(outcome: Result<Outcome>) -> ExitCode {
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn seconds(span: Duration) -> String {
    format!("{:.1} s", span.as_secs_f64())
}

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask <task>\n\n");
    text.push_str("  test         everything below, in this order\n");
    for task in &TASKS {
        text.push_str(&format!("  {:<12} {}\n", task.name, task.about));
    }
    text.push_str(&format!("  fuzz {}  run fuzz targets, each for a minute\n", fuzz::USAGE));
    text.push_str(
        "  soak arena   build the release and play in its arena with Chromium, two hours or --minutes M; --switch: what the switch does\n",
    );
    text.push_str(
        "  soak         build the release and run `evenkeel lab soak`, with what follows as arguments\n",
    );
    text.push_str("  help         this text\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_has_one_line_per_task() {
        let usage = usage();
        for task in &TASKS {
            let lines = usage.lines().filter(|line| line.split_whitespace().next() == Some(task.name));
            assert_eq!(lines.count(), 1, "{}", task.name);
        }
    }

    #[test]
    fn a_skipped_step_does_not_count_as_passed() {
        let took = Duration::from_millis(1_500);
        assert_eq!(summary(&[], took), "xtask: 9 of 9 steps passed in 1.5 s");
        assert_eq!(summary(&["deny"], took), "xtask: 8 of 9 steps passed in 1.5 s; skipped: deny");
    }
}
