//! The arguments of `cargo xtask fuzz`.

use anyhow::{Context, Result, bail};

pub(crate) const USAGE: &str = "[--seconds N] [TARGET...]";

/// How long each target runs by default.
const SECONDS_DEFAULT: u64 = 60;

/// Which targets to run, and for how long each.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FuzzOptions {
    pub(super) seconds: u64,
    pub(super) targets: Vec<String>,
}

impl FuzzOptions {
    /// Parses the arguments; without names, all targets are selected.
    pub(super) fn parse(words: &[&str], all: &[String]) -> Result<Self> {
        let mut options = Self { seconds: SECONDS_DEFAULT, targets: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if *word == "--seconds" {
                let number = words.next().context("--seconds needs a number after it")?;
                options.seconds = number
                    .parse()
                    .ok()
                    .filter(|seconds| *seconds > 0)
                    .with_context(|| format!("--seconds needs a whole number above 0, not `{number}`"))?;
            } else if all.iter().any(|target| target == word) {
                options.targets.push((*word).to_owned());
            } else {
                bail!("no fuzz target is called `{word}`; the targets are {}", all.join(", "));
            }
        }
        if options.targets.is_empty() {
            options.targets = all.to_vec();
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<FuzzOptions> {
        FuzzOptions::parse(words, &["a".to_owned(), "b".to_owned()])
    }

    #[test]
    fn without_arguments_every_target_runs_for_a_minute() {
        let options = parse(&[]).expect("the arguments are valid");
        assert_eq!(options, FuzzOptions { seconds: 60, targets: vec!["a".to_owned(), "b".to_owned()] });
    }

    #[test]
    fn seconds_and_targets_are_parsed() {
        let options = parse(&["--seconds", "5", "b"]).expect("the arguments are valid");
        assert_eq!(options, FuzzOptions { seconds: 5, targets: vec!["b".to_owned()] });
    }

    #[test]
    fn unknown_arguments_are_named() {
        for (words, expected) in [
            (&["c"][..], "no fuzz target is called `c`; the targets are a, b"),
            (&["--seconds"], "--seconds needs a number after it"),
            (&["--seconds", "0"], "--seconds needs a whole number above 0, not `0`"),
        ] {
            assert_eq!(parse(words).expect_err("the arguments are invalid").to_string(), expected);
        }
    }
}
