//! The tables, as data: what SQLite is told and what `docs/evidence.md` says come from here.

use std::fmt::Write as _;

/// Version of the contract, kept in `pragma user_version`.
pub const VERSION: i32 = 1;

/// A table of the evidence database.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// What one row is.
    pub about: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
    /// SQLite's words behind the columns.
    constraint: &'static str,
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
}

const fn int(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: "integer", about }
}

const fn real(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: "real", about }
}

const fn text(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: "text", about }
}

const fn any(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: "any", about }
}

const RUN: Column = text("run", "Label of the run in the lab.");
const TRY: Column = int("try", "1 for the first execution of that run, 2 for its repeat, and so on.");

/// Every table, in the order of the documentation.
pub const TABLES: &[Table] = &[
    Table {
        name: "runs",
        about: "One row for each execution of the learner's program.",
        columns: &[
            RUN,
            TRY,
            text("command", "Its argument list, a JSON array."),
            text(
                "outcome",
                "How it ended: `exited`, `signalled`, or the limit that struck first (`wall_limit`, ...).",
            ),
            int("exit_code", "Exit status, where it exited."),
            text("signal", "Name of the signal that ended it, where one did."),
            int("wall_ns", "Duration by the wall clock."),
            int("cpu_ns", "Processor time used, all threads together."),
            int("max_rss_bytes", "Most memory in use at one time."),
            int("oom", "1 when the kernel killed something of it for want of memory."),
            int("trace_bytes", "Size of the trace. Null when untraced."),
            int("trace_lines", "Lines of the trace. Null when untraced."),
            text("tracer", "`trace`, or `none`."),
            int("complete", "1 when the trace can be trusted whole, 0 when not, null when untraced."),
            text("incomplete_why", "Why not, where `complete` is 0."),
            real("cpus", "Processors it was allowed."),
        ],
        constraint: "primary key (run, try)",
    },
    Table {
        name: "events",
        about: "One row for each system call, signal and thread end, in the order of the trace.",
        columns: &[
            int("id", "Dense over the attempt, from 1: names one row and one place of one trace."),
            RUN,
            TRY,
            int("line", "Line of the trace, from 1; of the first half where a call was split."),
            int("end_line", "Line of its second half; the same as `line` where it was not split."),
            int("pid", "Process of the thread."),
            int("tid", "Thread that made it."),
            text("role", "Role of that thread; see Roles."),
            text("kind", "`syscall`, `signal` or `exit`."),
            text("name", "Name of the call or signal; `exited`, `killed` or `superseded` for an end."),
            text("args", "Arguments as the tracer wrote them, both halves joined."),
            int("t_ns", "Its start."),
            int("end_ns", "Its end."),
            int("dur_ns", "Time spent in it."),
            int("ret", "What it returned; the status of an exit."),
            text("errno", "Symbol of the error (`ENOENT`), where it failed."),
            int("ok", "1 when it returned and not an error."),
            int("fd", "File descriptor it acts on, or returned."),
            int("serial", "The lifetime of that descriptor: `fds.serial`."),
            text("path", "Path as the argument says it."),
            text(
                "real",
                "Path as the kernel resolved it. `/etc/os-release` is `/usr/lib/os-release` here: rules about escaping need both.",
            ),
            text(
                "data",
                "First string among the arguments of a call without a path, decoded; the tracer keeps only its beginning.",
            ),
            int("bytes", "Bytes it moved."),
            text("family", "Address family (`AF_INET`)."),
            text("remote", "Address of the other side: `192.0.2.1:80`, `[::1]:80`, or a socket's path."),
            text("phase", "`boot`, `user` or `exit`; see Phase."),
            text("win", "Window it lies in; null outside of every window."),
            int("complete", "0 for a half whose other half the trace does not hold."),
        ],
        constraint: "primary key (id)",
    },
    Table {
        name: "threads",
        about: "One row for each thread that the trace shows, in the order in which they appear.",
        columns: &[
            RUN,
            TRY,
            int("pid", "Its process."),
            int("tid", "Its number."),
            int("parent_tid", "The thread that made it."),
            text("role", "What it is; see Roles."),
            text("rule", "The rule that gave it the role."),
            text("comm", "The last name it was given. A report, never a proof: names can be forged."),
            int("created_ns", "When the call that made it returned."),
            int("named_ns", "When it was first named."),
            int("exited_ns", "Its end. Null when the trace does not show it."),
            int("created_id", "`events.id` of the call that made it."),
        ],
        constraint: "",
    },
    Table {
        name: "fds",
        about: "One row for each lifetime of a file descriptor: from the call that returned the number to its close.",
        columns: &[
            int("serial", "Dense over the attempt, from 1."),
            RUN,
            TRY,
            int("fd", "The number. The same number has many lifetimes."),
            text(
                "kind",
                "`file`, `dir`, `tcp`, `udp`, `unix`, `pipe`, `epoll`, `eventfd`, `io_uring` or `other`.",
            ),
            text("path", "Resolved path, or the tracer's words for a socket or pipe."),
            int("tid", "Thread that opened it. Null when it was open before the trace began."),
            int("opened_id", "`events.id` of the call that opened it."),
            int("closed_id", "`events.id` of the call that closed it."),
            int("opened_ns", "End of the call that opened it."),
            int("closed_ns", "Start of the call that closed it."),
        ],
        constraint: "primary key (serial)",
    },
    Table {
        name: "waits",
        about: "One row for each `epoll_wait`, `epoll_pwait` or `epoll_pwait2` that could sleep (timeout not 0). Those of role `main` in phase `user` are the polls of the event loop.",
        columns: &[
            int("id", "Its `events.id`."),
            RUN,
            TRY,
            int("tid", "Thread that waited."),
            text("role", "Role of that thread."),
            int("t_ns", "Its start."),
            int("dur_ns", "Time spent in it."),
            int(
                "timeout_ms",
                "Longest time it would wait, rounded up; -1 for no limit. Null when the trace does not say.",
            ),
            int("ready", "Descriptors that were ready; null when it was interrupted or never returned."),
        ],
        constraint: "primary key (id)",
    },
    Table {
        name: "marks",
        about: "One row for each name given to `mark()`: its first call.",
        columns: &[
            int("id", "`events.id` of the call that left it."),
            RUN,
            TRY,
            text("name", "Its name."),
            int("t_ns", "When."),
        ],
        constraint: "primary key (id)",
    },
    Table {
        name: "output",
        about: "One row for each line that the run wrote.",
        columns: &[
            RUN,
            TRY,
            text("stream", "`stdout` or `stderr`."),
            int("n", "Number of the line in its stream, from 1."),
            text("text", "The line without its end."),
            int(
                "event_id",
                "`events.id` of the write that made its first byte. Null where the trace does not show one that agrees with the text.",
            ),
            int("t_ns", "Start of that write."),
            int("truncated", "1 when more followed that was not kept: in this line, or behind it."),
        ],
        constraint: "primary key (run, try, stream, n)",
    },
    Table {
        name: "answers",
        about: "One row for each answer the learner gave.",
        columns: &[
            text("id", "The question."),
            text("stage", "`before` (a prediction, locked before the run) or `after` (a conclusion)."),
            any("value", "Text, a number, or 0 and 1 for no and yes; a list or an object as JSON text."),
        ],
        constraint: "primary key (id, stage)",
    },
    Table {
        name: "params",
        about: "One row for each value drawn by the host for this attempt. A query may also name it: `:id`.",
        columns: &[text("id", "Its name."), any("value", "As in `answers`.")],
        constraint: "primary key (id)",
    },
    Table {
        name: "notes",
        about: "Everything odd that was met while the trace was read.",
        columns: &[
            RUN,
            TRY,
            int("line", "Line of the trace; 0 where it concerns the whole trace."),
            text("text", "What was odd."),
        ],
        constraint: "",
    },
];

/// The statements that make the tables.
pub(crate) fn create() -> String {
    let mut sql = String::new();
    for table in TABLES {
        let columns = table.columns.iter().map(|column| format!("{} {}", column.name, column.kind));
        let constraint = (!table.constraint.is_empty()).then(|| table.constraint.to_owned());
        let body: Vec<String> = columns.chain(constraint).collect();
        // Strict: a value of the wrong type is our mistake and must not pass silently.
        let _ = writeln!(sql, "create table {} (\n  {}\n) strict;", table.name, body.join(",\n  "));
    }
    let _ = writeln!(sql, "pragma user_version = {VERSION};");
    sql
}

/// The statement that adds one row to a table, every column in order.
pub(crate) fn insert(table: &str) -> String {
    let columns = TABLES.iter().find(|t| t.name == table).map_or(0, |t| t.columns.len());
    format!("insert into {table} values ({})", vec!["?"; columns].join(", "))
}

/// The tables in Markdown, as `docs/evidence.md` shows them.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::new();
    for table in TABLES {
        let _ = write!(
            page,
            "### `{}`\n\n{}\n\n| column | type | meaning |\n|---|---|---|\n",
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
