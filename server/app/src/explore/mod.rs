//! Learners' own questions to the evidence.
//!
//! The SQL of somebody unknown is never prepared in the server's process: SQLite's memory can be bounded only for a whole
//! process, and while it prepares a statement nothing can interrupt it. So each query gets a process of its own
//! ([`child`]) that bounds itself before it looks at the text, and that [`ask`] kills when its time is over. [`Queue`]
//! bounds how many there are, [`Cache`] keeps evidence that was asked lately.

mod ask;
mod cache;
pub(crate) mod child;
mod queue;

use std::collections::BTreeMap;

use evidence::{Bound, QueryError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub(crate) use ask::{Answer, ask};
pub(crate) use cache::{Cache, Key};
pub(crate) use queue::{Busy, Queue, Turn};

/// A query.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    /// One reading statement: `SELECT`, `WITH` or `VALUES`.
    pub(crate) sql: String,
    /// Values of its parameters, by name without the colon.
    pub(crate) params: Option<BTreeMap<String, serde_json::Value>>,
}

/// Why a query gave nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    /// What is wrong, for people.
    pub(crate) detail: String,
    pub(crate) position: Option<Position>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FaultKind {
    /// SQLite cannot make sense of it.
    Invalid,
    /// It wants more than to read the evidence.
    Refused,
    /// It hit a bound.
    Limit(Limit),
}

/// A bound on queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = QueryBound)]
pub(crate) enum Limit {
    /// How long it may run.
    Time,
    /// How many rows it may return.
    Rows,
    /// How much text it may return.
    Text,
    /// How long one value may be.
    Value,
    /// How long the SQL may be.
    Sql,
    /// How deep its parentheses may be.
    Depth,
    /// How often it may use the queries that it names in `WITH`.
    Copies,
    /// How much memory it may use.
    Memory,
}

impl Limit {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Rows => "rows",
            Self::Text => "text",
            Self::Value => "value",
            Self::Sql => "sql",
            Self::Depth => "depth",
            Self::Copies => "copies",
            Self::Memory => "memory",
        }
    }
}

/// A place in the SQL text, both from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = QueryPosition)]
pub(crate) struct Position {
    line: usize,
    column: usize,
}

impl From<evidence::Position> for Position {
    fn from(at: evidence::Position) -> Self {
        Self { line: at.line, column: at.column }
    }
}

impl From<QueryError> for Fault {
    fn from(error: QueryError) -> Self {
        let detail = error.to_string();
        let (kind, at) = match error {
            QueryError::Empty | QueryError::UnknownParameter { .. } | QueryError::UnnamedParameter => {
                (FaultKind::Invalid, None)
            }
            QueryError::ManyStatements { at } => (FaultKind::Invalid, Some(at)),
            QueryError::Sql { at, .. } => (FaultKind::Invalid, at),
            QueryError::Refused { .. } => (FaultKind::Refused, None),
            QueryError::Limit(bound) => (FaultKind::Limit(limit(bound)), None),
        };
        Self { kind, detail: sentence(&detail), position: at.map(Into::into) }
    }
}

const fn limit(bound: Bound) -> Limit {
    match bound {
        Bound::Time(_) => Limit::Time,
        Bound::Rows(_) => Limit::Rows,
        Bound::TextOut(_) => Limit::Text,
        Bound::Value(_) => Limit::Value,
        Bound::Sql(_) => Limit::Sql,
        Bound::Depth(_) => Limit::Depth,
        Bound::Copies(_) => Limit::Copies,
        Bound::Memory => Limit::Memory,
    }
}

/// An error's words as a sentence, as every other `detail` is one.
fn sentence(words: &str) -> String {
    let mut rest = words.chars();
    let first = rest.next().map_or_else(String::new, |first| first.to_uppercase().collect());
    format!("{first}{}.", rest.as_str())
}
