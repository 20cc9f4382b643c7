//! Tests in a real browser: builds the `evenkeel` binary and runs `web/test`, which drives Chromium and installs it if
//! it is missing.

use std::path::Path;

use anyhow::Result;

use crate::cargo;

pub(crate) fn run(root: &Path) -> Result<()> {
    run_named(root, &[])
}

/// Runs the tests whose names contain all of these words.
pub(crate) fn run_named(root: &Path, words: &[&str]) -> Result<()> {
    let evenkeel = cargo::build(root, &["--package", "evenkeel-cli", "--bin", "evenkeel"])?;
    let mut tests = cargo::command(root);
    tests.args(["run", "--quiet", "--locked", "--package", "evenkeel-web-test", "--"]);
    cargo::run(tests.arg(evenkeel).args(words), "fix the tests that failed above")
}

/// Tests the page of the program with peer-to-peer play.
pub(crate) fn run_p2p(root: &Path) -> Result<()> {
    let what = ["--package", "evenkeel-cli", "--bin", "evenkeel", "--features", "p2p"];
    let evenkeel = cargo::build(root, &what)?;
    let mut tests = cargo::command(root);
    tests.args(["run", "--quiet", "--locked", "--package", "evenkeel-web-test", "--"]);
    cargo::run(tests.arg(evenkeel).arg("--p2p"), "fix the tests that failed above")
}

/// Plays for hours in an arena of the release build.
pub(crate) fn soak(root: &Path, words: &[&str]) -> Result<()> {
    let evenkeel = cargo::build(root, &["--release", "--package", "evenkeel-cli", "--bin", "evenkeel"])?;
    let mut soak = cargo::command(root);
    soak.args(["run", "--quiet", "--locked", "--package", "evenkeel-web-test", "--"]);
    cargo::run(soak.arg(evenkeel).arg("--soak").args(words), "see above which expectation failed")
}
