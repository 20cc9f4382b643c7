//! Tests in a real browser: headless Chromium, the real `evenkeel` binary, real relays on free ports of this
//! machine.
//!
//! `cargo xtask browser` builds what is needed and runs all of them; `cargo xtask browser NAME` runs those
//! whose names contain NAME. `cargo xtask soak arena` is in [`soak`].
//!
//! Each test has a [`Fixture`] of its own: fresh browser contexts, relays that stop with it, a scratch folder.
//! Every test fails if a console received a warning or an error, or if a request went to another machine.
//! Tests wait for conditions, with timeouts that a busy machine does not reach.

mod accessibility;
mod arena;
mod browser_log;
mod cdp;
mod chromium;
mod file_server;
mod fixture;
mod frames;
mod http;
mod page;
mod relay;
mod soak;
mod switch;
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::chromium::Chromium;
use crate::file_server::FileServer;
use crate::fixture::{Fixture, Harness};

/// A browser test.
#[derive(Clone, Copy)]
struct Test {
    /// A sentence that states the behaviour.
    name: &'static str,
    run: fn(&Fixture<'_>) -> Result<()>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether everything passed.
fn run(words: &[String]) -> Result<bool> {
    let Some((evenkeel, names)) = words.split_first() else {
        bail!("usage: evenkeel-web-test PATH-OF-EVENKEEL [NAME...]; `cargo xtask browser` knows the path");
    };
    // Absolute, since it is started in other folders.
    let evenkeel =
        Path::new(evenkeel).canonicalize().with_context(|| format!("{evenkeel} does not exist"))?;
    let root = repository();
    if let [first, words @ ..] = names
        && first == "--soak"
    {
        return soak::run(&evenkeel, &root, words);
    }
    // Programs without peer-to-peer play would fail these.
    let (all, names) = match names {
        [first, names @ ..] if first == "--p2p" => (tests::p2p(), names),
        names => (tests::all(), names),
    };
    let chosen: Vec<Test> = all.into_iter().filter(|test| matches(test.name, names)).collect();
    if chosen.is_empty() {
        bail!("no test has `{}` in its name", names.join(" "));
    }
    let server = FileServer::start(&root)?;
    let chromium = Chromium::start()?;
    let harness = Harness { evenkeel: &evenkeel, root: &root, server: &server, chromium: &chromium };
    let mut failed = 0;
    for test in &chosen {
        let started = Instant::now();
        let outcome = Fixture::run(&harness, test.name, test.run);
        let took = started.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => println!("passed  {} ({took:.1} s)", test.name),
            Err(error) => {
                failed += 1;
                println!("FAILED  {} ({took:.1} s)\n{error:#}", test.name);
            }
        }
    }
    if failed > 0 {
        bail!("{failed} of {} browser tests failed", chosen.len());
    }
    println!("{} browser tests passed, with {}", chosen.len(), chromium.version);
    Ok(true)
}

/// Returns whether a test's name contains every word.
fn matches(name: &str, words: &[String]) -> bool {
    words.iter().all(|word| name.contains(word.as_str()))
}

/// The manifest's folder at run time if cargo runs the program, else at build time.
fn repository() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let folder = PathBuf::from(manifest).join("../..");
    folder.canonicalize().context("the repository has moved").unwrap_or(folder)
}
