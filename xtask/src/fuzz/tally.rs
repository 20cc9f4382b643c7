//! What all recorded runs add up to: `fuzz/tally.json`, and the table of `docs/fuzzing.md` that is made of it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::report::Figures;

const FILE: &str = "fuzz/tally.json";
const DOCUMENT: &str = "docs/fuzzing.md";
/// What encloses the table in the document.
const MARKS: [&str; 2] = ["<!-- tally: written by `cargo xtask fuzz --record` -->\n\n", "\n<!-- end -->"];

/// What the runs of a target add up to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct Sum {
    executions: u64,
    seconds: u64,
    /// The most of any run.
    edges: u64,
    /// The most of any run.
    features: u64,
}

/// What runs add up to, by target.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Tally(BTreeMap<String, Sum>);

impl Tally {
    /// Reads what is recorded.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let path = root.join(FILE);
        if !path.is_file() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {FILE}"))?;
        serde_json::from_str(&text).with_context(|| format!("{FILE} is not a tally"))
    }

    /// Records it, also in the document.
    pub(super) fn write(&self, root: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(root.join(FILE), text).with_context(|| format!("cannot write {FILE}"))?;
        let path = root.join(DOCUMENT);
        let document = fs::read_to_string(&path).with_context(|| format!("cannot read {DOCUMENT}"))?;
        fs::write(&path, self.insert(&document)?).with_context(|| format!("cannot write {DOCUMENT}"))
    }

    pub(super) fn add(&mut self, target: &str, figures: &Figures) {
        let sum = self.0.entry(target.to_owned()).or_default();
        sum.executions += figures.executions;
        sum.seconds += figures.seconds;
        sum.edges = sum.edges.max(figures.edges);
        sum.features = sum.features.max(figures.features);
    }

    fn total(&self) -> Sum {
        let mut total = Sum::default();
        for sum in self.0.values() {
            total.executions += sum.executions;
            total.seconds += sum.seconds;
        }
        total
    }

    /// Puts the table into the document, in place of the one that is there.
    fn insert(&self, document: &str) -> Result<String> {
        let split = document.split_once(MARKS[0]).and_then(|(before, rest)| {
            let (_, behind) = rest.split_once(MARKS[1])?;
            Some((before, behind))
        });
        let (before, behind) = split.with_context(|| format!("{DOCUMENT} has no place for the tally"))?;
        Ok([before, MARKS[0], &self.markdown(), MARKS[1], behind].concat())
    }

    fn markdown(&self) -> String {
        let mut table = String::from(
            "| target | executions | per second | hours | edges | features |\n\
             | --- | ---: | ---: | ---: | ---: | ---: |\n",
        );
        let mut row = |name: &str, sum: &Sum, coverage: [String; 2]| {
            let cells = [grouped(sum.executions), grouped(rate(sum)), hours(sum)];
            let cells: Vec<String> = cells.into_iter().chain(coverage).collect();
            table.push_str(&format!("| {name} | {} |\n", cells.join(" | ")));
        };
        for (target, sum) in &self.0 {
            row(&format!("`{target}`"), sum, [grouped(sum.edges), grouped(sum.features)]);
        }
        row("all", &self.total(), [String::new(), String::new()]);
        table
    }
}

fn rate(sum: &Sum) -> u64 {
    sum.executions / sum.seconds.max(1)
}

fn hours(sum: &Sum) -> String {
    format!("{:.2}", sum.seconds as f64 / 3_600.0)
}

/// A number with commas.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<12} {:>14} {:>10} {:>8} {:>8} {:>9}",
            "target", "executions", "per second", "seconds", "edges", "features"
        )?;
        let mut row = |name: &str, sum: &Sum| {
            let Sum { executions, seconds, edges, features } = sum;
            let rate = rate(sum);
            writeln!(f, "{name:<12} {executions:>14} {rate:>10} {seconds:>8} {edges:>8} {features:>9}")
        };
        self.0.iter().try_for_each(|(target, sum)| row(target, sum))?;
        let Sum { executions, seconds, .. } = self.total();
        writeln!(f, "{:<12} {executions:>14} {:>10} {seconds:>8}", "all", rate(&self.total()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> Tally {
        let mut tally = Tally::default();
        tally.add("b", &Figures { executions: 1_000_000, seconds: 10, edges: 7, features: 9 });
        tally.add("b", &Figures { executions: 234_567, seconds: 8, edges: 6, features: 30 });
        tally.add("a", &Figures { executions: 50, seconds: 1_800, edges: 1, features: 1 });
        tally
    }

    #[test]
    fn runs_of_a_target_add_up() {
        let sum = Sum { executions: 1_234_567, seconds: 18, edges: 7, features: 30 };
        assert_eq!(tally().0["b"], sum);
        assert_eq!(tally().total(), Sum { executions: 1_234_617, seconds: 1_818, ..Sum::default() });
    }

    #[test]
    fn table_replaces_the_former_one() {
        let document = ["# a\n", MARKS[0], "old\n", MARKS[1], "\nb\n"].concat();
        let shown = tally().insert(&document).expect("it has the marks");
        assert!(shown.contains("| `b` | 1,234,567 | 68,587 | 0.01 | 7 | 30 |\n"), "{shown}");
        assert!(shown.contains("| all | 1,234,617 | 679 | 0.51 |  |  |\n"), "{shown}");
        assert!(shown.starts_with("# a\n") && shown.ends_with("\nb\n") && !shown.contains("old"), "{shown}");
        assert_eq!(tally().insert(&shown).expect("it has the marks"), shown);
        assert!(tally().insert("# a\n").is_err());
    }

    #[test]
    fn document_shows_what_is_recorded() {
        let root = crate::workspace_root();
        let document = fs::read_to_string(root.join(DOCUMENT)).expect("it exists");
        let shown = Tally::read(&root).and_then(|tally| tally.insert(&document)).expect("it has the marks");
        assert!(
            shown == document,
            "run `cargo xtask fuzz --record`: {DOCUMENT} has another table than {FILE}"
        );
        for target in crate::fuzz::targets(&root).expect("the manifest") {
            assert!(document.contains(&format!("| `{target}` | ")), "{DOCUMENT} does not explain {target}");
        }
    }
}
