//! Tables of `strace -c`, which may stand in a text before, behind or instead of its calls.

use crate::trace::SummaryRow;

/// Where in a table the reader is.
#[derive(Debug, Default)]
pub(crate) struct SummaryTable {
    /// Names of the columns while inside of one.
    columns: Option<Vec<String>>,
}

/// What a line of a table says.
#[derive(Debug)]
pub(crate) struct TableLine {
    pub(crate) row: Option<SummaryRow>,
    pub(crate) note: Option<&'static str>,
}

impl SummaryTable {
    /// Reads a line that is no record; `None` if it is of no table either.
    pub(crate) fn read(&mut self, number: u32, line: &[u8]) -> Option<TableLine> {
        let text = std::str::from_utf8(line).ok()?.trim();
        if text.starts_with("% time ") && text.ends_with("syscall") {
            // "% time" is one column.
            self.columns = Some(text[2..].split_whitespace().map(str::to_owned).collect());
            return Some(TableLine { row: None, note: Some("a table of strace -c begins here") });
        }
        let columns = self.columns.as_ref()?;
        if !text.is_empty() && text.bytes().all(|byte| byte == b'-' || byte == b' ') {
            return Some(TableLine { row: None, note: Some("a rule of a table of strace -c") });
        }
        let mut cells: Vec<&str> = text.split_whitespace().collect();
        // A call that never failed leaves its errors blank.
        let errors = columns.iter().position(|column| column == "errors");
        if let Some(errors) = errors.filter(|_| cells.len() + 1 == columns.len()) {
            cells.insert(errors, "0");
        }
        let read = |name: &str| {
            let at = columns.iter().position(|column| column == name)?;
            cells.get(at).copied()
        };
        let row = (cells.len() == columns.len())
            .then(|| {
                Some(SummaryRow {
                    line: number,
                    name: read("syscall")?.to_owned(),
                    calls: read("calls")?.parse().ok()?,
                    errors: read("errors").unwrap_or("0").parse().ok()?,
                    seconds: read("seconds").unwrap_or("0").parse().ok()?,
                })
            })
            .flatten();
        match row {
            Some(row) if row.name == "total" => {
                self.columns = None;
                Some(TableLine { row: None, note: Some("the sum of a table of strace -c") })
            }
            Some(row) => Some(TableLine { row: Some(row), note: None }),
            None => {
                self.columns = None;
                None
            }
        }
    }
}
