//! Errors of scenario files: where they are, and what to write there instead.

use std::fmt;

/// Why a scenario cannot be run. Printed as `file:line: key = value: what would be right`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError {
    file: String,
    line: Option<usize>,
    key: Option<String>,
    what: String,
}

impl ScenarioError {
    /// An error of the file as a whole.
    pub(super) fn file(file: &str, what: impl fmt::Display) -> Self {
        Self { file: file.to_owned(), line: None, key: None, what: what.to_string() }
    }

    /// An error at a line that belongs to no key.
    pub(super) fn line(file: &str, line: usize, what: impl fmt::Display) -> Self {
        Self { line: Some(line), ..Self::file(file, what) }
    }

    /// An error of a key or its value.
    pub(super) fn key(file: &str, line: usize, key: &str, what: impl fmt::Display) -> Self {
        Self { key: Some(key.to_owned()), ..Self::line(file, line, what) }
    }

    /// The line of the error, from 1, if it has one.
    #[must_use]
    pub const fn at_line(&self) -> Option<usize> {
        self.line
    }

    /// The key of the error, as in `receiver[0].delay_ms`, if it has one.
    #[must_use]
    pub fn at_key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.what)
    }
}

impl std::error::Error for ScenarioError {}
