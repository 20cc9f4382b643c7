//! A TOML document that remembers where everything stands.
//!
//! Serde's derive would check types, but its errors lose the index of an array's entry, say nothing of what a number
//! may be, and forget the place inside a value that may be a number or a table. So a scenario is read from the
//! spanned tree: each [`Field`] knows its key and its line, and every error is made by one.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ScenarioError;

/// How much of a wrong value an error shows, in characters.
const SHOWN_MAX: usize = 60;

/// The text that errors point into.
#[derive(Clone, Copy)]
pub(super) struct ScenarioText<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl<'a> ScenarioText<'a> {
    /// Parses the text.
    pub(super) fn document(self) -> Result<Spanned<DeTable<'a>>, ScenarioError> {
        DeTable::parse(self.text).map_err(|error| {
            let what = error.message();
            match error.span() {
                Some(span) => ScenarioError::line(self.file, self.line(&span), what),
                None => ScenarioError::file(self.file, what),
            }
        })
    }

    /// The line on which a span begins, from 1. Only errors ask, so that reading takes linear time.
    fn line(self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().iter().take(span.start);
        before.filter(|byte| **byte == b'\n').count() + 1
    }
}

/// A table whose keys are all known.
pub(super) struct Section<'a> {
    source: ScenarioText<'a>,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    /// Its own key; empty for the whole document.
    path: String,
}

impl<'a> Section<'a> {
    /// The whole document.
    pub(super) fn root(
        source: ScenarioText<'a>,
        document: &'a Spanned<DeTable<'a>>,
        keys: &[&str],
    ) -> Result<Self, ScenarioError> {
        Self { source, table: document.get_ref(), span: 0..0, path: String::new() }.knowing(keys)
    }

    /// Refuses keys that are not in the list.
    fn knowing(self, keys: &[&str]) -> Result<Self, ScenarioError> {
        // By place and not by name: a person mends a file from the top.
        let strangers = self.table.keys().filter(|key| !keys.contains(&key.get_ref().as_ref()));
        let Some(stranger) = strangers.min_by_key(|key| key.span().start) else { return Ok(self) };
        let (path, line) = (self.child(stranger.get_ref()), self.source.line(&stranger.span()));
        let what = format!("{path}: there is no such key; the keys here are {}", keys.join(", "));
        Err(ScenarioError::key(self.source.file, line, &path, what))
    }

    fn child(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of a key, if it is there.
    pub(super) fn field(&self, key: &str) -> Option<Field<'a>> {
        let value = self.table.get(key)?;
        Some(Field { source: self.source, value, path: self.child(key) })
    }

    /// The value of a key that has to be there.
    pub(super) fn required(&self, key: &str, what: &str) -> Result<Field<'a>, ScenarioError> {
        self.field(key).ok_or_else(|| self.missing(key, what))
    }

    /// A number, or its default.
    pub(super) fn number(
        &self,
        key: &str,
        default: f64,
        range: RangeInclusive<f64>,
        what: &str,
    ) -> Result<f64, ScenarioError> {
        self.field(key).map_or(Ok(default), |field| field.number(range, what))
    }

    /// The error that a key is not there.
    pub(super) fn missing(&self, key: &str, what: &str) -> ScenarioError {
        let path = self.child(key);
        let line = self.source.line(&self.span);
        ScenarioError::key(self.source.file, line, &path, format!("{path} is missing: {what}"))
    }
}

/// A value with its key and its place.
#[derive(Clone)]
pub(super) struct Field<'a> {
    source: ScenarioText<'a>,
    value: &'a Spanned<DeValue<'a>>,
    path: String,
}

impl<'a> Field<'a> {
    /// The error that the value is not right, with what would be.
    pub(super) fn wrong(&self, what: impl Display) -> ScenarioError {
        let line = self.source.line(&self.value.span());
        let what = match self.value.get_ref() {
            // A section's text begins with its header, which the key names already.
            DeValue::Table(_) => format!("{}: {what}", self.path),
            _ => format!("{} = {}: {what}", self.path, self.shown()),
        };
        ScenarioError::key(self.source.file, line, &self.path, what)
    }

    /// The value as it stands in the file, on one line and not too long.
    fn shown(&self) -> String {
        let text = self.source.text.get(self.value.span()).unwrap_or_default();
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if flat.chars().count() <= SHOWN_MAX {
            return flat;
        }
        flat.chars().take(SHOWN_MAX).chain("...".chars()).collect()
    }

    /// Whether it is a table.
    pub(super) fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    /// A finite number in a range; whole ones count too.
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

    /// A whole number that is not negative.
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

    /// One of these words, as its index.
    pub(super) fn word(&self, words: &[&str]) -> Result<usize, ScenarioError> {
        let text = self.value.get_ref().as_str();
        let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let known = text.and_then(|text| words.iter().position(|word| *word == text));
        known.ok_or_else(|| self.wrong(format!("it is one of {}", quoted.join(", "))))
    }

    /// A list, entry by entry.
    pub(super) fn entries(&self, what: &str) -> Result<Vec<Self>, ScenarioError> {
        let array = self.value.get_ref().as_array().ok_or_else(|| self.wrong(what))?;
        let entry =
            |(index, value)| Self { source: self.source, value, path: format!("{}[{index}]", self.path) };
        Ok(array.iter().enumerate().map(entry).collect())
    }

    /// A table with these keys and no others.
    pub(super) fn section(&self, keys: &[&str]) -> Result<Section<'a>, ScenarioError> {
        let what = format!("it is a table with the keys {}", keys.join(", "));
        let table = self.value.get_ref().as_table().ok_or_else(|| self.wrong(what))?;
        let (source, span, path) = (self.source, self.value.span(), self.path.clone());
        Section { source, table, span, path }.knowing(keys)
    }

    /// A table whose other keys depend on the word under `kind`.
    pub(super) fn kinds(&self, kinds: &[(&str, &[&str])]) -> Result<(usize, Section<'a>), ScenarioError> {
        let words: Vec<_> = kinds.iter().map(|(word, _)| *word).collect();
        let what = format!("it is a table with kind = one of {}", words.join(", "));
        let table = self.value.get_ref().as_table().ok_or_else(|| self.wrong(&what))?;
        let (source, span, path) = (self.source, self.value.span(), self.path.clone());
        let section = Section { source, table, span, path };
        let index = section.required("kind", &format!("one of {}", words.join(", ")))?.word(&words)?;
        let mut keys = vec!["kind"];
        keys.extend(kinds[index].1);
        Ok((index, section.knowing(&keys)?))
    }
}
