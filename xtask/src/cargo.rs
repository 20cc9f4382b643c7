//! The steps that are cargo's own commands. Every one is started without a shell and, where the command knows the
//! flag, with `--locked`, so that a check never changes `Cargo.lock` and judges the versions that are committed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::Outcome;

/// The cargo that started this program, so that a toolchain chosen with `cargo +name` is kept.
pub(crate) fn command(root: &Path) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from(env!("CARGO")));
    let mut command = Command::new(cargo);
    command.current_dir(root);
    command
}

/// The workspaces: `cargo fmt --all` knows but one, and the fuzz targets are another.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "fuzz/Cargo.toml"];

/// `cargo fmt` has no `--locked`: it resolves nothing.
pub(crate) fn fmt_check(root: &Path) -> Result<Outcome> {
    fmt(
        root,
        &["--", "--check"],
        "run `cargo xtask fmt --write` to format (if rustfmt is missing: `rustup component add rustfmt`)",
    )
}

pub(crate) fn fmt_write(root: &Path) -> Result<Outcome> {
    fmt(root, &[], "rustfmt could not read a file, or is missing (`rustup component add rustfmt`)")
}

fn fmt(root: &Path, arguments: &[&str], advice: &str) -> Result<Outcome> {
    for manifest in MANIFESTS {
        let mut fmt = command(root);
        run(fmt.args(["fmt", "--all", "--manifest-path", manifest]).args(arguments), advice)?;
    }
    Ok(Outcome::Passed)
}

/// Both workspaces, in one target folder, which saves what they have in common.
pub(crate) fn clippy(root: &Path) -> Result<Outcome> {
    for manifest in MANIFESTS {
        let mut clippy = command(root);
        clippy.args(["clippy", "--workspace", "--all-targets", "--locked", "--manifest-path", manifest]);
        if manifest != MANIFESTS[0] {
            // The library of the fuzzer is C++ and would be compiled although nothing is linked: it is said to be there.
            clippy.args(["--target-dir", "target"]).env("CUSTOM_LIBFUZZER_PATH", "target/none.a");
        }
        run(
            clippy.args(["--", "-D", "warnings"]),
            "repair the lints above (if clippy is missing: `rustup component add clippy`)",
        )?;
    }
    Ok(Outcome::Passed)
}

/// Without `--all-targets`, which would run the benchmarks as tests and leave out the doc tests.
pub(crate) fn unit(root: &Path) -> Result<Outcome> {
    run(command(root).args(["test", "--workspace", "--locked"]), "repair the tests that failed above")
}

pub(crate) fn doc(root: &Path) -> Result<Outcome> {
    run(
        command(root)
            .args(["doc", "--workspace", "--no-deps", "--locked"])
            .env("RUSTDOCFLAGS", "-D warnings"),
        "repair the documentation named above",
    )
}

/// Licences, bans and sources need nothing but the lock file. The advisories of cargo-deny need a database from the
/// network, which would make this check fail for reasons that are not in the tree, so they are left out.
pub(crate) fn deny(root: &Path) -> Result<Outcome> {
    if !is_deny_installed(root) {
        println!("cargo-deny is not installed: skipped (to install it: `cargo install --locked cargo-deny`)");
        return Ok(Outcome::Skipped);
    }
    run(
        command(root).args(["deny", "--workspace", "--locked", "check", "licenses", "bans", "sources"]),
        "choose another crate, or change deny.toml and say there why",
    )
}

/// Builds the release and runs a soak with it; its exit status is ours. What it prints is all that is on standard output.
pub(crate) fn soak(root: &Path, words: &[&str]) -> ExitCode {
    let mut run = command(root);
    run.args(["run", "--quiet", "--release", "--locked", "--package", "evenkeel", "--", "lab", "soak"]);
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

/// Builds one program and gives its executable.
pub(crate) fn build(root: &Path, what: &[&str]) -> Result<PathBuf> {
    let mut build = command(root);
    build.args(["build", "--locked"]).args(what);
    let line = spelled(&build);
    println!("$ {line}");
    let output = build.arg("--message-format=json").stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start `{line}`: is cargo installed?"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({}): it says above why", output.status);
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    executable(&messages).with_context(|| format!("`{line}` names no executable"))
}

/// The last executable that cargo's messages name.
fn executable(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back()
}

fn is_deny_installed(root: &Path) -> bool {
    command(root)
        .args(["deny", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The command prints its own findings; `advice` says what to do about them.
pub(crate) fn run(command: &mut Command, advice: &str) -> Result<Outcome> {
    let line = spelled(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`: is cargo installed?"))?;
    if !status.success() {
        bail!("`{line}` failed ({status}): {advice}");
    }
    Ok(Outcome::Passed)
}

/// The command as a person would type it.
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
    fn the_executable_is_the_last_that_cargo_names() {
        let messages = concat!(
            "{\"reason\":\"compiler-artifact\",\"executable\":null}\n",
            "{\"reason\":\"compiler-artifact\",\"executable\":\"/a/pairs-1\"}\n",
            "{\"reason\":\"build-finished\",\"success\":true}\n"
        );
        assert_eq!(executable(messages), Some(PathBuf::from("/a/pairs-1")));
        assert_eq!(executable("not a message\n"), None);
    }
}
