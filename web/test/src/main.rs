//! Tests in a real browser: headless Chromium, the real `evenkeel` binary, real relays on free ports of this machine.
//!
//! `cargo xtask browser` builds what is needed and runs all of them; `cargo xtask browser NAME` those whose names hold NAME. `cargo xtask
//! soak arena` is in [`soak`].
//!
//! Each test has a [`Stage`] of its own: fresh browser contexts, relays that end with it, a scratch folder. Whatever it is
//! about, at its end nothing may have been written to a console as a warning or an error, and no request may have been for
//! another machine. Tests wait for conditions, with limits that a busy machine does not reach.

mod accessible;
mod arena;
mod cdp;
mod chromium;
mod frames;
mod http;
mod page;
mod relay;
mod serve;
mod soak;
mod stage;
mod switch;
mod tests;
mod witness;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::chromium::Chromium;
use crate::serve::Server;
use crate::stage::{Place, Stage};

/// A behaviour, and how it is seen.
#[derive(Clone, Copy)]
struct Test {
    /// A sentence.
    name: &'static str,
    run: fn(&Stage<'_>) -> Result<()>,
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

/// Whether everything is as it should be.
fn run(words: &[String]) -> Result<bool> {
    let Some((evenkeel, names)) = words.split_first() else {
        bail!("usage: evenkeel-web-test PATH-OF-EVENKEEL [NAME...]; `cargo xtask browser` knows the path");
    };
    // It is started in other folders.
    let evenkeel = Path::new(evenkeel).canonicalize().with_context(|| format!("there is no {evenkeel}"))?;
    let root = repository();
    if let [first, words @ ..] = names
        && first == "--soak"
    {
        return soak::run(&evenkeel, &root, words);
    }
    let chosen: Vec<Test> = tests::all().into_iter().filter(|test| is_chosen(test.name, names)).collect();
    if chosen.is_empty() {
        bail!("no test has `{}` in its name", names.join(" "));
    }
    let server = Server::start(&root)?;
    let chromium = Chromium::start()?;
    let place = Place { evenkeel: &evenkeel, root: &root, server: &server, chromium: &chromium };
    let mut failed = 0;
    for test in &chosen {
        let started = Instant::now();
        let outcome = Stage::play(&place, test.name, test.run);
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

/// Whether every word is in the name.
fn is_chosen(name: &str, words: &[String]) -> bool {
    words.iter().all(|word| name.contains(word.as_str()))
}

/// Cargo tells the running program where its manifest lies; the value at build time serves one that is started by hand.
fn repository() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let folder = PathBuf::from(manifest).join("../..");
    folder.canonicalize().context("the repository is not where it was").unwrap_or(folder)
}
