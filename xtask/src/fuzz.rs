//! `cargo xtask fuzz`: runs fuzz targets for a while, and stops at the first crash. `docs/fuzzing.md` says how to use it.
//!
//! The targets are built without a sanitizer, on stable Rust. Almost all of our code is safe, so they look for panics,
//! failed assertions, endless loops and unbounded memory; coverage still guides them.
//!
//! - `options`: the arguments.
//! - `seeds`: inputs that spare a target from discovering its format.
//! - `runs`: starts targets in turn, several at a time, and stops them at Ctrl-C.
//! - `report`: what a run says of itself.
//! - `corpus`: the small corpora in the repository, and their limits.
//! - `tally`: what all recorded runs add up to.

pub(crate) mod corpus;
mod options;
mod report;
mod runs;
mod seeds;
mod tally;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo;
use options::FuzzOptions;
use tally::Tally;

pub(crate) use options::USAGE;

/// The longest input: long enough to drive the machines far, short enough to be fast.
const LEN_MAX: usize = 1024;

/// Runs or minimizes the targets that the arguments name, or all.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<()> {
    let all = targets(root)?;
    let options = FuzzOptions::parse(words, &all)?;
    install(root)?;
    build(root, &options, &all)?;
    for target in &options.targets {
        seeds::write(root, target)?;
    }
    if options.minimizes {
        return options.targets.iter().try_for_each(|target| corpus::minimize(root, target));
    }
    let mut tally = Tally::default();
    let outcome = runs::run(root, &options, &mut |target, figures| {
        tally.add(target, figures);
        if options.records {
            let mut recorded = Tally::read(root)?;
            recorded.add(target, figures);
            recorded.write(root)?;
        }
        Ok(())
    });
    println!("\n{tally}");
    if options.records {
        println!("with all recorded runs:\n{}", Tally::read(root)?);
    }
    outcome
}

/// The names of the targets, in the order of the manifest.
pub(crate) fn targets(root: &Path) -> Result<Vec<String>> {
    let manifest = fs::read_to_string(root.join("fuzz/Cargo.toml")).context("cannot read fuzz/Cargo.toml")?;
    Ok(targets_of(&manifest))
}

fn targets_of(manifest: &str) -> Vec<String> {
    let paths = manifest.lines().filter_map(|line| line.strip_prefix("path = \"fuzz_targets/"));
    paths.filter_map(|path| path.strip_suffix(".rs\"")).map(str::to_owned).collect()
}

/// Where a target keeps what its runs find, beside what the repository has of it.
fn working_corpus(root: &Path, target: &str) -> PathBuf {
    root.join("target/fuzz-corpus").join(target)
}

/// Installs cargo-fuzz if it is missing.
fn install(root: &Path) -> Result<()> {
    let is_installed = cargo::command(root)
        .args(["fuzz", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !is_installed {
        println!("xtask: cargo-fuzz is missing: installing it");
        let mut install = cargo::command(root);
        cargo::run(install.args(["install", "cargo-fuzz", "--locked"]), "install cargo-fuzz by hand")?;
    }
    Ok(())
}

/// Builds all targets at once, or those that were named.
fn build(root: &Path, options: &FuzzOptions, all: &[String]) -> Result<()> {
    let build = |target: Option<&String>| {
        let mut build = cargo::command(root);
        build.args(["fuzz", "build", "--sanitizer", "none"]).args(target);
        cargo::run(&mut build, "fix the targets in fuzz/")
    };
    if options.targets == all {
        return build(None);
    }
    options.targets.iter().try_for_each(|target| build(Some(target)))
}

/// A command that starts a target's program.
fn program(root: &Path, target: &str) -> Result<Command> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let about = Command::new(rustc).arg("-vV").output().context("cannot start rustc")?;
    let about = String::from_utf8_lossy(&about.stdout).into_owned();
    let host = report::after(&about, "host: ").context("rustc does not name its host")?;
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("fuzz/target"), PathBuf::from);
    let path = folder.join(host).join("release").join(target);
    if !path.is_file() {
        bail!("{} is missing after its build", path.display());
    }
    let mut command = Command::new(path);
    command.current_dir(root).stdin(Stdio::null()).stdout(Stdio::null());
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_from_the_manifest() {
        let manifest =
            "[[bin]]\nname = \"a\"\npath = \"fuzz_targets/a.rs\"\n[[bin]]\npath = \"fuzz_targets/b.rs\"\n";
        assert_eq!(targets_of(manifest), ["a", "b"]);
    }

    #[test]
    fn every_file_in_fuzz_targets_is_in_the_manifest() {
        let root = crate::workspace_root();
        let mut listed = targets(&root).expect("it exists");
        let mut found: Vec<String> = fs::read_dir(root.join("fuzz/fuzz_targets"))
            .expect("it exists")
            .map(|entry| {
                entry.expect("it is readable").path().file_stem().expect("a name").display().to_string()
            })
            .collect();
        listed.sort();
        found.sort();
        assert_eq!(listed, found);
    }
}
