//! Rows as text: a table for a terminal, CSV, JSON, Markdown.
//!
//! What is in the rows came from the traced program as a rule. It must not drive a terminal, break a
//! table, or become markup.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::Value as Json;
use unicode_width::UnicodeWidthStr as _;

use crate::Rows;

/// A form of text for [`Rows`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Columns one below the other, for a terminal of any width. Numbers stand to the right; null is
    /// shown as `null`.
    Table,
    /// RFC 4180 with a header line. Null is an empty field, an empty text is `""`.
    Csv,
    /// `{"columns": [...], "rows": [[...], ...], "truncated": false}` and a line feed, as the API has it.
    Json,
    /// A table of GitHub Flavored Markdown, with everything that could be markup escaped.
    Markdown,
}

impl Rows {
    /// Writes the rows in a format. That rows were cut off is part of [`Format::Json`] alone; with the
    /// others it is for the caller to say so, outside of the data.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, format: Format, out: &mut impl Write) -> io::Result<()> {
        match format {
            Format::Table => self.table(out),
            Format::Csv => self.csv(out),
            Format::Json => {
                serde_json::to_writer(&mut *out, self)?;
                out.write_all(b"\n")
            }
            Format::Markdown => self.markdown(out),
        }
    }

    fn table(&self, out: &mut impl Write) -> io::Result<()> {
        let headers: Vec<Cow<'_, str>> = self.columns.iter().map(|name| printable(name)).collect();
        let rows: Vec<Vec<Cow<'_, str>>> =
            self.rows.iter().map(|row| row.iter().map(|value| printed(value)).collect()).collect();
        let mut widths: Vec<usize> = headers.iter().map(|name| name.width()).collect();
        let mut right = vec![!self.rows.is_empty(); headers.len()];
        for (row, values) in rows.iter().zip(&self.rows) {
            for (column, (cell, value)) in row.iter().zip(values).enumerate() {
                widths[column] = widths[column].max(cell.width());
                right[column] &= value.is_number() || value.is_null();
            }
        }
        let mut line = |cells: &[Cow<'_, str>]| {
            let mut text = String::new();
            for (column, cell) in cells.iter().enumerate() {
                let pad = " ".repeat(widths[column] - cell.width());
                let gap = if column == 0 { "" } else { "  " };
                let (before, after) = if right[column] { (pad.as_str(), "") } else { ("", pad.as_str()) };
                let _ = write!(text, "{gap}{before}{cell}{after}");
            }
            writeln!(out, "{}", text.trim_end_matches(' '))
        };
        line(&headers)?;
        let rules: Vec<Cow<'_, str>> = widths.iter().map(|width| "-".repeat(*width).into()).collect();
        line(&rules)?;
        rows.iter().try_for_each(|row| line(row))
    }

    /// <https://www.rfc-editor.org/rfc/rfc4180>
    fn csv(&self, out: &mut impl Write) -> io::Result<()> {
        let names: Vec<Json> = self.columns.iter().map(|name| Json::from(name.as_str())).collect();
        for row in std::iter::once(&names).chain(&self.rows) {
            for (column, value) in row.iter().enumerate() {
                out.write_all(if column == 0 { b"" } else { b"," })?;
                match value {
                    Json::Null => {}
                    Json::String(text) => csv_field(text, out)?,
                    other => csv_field(&other.to_string(), out)?,
                }
            }
            out.write_all(b"\r\n")?;
        }
        Ok(())
    }

    /// <https://github.github.com/gfm/#tables-extension->
    fn markdown(&self, out: &mut impl Write) -> io::Result<()> {
        let line = |cells: Vec<Cow<'_, str>>, out: &mut dyn Write| {
            let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
            writeln!(out, "| {} |", cells.join(" | "))
        };
        line(self.columns.iter().map(|name| printable(name)).collect(), out)?;
        let numeric = |column: usize| {
            !self.rows.is_empty()
                && self.rows.iter().all(|row| row[column].is_number() || row[column].is_null())
        };
        let rules = (0..self.columns.len()).map(|column| if numeric(column) { "--:" } else { "---" });
        writeln!(out, "| {} |", rules.collect::<Vec<_>>().join(" | "))?;
        self.rows.iter().try_for_each(|row| line(row.iter().map(printed).collect(), out))
    }
}

fn csv_field(text: &str, out: &mut impl Write) -> io::Result<()> {
    let plain = !text.is_empty() && !text.contains(['"', ',', '\r', '\n']);
    if plain { out.write_all(text.as_bytes()) } else { write!(out, "\"{}\"", text.replace('"', "\"\"")) }
}

/// A value as one line of printable text.
fn printed(value: &Json) -> Cow<'_, str> {
    match value {
        Json::String(text) => printable(text),
        other => other.to_string().into(),
    }
}

/// A text with everything that a terminal would obey, or that would not be seen, as escapes. A
/// backslash stays as it is, for traces are full of them.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if hidden(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

/// Control characters (C0, DEL, C1), line and paragraph separators, and what is invisible or turns
/// the direction of writing (<https://www.unicode.org/reports/tr9/>).
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A cell in which nothing is markup.
fn escaped(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        // An underscore between letters or digits is none of Markdown's.
        let inside = before.is_alphanumeric() && rest.peek().is_some_and(|next| next.is_alphanumeric());
        match c {
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' => cell.extend(['\\', c]),
            '_' if !inside => cell.push_str("\\_"),
            '<' => cell.push_str("&lt;"),
            '>' => cell.push_str("&gt;"),
            '&' => cell.push_str("&amp;"),
            _ => cell.push(c),
        }
        before = c;
    }
    cell
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn write(format: Format, columns: &[&str], rows: Json) -> String {
        let columns = columns.iter().map(|&name| name.to_owned()).collect();
        let rows = Rows { columns, rows: serde_json::from_value(rows).unwrap(), truncated: false };
        let mut out = Vec::new();
        rows.write(format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_is_aligned_by_what_a_terminal_shows() {
        let rows =
            serde_json::json!([["/etc/hosts", 12, 1.5], ["/資料/一.txt", 5, null], [null, 123_456, -2]]);
        assert_eq!(
            write(Format::Table, &["path", "n", "ms"], rows),
            "path               n    ms\n\
             ------------  ------  ----\n\
             /etc/hosts        12   1.5\n\
             /資料/一.txt       5  null\n\
             null          123456    -2\n"
        );
        // Full-width and combining: two and no columns.
        let rows = serde_json::json!([["Ａ", "x"], ["e\u{301}", "y"]]);
        assert_eq!(write(Format::Table, &["a", "b"], rows), "a   b\n--  -\nＡ  x\ne\u{301}   y\n");
        assert_eq!(write(Format::Table, &["a", "long"], serde_json::json!([])), "a  long\n-  ----\n");
        assert_eq!(write(Format::Table, &["n"], serde_json::json!([["a"], [10]])), "n\n--\na\n10\n");
    }

    #[test]
    fn nothing_drives_the_terminal() {
        let hostile = "a\x1b]0;title\x07\r\n\t\u{9b}31m\u{202e}\u{2028}\x7f\\z";
        let shown = write(Format::Table, &["x\x1b[2J"], serde_json::json!([[hostile]]));
        assert_eq!(
            shown,
            "x\\u{1b}[2J\n\
             -----------------------------------------------------------\n\
             a\\u{1b}]0;title\\u{7}\\r\\n\\t\\u{9b}31m\\u{202e}\\u{2028}\\u{7f}\\z\n"
        );
        for c in (0..=0x0010_ffff).filter_map(char::from_u32).filter(|c| c.is_control()) {
            let shown = printable(&c.to_string()).into_owned();
            assert!(shown.chars().all(|c| !c.is_control()), "{c:?} {shown}");
        }
    }

    #[test]
    fn csv_is_rfc_4180() {
        let rows = serde_json::json!([["a,b", "say \"x\"", 1], ["two\nlines", "", null], [" 1 ", "é", 2.5]]);
        assert_eq!(
            write(Format::Csv, &["a", "b \"c\"", "n"], rows),
            "a,\"b \"\"c\"\"\",n\r\n\"a,b\",\"say \"\"x\"\"\",1\r\n\"two\nlines\",\"\",\r\n 1 ,é,2.5\r\n"
        );
    }

    #[test]
    fn json_is_the_apis() {
        assert_eq!(
            write(Format::Json, &["a", "a"], serde_json::json!([[1, "x\n"], [null, 2.5]])),
            "{\"columns\":[\"a\",\"a\"],\"rows\":[[1,\"x\\n\"],[null,2.5]],\"truncated\":false}\n"
        );
    }

    #[test]
    fn markdown_has_no_markup_but_its_own() {
        let rows = serde_json::json!([
            ["a|b\\|c", 1],
            ["<img src=x>&lt;", 2],
            ["*x* `y` [z](u) __q__ a_b\nnext", null]
        ]);
        assert_eq!(
            write(Format::Markdown, &["text|", "n"], rows),
            "| text\\| | n |\n| --- | --: |\n\
             | a\\|b\\\\\\|c | 1 |\n\
             | &lt;img src=x&gt;&amp;lt; | 2 |\n\
             | \\*x\\* \\`y\\` \\[z\\](u) \\_\\_q\\_\\_ a_b\\\\nnext | null |\n"
        );
    }
}
