//! `cargo xtask fuzz`: runs every fuzz target for a while and stops at the first crash.
//!
//! The targets are built without a sanitizer: our crates forbid unsafe code, so what a target can find are panics, broken
//! promises, endless loops and memory without bound, and for these a stable toolchain suffices. Coverage still guides it.

mod options;
mod seeds;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::Outcome;
use crate::cargo;
use options::Options;

pub(crate) use options::USAGE;

/// The longest input: machines need many bytes to get anywhere, and more than these make them slow.
const LEN_MAX: usize = 1024;
/// What a target may use, in megabytes: far above what its queues hold when they are full.
const MEMORY_MAX: usize = 1024;
/// One input may take so many seconds.
const INPUT_SECONDS_MAX: usize = 20;

/// What one target did.
struct Ran {
    target: String,
    executions: String,
    coverage: String,
}

/// Runs the targets that the words name, or all.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<Outcome> {
    let all =
        targets(&fs::read_to_string(root.join("fuzz/Cargo.toml")).context("cannot read fuzz/Cargo.toml")?);
    let options = Options::parse(words, &all)?;
    install(root)?;
    build(root)?;
    let mut table = Vec::new();
    for target in &options.targets {
        println!("xtask: fuzz {target} for {} s ...", options.seconds);
        seeds::write(root, target)?;
        let ran = run_target(root, target, options.seconds);
        if let Ok(ran) = &ran {
            println!("xtask: fuzz {target}: {} executions", ran.executions);
        } else {
            print_table(&table);
        }
        table.push(ran?);
    }
    print_table(&table);
    Ok(Outcome::Passed)
}

/// The names of the targets, in the order of the manifest.
fn targets(manifest: &str) -> Vec<String> {
    let paths = manifest.lines().filter_map(|line| line.strip_prefix("path = \"fuzz_targets/"));
    paths.filter_map(|path| path.strip_suffix(".rs\"")).map(str::to_owned).collect()
}

/// cargo-fuzz is installed if it is missing.
fn install(root: &Path) -> Result<()> {
    let is_here = cargo::command(root)
        .args(["fuzz", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !is_here {
        println!("xtask: cargo-fuzz is not here: installing it");
        let mut install = cargo::command(root);
        cargo::run(install.args(["install", "cargo-fuzz", "--locked"]), "install cargo-fuzz by hand")?;
    }
    Ok(())
}

fn build(root: &Path) -> Result<()> {
    let mut build = cargo::command(root);
    cargo::run(build.args(["fuzz", "build", "--sanitizer", "none"]), "repair the targets in fuzz/")?;
    Ok(())
}

fn run_target(root: &Path, target: &str, seconds: u64) -> Result<Ran> {
    let log = root.join("fuzz/artifacts").join(target).with_extension("log");
    fs::create_dir_all(root.join("fuzz/artifacts").join(target))?;
    let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let status = fuzz_command(root, target)
        .args(["--", &format!("-max_total_time={seconds}"), &format!("-max_len={LEN_MAX}")])
        .args(["-len_control=0", "-print_final_stats=1", "-timeout_exitcode=70"])
        .args([format!("-timeout={INPUT_SECONDS_MAX}"), format!("-rss_limit_mb={MEMORY_MAX}")])
        .stdout(Stdio::null())
        .stderr(file)
        .status()
        .context("cannot start cargo-fuzz")?;
    // A panic prints whatever bytes it was about.
    let said = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    if status.success() {
        let coverage = after(&said, " cov: ").unwrap_or("?").to_owned();
        let executions = after(&said, "stat::number_of_executed_units: ").unwrap_or("?").to_owned();
        return Ok(Ran { target: target.to_owned(), executions, coverage });
    }
    bail!("{}", failure(root, target, &said, &log));
}

fn fuzz_command(root: &Path, target: &str) -> Command {
    let mut command = cargo::command(root);
    command.args(["fuzz", "run", "--sanitizer", "none", target]);
    command
}

/// What happened, which input did it, and how to see it again.
fn failure(root: &Path, target: &str, said: &str, log: &Path) -> String {
    let lines: Vec<&str> = said.lines().collect();
    let panic = lines.iter().position(|line| line.contains("panicked at"));
    let words = match panic {
        Some(at) => lines[at..].iter().take(4).copied().collect::<Vec<_>>().join("\n"),
        None => lines.iter().rev().find(|line| line.contains("ERROR: ")).copied().unwrap_or("").to_owned(),
    };
    let log = log.strip_prefix(root).unwrap_or(log).display().to_string();
    let Some(artifact) = after(said, "Test unit written to ").map(PathBuf::from) else {
        return format!("fuzz target {target} failed and left no input:\n{words}\nthe whole log is {log}");
    };
    let artifact = artifact.strip_prefix(root).unwrap_or(&artifact).display().to_string();
    format!(
        "fuzz target {target} crashed:\n{words}\ninput: {artifact}\nlog: {log}\n\
         to see it again: cargo fuzz run --sanitizer none {target} {artifact}\n\
         to make it smaller: cargo fuzz tmin --sanitizer none {target} {artifact}"
    )
}

/// The word that follows the last occurrence of a text.
fn after<'a>(said: &'a str, text: &str) -> Option<&'a str> {
    let start = said.rfind(text)? + text.len();
    said[start..].split_whitespace().next()
}

fn print_table(table: &[Ran]) {
    println!("\n{:<12} {:>14} {:>10}", "target", "executions", "coverage");
    for Ran { target, executions, coverage } in table {
        println!("{target:<12} {executions:>14} {coverage:>10}");
    }
    println!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_those_of_the_manifest() {
        let manifest =
            "[[bin]]\nname = \"a\"\npath = \"fuzz_targets/a.rs\"\n[[bin]]\npath = \"fuzz_targets/b.rs\"\n";
        assert_eq!(targets(manifest), ["a", "b"]);
    }

    #[test]
    fn every_target_of_the_folder_is_in_the_manifest() {
        let fuzz = crate::workspace_root().join("fuzz");
        let mut listed = targets(&fs::read_to_string(fuzz.join("Cargo.toml")).expect("it is there"));
        let mut found: Vec<String> = fs::read_dir(fuzz.join("fuzz_targets"))
            .expect("it is there")
            .map(|entry| {
                entry.expect("it is readable").path().file_stem().expect("a name").display().to_string()
            })
            .collect();
        listed.sort();
        found.sort();
        assert_eq!(listed, found);
    }

    #[test]
    fn a_crash_is_told_with_its_input_and_how_to_see_it_again() {
        let said = "thread panicked at src/world.rs:1:2:\nnode 0 never stops\nTest unit written to /r/fuzz/artifacts/a/crash-1\n";
        let told = failure(Path::new("/r"), "a", said, Path::new("/r/fuzz/artifacts/a.log"));
        assert!(told.contains("node 0 never stops"), "{told}");
        assert!(told.contains("cargo fuzz run --sanitizer none a fuzz/artifacts/a/crash-1"), "{told}");
    }

    #[test]
    fn figures_are_read_from_what_the_fuzzer_says() {
        let said = "#9 cov: 12 ft: 3\n#10 DONE cov: 195 ft: 358\nstat::number_of_executed_units: 14334749\n";
        assert_eq!(after(said, " cov: "), Some("195"));
        assert_eq!(after(said, "stat::number_of_executed_units: "), Some("14334749"));
    }
}
