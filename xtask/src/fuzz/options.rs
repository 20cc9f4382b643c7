//! The arguments of `cargo xtask fuzz`.

use anyhow::{Context, Result, bail};

pub(crate) const USAGE: &str = "[--seconds N] [--minutes N] [--jobs N] [--record] [--minimize] [TARGET...]";

/// How long each target runs by default.
const SECONDS_DEFAULT: u64 = 60;

/// Which targets to run, and how.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FuzzOptions {
    /// For how long a target runs at a time.
    pub(super) seconds: u64,
    /// For how long targets take turns; `None` if each runs once.
    pub(super) minutes: Option<u64>,
    /// How many run at a time.
    pub(super) jobs: usize,
    /// Whether to add the figures to the tally.
    pub(super) records: bool,
    /// Whether to write small corpora into the repository instead of running.
    pub(super) minimizes: bool,
    pub(super) targets: Vec<String>,
}

impl FuzzOptions {
    /// Parses the arguments; without names, all targets are selected.
    pub(super) fn parse(words: &[&str], all: &[String]) -> Result<Self> {
        let mut options = Self {
            seconds: SECONDS_DEFAULT,
            minutes: None,
            jobs: 1,
            records: false,
            minimizes: false,
            targets: Vec::new(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--seconds" => options.seconds = number(word, words.next())?,
                "--minutes" => options.minutes = Some(number(word, words.next())?),
                "--jobs" => options.jobs = usize::try_from(number(word, words.next())?)?,
                "--record" => options.records = true,
                "--minimize" => options.minimizes = true,
                _ if all.iter().any(|target| target == word) => options.targets.push((*word).to_owned()),
                _ => bail!("no fuzz target is called `{word}`; the targets are {}", all.join(", ")),
            }
        }
        if options.targets.is_empty() {
            options.targets = all.to_vec();
        }
        Ok(options)
    }
}

/// The number after an option.
fn number(option: &str, word: Option<&&str>) -> Result<u64> {
    let word = word.with_context(|| format!("{option} needs a number after it"))?;
    let number = word.parse().ok().filter(|number| *number > 0);
    number.with_context(|| format!("{option} needs a whole number above 0, not `{word}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<FuzzOptions> {
        FuzzOptions::parse(words, &["a".to_owned(), "b".to_owned()])
    }

    fn targets(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn without_arguments_every_target_runs_for_a_minute() {
        let options = parse(&[]).expect("the arguments are valid");
        assert_eq!((options.seconds, options.minutes, options.jobs), (60, None, 1));
        assert_eq!(options.targets, targets(&["a", "b"]));
        assert!(!options.records && !options.minimizes);
    }

    #[test]
    fn options_and_targets_are_parsed() {
        let words = ["--seconds", "5", "b", "--minutes", "90", "--record", "--jobs", "2", "--minimize"];
        let options = parse(&words).expect("the arguments are valid");
        let (minutes, targets) = (Some(90), targets(&["b"]));
        let expected = FuzzOptions { seconds: 5, minutes, jobs: 2, records: true, minimizes: true, targets };
        assert_eq!(options, expected);
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
