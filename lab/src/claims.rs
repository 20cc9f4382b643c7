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

/// How many claims have each verdict. Every count that a report, a table or a document shows comes from here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VerdictCounts {
    /// Claims that hold.
    pub holds: usize,
    /// Claims that hold only under a stated reading.
    pub differs: usize,
    /// Claims that fail.
    pub fails: usize,
    /// Claims of any verdict that chance decides.
    pub close: usize,
}

impl VerdictCounts {
    /// Counts claims.
    #[must_use]
    pub fn of<'a>(claims: impl IntoIterator<Item = &'a Claim>) -> Self {
        claims.into_iter().fold(Self::default(), |mut counts, claim| {
            match claim.verdict {
                Verdict::Holds => counts.holds += 1,
                Verdict::Differs => counts.differs += 1,
                Verdict::Fails => counts.fails += 1,
            }
            counts.close += usize::from(claim.is_close);
            counts
        })
    }

    /// The number of claims.
    #[must_use]
    pub const fn total(self) -> usize {
        self.holds + self.differs + self.fails
    }

    /// The number of claims that do not hold as printed.
    #[must_use]
    pub const fn not_as_printed(self) -> usize {
        self.differs + self.fails
    }
}

impl fmt::Display for VerdictCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { holds, differs, fails, close } = self;
        let total = self.total();
        let claims = if total == 1 { "claim" } else { "claims" };
        write!(f, "{total} {claims}: {holds} hold, {differs} differ, {fails} fail")?;
        if *close > 0 { write!(f, "; {close} of them too close to call") } else { Ok(()) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_and_name_the_close_ones() {
        let claim = |verdict, is_close| {
            let claim = Claim::new(String::new(), String::new(), "", String::new(), verdict, verdict);
            Claim { is_close, ..claim }
        };
        let claims =
            [claim(Verdict::Holds, false), claim(Verdict::Differs, false), claim(Verdict::Fails, true)];
        let counts = VerdictCounts::of(&claims);
        assert_eq!((counts.total(), counts.not_as_printed()), (3, 2));
        assert_eq!(counts.to_string(), "3 claims: 1 hold, 1 differ, 1 fail; 1 of them too close to call");
        assert_eq!(VerdictCounts::of(&claims[..1]).to_string(), "1 claim: 1 hold, 0 differ, 0 fail");
    }
}
