//! The papers' claims and their verdicts.
//!
//! A verdict is computed from measured figures. The code records only the verdict we expect, so that a change is
//! noticed.

use core::fmt;

/// The verdict on a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The measurement confirms it.
    Holds,
    /// The measurement contradicts it.
    Fails,
    /// It holds only under a reading that is stated.
    Differs,
}

impl Verdict {
    /// `Holds` or `Fails`.
    #[must_use]
    pub const fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// `Holds` if it holds as printed, `Differs` if only under the stated reading, `Fails` otherwise.
    #[must_use]
    pub const fn read(as_printed: bool, as_read: bool) -> Self {
        match (as_printed, as_read) {
            (true, _) => Self::Holds,
            (false, true) => Self::Differs,
            (false, false) => Self::Fails,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Differs => "differs",
        })
    }
}

/// A statement of a paper and what we measured.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Claim {
    /// Identifier, for example `banavar05/fig3.19/1`.
    pub id: String,
    /// The paper and the section.
    pub source: String,
    /// The statement, in our words.
    pub statement: String,
    /// The measurement, with the reading it was computed under.
    pub measured: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The recorded verdict.
    pub expected: Verdict,
    /// Whether chance decides the verdict: the figures are less than two standard errors from where it would change.
    pub is_close: bool,
}

impl Claim {
    /// Creates a claim with its verdict.
    pub(crate) fn new(
        id: String,
        source: String,
        statement: &str,
        measured: String,
        verdict: Verdict,
        expected: Verdict,
    ) -> Self {
        Self { id, source, statement: statement.to_owned(), measured, verdict, expected, is_close: false }
    }

    /// Returns whether the verdict is the recorded one.
    #[must_use]
    pub fn is_as_expected(&self) -> bool {
        self.verdict == self.expected
    }
}

/// Formats claims as a Markdown table of id, section, statement and verdict.
#[must_use]
pub fn markdown<'a>(claims: impl IntoIterator<Item = &'a Claim>) -> String {
    let row = |claim: &Claim| {
        let Claim { id, source, statement, verdict, .. } = claim;
        let (_, id) = id.split_once('/').unwrap_or(("", id));
        let (_, place) = source.split_once(", ").unwrap_or(("", source));
        format!("| {id} | {place} | {} | {verdict} |\n", statement.replace('|', "\\|"))
    };
    let rows: String = claims.into_iter().map(row).collect();
    format!("| claim | place | what it says | verdict |\n| --- | --- | --- | --- |\n{rows}")
}
