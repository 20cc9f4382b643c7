//! `cargo xtask fuzz`: runs each fuzz target for a while and stops at the first crash.
//!
//! The targets are built without a sanitizer, on stable Rust. Almost all of our code is safe, so they look for panics,
//! failed assertions, endless loops and unbounded memory; coverage still guides them.

mod options;
mod seeds;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo;
use options::FuzzOptions;

pub(crate) use options::USAGE;

/// The longest input: long enough to drive the machines far, short enough to be fast.
const LEN_MAX: usize = 1024;
/// The most memory of a target, in megabytes: far above that of full queues.
const MEMORY_MB_MAX: usize = 1024;
/// The longest that one input may take.
const INPUT_SECONDS_MAX: usize = 20;

/// The outcome of one target.
struct FuzzRun {
    target: String,
    executions: String,
    coverage: String,
}

/// Runs the targets that the arguments name, or all.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<()> {
    let all =
        targets(&fs::read_to_string(root.join("fuzz/Cargo.toml")).context("cannot read fuzz/Cargo.toml")?);
    let options = FuzzOptions::parse(words, &all)?;
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
    Ok(())
}

/// The names of the targets, in the order of the manifest.
fn targets(manifest: &str) -> Vec<String> {
    let paths = manifest.lines().filter_map(|line| line.strip_prefix("path = \"fuzz_targets/"));
    paths.filter_map(|path| path.strip_suffix(".rs\"")).map(str::to_owned).collect()
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

fn build(root: &Path) -> Result<()> {
    let mut build = cargo::command(root);
    cargo::run(build.args(["fuzz", "build", "--sanitizer", "none"]), "fix the targets in fuzz/")
}

fn run_target(root: &Path, target: &str, seconds: u64) -> Result<FuzzRun> {
    let log = root.join("fuzz/artifacts").join(target).with_extension("log");
    fs::create_dir_all(root.join("fuzz/artifacts").join(target))?;
    let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let status = fuzz_command(root, target)
        .args(["--", &format!("-max_total_time={seconds}"), &format!("-max_len={LEN_MAX}")])
        .args(["-len_control=0", "-print_final_stats=1", "-timeout_exitcode=70"])
        .args([format!("-timeout={INPUT_SECONDS_MAX}"), format!("-rss_limit_mb={MEMORY_MB_MAX}")])
        .stdout(Stdio::null())
        .stderr(file)
        .status()
        .context("cannot start cargo-fuzz")?;
    // A panic may print bytes that are not UTF-8.
    let output = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    if status.success() {
        let coverage = after(&output, " cov: ").unwrap_or("?").to_owned();
        let executions = after(&output, "stat::number_of_executed_units: ").unwrap_or("?").to_owned();
        return Ok(FuzzRun { target: target.to_owned(), executions, coverage });
    }
    bail!("{}", failure(root, target, &output, &log));
}

fn fuzz_command(root: &Path, target: &str) -> Command {
    let mut command = cargo::command(root);
    command.args(["fuzz", "run", "--sanitizer", "none", target]);
    command
}

/// Describes a crash: the panic, the input and how to reproduce it.
fn failure(root: &Path, target: &str, output: &str, log: &Path) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let panic = lines.iter().position(|line| line.contains("panicked at"));
    let words = match panic {
        Some(at) => lines[at..].iter().take(4).copied().collect::<Vec<_>>().join("\n"),
        None => lines.iter().rev().find(|line| line.contains("ERROR: ")).copied().unwrap_or("").to_owned(),
    };
    let log = log.strip_prefix(root).unwrap_or(log).display().to_string();
    let Some(artifact) = after(output, "Test unit written to ").map(PathBuf::from) else {
        return format!("fuzz target {target} failed and left no input:\n{words}\nthe whole log is {log}");
    };
    let artifact = artifact.strip_prefix(root).unwrap_or(&artifact).display().to_string();
    format!(
        "fuzz target {target} crashed:\n{words}\ninput: {artifact}\nlog: {log}\n\
         to reproduce it: cargo fuzz run --sanitizer none {target} {artifact}\n\
         to minimize it: cargo fuzz tmin --sanitizer none {target} {artifact}"
    )
}

/// The word after the last occurrence of `text`.
fn after<'a>(output: &'a str, text: &str) -> Option<&'a str> {
    let start = output.rfind(text)? + text.len();
    output[start..].split_whitespace().next()
}

fn print_table(table: &[FuzzRun]) {
    println!("\n{:<12} {:>14} {:>10}", "target", "executions", "coverage");
    for FuzzRun { target, executions, coverage } in table {
        println!("{target:<12} {executions:>14} {coverage:>10}");
    }
    println!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_from_the_manifest() {
        let manifest =
            "[[bin]]\nname = \"a\"\npath = \"fuzz_targets/a.rs\"\n[[bin]]\npath = \"fuzz_targets/b.rs\"\n";
        assert_eq!(targets(manifest), ["a", "b"]);
    }

    #[test]
    fn every_file_in_fuzz_targets_is_in_the_manifest() {
        let fuzz = crate::workspace_root().join("fuzz");
        let mut listed = targets(&fs::read_to_string(fuzz.join("Cargo.toml")).expect("it exists"));
        let mut found: Vec<String> = fs::read_dir(fuzz.join("fuzz_targets"))
            .expect("it exists")
            .map(|entry| {
                entry.expect("it is readable").path().file_stem().expect("a name").display().to_string()
            })
            .collect();
        listed.sort();
        found.sort();
        assert_eq!(listed, found);
    }

    #[test]
    fn crash_report_names_the_input_and_how_to_reproduce_it() {
        let output = "thread panicked at src/world.rs:1:2:\nnode 0 never stops\nTest unit written to /r/fuzz/artifacts/a/crash-1\n";
        let report = failure(Path::new("/r"), "a", output, Path::new("/r/fuzz/artifacts/a.log"));
        assert!(report.contains("node 0 never stops"), "{report}");
        assert!(report.contains("cargo fuzz run --sanitizer none a fuzz/artifacts/a/crash-1"), "{report}");
    }

    #[test]
    fn figures_are_read_from_the_fuzzers_output() {
        let output =
            "#9 cov: 12 ft: 3\n#10 DONE cov: 195 ft: 358\nstat::number_of_executed_units: 14334749\n";
        assert_eq!(after(output, " cov: "), Some("195"));
        assert_eq!(after(output, "stat::number_of_executed_units: "), Some("14334749"));
    }
}
