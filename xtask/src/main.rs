//! The project's tasks, run as `cargo xtask <task>`: everything that CI runs, on any machine with Rust.
//!
//! `cargo xtask test` runs all checks in the order of [`TASKS`] and stops at the first failure. Each check also runs by
//! its own name. A check that needs a missing tool installs it, or fails and says what to install; only `instructions`
//! checks nothing on processors that its limits are not for, and says so.

mod apt;
mod bevy;
mod browser;
mod cargo;
mod deny;
mod files;
mod fuzz;
#[cfg(unix)]
mod games;
mod instructions;
mod layers;
mod metadata;
mod package;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;

/// A check: a task of its own and a step of `test`.
struct Task {
    name: &'static str,
    about: &'static str,
    run: fn(&Path) -> Result<()>,
}

/// The checks, in the order in which `test` runs them.
const TASKS: [Task; 11] = [
    Task { name: "fmt", about: "check the formatting (`fmt --write` fixes it)", run: cargo::fmt_check },
    Task { name: "clippy", about: "lint every target; warnings are errors", run: cargo::clippy },
    Task { name: "unit", about: "run unit, integration and doc tests", run: cargo::unit },
    Task { name: "campaign", about: "play 10,000 games under random faults", run: cargo::campaign_check },
    Task { name: "browser", about: "test the browser client and its pages in Chromium", run: browser::run },
    Task { name: "doc", about: "build the documentation; warnings are errors", run: cargo::doc },
    Task { name: "layers", about: "check which crate imports which", run: layers::run },
    Task { name: "package", about: "check that every crate could be published", run: package::run },
    Task {
        name: "tidy",
        about: "check sizes, white space, leftovers, links, type names and corpora",
        run: tidy::run,
    },
    Task {
        name: "instructions",
        about: "count the hot path's instructions with valgrind",
        run: instructions::run,
    },
    Task { name: "deny", about: "check licences, bans and sources of all dependencies", run: deny::run },
];

/// Not a step of `test`, as its dependencies take minutes to build.
const P2P: Task = Task { name: "p2p", about: "lint and test peer-to-peer play", run: p2p };

fn p2p(root: &Path) -> Result<()> {
    cargo::p2p(root)?;
    browser::run_p2p(root)
}

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
        ["p2p"] => conclude(run_task(&P2P, &root)),
        #[cfg(unix)]
        ["games"] => conclude(games::run(&root).inspect_err(|error| eprintln!("{error:#}"))),
        ["soak", "arena", words @ ..] => {
            conclude(browser::soak(&root, words).inspect_err(|error| eprintln!("{error:#}")))
        }
        ["soak", words @ ..] => cargo::soak(&root, words),
        ["bevy"] => {
            let bevy = Task { name: "bevy", about: "", run: bevy::run };
            conclude(run_task(&bevy, &root))
        }
        ["bevy", "play"] => {
            let play = Task { name: "bevy play", about: "", run: bevy::run_play };
            conclude(run_task(&play, &root))
        }
        ["campaign", words @ ..] if !words.is_empty() => cargo::campaign(&root, words),
        ["fmt", "--write"] => {
            let write = Task { name: "fmt --write", about: "", run: cargo::fmt_write };
            conclude(run_task(&write, &root))
        }
        ["browser", words @ ..] if !words.is_empty() => {
            conclude(browser::run_named(&root, words).inspect_err(|error| eprintln!("{error:#}")))
        }
        ["fuzz", rest @ ..] => conclude(fuzz::run(&root, rest).inspect_err(|error| eprintln!("{error:#}"))),
        // An alias for `fmt`, after cargo's own flag.
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

/// Cargo's variable at run time comes first: clones that share a target folder share the binary, which may have been
/// built in another clone. A binary started by hand falls back to the folder it was built in.
fn workspace_root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let manifest = PathBuf::from(manifest);
    manifest.parent().map(Path::to_path_buf).unwrap_or(manifest)
}

fn run_all(root: &Path) -> ExitCode {
    let started = Instant::now();
    let steps = TASKS.len();
    for (step, task) in (1..).zip(&TASKS) {
        if run_task(task, root).is_err() {
            let name = task.name;
            eprintln!("xtask: test FAILED at `{name}`, step {step} of {steps}");
            eprintln!("xtask: run `cargo xtask {name}` for this step alone");
            return ExitCode::FAILURE;
        }
    }
    println!("xtask: all {steps} steps passed in {}", seconds(started.elapsed()));
    ExitCode::SUCCESS
}

/// Runs one task between two lines that name it, so that a log shows where its output begins and how long it took.
fn run_task(task: &Task, root: &Path) -> Result<()> {
    println!("xtask: {} ...", task.name);
    let started = Instant::now();
    let outcome = (task.run)(root);
    let took = seconds(started.elapsed());
    match &outcome {
        Ok(()) => println!("xtask: {} passed in {took}", task.name),
        Err(error) => eprintln!("{error:#}\nxtask: {} FAILED after {took}", task.name),
    }
    outcome
}

fn conclude(outcome: Result<()>) -> ExitCode {
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
    text.push_str(&format!("  fuzz {}\n", fuzz::USAGE));
    text.push_str(
        "               run fuzz targets, for a minute each; --minutes repeats them in turn, --record counts,\n",
    );
    text.push_str("               --minimize writes small corpora into the repository instead\n");
    text.push_str(
        "  campaign ... build the release and play as many games as `--games` says; `campaign --help`\n",
    );
    text.push_str(
        "  soak arena   build the release and play in its arena with Chromium for two hours; --minutes M; --switch compares policies\n",
    );
    text.push_str(
        "  soak         build the release and run `evenkeel lab soak` with the arguments that follow\n",
    );
    text.push_str(
        "  games        play a real game, Debian's OpenArena, through the proxies of `evenkeel sync-ms` for a minute\n",
    );
    text.push_str("  p2p          lint and test peer-to-peer play, which `test` leaves out: it takes minutes to build\n");
    text.push_str("  bevy         lint and test the plugins for Bevy, a workspace of its own; `bevy play` lints the example with sprites\n");
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
            let is_of = |line: &&str| line.trim_start().starts_with(task.name) && line.ends_with(task.about);
            let lines = usage.lines().filter(is_of);
            assert_eq!(lines.count(), 1, "{}", task.name);
        }
    }
}
