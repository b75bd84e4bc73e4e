//! One table of a machine file, read key by key, with line numbers for errors. Called by
//! `machine_file` only. It knows TOML and units, and nothing about machines.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::MachineFileError;
use crate::units::{UnitError, parse_duration, parse_percent, parse_rate, parse_size};

/// A parsed file with what its messages need.
pub(super) struct MachineDocument<'text> {
    text: &'text str,
    path: &'text Path,
    root: Spanned<DeTable<'text>>,
}

/// A table of the document.
pub(super) struct Section<'document> {
    text: &'document str,
    path: &'document Path,
    /// The title as in the file: `[[disk]]`, `[limit.pci]`, `stall`.
    title: String,
    table: &'document DeTable<'document>,
    span: Range<usize>,
}

impl<'text> MachineDocument<'text> {
    pub(super) fn parse(text: &'text str, path: &'text Path) -> Result<Self, MachineFileError> {
        let root = DeTable::parse(text).map_err(|error| MachineFileError::Invalid {
            path: path.to_owned(),
            line: error.span().map_or(1, |span| line_of(text, span.start)),
            message: format!("not valid TOML: {}", error.message()),
        })?;
        Ok(Self { text, path, root })
    }

    pub(super) fn root(&self) -> Section<'_> {
        Section {
            text: self.text,
            path: self.path,
            title: "the machine".to_owned(),
            table: self.root.get_ref(),
            span: 0..0,
        }
    }
}

impl<'document> Section<'document> {
    /// An error on the section as a whole.
    pub(super) fn invalid(&self, message: impl Into<String>) -> MachineFileError {
        self.invalid_span(self.span.start, message)
    }

    /// An error on the line of a key (of the section, if it is not there).
    pub(super) fn invalid_at(&self, key: &str, message: impl Into<String>) -> MachineFileError {
        let start = self
            .value(key)
            .map_or(self.span.start, |value| value.span().start);
        self.invalid_span(start, message)
    }

    fn invalid_span(&self, start: usize, message: impl Into<String>) -> MachineFileError {
        MachineFileError::Invalid {
            path: self.path.to_owned(),
            line: line_of(self.text, start),
            message: message.into(),
        }
    }

    /// Refuses keys that are not in the list: a mistyped key must not be a silent default.
    pub(super) fn allow_only(&self, known: &[&str]) -> Result<(), MachineFileError> {
        let unknown = self
            .table
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
            .min_by_key(|key| key.span().start);
        let Some(key) = unknown else {
            return Ok(());
        };
        let message = format!(
            "unknown key {:?} in {}; expected one of {}",
            key.get_ref(),
            self.title,
            known.join(", ")
        );
        Err(self.invalid_span(key.span().start, message))
    }

    /// The value of a key that must be there.
    pub(super) fn required<T>(&self, key: &str, value: Option<T>) -> Result<T, MachineFileError> {
        value.ok_or_else(|| self.invalid(format!("{key} is missing in {}", self.title)))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'document str>, MachineFileError> {
        self.value(key)
            .map(|value| self.as_text(key, value))
            .transpose()
    }

    /// An array of texts; empty if the key is not there.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<&'document str>, MachineFileError> {
        let Some(value) = self.value(key) else {
            return Ok(Vec::new());
        };
        let DeValue::Array(array) = value.get_ref() else {
            let message = format!("{key} must be a list of names in quotes: {key} = [\"pci\"]");
            return Err(self.invalid_at(key, message));
        };
        array.iter().map(|value| self.as_text(key, value)).collect()
    }

    pub(super) fn size(&self, key: &str) -> Result<Option<u64>, MachineFileError> {
        self.quantity(key, parse_size)
    }

    pub(super) fn rate(&self, key: &str) -> Result<Option<f64>, MachineFileError> {
        self.quantity(key, parse_rate)
    }

    pub(super) fn duration(&self, key: &str) -> Result<Option<u64>, MachineFileError> {
        self.quantity(key, parse_duration)
    }

    pub(super) fn percent(&self, key: &str) -> Result<Option<f64>, MachineFileError> {
        self.quantity(key, parse_percent)
    }

    pub(super) fn integer(&self, key: &str) -> Result<Option<u32>, MachineFileError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        if let DeValue::Integer(integer) = value.get_ref()
            && let Ok(number) = u32::from_str_radix(integer.as_str(), integer.radix())
        {
            return Ok(Some(number));
        }
        Err(self.invalid_at(key, format!("{key} must be a whole number: {key} = 12")))
    }

    pub(super) fn boolean(&self, key: &str) -> Result<Option<bool>, MachineFileError> {
        match self.value(key).map(Spanned::get_ref) {
            None => Ok(None),
            Some(DeValue::Boolean(value)) => Ok(Some(*value)),
            Some(_) => Err(self.invalid_at(key, format!("{key} must be true or false"))),
        }
    }

    /// One of several words.
    pub(super) fn choice<T: Copy>(
        &self,
        key: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, MachineFileError> {
        let Some(word) = self.text(key)? else {
            return Ok(None);
        };
        let found = choices.iter().find(|choice| choice.0 == word);
        found.map(|choice| Some(choice.1)).ok_or_else(|| {
            let known = choices
                .iter()
                .map(|choice| choice.0)
                .collect::<Vec<_>>()
                .join(", ");
            self.invalid_at(
                key,
                format!("{key} = {word:?} is unknown; expected one of {known}"),
            )
        })
    }

    /// `key = { ... }`.
    pub(super) fn subsection(
        &self,
        key: &str,
    ) -> Result<Option<Section<'document>>, MachineFileError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        self.section(key.to_owned(), value).map(Some)
    }

    /// `[key.NAME]` tables with their names.
    pub(super) fn named_sections(
        &self,
        key: &str,
    ) -> Result<Vec<(&'document str, Section<'document>)>, MachineFileError> {
        let Some(all) = self.subsection(key)? else {
            return Ok(Vec::new());
        };
        let mut sections = Vec::new();
        for (name, value) in all.table {
            let name = name.get_ref().as_ref();
            sections.push((name, self.section(format!("[{key}.{name}]"), value)?));
        }
        Ok(sections)
    }

    /// `[[key]]` tables in their order.
    pub(super) fn listed_sections(
        &self,
        key: &str,
    ) -> Result<Vec<Section<'document>>, MachineFileError> {
        let Some(value) = self.value(key) else {
            return Ok(Vec::new());
        };
        let DeValue::Array(array) = value.get_ref() else {
            let message = format!("write [[{key}]] with two brackets: there may be several");
            return Err(self.invalid_at(key, message));
        };
        array
            .iter()
            .map(|value| self.section(format!("[[{key}]]"), value))
            .collect()
    }

    fn section(
        &self,
        title: String,
        value: &'document Spanned<DeValue<'document>>,
    ) -> Result<Section<'document>, MachineFileError> {
        let DeValue::Table(table) = value.get_ref() else {
            let message = format!("{title} must be a table of keys and values");
            return Err(self.invalid_span(value.span().start, message));
        };
        Ok(Section {
            text: self.text,
            path: self.path,
            title,
            table,
            span: value.span(),
        })
    }

    fn quantity<T>(
        &self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, UnitError>,
    ) -> Result<Option<T>, MachineFileError> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        let value = parse(text).map_err(|error| self.invalid_at(key, format!("{key}: {error}")))?;
        Ok(Some(value))
    }

    fn as_text(
        &self,
        key: &str,
        value: &'document Spanned<DeValue<'document>>,
    ) -> Result<&'document str, MachineFileError> {
        if let DeValue::String(text) = value.get_ref() {
            return Ok(text.as_ref());
        }
        let message = format!("{key} must be a text in quotes, with its unit if it has one");
        Err(self.invalid_span(value.span().start, message))
    }

    fn value(&self, key: &str) -> Option<&'document Spanned<DeValue<'document>>> {
        self.table.get(key)
    }
}

/// The line, from 1, of a byte position.
fn line_of(text: &str, position: usize) -> usize {
    let before = text.as_bytes().iter().take(position);
    1 + before.filter(|byte| **byte == b'\n').count()
}
