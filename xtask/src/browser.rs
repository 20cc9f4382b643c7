//! Tests in a real browser: builds the `evenkeel` binary and the crate that drives Chromium, `web/test`, and runs it.

use std::path::Path;

use anyhow::Result;

use crate::Outcome;
use crate::cargo;

pub(crate) fn run(root: &Path) -> Result<Outcome> {
    run_named(root, &[])
}

/// Runs the tests whose names hold all of these words.
pub(crate) fn run_named(root: &Path, words: &[&str]) -> Result<Outcome> {
    let evenkeel = cargo::build(root, &["--package", "evenkeel", "--bin", "evenkeel"])?;
    let mut tests = cargo::command(root);
    tests.args(["run", "--quiet", "--locked", "--package", "evenkeel-web-test", "--"]);
    cargo::run(tests.arg(evenkeel).args(words), "repair what failed above")
}

/// An arena and a browser for a long time: the release, since that is what people run.
pub(crate) fn soak(root: &Path, words: &[&str]) -> Result<Outcome> {
    let evenkeel = cargo::build(root, &["--release", "--package", "evenkeel", "--bin", "evenkeel"])?;
    let mut soak = cargo::command(root);
    soak.args(["run", "--quiet", "--locked", "--package", "evenkeel-web-test", "--"]);
    cargo::run(soak.arg(evenkeel).arg("--soak").args(words), "it says above what did not hold")
}
