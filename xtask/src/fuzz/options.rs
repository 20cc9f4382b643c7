//! What stands behind `cargo xtask fuzz`.

use anyhow::{Context, Result, bail};

pub(crate) const USAGE: &str = "[--seconds N] [TARGET...]";

/// Each target runs so long if nothing else is said.
const SECONDS: u64 = 60;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) seconds: u64,
    pub(super) targets: Vec<String>,
}

impl Options {
    /// Reads the words; without names all targets are meant.
    pub(super) fn parse(words: &[&str], all: &[String]) -> Result<Self> {
        let mut options = Self { seconds: SECONDS, targets: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if *word == "--seconds" {
                let number = words.next().context("--seconds needs a number behind it")?;
                options.seconds = number.parse().ok().filter(|seconds| *seconds > 0).with_context(|| {
                    format!("--seconds needs a whole number above 0 behind it, not `{number}`")
                })?;
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

    fn parse(words: &[&str]) -> Result<Options> {
        Options::parse(words, &["a".to_owned(), "b".to_owned()])
    }

    #[test]
    fn without_words_every_target_runs_for_a_minute() {
        let options = parse(&[]).expect("it is fine");
        assert_eq!(options, Options { seconds: 60, targets: vec!["a".to_owned(), "b".to_owned()] });
    }

    #[test]
    fn seconds_and_targets_can_be_said() {
        let options = parse(&["--seconds", "5", "b"]).expect("it is fine");
        assert_eq!(options, Options { seconds: 5, targets: vec!["b".to_owned()] });
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (words, expected) in [
            (&["c"][..], "no fuzz target is called `c`; the targets are a, b"),
            (&["--seconds"], "--seconds needs a number behind it"),
            (&["--seconds", "0"], "--seconds needs a whole number above 0 behind it, not `0`"),
        ] {
            assert_eq!(parse(words).expect_err("it is wrong").to_string(), expected);
        }
    }
}
