//! Queries over the evidence, within bounds.

use std::fmt;
use std::time::{Duration, Instant};

use rusqlite::{Error, ErrorCode, Statement};
use serde::Serialize;
use serde_json::Value as Json;

use crate::Evidence;
use crate::guard::{self, SQL_BYTES, VALUE_BYTES};
use crate::lex::{self, Fault};
use crate::schema::TABLES;
use crate::value;

/// Virtual-machine steps between two looks at the clock. Few, since one step may be a function over
/// a long text.
const STEPS: i32 = 10;

/// Bounds of one query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryLimits {
    /// Longest time, preparation included.
    pub wall: Duration,
    /// Most rows.
    pub rows: usize,
    /// Most text in all rows together; a number counts 8 bytes.
    pub text_bytes: usize,
    /// What happens to more rows or text than that.
    pub overflow: Overflow,
}

/// What happens to a query with more rows or more text than its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// It fails: whoever judges must not judge by a part.
    Refuse,
    /// The rows so far are given, and [`Rows::truncated`] says that there are more.
    Cut,
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self { wall: Duration::from_secs(2), rows: 10_000, text_bytes: 1 << 20, overflow: Overflow::Refuse }
    }
}

impl QueryLimits {
    /// For reading by eye: too many rows are cut, not refused.
    #[must_use]
    pub fn exploring() -> Self {
        Self { overflow: Overflow::Cut, ..Self::default() }
    }
}

/// What a query yields.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Rows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values, a list for each row. Blobs are text (`X'00FF'`).
    pub rows: Vec<Vec<Json>>,
    /// Whether there were more ([`Overflow::Cut`]).
    pub truncated: bool,
}

/// A place in the SQL text, both from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Character in the line.
    pub column: usize,
}

impl Position {
    fn of(sql: &str, offset: usize) -> Self {
        let before = &sql[..sql.floor_char_boundary(offset)];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Self { line: before.matches('\n').count() + 1, column: before[start..].chars().count() + 1 }
    }
}

/// A bound that a query hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// [`QueryLimits::wall`].
    Time(Duration),
    /// [`QueryLimits::rows`].
    Rows(usize),
    /// [`QueryLimits::text_bytes`].
    TextOut(usize),
    /// Length of one value, in bytes.
    Value(usize),
    /// Length of the SQL text, in bytes.
    Sql(usize),
    /// Depth of parentheses.
    Depth(usize),
    /// Copies of `with` queries that SQLite would make.
    Copies(u64),
    /// Memory, or the size of the compiled statement.
    Memory,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(wall) => write!(f, "time: it may run for {} ms", wall.as_millis()),
            Self::Rows(rows) => write!(f, "rows: it may return {rows}; count them, or add a LIMIT"),
            Self::TextOut(bytes) => {
                write!(f, "text: it may return {bytes} bytes; choose fewer columns or rows")
            }
            Self::Value(bytes) => write!(f, "value: one text, blob or row may have {bytes} bytes"),
            Self::Sql(bytes) => write!(f, "length: its text may have {bytes} bytes"),
            Self::Depth(depth) => write!(f, "depth: parentheses may be nested {depth} deep"),
            Self::Copies(copies) => {
                write!(
                    f,
                    "copies: its WITH names may stand for {copies} queries, each use of a name counted with all that it uses itself"
                )
            }
            Self::Memory => write!(f, "memory: it needs more than it may have"),
        }
    }
}

/// Why a query gave nothing: what its author wrote wrong, or the bound it hit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// There is no statement.
    #[error("there is no query: write a SELECT")]
    Empty,
    /// There is more than one.
    #[error("one query at a time: a second statement begins at line {}, column {}", .at.line, .at.column)]
    ManyStatements {
        /// Where the second begins.
        at: Position,
    },
    /// SQLite cannot make sense of it, or a function cannot take a value.
    #[error("{message}{}", place(.at.as_ref()))]
    Sql {
        /// SQLite's words.
        message: String,
        /// Where, if SQLite says so.
        at: Option<Position>,
    },
    /// It wants more than to read the evidence.
    #[error("{what}")]
    Refused {
        /// What was refused, and why.
        what: String,
    },
    /// It names a parameter that nobody gave.
    #[error("the parameter :{name} has no value; known: {known}")]
    UnknownParameter {
        /// Its name.
        name: String,
        /// The names that have one.
        known: String,
    },
    /// It has a parameter without a name.
    #[error("a parameter needs a name, such as :port; ? has none")]
    UnnamedParameter,
    /// It hit a bound.
    #[error("the query is over its bound on {0}")]
    Limit(Bound),
}

fn place(at: Option<&Position>) -> String {
    at.map_or_else(String::new, |at| format!(" (line {}, column {})", at.line, at.column))
}

impl Evidence {
    /// Runs one reading statement. Its parameters take their values by name (`:port`) from `params`,
    /// else from the attempt's own.
    ///
    /// # Errors
    /// What is wrong with the query, or the bound it hit.
    pub fn query(
        &self,
        sql: &str,
        params: &[(String, Json)],
        limits: &QueryLimits,
    ) -> Result<Rows, QueryError> {
        self.guarded(sql, limits, |statement| {
            self.bind(statement, params)?;
            let rows = collect(statement, limits).map_err(|error| self.explain(error, sql, limits))?;
            rows.map_err(QueryError::Limit)
        })
    }

    /// The columns that a query would have, without running it.
    ///
    /// # Errors
    /// As [`Evidence::query`], as far as the text alone shows it.
    pub fn check_sql(&self, sql: &str) -> Result<Vec<String>, QueryError> {
        self.guarded(sql, &QueryLimits::default(), |statement| Ok(columns(statement)))
    }

    /// The names of a query's parameters, without their colons.
    ///
    /// # Errors
    /// As [`Evidence::check_sql`].
    pub fn parameters(&self, sql: &str) -> Result<Vec<String>, QueryError> {
        self.guarded(sql, &QueryLimits::default(), |statement| {
            (1..=statement.parameter_count())
                .map(|index| Ok(parameter(statement, index)?.to_owned()))
                .collect()
        })
    }

    /// Prepares a statement under the guard and hands it on.
    fn guarded<T>(
        &self,
        sql: &str,
        limits: &QueryLimits,
        then: impl FnOnce(&mut Statement<'_>) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        check_text(sql)?;
        let deadline = Instant::now() + limits.wall;
        let armed = self.db.progress_handler(STEPS, Some(move || Instant::now() >= deadline));
        armed.map_err(|error| self.explain(error, sql, limits))?;
        self.refusal.take();
        let outcome = match self.db.prepare(sql) {
            Ok(statement) if statement.column_count() == 0 && statement.readonly() => Err(QueryError::Empty),
            // The authorizer knows no VACUUM; it is the one writer that comes so far.
            Ok(statement) if !statement.readonly() => {
                Err(QueryError::Refused { what: guard::WRITING.to_owned() })
            }
            Ok(mut statement) => then(&mut statement),
            Err(error) => Err(self.explain(error, sql, limits)),
        };
        // A handler that stays would stop later work of ours at this deadline.
        let _ = self.db.progress_handler(0, None::<fn() -> bool>);
        outcome
    }

    fn bind(&self, statement: &mut Statement<'_>, params: &[(String, Json)]) -> Result<(), QueryError> {
        for index in 1..=statement.parameter_count() {
            let name = parameter(statement, index)?;
            let given = params.iter().find(|(id, _)| id == name).map(|(_, json)| json);
            let Some(json) = given.or_else(|| self.params.get(name)) else {
                let known: Vec<String> = params
                    .iter()
                    .map(|(id, _)| id)
                    .chain(self.params.keys())
                    .map(|id| format!(":{id}"))
                    .collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(QueryError::UnknownParameter { name: name.to_owned(), known });
            };
            let bound = statement.raw_bind_parameter(index, value::to_sql(json));
            bound.map_err(|error| self.explain(error, "", &QueryLimits::default()))?;
        }
        Ok(())
    }

    /// SQLite's error in our terms.
    fn explain(&self, error: Error, sql: &str, limits: &QueryLimits) -> QueryError {
        if let Some(what) = self.refusal.take() {
            return QueryError::Refused { what };
        }
        match (error.sqlite_error_code(), error) {
            (Some(ErrorCode::OperationInterrupted), _) => QueryError::Limit(Bound::Time(limits.wall)),
            (Some(ErrorCode::TooBig), _) => QueryError::Limit(Bound::Value(VALUE_BYTES)),
            (Some(ErrorCode::OutOfMemory), _) => QueryError::Limit(Bound::Memory),
            // What the authorizer is not asked about, since it cannot be done.
            (_, Error::SqlInputError { msg, .. } | Error::SqliteFailure(_, Some(msg)))
                if msg.starts_with("cannot modify ") =>
            {
                QueryError::Refused { what: guard::WRITING.to_owned() }
            }
            (_, Error::MultipleStatement) => QueryError::ManyStatements { at: Position::of(sql, sql.len()) },
            (_, Error::SqlInputError { msg, offset, .. }) => QueryError::Sql {
                message: with_tables(msg),
                at: usize::try_from(offset).ok().map(|offset| Position::of(sql, offset)),
            },
            (_, Error::SqliteFailure(_, Some(message))) => {
                QueryError::Sql { message: with_tables(message), at: None }
            }
            (_, other) => QueryError::Sql { message: other.to_string(), at: None },
        }
    }
}

const CIRCLE: &str = "queries named in WITH use each other in a circle, or share a name with each other or with a \
                      column: give each a name of its own";

/// What can be said before SQLite sees the text.
fn check_text(sql: &str) -> Result<(), QueryError> {
    if sql.len() > SQL_BYTES {
        return Err(QueryError::Limit(Bound::Sql(SQL_BYTES)));
    }
    // SQLite would take the text to end here.
    if let Some(offset) = sql.find('\0') {
        let at = Some(Position::of(sql, offset));
        return Err(QueryError::Sql { message: "a NUL character".to_owned(), at });
    }
    lex::check(sql).map_err(|fault| match fault {
        Fault::SecondStatement(offset) => QueryError::ManyStatements { at: Position::of(sql, offset) },
        Fault::Depth => QueryError::Limit(Bound::Depth(lex::DEPTH)),
        Fault::Circle => QueryError::Sql { message: CIRCLE.to_owned(), at: None },
        Fault::Copies => QueryError::Limit(Bound::Copies(lex::COPIES)),
    })
}

/// The reader of "no such table" wants to know which there are.
fn with_tables(message: String) -> String {
    if !message.starts_with("no such table") {
        return message;
    }
    let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    format!("{message}; there are {}", names.join(", "))
}

/// Name of a parameter without its first character (`:`, `@` or `$`).
fn parameter<'s>(statement: &'s Statement<'_>, index: usize) -> Result<&'s str, QueryError> {
    statement
        .parameter_name(index)
        .filter(|name| !name.starts_with('?'))
        .map(|name| &name[1..])
        .ok_or(QueryError::UnnamedParameter)
}

fn columns(statement: &Statement<'_>) -> Vec<String> {
    statement.column_names().into_iter().map(str::to_owned).collect()
}

/// Runs a bound statement. The inner error is a bound hit under [`Overflow::Refuse`].
fn collect(statement: &mut Statement<'_>, limits: &QueryLimits) -> rusqlite::Result<Result<Rows, Bound>> {
    let mut found = Rows { columns: columns(statement), ..Rows::default() };
    let width = found.columns.len();
    let mut text_bytes = 0;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        let mut values = Vec::with_capacity(width);
        for index in 0..width {
            let (json, bytes) = value::to_json(row.get_ref(index)?);
            text_bytes += bytes;
            values.push(json);
        }
        let hit = if found.rows.len() == limits.rows {
            Bound::Rows(limits.rows)
        } else if text_bytes > limits.text_bytes {
            Bound::TextOut(limits.text_bytes)
        } else {
            found.rows.push(values);
            continue;
        };
        if limits.overflow == Overflow::Refuse {
            return Ok(Err(hit));
        }
        found.truncated = true;
        break;
    }
    Ok(Ok(found))
}
