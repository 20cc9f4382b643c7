//! Claims of the papers and what became of them.
//!
//! A verdict is computed from figures that were measured; what is written down is only which verdict we expect, so
//! that a change shows.

use core::fmt;

/// What became of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Measured and so.
    Holds,
    /// Measured and not so.
    Fails,
    /// So only under a reading that is stated.
    Differs,
}

impl Verdict {
    /// Holds or fails.
    #[must_use]
    pub const fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// Holds as printed, else differs if it holds under the stated reading, else fails.
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

/// Something that a paper says, and what we measured.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Claim {
    /// `banavar05/fig3.19/1`.
    pub id: String,
    /// Paper and place.
    pub source: String,
    /// What it says, in our words.
    pub statement: String,
    /// What we measured, with the reading it was computed under.
    pub measured: String,
    /// What became of it.
    pub verdict: Verdict,
    /// What became of it when it was last recorded.
    pub expected: Verdict,
    /// Chance decides it: the figures are less than two standard errors from where the verdict would be another one.
    pub is_close: bool,
}

impl Claim {
    /// A claim with its verdict.
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

    /// Whether the verdict is the recorded one.
    #[must_use]
    pub fn is_as_expected(&self) -> bool {
        self.verdict == self.expected
    }
}

/// Claims as a table in Markdown: which, what, and what became of it.
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
