//! What is wrong with a scenario file, told so that a person finds the place and knows what to write there.

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
    /// Something is wrong with the file as a whole.
    pub(super) fn file(file: &str, what: impl fmt::Display) -> Self {
        Self { file: file.to_owned(), line: None, key: None, what: what.to_string() }
    }

    /// Something is wrong at a line that belongs to no key.
    pub(super) fn line(file: &str, line: usize, what: impl fmt::Display) -> Self {
        Self { line: Some(line), ..Self::file(file, what) }
    }

    /// Something is wrong with a key.
    pub(super) fn key(file: &str, line: usize, key: &str, what: impl fmt::Display) -> Self {
        Self { key: Some(key.to_owned()), ..Self::line(file, line, what) }
    }

    /// Where the line is, counted from 1, if it is about one.
    #[must_use]
    pub const fn at_line(&self) -> Option<usize> {
        self.line
    }

    /// The key that it is about, as in `receiver[0].delay_ms`.
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
