//! The hot path's cost in instructions, counted by valgrind. Unlike times, counts do not depend on how busy the machine is,
//! so a check can hold them to a limit.
//!
//! The benchmarks run real machines: `pairs` of `proto/dr` in a room, `machines` of `drive/sim` in the simulator. Callgrind
//! counts the instructions inside one function of a benchmark; the check divides them by the benchmark's units of work. The
//! profile is `dist`, that of released binaries.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{apt, cargo};

/// A limit on the instructions of one function.
struct Gate {
    /// The benchmark and its package.
    bench: (&'static str, &'static str),
    /// The benchmark's arguments that select the scene.
    scene: &'static [&'static str],
    /// The function whose instructions are counted.
    function: &'static str,
    /// The unit of work.
    unit: &'static str,
    /// The most instructions per unit.
    max: f64,
}

/// The limits are a little above what is counted, as another compiler version may need a few more.
const GATES: [Gate; 6] = [
    Gate {
        bench: ("pairs", "evenkeel-dr"),
        scene: &["ticks", "1"],
        function: "look_at_all",
        unit: "pair and tick at threshold 1",
        max: 144.0,
    },
    Gate {
        bench: ("pairs", "evenkeel-dr"),
        scene: &["ticks", "0.09"],
        function: "look_at_all",
        unit: "pair and tick at threshold 0.09",
        max: 344.0,
    },
    Gate {
        bench: ("pairs", "evenkeel-dr"),
        scene: &["acknowledgments", "1"],
        function: "take_acknowledgment",
        unit: "acknowledgment settled at threshold 1",
        max: 1_810.0,
    },
    Gate {
        bench: ("pairs", "evenkeel-dr"),
        scene: &["acknowledgments", "0.09"],
        function: "take_acknowledgment",
        unit: "acknowledgment settled at threshold 0.09",
        max: 1_810.0,
    },
    Gate {
        bench: ("machines", "evenkeel-sim"),
        scene: &["3"],
        function: "let_time_pass",
        unit: "event of the simulator with 3 receivers",
        max: 2_040.0,
    },
    Gate {
        bench: ("machines", "evenkeel-sim"),
        scene: &["100"],
        function: "let_time_pass",
        unit: "event of the simulator with 100 receivers",
        max: 3_440.0,
    },
];

pub(crate) fn run(root: &Path) -> Result<()> {
    // The limits are for the AVX2 kernels: valgrind does not support AVX-512.
    #[cfg(target_arch = "x86_64")]
    let has_kernels = std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    let has_kernels = false;
    if !has_kernels {
        println!("NOT CHECKED: the limits are for x86-64 with AVX2, which this processor lacks");
        return Ok(());
    }
    let is_ready = is_installed() || (apt::install("valgrind") && is_installed());
    if !is_ready {
        bail!(
            "valgrind is missing: run `apt-get install valgrind` as root, or install it as your system does that"
        );
    }
    for gate in &GATES {
        let (bench, package) = gate.bench;
        let bench = cargo::build(root, &["--profile", "dist", "--package", package, "--bench", bench])?;
        let each = count(root, &bench, gate)?;
        println!("{each:.1} instructions per {}, at most {}", gate.unit, gate.max);
        if each > gate.max {
            bail!(
                "{each:.1} instructions per {}, but at most {} are allowed: make it cheaper, or raise the \
                 limit in xtask/src/instructions.rs and say why",
                gate.unit,
                gate.max
            );
        }
    }
    Ok(())
}

fn is_installed() -> bool {
    let mut version = Command::new("valgrind");
    version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Counts the instructions per unit of work.
fn count(root: &Path, bench: &Path, gate: &Gate) -> Result<f64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(format!("--toggle-collect=*{}*", gate.function));
    valgrind.arg(bench).arg("count").args(gate.scene).current_dir(root);
    let output = valgrind.output().context("cannot start valgrind")?;
    if !output.status.success() {
        bail!("valgrind failed ({}):\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let counted = collected(&String::from_utf8_lossy(&output.stderr));
    let units = String::from_utf8_lossy(&output.stdout).trim().parse::<f64>().ok();
    match (counted, units) {
        (Some(counted), Some(units)) if counted > 0.0 && units > 0.0 => Ok(counted / units),
        _ => bail!(
            "valgrind counted nothing in `{}`: does the benchmark still have this function?",
            gate.function
        ),
    }
}

/// The count in callgrind's report: a line such as `==4711== Collected : 603354489`.
fn collected(report: &str) -> Option<f64> {
    let mut lines = report.lines().filter_map(|line| line.split_once("Collected :"));
    lines.next().and_then(|(_, number)| number.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_is_read_from_the_report() {
        let report = "==7== Events    : Ir\n==7== Collected : 603354489\n==7== \n";
        assert_eq!(collected(report), Some(603_354_489.0));
        assert_eq!(collected("==7== Events    : Ir\n"), None);
    }
}
