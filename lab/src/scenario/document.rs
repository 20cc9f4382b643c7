//! A TOML document that keeps the position of every value.
//!
//! Errors from serde's derive lack the index of an array's entry, the range of a number, and the position inside a value
//! that may be a number or a table. So a scenario is read from the spanned tree: each [`Field`] has its key and its line,
//! and makes its own errors.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ScenarioError;

/// The most characters of a wrong value that an error shows.
const SHOWN_MAX: usize = 60;

/// The text of a scenario file, which errors point into.
#[derive(Clone, Copy)]
pub(super) struct ScenarioText<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl<'a> ScenarioText<'a> {
    /// Parses the text as TOML.
    pub(super) fn document(self) -> Result<Spanned<DeTable<'a>>, ScenarioError> {
        DeTable::parse(self.text).map_err(|error| {
            let what = error.message();
            match error.span() {
                Some(span) => ScenarioError::line(self.file, self.line(&span), what),
                None => ScenarioError::file(self.file, what),
            }
        })
    }

    /// The line on which a span begins, from 1. It takes linear time, so only errors use it.
    fn line(self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().iter().take(span.start);
        before.filter(|byte| **byte == b'\n').count() + 1
    }
}

/// A table without unknown keys.
pub(super) struct Section<'a> {
    source: ScenarioText<'a>,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    /// The table's own key; empty for the whole document.
    path: String,
}

impl<'a> Section<'a> {
    /// The whole document.
    pub(super) fn root(
        source: ScenarioText<'a>,
        document: &'a Spanned<DeTable<'a>>,
        keys: &[&str],
    ) -> Result<Self, ScenarioError> {
        Self { source, table: document.get_ref(), span: 0..0, path: String::new() }.with_keys(keys)
    }

    /// Rejects keys that are not in the list.
    fn with_keys(self, keys: &[&str]) -> Result<Self, ScenarioError> {
        // The first one in the file: people fix a file from the top.
        let unknown = self.table.keys().filter(|key| !keys.contains(&key.get_ref().as_ref()));
        let Some(first) = unknown.min_by_key(|key| key.span().start) else { return Ok(self) };
        let (path, line) = (self.child(first.get_ref()), self.source.line(&first.span()));
        let what = format!("{path}: unknown key; the keys here are {}", keys.join(", "));
        Err(ScenarioError::key(self.source.file, line, &path, what))
    }

    fn child(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of an optional key.
    pub(super) fn field(&self, key: &str) -> Option<Field<'a>> {
        let value = self.table.get(key)?;
        Some(Field { source: self.source, value, path: self.child(key) })
    }

    /// The value of a required key.
    pub(super) fn required(&self, key: &str, what: &str) -> Result<Field<'a>, ScenarioError> {
        self.field(key).ok_or_else(|| self.missing(key, what))
    }

    /// A number, or the default if the key is missing.
    pub(super) fn number(
        &self,
        key: &str,
        default: f64,
        range: RangeInclusive<f64>,
        what: &str,
    ) -> Result<f64, ScenarioError> {
        self.field(key).map_or(Ok(default), |field| field.number(range, what))
    }

    /// The error that a key is missing.
    pub(super) fn missing(&self, key: &str, what: &str) -> ScenarioError {
        let path = self.child(key);
        let line = self.source.line(&self.span);
        ScenarioError::key(self.source.file, line, &path, format!("{path} is missing: {what}"))
    }
}

/// A value with its key and position.
#[derive(Clone)]
pub(super) struct Field<'a> {
    source: ScenarioText<'a>,
    value: &'a Spanned<DeValue<'a>>,
    path: String,
}

impl<'a> Field<'a> {
    /// The error that the value is wrong; `what` says what would be right.
    pub(super) fn wrong(&self, what: impl Display) -> ScenarioError {
        let line = self.source.line(&self.value.span());
        let what = match self.value.get_ref() {
            // The text of a table is its header, which would repeat the key.
            DeValue::Table(_) => format!("{}: {what}", self.path),
            _ => format!("{} = {}: {what}", self.path, self.shown()),
        };
        ScenarioError::key(self.source.file, line, &self.path, what)
    }

    /// The value as the file has it, on one line and cut to [`SHOWN_MAX`].
    fn shown(&self) -> String {
        let text = self.source.text.get(self.value.span()).unwrap_or_default();
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if flat.chars().count() <= SHOWN_MAX {
            return flat;
        }
        flat.chars().take(SHOWN_MAX).chain("...".chars()).collect()
    }

    /// Whether the value is a table.
    pub(super) fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    /// A number in a range, integer or float.
    pub(super) fn number(&self, range: RangeInclusive<f64>, what: &str) -> Result<f64, ScenarioError> {
        let number = match self.value.get_ref() {
            DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
            DeValue::Integer(whole) => {
                i64::from_str_radix(whole.as_str(), whole.radix()).ok().map(|whole| whole as f64)
            }
            _ => None,
        };
        // NaN is in no range.
        number.filter(|number| range.contains(number)).ok_or_else(|| self.wrong(what))
    }

    /// A non-negative integer.
    pub(super) fn whole(&self, what: &str) -> Result<u64, ScenarioError> {
        let whole = self.value.get_ref().as_integer();
        whole
            .and_then(|whole| u64::from_str_radix(whole.as_str(), whole.radix()).ok())
            .ok_or_else(|| self.wrong(what))
    }

    /// A string.
    pub(super) fn text(&self, what: &str) -> Result<&'a str, ScenarioError> {
        self.value.get_ref().as_str().ok_or_else(|| self.wrong(what))
    }

    /// The index of the value in `words`.
    pub(super) fn word(&self, words: &[&str]) -> Result<usize, ScenarioError> {
        let text = self.value.get_ref().as_str();
        let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let known = text.and_then(|text| words.iter().position(|word| *word == text));
        known.ok_or_else(|| self.wrong(format!("expected one of {}", quoted.join(", "))))
    }

    /// The entries of a list.
    pub(super) fn entries(&self, what: &str) -> Result<Vec<Self>, ScenarioError> {
        let array = self.value.get_ref().as_array().ok_or_else(|| self.wrong(what))?;
        let entry =
            |(index, value)| Self { source: self.source, value, path: format!("{}[{index}]", self.path) };
        Ok(array.iter().enumerate().map(entry).collect())
    }

    /// A table with no other keys than these.
    pub(super) fn section(&self, keys: &[&str]) -> Result<Section<'a>, ScenarioError> {
        let what = format!("expected a table with the keys {}", keys.join(", "));
        let table = self.value.get_ref().as_table().ok_or_else(|| self.wrong(what))?;
        let (source, span, path) = (self.source, self.value.span(), self.path.clone());
        Section { source, table, span, path }.with_keys(keys)
    }

    /// A table whose other keys depend on the value of `kind`. Returns the index of the kind.
    pub(super) fn kinds(&self, kinds: &[(&str, &[&str])]) -> Result<(usize, Section<'a>), ScenarioError> {
        let words: Vec<_> = kinds.iter().map(|(word, _)| *word).collect();
        let what = format!("expected a table with kind = one of {}", words.join(", "));
        let table = self.value.get_ref().as_table().ok_or_else(|| self.wrong(&what))?;
        let (source, span, path) = (self.source, self.value.span(), self.path.clone());
        let section = Section { source, table, span, path };
        let index = section.required("kind", &format!("one of {}", words.join(", ")))?.word(&words)?;
        let mut keys = vec!["kind"];
        keys.extend(kinds[index].1);
        Ok((index, section.with_keys(&keys)?))
    }
}
