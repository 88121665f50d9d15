//! Filling the tables: one transaction, one prepared statement for each table.

use rusqlite::{Connection, Result, Statement, params};
use strace::{EventKind, FdLifetime, Thread, Trace};

use crate::output::{self, Writes};
use crate::schema;
use crate::value::{clip, clipped};
use crate::{RunInput, Stage};

/// Statements kept prepared, and the ids given so far.
pub(crate) struct Loader<'db> {
    runs: Statement<'db>,
    events: Statement<'db>,
    threads: Statement<'db>,
    fds: Statement<'db>,
    waits: Statement<'db>,
    marks: Statement<'db>,
    output: Statement<'db>,
    notes: Statement<'db>,
    ids: Ids,
}

/// Ids already used, which are dense over the attempt: what is added to an index of one trace.
#[derive(Debug, Clone, Copy, Default)]
struct Ids {
    events: i64,
    fds: i64,
}

impl Ids {
    fn event(self, index: impl TryInto<i64>) -> Option<i64> {
        Some(self.events + 1 + index.try_into().ok()?)
    }

    fn fd(self, index: u32) -> i64 {
        self.fds + 1 + i64::from(index)
    }
}

impl<'db> Loader<'db> {
    pub(crate) fn new(db: &'db Connection) -> Result<Self> {
        let insert = |table| db.prepare(&schema::insert(table));
        Ok(Self {
            runs: insert("runs")?,
            events: insert("events")?,
            threads: insert("threads")?,
            fds: insert("fds")?,
            waits: insert("waits")?,
            marks: insert("marks")?,
            output: insert("output")?,
            notes: insert("notes")?,
            ids: Ids::default(),
        })
    }

    /// Adds a run with all that its trace and its output say.
    pub(crate) fn run(&mut self, run: &RunInput<'_>) -> Result<()> {
        self.row(run)?;
        if let Some(trace) = run.trace {
            self.events(run, trace)?;
            for thread in &trace.threads {
                self.thread(run, thread)?;
            }
            for (index, life) in (0..).zip(&trace.fds) {
                self.fd(run, index, life)?;
            }
            self.marks_and_notes(run, trace)?;
        }
        self.output(run, "stdout", 1, run.stdout, run.stdout_dropped)?;
        self.output(run, "stderr", 2, run.stderr, run.stderr_dropped)?;
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
            if run.trace.is_some() { "trace" } else { "none" },
            run.trace.map(Trace::is_complete),
            run.trace.and_then(incomplete_why),
            f64::from(run.milli_cpus) / 1000.0,
        ])?;
        Ok(())
    }

    fn events(&mut self, run: &RunInput<'_>, trace: &Trace) -> Result<()> {
        for (index, event) in trace.events.iter().enumerate() {
            let thread = trace.thread(event);
            let (name, args) = (trace.name(event), trace.args(event));
            let details = trace.details(event);
            let id = self.ids.event(index);
            self.events.execute(params![
                id,
                run.label,
                run.try_no,
                event.line,
                event.end_line,
                thread.pid,
                event.tid,
                thread.role.as_str(),
                event.kind.as_str(),
                name,
                clip(&args),
                event.t_ns,
                event.end_ns(),
                event.dur_ns,
                event.ret,
                trace.errno(event),
                event.ok(),
                event.fd,
                event.serial.map(|serial| self.ids.fd(serial)),
                clipped(details.path.as_ref()),
                clipped(details.real.as_ref()),
                clipped(details.data.as_ref()),
                details.bytes,
                details.family,
                details.remote,
                event.phase.as_str(),
                None::<&str>, // no window is declared yet
                event.complete,
            ])?;
            let timeout = match event.kind {
                EventKind::Syscall => wait_timeout(name, &args),
                EventKind::Signal | EventKind::Exit => None,
            };
            if let Some(timeout_ms) = timeout.filter(|timeout| *timeout != Timeout::Ms(0)) {
                let ready = event.ret.filter(|ready| *ready >= 0);
                let role = thread.role.as_str();
                let (t_ns, dur_ns) = (event.t_ns, event.dur_ns);
                self.waits.execute(params![
                    id,
                    run.label,
                    run.try_no,
                    event.tid,
                    role,
                    t_ns,
                    dur_ns,
                    timeout_ms.ms(),
                    ready
                ])?;
            }
        }
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

    fn fd(&mut self, run: &RunInput<'_>, index: u32, life: &FdLifetime) -> Result<()> {
        self.fds.execute(params![
            self.ids.fd(index),
            run.label,
            run.try_no,
            life.fd,
            life.kind.as_str(),
            life.path.as_deref().map(clip),
            life.tid,
            life.opened.and_then(|index| self.ids.event(index)),
            life.closed.and_then(|index| self.ids.event(index)),
            life.opened_ns,
            life.closed_ns,
        ])?;
        Ok(())
    }

    fn marks_and_notes(&mut self, run: &RunInput<'_>, trace: &Trace) -> Result<()> {
        for mark in &trace.marks {
            let t_ns = trace.events.get(mark.event as usize).and_then(|event| event.t_ns);
            let id = self.ids.event(mark.event);
            self.marks.execute(params![id, run.label, run.try_no, clip(&mark.name), t_ns])?;
        }
        for note in &trace.notes {
            self.notes.execute(params![run.label, run.try_no, note.line, clip(&note.text)])?;
        }
        Ok(())
    }

    fn output(&mut self, run: &RunInput<'_>, stream: &str, fd: i32, kept: &[u8], dropped: u64) -> Result<()> {
        let writes = run.trace.map(|trace| Writes::of(trace, fd, kept)).unwrap_or_default();
        for (n, line) in (1_i64..).zip(output::lines(kept, dropped)) {
            let event = writes.at(line.start);
            let t_ns = event.and_then(|index| run.trace?.events.get(index)?.t_ns);
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

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Why a trace cannot be trusted whole.
pub(crate) fn incomplete_why(trace: &Trace) -> Option<String> {
    let reasons: Vec<&str> = trace.incomplete.iter().map(|reason| reason.as_str()).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// How long a wait for events may sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timeout {
    /// Milliseconds; -1 for no limit.
    Ms(i64),
    /// The trace does not say, as in the first half of a wait that never returned.
    Unknown,
}

impl Timeout {
    fn ms(self) -> Option<i64> {
        match self {
            Self::Ms(ms) => Some(ms),
            Self::Unknown => None,
        }
    }
}

/// The timeout of a wait for events; `None` for other calls. It stands behind a list of events, so
/// it is found from the end: `epfd, [events], max, timeout`, with `sigmask, size` behind it for
/// `epoll_pwait`. <https://man7.org/linux/man-pages/man2/epoll_wait.2.html>
fn wait_timeout(name: &str, args: &str) -> Option<Timeout> {
    let behind = match name {
        "epoll_wait" => 0,
        "epoll_pwait" => 2,
        "epoll_pwait2" => return Some(timespec(args).map_or(Timeout::Unknown, Timeout::Ms)),
        _ => return None,
    };
    let number = args.rsplit(", ").nth(behind).and_then(|text| text.trim().parse().ok());
    Some(number.map_or(Timeout::Unknown, Timeout::Ms))
}

/// `epoll_pwait2` takes a `struct timespec`, or NULL for no limit.
fn timespec(args: &str) -> Option<i64> {
    let Some(at) = args.rfind("{tv_sec=") else {
        return args.rsplit(", ").nth(2).filter(|text| *text == "NULL").map(|_| -1);
    };
    let (seconds, rest) = args[at + "{tv_sec=".len()..].split_once(", tv_nsec=")?;
    let nanoseconds: i64 = rest.split('}').next()?.parse().ok()?;
    Some(
        seconds.parse::<i64>().ok()?.saturating_mul(1000).saturating_add((nanoseconds + 999_999) / 1_000_000),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_of_waits() {
        use Timeout::{Ms, Unknown};
        for (name, args, expected) in [
            ("read", "3, \"\", 4", None),
            ("epoll_wait", "5, [], 10, 250", Some(Ms(250))),
            (
                "epoll_pwait",
                "13<anon_inode:[eventpoll]>, [{events=EPOLLIN, data=0x9}], 1024, -1, NULL, 8",
                Some(Ms(-1)),
            ),
            ("epoll_pwait", "13, [], 1024, 0, [INT TERM], 8", Some(Ms(0))),
            ("epoll_pwait", "13<anon_inode:[eventpoll]>, ", Some(Unknown)),
            ("epoll_pwait2", "4, [], 10, {tv_sec=1, tv_nsec=500001}, NULL, 8", Some(Ms(1001))),
            ("epoll_pwait2", "4, [], 10, {tv_sec=0, tv_nsec=0}, NULL, 8", Some(Ms(0))),
            ("epoll_pwait2", "4, [], 10, NULL, NULL, 8", Some(Ms(-1))),
        ] {
            assert_eq!(wait_timeout(name, args), expected, "{name}({args})");
        }
    }
}
