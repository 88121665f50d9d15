//! What a query may do: the authorizer and SQLite's own limits.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Result};

use crate::export::README;
use crate::schema::TABLES;

/// Longest SQL text, in bytes.
pub(crate) const SQL_BYTES: usize = 16 * 1024;
/// Longest text or blob that a query may make, in bytes. Single SQLite functions (`instr`, `replace`)
/// take time in the square of it and cannot be interrupted inside.
pub(crate) const VALUE_BYTES: usize = 64 * 1024;

/// The refusal of everything that writes.
pub(crate) const WRITING: &str = "writing is not allowed: a query can only read (SELECT, WITH or VALUES)";

/// Readable beside the evidence: what a downloaded file says of itself, the schema and the table functions of JSON.
const READABLE: [&str; 5] = [README, "sqlite_master", "sqlite_schema", "json_each", "json_tree"];

/// Functions whose value depends on more than their arguments (clock, chance, connection, version),
/// or which reach outside. A grade is a function of the evidence alone.
const REFUSED_FUNCTIONS: [&str; 22] = [
    "changes",
    "current_date",
    "current_time",
    "current_timestamp",
    "date",
    "datetime",
    "fts3_tokenizer",
    "julianday",
    "last_insert_rowid",
    "load_extension",
    "random",
    "randomblob",
    "sqlite_compileoption_get",
    "sqlite_compileoption_used",
    "sqlite_log",
    "sqlite_source_id",
    "sqlite_version",
    "strftime",
    "time",
    "timediff",
    "total_changes",
    "unixepoch",
];

/// What the authorizer refused first, for the message.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refusal(Arc<Mutex<Option<String>>>);

impl Refusal {
    /// Takes the refusal, so that the next statement starts without one.
    pub(crate) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, what: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
    }
}

/// Closes a loaded database: from here on it can only be read, within bounds.
pub(crate) fn close(db: &Connection) -> Result<Refusal> {
    db.pragma_update(None, "query_only", true)?;
    // Sorters and temporary tables in memory: a query writes no file.
    db.pragma_update(None, "temp_store", "memory")?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // "text" in double quotes names a column; taken for a string it would hide typing errors.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    for (limit, value) in limits() {
        db.set_limit(limit, value)?;
    }
    let refusal = Refusal::default();
    watch(db, &refusal)?;
    Ok(refusal)
}

/// Sets the authorizer. <https://sqlite.org/c3ref/set_authorizer.html>
pub(crate) fn watch(db: &Connection, refusal: &Refusal) -> Result<()> {
    let seen = refusal.clone();
    db.authorizer(Some(move |context: AuthContext<'_>| match refused(&context.action) {
        None => Authorization::Allow,
        Some(what) => {
            seen.set(what);
            Authorization::Deny
        }
    }))
}

/// Takes the authorizer away, for work of our own.
pub(crate) fn unwatch(db: &Connection) -> Result<()> {
    db.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)
}

/// <https://sqlite.org/c3ref/c_limit_attached.html>
fn limits() -> [(Limit, i32); 12] {
    let bytes = |bytes: usize| i32::try_from(bytes).unwrap_or(i32::MAX);
    [
        (Limit::SQLITE_LIMIT_LENGTH, bytes(VALUE_BYTES)),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, bytes(SQL_BYTES)),
        (Limit::SQLITE_LIMIT_COLUMN, 100),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
        (Limit::SQLITE_LIMIT_VDBE_OP, 50_000),
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 32),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256),
        (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 100),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ]
}

/// What of an action is refused; `None` where it is allowed.
fn refused(action: &AuthAction<'_>) -> Option<String> {
    match action {
        AuthAction::Select | AuthAction::Recursive => None,
        // `count(*)` reads no column; what is named then may be a name of the query's own (`with c as ...`).
        AuthAction::Read { column_name: "", .. } => None,
        AuthAction::Read { table_name, .. } => {
            let known = TABLES.iter().any(|table| table.name.eq_ignore_ascii_case(table_name))
                || READABLE.iter().any(|name| name.eq_ignore_ascii_case(table_name));
            (!known).then(|| format!("the table {table_name} is not part of the evidence"))
        }
        AuthAction::Function { function_name } => REFUSED_FUNCTIONS
            .iter()
            .any(|name| name.eq_ignore_ascii_case(function_name))
            .then(|| format!("the function {function_name} is not allowed: its value does not come from the evidence alone")),
        AuthAction::Pragma { .. } => Some("PRAGMA is not allowed".to_owned()),
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => {
            Some("ATTACH, DETACH and VACUUM are not allowed: a query opens no file".to_owned())
        }
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => {
            Some("transactions are not allowed".to_owned())
        }
        _ => Some(WRITING.to_owned()),
    }
}
