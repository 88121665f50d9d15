//! The tables, views and functions, as data: what SQLite is told, what `docs/evidence.md` and the page
//! say, and what a downloaded file explains of itself come from here.

mod functions;
mod tables;
mod views;

use std::fmt::Write as _;

pub use functions::FUNCTIONS;
use tables::BASE;
use views::VIEWS;

/// Version of the contract, kept in `pragma user_version`.
pub const VERSION: i32 = 1;

/// What a [`Table`] is to SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rows of its own.
    Table,
    /// Rows made from those of tables whenever it is asked.
    View,
}

impl Kind {
    /// SQLite's word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::View => "view",
        }
    }
}

/// A table or view of the evidence database.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Whether it has rows of its own.
    pub kind: Kind,
    /// What one row is.
    pub about: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
    /// SQLite's words behind the columns of a table; the query of a view.
    sql: &'static str,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name; it ends in its unit where it has one.
    pub name: &'static str,
    /// SQLite's type: `integer`, `real`, `text`, or `any`.
    pub kind: &'static str,
    /// What a value means.
    pub about: &'static str,
    /// The table whose key its values are, where they are one's.
    pub references: Option<&'static str>,
}

/// A function beside SQLite's own.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// How it is called.
    pub signature: &'static str,
    /// What its value is, Markdown.
    pub about: &'static str,
}

/// Every table and view, in the order of the documentation.
pub const TABLES: &[Table] = &joined::<{ BASE.len() + VIEWS.len() }>(BASE, VIEWS);

const fn joined<const N: usize>(tables: &[Table], views: &[Table]) -> [Table; N] {
    let mut all = [tables[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < tables.len() { tables[at] } else { views[at - tables.len()] };
        at += 1;
    }
    all
}

impl Column {
    const fn of(name: &'static str, kind: &'static str, about: &'static str) -> Self {
        Self { name, kind, about, references: None }
    }

    /// A key of another table.
    const fn to(self, table: &'static str) -> Self {
        Self { references: Some(table), ..self }
    }
}

const fn int(name: &'static str, about: &'static str) -> Column {
    Column::of(name, "integer", about)
}

const fn real(name: &'static str, about: &'static str) -> Column {
    Column::of(name, "real", about)
}

const fn text(name: &'static str, about: &'static str) -> Column {
    Column::of(name, "text", about)
}

const fn any(name: &'static str, about: &'static str) -> Column {
    Column::of(name, "any", about)
}

const RUN: Column = text("run", "Label of the run in the lab.");
const TRY: Column = int("try", "1 for the first execution of that run, 2 for its repeat, and so on.");

impl Table {
    /// The statement that makes it. Its references are declared, for whoever reads the file; nothing
    /// enforces them while it is filled.
    fn create(&self) -> String {
        if self.kind == Kind::View {
            let columns: Vec<_> = self.columns.iter().map(|column| column.name).collect();
            return format!("create view {} ({}) as {};", self.name, columns.join(", "), self.sql);
        }
        let column = |column: &Column| {
            let references =
                column.references.map_or_else(String::new, |table| format!(" references {table}"));
            format!("{} {}{references}", column.name, column.kind)
        };
        let mut parts: Vec<String> = self.columns.iter().map(column).collect();
        if !self.sql.is_empty() {
            parts.push(self.sql.to_owned());
        }
        if self.name != "runs" && self.columns.iter().any(|column| column.name == RUN.name) {
            parts.push("foreign key (run, try) references runs".to_owned());
        }
        // Strict: a value of the wrong type is our mistake and must not pass silently.
        format!("create table {} (\n  {}\n) strict;", self.name, parts.join(",\n  "))
    }
}

/// The statements that make the tables and views.
pub(crate) fn create() -> String {
    let mut sql: String = TABLES.iter().map(|table| table.create() + "\n").collect();
    let _ = writeln!(sql, "pragma user_version = {VERSION};");
    sql
}

/// The statement that adds one row to a table, every column in order.
pub(crate) fn insert(table: &str) -> String {
    insert_rows(table, 1)
}

/// The statement that adds several rows at once.
pub(crate) fn insert_rows(table: &str, rows: usize) -> String {
    let columns = TABLES.iter().find(|t| t.name == table).map_or(0, |t| t.columns.len());
    let row = format!("({})", vec!["?"; columns].join(", "));
    format!("insert into {table} values {}", vec![row.as_str(); rows].join(", "))
}

/// The tables and views in Markdown, as `docs/evidence.md` shows them.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::new();
    for table in TABLES {
        let view = if table.kind == Kind::View { " (view)" } else { "" };
        let _ = write!(
            page,
            "### `{}`{view}\n\n{}\n\n| column | type | meaning |\n|---|---|---|\n",
            table.name, table.about
        );
        for column in table.columns {
            let _ = writeln!(page, "| `{}` | {} | {} |", column.name, column.kind, column.about);
        }
        page.push('\n');
    }
    page.truncate(page.trim_end().len());
    page
}

/// The functions in Markdown, as `docs/evidence.md` shows them.
#[must_use]
pub fn functions_markdown() -> String {
    let rows = FUNCTIONS.iter().map(|f| format!("\n| `{}` | {} |", f.signature, f.about));
    format!("| function | value |\n|---|---|{}", rows.collect::<String>())
}
