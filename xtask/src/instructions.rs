//! What the hot path costs in instructions, counted by valgrind: unlike times they are the same on a busy machine, so that a check
//! can hold them to a number.
//!
//! Benchmarks run real machines: `pairs` of `proto/dr` in a room, `machines` of `drive/sim` in the simulator. The instructions
//! inside one of their functions are counted and divided by what the function was called for. They are built as what is handed out is.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::Outcome;
use crate::cargo;

/// What is counted, and how many instructions it may take.
struct Gate {
    /// The benchmark, and the package that it belongs to.
    bench: (&'static str, &'static str),
    /// What the benchmark calls it.
    what: &'static str,
    /// The function that it is done in.
    function: &'static str,
    /// Of which so many instructions at most.
    each: &'static str,
    max: f64,
}

/// A little above what is counted: another compiler may take a few more.
const GATES: [Gate; 4] = [
    Gate {
        bench: ("pairs", "evenkeel-dr"),
        what: "ticks",
        function: "look_at_all",
        each: "pair and tick",
        max: 144.0,
    },
    Gate {
        bench: ("pairs", "evenkeel-dr"),
        what: "acknowledgments",
        function: "take_acknowledgment",
        each: "acknowledgment settled",
        max: 1_810.0,
    },
    Gate {
        bench: ("machines", "evenkeel-sim"),
        what: "3",
        function: "let_time_pass",
        each: "event of the simulator with 3 receivers",
        max: 2_040.0,
    },
    Gate {
        bench: ("machines", "evenkeel-sim"),
        what: "100",
        function: "let_time_pass",
        each: "event of the simulator with 100 receivers",
        max: 3_440.0,
    },
];

pub(crate) fn run(root: &Path) -> Result<Outcome> {
    if !is_installed() && !install() {
        println!("valgrind is not installed: skipped (to install it: `apt-get install valgrind`)");
        return Ok(Outcome::Skipped);
    }
    // What valgrind runs are the kernels for AVX2: it knows of no AVX-512.
    #[cfg(target_arch = "x86_64")]
    let has_kernels = std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    let has_kernels = false;
    if !has_kernels {
        println!("this processor has no AVX2, which the numbers are for: skipped");
        return Ok(Outcome::Skipped);
    }
    for gate in &GATES {
        let (bench, package) = gate.bench;
        let bench = cargo::build(root, &["--profile", "dist", "--package", package, "--bench", bench])?;
        let each = count(root, &bench, gate)?;
        println!("{each:.1} instructions per {}, at most {}", gate.each, gate.max);
        if each > gate.max {
            bail!(
                "{each:.1} instructions per {}, but at most {} are allowed: make it cheaper, or raise the \
                 number in xtask/src/instructions.rs and say why",
                gate.each,
                gate.max
            );
        }
    }
    Ok(Outcome::Passed)
}

fn is_installed() -> bool {
    let mut version = Command::new("valgrind");
    version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Only on a machine of a CI, which nobody else uses.
fn install() -> bool {
    if env::var_os("CI").is_none() {
        return false;
    }
    let installs = |program: &str, arguments: &[&str]| {
        let mut install = Command::new(program);
        install.args(arguments).args(["install", "--yes", "valgrind"]).stdin(Stdio::null());
        install.status().is_ok_and(|status| status.success())
    };
    (installs("apt-get", &[]) || installs("sudo", &["-n", "apt-get"])) && is_installed()
}

/// Instructions for each of what a gate is about.
fn count(root: &Path, bench: &Path, gate: &Gate) -> Result<f64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(format!("--toggle-collect=*{}*", gate.function));
    valgrind.arg(bench).args(["count", gate.what]).current_dir(root);
    let output = valgrind.output().context("cannot start valgrind")?;
    if !output.status.success() {
        bail!("valgrind failed ({}):\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let counted = collected(&String::from_utf8_lossy(&output.stderr));
    let units = String::from_utf8_lossy(&output.stdout).trim().parse::<f64>().ok();
    match (counted, units) {
        (Some(counted), Some(units)) if counted > 0.0 && units > 0.0 => Ok(counted / units),
        _ => bail!("nothing was counted in `{}`: is it still the benchmark's function?", gate.function),
    }
}

/// What valgrind says that it collected: a line such as `==4711== Collected : 603354489`.
fn collected(report: &str) -> Option<f64> {
    let mut lines = report.lines().filter_map(|line| line.split_once("Collected :"));
    lines.next().and_then(|(_, number)| number.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_collected_is_read_from_the_report() {
        let report = "==7== Events    : Ir\n==7== Collected : 603354489\n==7== \n";
        assert_eq!(collected(report), Some(603_354_489.0));
        assert_eq!(collected("==7== Events    : Ir\n"), None);
    }
}
