//! Values at the border between JSON, SQLite and the trace.

use rusqlite::types::{ToSqlOutput, Value as Sql, ValueRef};
use serde_json::Value as Json;

/// Longest text or blob that the evidence keeps in one cell, in bytes. A longer one is cut.
/// The queries' own bound is four times as high, so that a whole row can be sorted.
pub(crate) const CELL_BYTES: usize = 16 * 1024;

/// The beginning of a text, cut between characters so that it fits into a cell.
pub(crate) fn clip(text: &str) -> &str {
    if text.len() <= CELL_BYTES { text } else { &text[..text.floor_char_boundary(CELL_BYTES)] }
}

/// A JSON value as SQLite holds it: booleans as 0 and 1, lists and objects as JSON text.
pub(crate) fn to_sql(value: &Json) -> ToSqlOutput<'_> {
    match value {
        Json::Null => ToSqlOutput::Owned(Sql::Null),
        Json::Bool(flag) => ToSqlOutput::Owned(Sql::Integer(i64::from(*flag))),
        Json::Number(number) => ToSqlOutput::Owned(
            number.as_i64().map_or_else(|| Sql::Real(number.as_f64().unwrap_or(f64::NAN)), Sql::Integer),
        ),
        Json::String(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        Json::Array(_) | Json::Object(_) => ToSqlOutput::Owned(Sql::Text(value.to_string())),
    }
}

/// A cell as JSON, and what it counts against the bound on text. Infinities, which JSON lacks,
/// become text; so do blobs, as SQLite writes them (`X'00FF'`).
pub(crate) fn to_json(cell: ValueRef<'_>) -> (Json, usize) {
    match cell {
        ValueRef::Null => (Json::Null, NUMBER_BYTES),
        ValueRef::Integer(number) => (Json::from(number), NUMBER_BYTES),
        ValueRef::Real(number) => {
            let json = serde_json::Number::from_f64(number);
            (json.map_or_else(|| Json::from(number.to_string()), Json::Number), NUMBER_BYTES)
        }
        ValueRef::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let length = text.len().max(NUMBER_BYTES);
            (Json::String(text), length)
        }
        ValueRef::Blob(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            let length = hex.len().max(NUMBER_BYTES);
            (Json::String(format!("X'{hex}'")), length)
        }
    }
}

/// What a cell counts at least.
const NUMBER_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn clip_cuts_between_characters() {
        let text = "あ".repeat(CELL_BYTES);
        let cut = clip(&text);
        assert_eq!(cut.len(), CELL_BYTES / 3 * 3);
        assert!(cut.chars().all(|c| c == 'あ'));
        assert_eq!(clip("short"), "short");
    }

    #[test]
    fn infinity_and_blobs_are_text() {
        assert_eq!(to_json(ValueRef::Real(f64::INFINITY)).0, Json::from("inf"));
        assert_eq!(to_json(ValueRef::Blob(&[0, 255])).0, Json::from("X'00FF'"));
        assert_eq!(to_json(ValueRef::Text(b"a\xffb")).0, Json::from("a\u{fffd}b"));
    }
}
