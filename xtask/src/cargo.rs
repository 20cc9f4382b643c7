//! The steps that are cargo's own commands. They run without a shell and, where the command has the flag, with
//! `--locked`, so that a check sees the committed versions and never changes `Cargo.lock`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The cargo that started this program: it keeps a toolchain chosen with `cargo +name`.
///
/// A CI machine builds everything once: incremental compilation and debug info only cost it time and
/// disk (108 test binaries of 60 MB each shrink to 4 MB).
pub(crate) fn command(root: &Path) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from(env!("CARGO")));
    let mut command = Command::new(cargo);
    command.current_dir(root);
    if std::env::var_os("CI").is_some() {
        command.env("CARGO_INCREMENTAL", "0");
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    }
    command
}

/// The two workspaces: the project's and the fuzz targets'.
pub(crate) const MANIFESTS: [&str; 2] = ["Cargo.toml", "fuzz/Cargo.toml"];

/// Crates that take minutes to build, as their dependencies are large. They are optional parts of the program, so the checks
/// of everything leave them out, and `cargo xtask p2p` checks them.
const PEER_TO_PEER: [&str; 2] = ["evenkeel-p2p", "evenkeel-eater"];

/// All crates of the workspace but those.
fn workspace(command: &mut Command) -> &mut Command {
    command.arg("--workspace");
    PEER_TO_PEER.iter().fold(command, |command, name| command.args(["--exclude", name]))
}

/// Lints, tests and documents what the checks of everything leave out: the crates, and the program with them.
pub(crate) fn p2p(root: &Path) -> Result<()> {
    let program = ["clippy", "--package", "evenkeel-cli", "--features", "p2p", "--all-targets", "--locked"];
    run(command(root).args(program).args(["--", "-D", "warnings"]), "fix the lints above")?;
    let packages = || PEER_TO_PEER.iter().flat_map(|name| ["--package", name]);
    let lints = ["--all-targets", "--locked", "--", "-D", "warnings"];
    run(command(root).arg("clippy").args(packages()).args(lints), "fix the lints above")?;
    run(command(root).arg("test").args(packages()).arg("--locked"), "fix the tests that failed above")?;
    let program = ["test", "--package", "evenkeel-cli", "--features", "p2p", "--locked", "--test", "eater"];
    run(command(root).args(program), "fix the tests that failed above")?;
    let mut doc = command(root);
    doc.arg("doc").args(packages()).args(["--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-D warnings");
    run(&mut doc, "fix the documentation named above")
}

pub(crate) fn fmt_check(root: &Path) -> Result<()> {
    fmt(
        root,
        &["--", "--check"],
        "run `cargo xtask fmt --write` to format (if rustfmt is missing: `rustup component add rustfmt`)",
    )
}

pub(crate) fn fmt_write(root: &Path) -> Result<()> {
    fmt(root, &[], "rustfmt could not read a file, or is missing (`rustup component add rustfmt`)")
}

fn fmt(root: &Path, arguments: &[&str], advice: &str) -> Result<()> {
    // The one for Bevy is formatted here, too, and compiled by `cargo xtask bevy` only.
    for manifest in MANIFESTS.into_iter().chain(["bevy/Cargo.toml"]) {
        let mut fmt = command(root);
        run(fmt.args(["fmt", "--all", "--manifest-path", manifest]).args(arguments), advice)?;
    }
    Ok(())
}

/// Lints both workspaces in one target folder, so that shared crates are checked once.
pub(crate) fn clippy(root: &Path) -> Result<()> {
    for manifest in MANIFESTS {
        let mut clippy = command(root);
        clippy.args(["clippy", "--all-targets", "--locked", "--manifest-path", manifest]);
        if manifest == MANIFESTS[0] {
            workspace(&mut clippy);
        } else {
            clippy.arg("--workspace");
            // Clippy links nothing: claiming a prebuilt libFuzzer spares compiling its C++.
            clippy.args(["--target-dir", "target"]).env("CUSTOM_LIBFUZZER_PATH", "target/none.a");
        }
        run(
            clippy.args(["--", "-D", "warnings"]),
            "fix the lints above (if clippy is missing: `rustup component add clippy`)",
        )?;
    }
    Ok(())
}

/// Runs without `--all-targets`, which would run the benchmarks as tests and leave out the doc tests.
pub(crate) fn unit(root: &Path) -> Result<()> {
    run(workspace(command(root).arg("test")).arg("--locked"), "fix the tests that failed above")
}

pub(crate) fn doc(root: &Path) -> Result<()> {
    run(
        workspace(command(root).arg("doc"))
            .args(["--no-deps", "--locked"])
            .env("RUSTDOCFLAGS", "-D warnings"),
        "fix the documentation named above",
    )
}

/// Plays the games of CI, without a release build of their own.
pub(crate) fn campaign_check(root: &Path) -> Result<()> {
    let mut play = command(root);
    play.args(["run", "--locked", "--package", "evenkeel-campaign", "--", "--games", "10000"]);
    run(&mut play, "add the games above to campaign/tests/games.rs, and fix what breaks them")
}

/// Builds the release, plays games with it and passes on its exit status.
pub(crate) fn campaign(root: &Path, words: &[&str]) -> ExitCode {
    released(root, "evenkeel-campaign", &[], words)
}

/// Builds the release, runs a soak with it and passes on its exit status. Standard output holds only what the soak prints.
pub(crate) fn soak(root: &Path, words: &[&str]) -> ExitCode {
    released(root, "evenkeel-cli", &["lab", "soak"], words)
}

fn released(root: &Path, package: &str, first: &[&str], words: &[&str]) -> ExitCode {
    let mut run = command(root);
    run.args(["run", "--quiet", "--release", "--locked", "--package", package, "--"]).args(first);
    match run.args(words).status() {
        Ok(status) => {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            code.map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Err(error) => {
            eprintln!("xtask: cannot start `{}`: {error}", spelled(&run));
            ExitCode::FAILURE
        }
    }
}

/// Builds one program and returns the path of its executable.
pub(crate) fn build(root: &Path, what: &[&str]) -> Result<PathBuf> {
    let mut build = command(root);
    build.args(["build", "--locked"]).args(what);
    let line = spelled(&build);
    println!("$ {line}");
    let output = build.arg("--message-format=json").stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start `{line}`: is cargo installed?"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({}): see the errors above", output.status);
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    executable(&messages).with_context(|| format!("`{line}` names no executable"))
}

/// The last executable that cargo's messages name.
fn executable(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back()
}

/// Runs a command that prints its own findings; `advice` says what to do about them.
pub(crate) fn run(command: &mut Command, advice: &str) -> Result<()> {
    let line = spelled(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`: is cargo installed?"))?;
    if !status.success() {
        bail!("`{line}` failed ({status}): {advice}");
    }
    Ok(())
}

/// The command as one would type it.
fn spelled(command: &Command) -> String {
    let mut line = String::from("cargo");
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_is_the_last_one_cargo_names() {
        let messages = concat!(
            "{\"reason\":\"compiler-artifact\",\"executable\":null}\n",
            "{\"reason\":\"compiler-artifact\",\"executable\":\"/a/pairs-1\"}\n",
            "{\"reason\":\"build-finished\",\"success\":true}\n"
        );
        assert_eq!(executable(messages), Some(PathBuf::from("/a/pairs-1")));
        assert_eq!(executable("not a message\n"), None);
    }
}
