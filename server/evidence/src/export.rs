//! The evidence as a file for any SQLite tool: indices, and a table that explains the rest.

use rusqlite::{Connection, Result, params};

use crate::schema::{self, TABLES};
use crate::{BuildError, Evidence};

/// The table that explains the others.
pub(crate) const README: &str = "readme";

/// Made once the tables are full. None is needed while the host's own checks run, which read most
/// rows anyway.
const INDICES: &str = "
create index events_run_name on events (run, name);
create index events_tid on events (tid);
create index events_serial on events (serial);
create index events_path on events (path);
create index events_real on events (real);
create index events_t_ns on events (t_ns);
create index threads_tid on threads (tid);
create index fds_opened on fds (opened_id);
create index sockets_serial on sockets (serial);
create index waits_role on waits (run, role);
create index output_event on output (event_id);
";

impl Evidence {
    /// The file that a learner or a teacher downloads: the same tables and views, with indices, and a
    /// table `readme` (name, kind, column, type, about) that explains each of them. It opens in any
    /// SQLite from version 3.37 on; the functions beside SQLite's own are not in it.
    ///
    /// # Errors
    /// When memory is short.
    pub fn export(&self) -> Result<Vec<u8>, BuildError> {
        let bytes = self.to_bytes()?;
        // What was read from such a file is one already.
        if self.db.table_exists(Some("main"), README)? {
            return Ok(bytes);
        }
        let mut db = Connection::open_in_memory()?;
        db.deserialize_read_exact("main", bytes.as_slice(), bytes.len(), false)?;
        drop(bytes);
        db.pragma_update(None, "journal_mode", "off")?;
        let filling = db.transaction()?;
        filling.execute_batch(INDICES)?;
        explain(&filling)?;
        filling.commit()?;
        Ok(db.serialize("main")?.to_vec())
    }
}

/// Fills the table `readme`: a row for each table, view and function, and one for each column.
fn explain(db: &Connection) -> Result<()> {
    db.execute_batch(&format!(
        "create table {README} (name text, kind text, \"column\" text, type text, about text) strict;"
    ))?;
    let mut insert = db.prepare(&format!("insert into {README} values (?, ?, ?, ?, ?)"))?;
    let none = None::<&str>;
    for table in TABLES {
        insert.execute(params![table.name, table.kind.as_str(), none, none, table.about])?;
        for column in table.columns {
            insert.execute(params![
                table.name,
                table.kind.as_str(),
                column.name,
                column.kind,
                column.about
            ])?;
        }
    }
    for function in schema::FUNCTIONS {
        let about =
            format!("{}: {}. Not in this file: Todoku alone has it.", function.signature, function.about);
        insert.execute(params![function.name, "function", none, none, about])?;
    }
    Ok(())
}
