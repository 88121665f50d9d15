//! An attempt as tables: its runs, traces, outputs and answers in one small SQLite database in
//! memory, and bounded queries over it.
//!
//! `docs/evidence.md` is the contract for whoever writes queries; [`schema`] is where it comes from.
//! This crate is the sole user of SQLite, and knows neither labs nor people.
#![warn(missing_docs)]

mod events;
mod export;
mod family;
mod format;
mod functions;
mod guard;
mod input;
mod lex;
mod lines;
mod load;
mod output;
mod perfetto;
mod query;
pub mod schema;
mod sockets;
mod value;
mod windows;

use std::collections::BTreeMap;
use std::fmt;

use rusqlite::{Connection, params};
use serde_json::Value as Json;

pub use family::Family;
pub use format::{Format, printable};
pub use input::{Answer, CallCount, FileLeft, InputFile, Kept, RequestSeen, RunInput, Stage};
pub use lex::mentions;
pub use perfetto::PerfettoError;
pub use query::{Bound, Overflow, Position, QueryError, QueryLimits, Rows};
use value::CELL_BYTES;
pub use windows::{Edges, WindowSpec};

use lines::Lines;

/// Whether a run's trace can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStatus {
    /// Label of the run in the lab.
    pub label: String,
    /// Which execution of it.
    pub try_no: u32,
    /// Whether the trace can be trusted whole; `None` for an untraced run.
    pub complete: Option<bool>,
    /// Why not.
    pub incomplete_why: Option<String>,
    /// Whether all files that it left were collected; `None` where none were.
    pub files_complete: Option<bool>,
}

/// Where an event stands in its trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLine {
    /// Label of the run.
    pub run: String,
    /// Which execution of it.
    pub try_no: u32,
    /// Line of the event, or of its first half.
    pub line: u32,
    /// Text of that line.
    pub text: String,
    /// Line and text of the second half, where the call was split.
    pub tail: Option<(u32, String)>,
}

/// Why evidence could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Two runs have one name.
    #[error("the run {label}, try {try_no}, is given twice")]
    DuplicateRun {
        /// Its label.
        label: String,
        /// Its try.
        try_no: u32,
    },
    /// Two answers are to one question.
    #[error("the question {id} is answered twice in one stage")]
    DuplicateAnswer {
        /// The question.
        id: String,
    },
    /// An answer or a parameter does not fit into a cell.
    #[error("the value of {id} is longer than {CELL_BYTES} bytes")]
    ValueTooLong {
        /// The question or parameter.
        id: String,
    },
    /// The bytes are of another version of the tables.
    #[error("the evidence is of version {found}; this program reads version {}", schema::VERSION)]
    Version {
        /// Theirs.
        found: i32,
    },
    /// The bound on memory cannot be raised.
    #[error("SQLite's memory is bounded to {set} bytes already; the bound can only be lowered")]
    HeapLimit {
        /// The bound in force.
        set: i64,
    },
    /// SQLite failed: memory, or bytes that are not evidence.
    #[error("the evidence database cannot be made")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<rusqlite::Error> for BuildError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Box::new(error))
    }
}

/// The evidence of one attempt. It owns all it needs, the lines of the traces included.
pub struct Evidence {
    pub(crate) db: Connection,
    pub(crate) refusal: guard::Refusal,
    pub(crate) params: BTreeMap<String, Json>,
    runs: Vec<RunStatus>,
    answered: Vec<String>,
    lines: Vec<Lines>,
}

impl fmt::Debug for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evidence").field("runs", &self.runs).finish_non_exhaustive()
    }
}

impl Evidence {
    /// Makes the evidence of an attempt from its runs, answers and drawn parameters, and the windows
    /// that its lab declares.
    ///
    /// # Errors
    /// When two runs or two answers have one name, a value is too long, or memory is short.
    pub fn build(
        runs: &[RunInput<'_>],
        answers: &[Answer],
        params: &BTreeMap<String, Json>,
        windows: &[WindowSpec],
    ) -> Result<Self, BuildError> {
        check_input(runs, answers, params)?;
        let traces = runs.iter().filter_map(|run| run.trace).map(|trace| trace.text().len()).sum();
        let mut db = load::database(traces)?;
        let filling = db.transaction()?;
        let mut loader = load::Loader::new(&filling, windows)?;
        for run in runs {
            loader.run(run)?;
        }
        drop(loader);
        for answer in answers {
            let row = params![answer.id, load::stage(answer.stage), value::to_sql(&answer.value)];
            filling.execute(&schema::insert("answers"), row)?;
        }
        for (id, json) in params {
            filling.execute(&schema::insert("params"), params![id, value::to_sql(json)])?;
        }
        filling.commit()?;
        Ok(Self {
            runs: runs.iter().map(status).collect(),
            answered: answers.iter().map(|answer| answer.id.clone()).collect(),
            lines: runs.iter().map(|run| Lines::of(run.trace)).collect(),
            ..Self::open(db, params.clone())?
        })
    }

    /// The tables without a row, to check queries against.
    ///
    /// # Errors
    /// When memory is short.
    pub fn empty() -> Result<Self, BuildError> {
        Self::build(&[], &[], &BTreeMap::new(), &[])
    }

    /// Closes a filled database for writing.
    fn open(db: Connection, params: BTreeMap<String, Json>) -> Result<Self, BuildError> {
        functions::register(&db)?;
        let refusal = guard::close(&db)?;
        Ok(Self { db, refusal, params, runs: Vec::new(), answered: Vec::new(), lines: Vec::new() })
    }

    /// The runs, in order.
    #[must_use]
    pub fn runs(&self) -> &[RunStatus] {
        &self.runs
    }

    /// Whether a question was answered, in any stage.
    #[must_use]
    pub fn answered(&self, id: &str) -> bool {
        self.answered.iter().any(|answered| answered == id)
    }

    /// Whether a window was opened in every try of a run. Not in an untraced run, nor in one that
    /// there is not.
    #[must_use]
    pub fn opened(&self, run: &str, window: &str) -> bool {
        let sql = "select count(*) > 0 and count(*) = count(w.name) from runs r
            left join windows w on w.run = r.run and w.try = r.try and w.name = ?2
            where r.run = ?1";
        let opened =
            |statement: &mut rusqlite::Statement<'_>| statement.query_row([run, window], |row| row.get(0));
        self.db.prepare_cached(sql).and_then(|mut statement| opened(&mut statement)).unwrap_or(false)
    }

    /// The place of an event in its trace; `None` for an id that no event has.
    #[must_use]
    pub fn event_line(&self, id: i64) -> Option<EventLine> {
        let sql = "select run, try, line, end_line from events where id = ?";
        let mut statement = self.db.prepare_cached(sql).ok()?;
        let place = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        let (run, try_no, line, end_line): (String, u32, u32, u32) = statement.query_row([id], place).ok()?;
        let index = self.runs.iter().position(|status| status.label == run && status.try_no == try_no)?;
        let lines = self.lines.get(index)?;
        let text = lines.get(line).into_owned();
        let tail = (end_line != line).then(|| (end_line, lines.get(end_line).into_owned()));
        Some(EventLine { run, try_no, line, text, tail })
    }

    /// The database file, as any SQLite tool opens it.
    ///
    /// # Errors
    /// When memory is short.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BuildError> {
        // SQLite asks for the size by a pragma.
        guard::unwatch(&self.db)?;
        let bytes = self.db.serialize("main").map(|data| data.to_vec());
        guard::watch(&self.db, &self.refusal)?;
        Ok(bytes?)
    }

    /// Reads what [`Evidence::to_bytes`] wrote, for queries. The lines of the traces are not in it, so
    /// [`Evidence::event_line`] finds none.
    ///
    /// # Errors
    /// When the bytes are no evidence of this version, or memory is short.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BuildError> {
        let mut db = Connection::open_in_memory()?;
        db.deserialize_read_exact("main", bytes, bytes.len(), true)?;
        let version: i32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version != schema::VERSION {
            return Err(BuildError::Version { found: version });
        }
        let runs = read(
            &db,
            "select run, try, complete, incomplete_why, files_complete from runs order by rowid",
            |row| {
                let (label, try_no) = (row.get(0)?, row.get(1)?);
                let (complete, incomplete_why, files_complete) = (row.get(2)?, row.get(3)?, row.get(4)?);
                Ok(RunStatus { label, try_no, complete, incomplete_why, files_complete })
            },
        )?;
        let answered = read(&db, "select id from answers", |row| row.get(0))?;
        let params = read(&db, "select id, value from params", |row| {
            Ok((row.get(0)?, value::to_json(row.get_ref(1)?).0))
        })?;
        Ok(Self { runs, answered, ..Self::open(db, params.into_iter().collect())? })
    }
}

/// Bounds the memory of SQLite in this whole process: every evidence in it, and every query. For a
/// process that lives for one query of an untrusted person; 64 MiB and the size of the evidence are
/// enough. <https://sqlite.org/pragma.html#pragma_hard_heap_limit>
///
/// # Errors
/// When SQLite refuses, as it does to raise a limit already set.
pub fn limit_heap(bytes: u64) -> Result<(), BuildError> {
    let db = Connection::open_in_memory()?;
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    let set: i64 = db.query_row(&format!("pragma hard_heap_limit = {bytes}"), [], |row| row.get(0))?;
    if set == bytes { Ok(()) } else { Err(BuildError::HeapLimit { set }) }
}

fn read<T>(
    db: &Connection,
    sql: &str,
    row: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    db.prepare(sql)?.query_map([], row)?.collect()
}

fn check_input(
    runs: &[RunInput<'_>],
    answers: &[Answer],
    params: &BTreeMap<String, Json>,
) -> Result<(), BuildError> {
    for (index, run) in runs.iter().enumerate() {
        if runs[..index].iter().any(|other| (other.label, other.try_no) == (run.label, run.try_no)) {
            return Err(BuildError::DuplicateRun { label: run.label.to_owned(), try_no: run.try_no });
        }
    }
    for (index, answer) in answers.iter().enumerate() {
        if answers[..index].iter().any(|other| other.id == answer.id && other.stage == answer.stage) {
            return Err(BuildError::DuplicateAnswer { id: answer.id.clone() });
        }
    }
    let values = answers.iter().map(|answer| (&answer.id, &answer.value)).chain(params);
    for (id, json) in values {
        let length = json.as_str().map_or_else(|| json.to_string().len(), str::len);
        if length > CELL_BYTES {
            return Err(BuildError::ValueTooLong { id: id.clone() });
        }
    }
    Ok(())
}

fn status(run: &RunInput<'_>) -> RunStatus {
    RunStatus {
        label: run.label.to_owned(),
        try_no: run.try_no,
        complete: run.trace.map(strace::Trace::is_complete),
        incomplete_why: run.trace.and_then(load::incomplete_why),
        files_complete: run.files_complete,
    }
}
