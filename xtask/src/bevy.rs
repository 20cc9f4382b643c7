//! The crate for Bevy, a workspace of its own: `test` leaves it out, because Bevy takes longer to build than all the rest.

use std::path::Path;

use anyhow::Result;

use crate::cargo;

/// The crate `bevy` asks for a newer Rust than those of its parts that are used here, which build with ours.
const COMMON: [&str; 2] = ["--locked", "--ignore-rust-version"];

/// Lints and tests both plugins.
pub(crate) fn run(root: &Path) -> Result<()> {
    let folder = root.join("bevy");
    let command = || cargo::command(&folder);
    let features = ["--features", "replicon"];
    let lint = ["--", "-D", "warnings"];
    cargo::run(
        command().args(["clippy", "--all-targets"]).args(features).args(COMMON).args(lint),
        "fix the lints above",
    )?;
    // With their figures.
    let shown = ["--", "--nocapture"];
    cargo::run(
        command().arg("test").args(features).args(COMMON).args(shown),
        "fix the tests that failed above",
    )
}

/// Lints the example with sprites, which brings Bevy's renderer along.
pub(crate) fn run_play(root: &Path) -> Result<()> {
    let mut clippy = cargo::command(&root.join("bevy"));
    clippy.args(["clippy", "--example", "play", "--features", "play"]).args(COMMON);
    cargo::run(clippy.args(["--", "-D", "warnings"]), "fix the lints above")
}
