//! What a fuzzer prints about its run: figures, or a crash.

use std::path::{Path, PathBuf};

/// The figures of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Figures {
    pub(super) executions: u64,
    pub(super) seconds: u64,
    /// Edges of the program's control flow that an input of the corpus reaches.
    pub(super) edges: u64,
    /// Edges with how often an input takes them, in eight steps.
    pub(super) features: u64,
}

impl Figures {
    /// Reads the figures at the end of a fuzzer's output.
    pub(super) fn parse(output: &str, seconds: u64) -> Self {
        let number = |text| after(output, text).and_then(|word| word.parse().ok()).unwrap_or(0);
        Self {
            executions: number("stat::number_of_executed_units: "),
            seconds,
            edges: number(" cov: "),
            features: number(" ft: "),
        }
    }
}

/// The word after the last occurrence of `text`.
pub(super) fn after<'a>(output: &'a str, text: &str) -> Option<&'a str> {
    let start = output.rfind(text)? + text.len();
    output[start..].split_whitespace().next()
}

/// Describes a crash: the panic, the input and how to reproduce it.
pub(super) fn crash(root: &Path, target: &str, output: &str, log: &Path) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crash_report_names_the_input_and_how_to_reproduce_it() {
        let output = "thread panicked at src/world.rs:1:2:\nnode 0 never stops\nTest unit written to /r/fuzz/artifacts/a/crash-1\n";
        let report = crash(Path::new("/r"), "a", output, Path::new("/r/fuzz/artifacts/a.log"));
        assert!(report.contains("node 0 never stops"), "{report}");
        assert!(report.contains("cargo fuzz run --sanitizer none a fuzz/artifacts/a/crash-1"), "{report}");
    }

    #[test]
    fn figures_are_read_from_the_fuzzers_output() {
        let output =
            "#9 cov: 12 ft: 3\n#10 DONE cov: 195 ft: 358\nstat::number_of_executed_units: 14334749\n";
        let figures = Figures { executions: 14_334_749, seconds: 60, edges: 195, features: 358 };
        assert_eq!(Figures::parse(output, 60), figures);
    }
}
