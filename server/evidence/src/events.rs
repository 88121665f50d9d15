//! Filling `events` and `waits`: by far the most rows, so every step counts.

use rusqlite::{Connection, Result, Statement, ToSql, params};
use strace::{Event, EventKind, Phase, Trace};

use crate::RunInput;
use crate::load::Ids;
use crate::schema;
use crate::value::clip;
use crate::windows::{self, Window};

/// Rows that one statement adds. Starting a statement costs a third of a row.
const BATCH: usize = 8;

/// The statements of both tables.
pub(crate) struct Events<'db> {
    batch: Statement<'db>,
    single: Statement<'db>,
    waits: Statement<'db>,
}

/// Parameters of one row of `events`, from 1, in the order of its columns.
const ID: usize = 1;
const RUN: usize = 2;
const TRY: usize = 3;
const LINE: usize = 4;
const END_LINE: usize = 5;
const PID: usize = 6;
const TID: usize = 7;
const ROLE: usize = 8;
const KIND: usize = 9;
const NAME: usize = 10;
const ARGS: usize = 11;
const T_NS: usize = 12;
const END_NS: usize = 13;
const DUR_NS: usize = 14;
const RET: usize = 15;
const ERRNO: usize = 16;
const OK: usize = 17;
const FD: usize = 18;
const SERIAL: usize = 19;
const PATH: usize = 20;
const REAL: usize = 21;
const DATA: usize = 22;
const BYTES: usize = 23;
const FAMILY: usize = 24;
const REMOTE: usize = 25;
const PHASE: usize = 26;
const WIN: usize = 27;
const COMPLETE: usize = 28;
const COLUMNS: usize = COMPLETE;

/// What the parameters of one row are bound to, where comparing is cheaper than binding: what is
/// bound stays bound from one execution to the next.
#[derive(Default)]
struct Slot<'t> {
    /// The parameter before the row's first.
    base: usize,
    /// Parameters known to be null.
    nulls: [bool; COLUMNS + 1],
    /// Index and number.
    thread: Option<(u32, u32)>,
    kind: Option<EventKind>,
    name: Option<&'t str>,
    phase: Option<Phase>,
    win: Option<Option<&'t str>>,
    ok: Option<bool>,
    complete: Option<bool>,
}

/// What all rows of a run share.
#[derive(Clone, Copy)]
struct Shared<'t> {
    run: &'t RunInput<'t>,
    trace: &'t Trace,
    ids: Ids,
}

impl<'db> Events<'db> {
    pub(crate) fn new(db: &'db Connection) -> Result<Self> {
        Ok(Self {
            batch: db.prepare(&schema::insert_rows("events", BATCH))?,
            single: db.prepare(&schema::insert("events"))?,
            waits: db.prepare(&schema::insert("waits"))?,
        })
    }

    /// Adds all events of a run.
    pub(crate) fn add(
        &mut self,
        run: &RunInput<'_>,
        trace: &Trace,
        windows: &[Window<'_>],
        ids: Ids,
    ) -> Result<()> {
        let wins = windows::of_events(trace, windows);
        let win = |index| wins.get(index).copied().flatten().map(|win: usize| windows[win].name);
        let shared = Shared { run, trace, ids };
        let whole = trace.events.len() / BATCH * BATCH;
        let mut slots = Slot::first(&mut self.batch, run, BATCH)?;
        for start in (0..whole).step_by(BATCH) {
            for (index, slot) in (start..).zip(&mut slots) {
                slot.bind(&mut self.batch, shared, index, win(index))?;
            }
            self.batch.raw_execute()?;
        }
        for slot in &mut Slot::first(&mut self.single, run, 1)? {
            for index in whole..trace.events.len() {
                slot.bind(&mut self.single, shared, index, win(index))?;
                self.single.raw_execute()?;
            }
        }
        self.waits(shared)
    }

    fn waits(&mut self, Shared { run, trace, ids }: Shared<'_>) -> Result<()> {
        for (index, event) in trace.events.iter().enumerate() {
            let name = trace.name(event);
            if !name.starts_with("epoll_") || event.kind != EventKind::Syscall {
                continue;
            }
            let timeout = wait_timeout(name, &trace.args(event));
            let Some(timeout) = timeout.filter(|timeout| *timeout != Timeout::Ms(0)) else { continue };
            self.waits.execute(params![
                ids.event(index),
                run.label,
                run.try_no,
                event.tid,
                trace.thread(event).role.as_str(),
                event.t_ns(),
                event.dur_ns(),
                timeout.ms(),
                event.ret().filter(|ready| *ready >= 0),
            ])?;
        }
        Ok(())
    }
}

impl<'t> Slot<'t> {
    /// The slots of a statement, with what is the same in all rows of a run.
    fn first(insert: &mut Statement<'_>, run: &RunInput<'_>, rows: usize) -> Result<Vec<Self>> {
        (0..rows)
            .map(|row| {
                let slot = Self { base: row * COLUMNS, ..Self::default() };
                slot.set(insert, RUN, run.label)?;
                slot.set(insert, TRY, run.try_no)?;
                Ok(slot)
            })
            .collect()
    }

    fn bind(
        &mut self,
        insert: &mut Statement<'_>,
        Shared { trace, ids, .. }: Shared<'t>,
        index: usize,
        win: Option<&'t str>,
    ) -> Result<()> {
        let event = &trace.events[index];
        self.set(insert, ID, ids.event(index))?;
        self.set(insert, LINE, event.line)?;
        self.set(insert, END_LINE, event.end_line)?;
        self.number(insert, T_NS, event.t_ns())?;
        self.number(insert, END_NS, event.end_ns())?;
        self.number(insert, DUR_NS, event.dur_ns())?;
        self.number(insert, RET, event.ret())?;
        self.number(insert, FD, event.fd().map(i64::from))?;
        self.number(insert, SERIAL, event.serial().map(|serial| ids.fd(serial)))?;
        if self.win != Some(win) {
            self.win = Some(win);
            self.set(insert, WIN, win)?;
        }
        self.seldom_new(insert, trace, event)?;
        let details = trace.details(event);
        self.text(insert, ARGS, Some(&trace.args(event)))?;
        self.text(insert, ERRNO, trace.errno(event))?;
        self.text(insert, PATH, details.path.as_deref())?;
        self.text(insert, REAL, details.real.as_deref())?;
        self.text(insert, DATA, details.data.as_deref())?;
        self.number(insert, BYTES, details.bytes)?;
        self.text(insert, FAMILY, details.family)?;
        self.text(insert, REMOTE, details.remote.as_deref())
    }

    /// What is mostly the same as in the row that was here before.
    fn seldom_new(&mut self, insert: &mut Statement<'_>, trace: &'t Trace, event: &Event) -> Result<()> {
        let thread = Some((event.thread, event.tid));
        if self.thread != thread {
            self.thread = thread;
            let thread = trace.thread(event);
            self.set(insert, PID, thread.pid)?;
            self.set(insert, TID, event.tid)?;
            self.set(insert, ROLE, thread.role.as_str())?;
        }
        if self.kind != Some(event.kind) {
            self.kind = Some(event.kind);
            self.set(insert, KIND, event.kind.as_str())?;
        }
        let name = Some(trace.name(event));
        if self.name != name {
            self.name = name;
            self.set(insert, NAME, name)?;
        }
        if self.phase != Some(event.phase) {
            self.phase = Some(event.phase);
            self.set(insert, PHASE, event.phase.as_str())?;
        }
        if self.ok != Some(event.ok()) {
            self.ok = Some(event.ok());
            self.set(insert, OK, event.ok())?;
        }
        if self.complete != Some(event.complete) {
            self.complete = Some(event.complete);
            self.set(insert, COMPLETE, event.complete)?;
        }
        Ok(())
    }

    fn set(&self, insert: &mut Statement<'_>, at: usize, value: impl ToSql) -> Result<()> {
        insert.raw_bind_parameter(self.base + at, value)
    }

    fn number(&mut self, insert: &mut Statement<'_>, at: usize, value: Option<i64>) -> Result<()> {
        if value.is_none() && self.nulls[at] {
            return Ok(());
        }
        self.nulls[at] = value.is_none();
        self.set(insert, at, value)
    }

    fn text(&mut self, insert: &mut Statement<'_>, at: usize, value: Option<&str>) -> Result<()> {
        if value.is_none() && self.nulls[at] {
            return Ok(());
        }
        self.nulls[at] = value.is_none();
        self.set(insert, at, value.map(clip))
    }
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
