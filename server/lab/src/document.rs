//! A TOML file taken apart entry by entry, so that a fault in one hides none in the next.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use crate::fault::Faults;
use crate::folder::line_of;

/// A table of the file and the lines it stands on.
pub(crate) struct Entry<T> {
    pub(crate) value: T,
    pub(crate) lines: Lines,
}

/// The tables of one list that fit; `whole` says whether all did.
pub(crate) struct List<T> {
    pub(crate) entries: Vec<Entry<T>>,
    pub(crate) whole: bool,
}

/// Where the keys of a table stand.
pub(crate) struct Lines {
    start: u32,
    keys: BTreeMap<String, u32>,
}

impl Lines {
    /// The line of a key; that of the table where it does not hold the key.
    pub(crate) fn of(&self, key: &str) -> Option<u32> {
        Some(*self.keys.get(key).unwrap_or(&self.start))
    }
}

/// A TOML file whose tables are read one by one.
pub(crate) struct Document<'a> {
    path: &'a Path,
    text: &'a str,
    table: DeTable<'a>,
}

impl<'a> Document<'a> {
    /// Parses the text; `None` once its faults are noted.
    pub(crate) fn parse(path: &'a Path, text: &'a str, faults: &mut Faults) -> Option<Self> {
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            add(path, text, error, faults);
        }
        let table = table.into_inner();
        errors.is_empty().then_some(Self { path, text, table })
    }

    /// Removes and reads the `[[key]]` tables; those that do not fit are noted and left out.
    pub(crate) fn take_list<T: DeserializeOwned>(&mut self, key: &str, faults: &mut Faults) -> List<T> {
        let mut entries = Vec::new();
        let Some(list) = self.table.remove(key) else {
            return List { entries, whole: true };
        };
        let line = line_of(self.text.as_bytes(), list.span().start);
        let DeValue::Array(list) = list.into_inner() else {
            let hint = format!("write each one under a header of its own: [[{key}]]");
            faults.add(self.path, Some(line), format!("{key} is not a list of tables"), &hint);
            return List { entries, whole: false };
        };
        let count = list.len();
        entries.extend(list.into_iter().filter_map(|item| self.read(item, faults)));
        let whole = entries.len() == count;
        List { entries, whole }
    }

    /// Reads what is left of the file.
    pub(crate) fn rest<T: DeserializeOwned>(mut self, faults: &mut Faults) -> Option<Entry<T>> {
        let table = std::mem::take(&mut self.table);
        self.read(Spanned::new(0..0, DeValue::Table(table)), faults)
    }

    fn read<T: DeserializeOwned>(&self, item: Spanned<DeValue<'a>>, faults: &mut Faults) -> Option<Entry<T>> {
        let line = |offset| line_of(self.text.as_bytes(), offset);
        let keys = item.get_ref().as_table().into_iter().flatten();
        let lines = Lines {
            start: line(item.span().start),
            keys: keys.map(|(key, _)| (key.get_ref().to_string(), line(key.span().start))).collect(),
        };
        match T::deserialize(ValueDeserializer::from(item)) {
            Ok(value) => Some(Entry { value, lines }),
            Err(error) => {
                let span = error.span().filter(|span| !span.is_empty());
                let line = span.map_or(lines.start, |span| line(span.start));
                faults.add(self.path, Some(line), error.message().trim(), "");
                None
            }
        }
    }
}

fn add(path: &Path, text: &str, error: &toml::de::Error, faults: &mut Faults) {
    let line = error.span().map(|span| line_of(text.as_bytes(), span.start));
    faults.add(path, line, error.message().trim(), "");
}
