//! Filling the tables: one transaction, one prepared statement for each table.

use std::sync::OnceLock;

use rusqlite::{Connection, Result, Statement, params};
use strace::{FdLifetime, Thread, Trace};

use crate::events::Events;
use crate::output::{self, Writes};
use crate::schema;
use crate::sockets::{Direction, Socket, sockets};
use crate::value::clip;
use crate::windows::{Window, WindowSpec, windows};
use crate::{Kept, RunInput, Stage};

/// Text of traces, in bytes, whose evidence stays far below the 1 GiB that SQLite lets a database grow
/// to that began as an image.
const IMAGE_BELOW: usize = 128 << 20;

/// A database in memory with the tables, to be filled with traces of so many bytes. Making the tables
/// anew takes longer than reading a small trace, so their first image is kept.
pub(crate) fn database(traces: usize) -> Result<Connection> {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    let mut db = Connection::open_in_memory()?;
    match IMAGE.get().filter(|_| traces < IMAGE_BELOW) {
        Some(image) => db.deserialize_read_exact("main", image.as_slice(), image.len(), false)?,
        None => {
            db.execute_batch(&schema::create())?;
            if let Ok(image) = db.serialize("main") {
                let _ = IMAGE.set(image.to_vec());
            }
        }
    }
    // Nothing is ever rolled back or written to disk; the order in which tables are filled is ours.
    db.execute_batch(
        "pragma journal_mode = off; pragma synchronous = off; pragma locking_mode = exclusive;
         pragma foreign_keys = off;",
    )?;
    Ok(db)
}

/// Statements kept prepared, and the ids given so far.
pub(crate) struct Loader<'db> {
    runs: Statement<'db>,
    summary: Statement<'db>,
    events: Events<'db>,
    threads: Statement<'db>,
    fds: Statement<'db>,
    sockets: Statement<'db>,
    windows: Statement<'db>,
    marks: Statement<'db>,
    output: Statement<'db>,
    files: Statement<'db>,
    requests: Statement<'db>,
    inputs: Statement<'db>,
    notes: Statement<'db>,
    specs: &'db [WindowSpec],
    ids: Ids,
}

/// Ids already used, which are dense over the attempt: what is added to an index of one trace.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ids {
    events: i64,
    fds: i64,
}

impl Ids {
    pub(crate) fn event(self, index: impl TryInto<i64>) -> Option<i64> {
        Some(self.events + 1 + index.try_into().ok()?)
    }

    pub(crate) fn fd(self, index: u32) -> i64 {
        self.fds + 1 + i64::from(index)
    }
}

impl<'db> Loader<'db> {
    pub(crate) fn new(db: &'db Connection, specs: &'db [WindowSpec]) -> Result<Self> {
        let insert = |table| db.prepare(&schema::insert(table));
        Ok(Self {
            runs: insert("runs")?,
            summary: insert("syscall_summary")?,
            events: Events::new(db)?,
            threads: insert("threads")?,
            fds: insert("fds")?,
            sockets: insert("sockets")?,
            windows: insert("windows")?,
            marks: insert("marks")?,
            output: insert("output")?,
            files: insert("files")?,
            requests: insert("requests")?,
            inputs: insert("inputs")?,
            notes: insert("notes")?,
            specs,
            ids: Ids::default(),
        })
    }

    /// Adds a run with all that its trace and its output say.
    pub(crate) fn run(&mut self, run: &RunInput<'_>) -> Result<()> {
        self.row(run)?;
        if let Some(trace) = run.trace {
            let sockets = sockets(trace);
            let windows = windows(trace, self.specs, &sockets);
            self.events.add(run, trace, &windows, self.ids)?;
            for socket in &sockets {
                self.socket(run, trace, socket)?;
            }
            for window in &windows {
                self.window(run, trace, window)?;
            }
            for thread in &trace.threads {
                self.thread(run, thread)?;
            }
            for (index, life) in (0..).zip(&trace.fds) {
                self.fd(run, trace, index, life)?;
            }
            self.marks_and_notes(run, trace)?;
        }
        self.output(run, "stdout", 1, run.stdout)?;
        self.output(run, "stderr", 2, run.stderr)?;
        self.brought(run)?;
        if let Some(trace) = run.trace {
            self.ids.events += count(trace.events.len());
            self.ids.fds += count(trace.fds.len());
        }
        Ok(())
    }

    fn row(&mut self, run: &RunInput<'_>) -> Result<()> {
        let command = serde_json::Value::from(run.command).to_string();
        self.runs.execute(params![
            run.label,
            run.try_no,
            clip(&command),
            run.outcome,
            run.exit_code,
            run.signal,
            run.wall_ns,
            run.cpu_ns,
            run.max_rss_bytes,
            run.oom,
            run.trace.and(i64::try_from(run.trace_bytes).ok()),
            run.trace.map(Trace::lines),
            match run.trace {
                Some(_) => "trace",
                None if run.summary.is_empty() => "none",
                None => "summary",
            },
            run.trace.map(Trace::is_complete),
            run.trace.and_then(incomplete_why),
            run.milli_cpus.map(|thousandths| f64::from(thousandths) / 1000.0),
            run.files_complete,
        ])?;
        Ok(())
    }

    /// What the host saw, put in and found afterwards.
    fn brought(&mut self, run: &RunInput<'_>) -> Result<()> {
        let (label, try_no) = (run.label, run.try_no);
        let printed = run.summary.iter().map(|row| (row.name, row.calls, row.errors, row.seconds));
        let in_trace = run.trace.into_iter().flat_map(|trace| &trace.summary);
        let in_trace = in_trace.map(|row| (row.name.as_str(), row.calls, row.errors, row.seconds));
        for (name, calls, errors, seconds) in printed.chain(in_trace) {
            let (calls, errors) = (count(calls), count(errors));
            self.summary.execute(params![label, try_no, clip(name), calls, errors, seconds])?;
        }
        for file in run.files {
            let (path, text) = (clip(file.path), file.text.map(clip));
            let (size, mode) = (count(file.size_bytes), file.mode);
            self.files.execute(params![label, try_no, path, file.kind, size, mode, file.sha256, text])?;
        }
        for (n, request) in (1_i64..).zip(run.requests) {
            self.requests.execute(params![
                label,
                try_no,
                n,
                count(request.conn),
                clip(request.method),
                clip(request.path),
                request.status,
                request.received_ns,
                request.responded_ns,
            ])?;
        }
        for file in run.inputs {
            let (path, size) = (clip(file.path), count(file.size_bytes));
            self.inputs.execute(params![label, try_no, path, file.sha256, size])?;
        }
        Ok(())
    }

    fn socket(&mut self, run: &RunInput<'_>, trace: &Trace, socket: &Socket<'_>) -> Result<()> {
        let event = |direction| self.ids.event(socket.event).filter(|_| socket.direction == direction);
        self.sockets.execute(params![
            self.ids.fd(socket.serial),
            run.label,
            run.try_no,
            socket.fd,
            socket.family,
            socket.kind,
            socket.direction.as_str(),
            event(Direction::Accept),
            socket.local.as_deref().map(clip),
            socket.remote.as_deref().map(clip),
            event(Direction::Connect),
            socket.connected_ns,
            trace.fds.get(socket.serial as usize).and_then(|life| life.closed_ns),
            socket.outcome.as_deref().unwrap_or("pending"),
        ])?;
        Ok(())
    }

    fn window(&mut self, run: &RunInput<'_>, trace: &Trace, window: &Window<'_>) -> Result<()> {
        let closing = window.to.and_then(|to| trace.events.get(to));
        self.windows.execute(params![
            run.label,
            run.try_no,
            window.name,
            self.ids.event(window.from),
            window.to.and_then(|to| self.ids.event(to)),
            trace.events.get(window.from).and_then(|event| event.t_ns()),
            closing.and_then(|event| event.end_ns().or(event.t_ns())),
        ])?;
        Ok(())
    }

    fn thread(&mut self, run: &RunInput<'_>, thread: &Thread) -> Result<()> {
        self.threads.execute(params![
            run.label,
            run.try_no,
            thread.pid,
            thread.tid,
            thread.parent_tid,
            thread.role.as_str(),
            thread.rule,
            thread.comm,
            thread.created_ns,
            thread.named_ns,
            thread.exited_ns,
            thread.created.and_then(|index| self.ids.event(index)),
        ])?;
        Ok(())
    }

    fn fd(&mut self, run: &RunInput<'_>, trace: &Trace, index: u32, life: &FdLifetime) -> Result<()> {
        self.fds.execute(params![
            self.ids.fd(index),
            run.label,
            run.try_no,
            life.pid,
            life.fd,
            life.kind.as_str(),
            trace.fd_path(life).as_deref().map(clip),
            life.tid,
            life.opened.and_then(|index| self.ids.event(index)),
            life.closed.and_then(|index| self.ids.event(index)),
            life.opened_ns,
            life.closed_ns,
            life.end.map(strace::FdEnd::as_str),
            life.cloexec,
        ])?;
        Ok(())
    }

    fn marks_and_notes(&mut self, run: &RunInput<'_>, trace: &Trace) -> Result<()> {
        for mark in &trace.marks {
            let t_ns = trace.events.get(mark.event as usize).and_then(|event| event.t_ns());
            let id = self.ids.event(mark.event);
            self.marks.execute(params![id, run.label, run.try_no, clip(&mark.name), t_ns])?;
        }
        for note in &trace.notes {
            self.notes.execute(params![run.label, run.try_no, note.line, clip(&note.text)])?;
        }
        Ok(())
    }

    fn output(&mut self, run: &RunInput<'_>, stream: &str, fd: i32, kept: Kept<'_>) -> Result<()> {
        let writes = run.trace.map(|trace| Writes::of(trace, fd, kept)).unwrap_or_default();
        for (n, line) in (1_i64..).zip(output::lines(kept)) {
            let event = writes.at(line.start);
            let t_ns = event.and_then(|index| run.trace?.events.get(index)?.t_ns());
            let id = event.and_then(|index| self.ids.event(index));
            self.output.execute(params![
                run.label,
                run.try_no,
                stream,
                n,
                line.text,
                id,
                t_ns,
                line.truncated
            ])?;
        }
        Ok(())
    }
}

/// The word of the `stage` column.
pub(crate) const fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Before => "before",
        Stage::After => "after",
    }
}

fn count(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// Why a trace cannot be trusted whole.
pub(crate) fn incomplete_why(trace: &Trace) -> Option<String> {
    let reasons: Vec<&str> = trace.incomplete.iter().map(|reason| reason.as_str()).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}
