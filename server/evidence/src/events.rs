//! Filling `events` and `waits`: by far the most rows, so every step counts.

use rusqlite::{Connection, Result, Statement, ToSql, params};
use strace::{Event, EventKind, Trace};

use crate::RunInput;
use crate::load::Ids;
use crate::schema;
use crate::value::clip;
use crate::windows::{self, Window};

/// The statements of both tables. What a parameter was bound to stays bound: only what differs
/// from the row before is bound again.
pub(crate) struct Events<'db> {
    insert: Statement<'db>,
    waits: Statement<'db>,
    /// Whether each parameter of `insert` is null.
    nulls: [bool; COLUMNS + 1],
}

/// Parameters of `events`, from 1, in the order of its columns.
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

/// What stands in the row before, where comparing is cheaper than binding.
#[derive(Default)]
struct Before<'t> {
    /// Index and number.
    thread: Option<(u32, u32)>,
    kind: Option<EventKind>,
    name: &'t str,
    /// Whether calls of this name wait for events.
    waits: bool,
    phase: Option<strace::Phase>,
    win: Option<usize>,
    ok: Option<bool>,
    complete: Option<bool>,
}

impl<'db> Events<'db> {
    pub(crate) fn new(db: &'db Connection) -> Result<Self> {
        Ok(Self {
            insert: db.prepare(&schema::insert("events"))?,
            waits: db.prepare(&schema::insert("waits"))?,
            nulls: [true; COLUMNS + 1],
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
        self.set(RUN, run.label)?;
        self.set(TRY, run.try_no)?;
        self.text(WIN, None)?;
        let mut before = Before::default();
        for (index, event) in trace.events.iter().enumerate() {
            let id = ids.event(index);
            self.set(ID, id)?;
            self.seldom_new(trace, event, &mut before)?;
            let win = wins.get(index).copied().flatten();
            if before.win != win {
                before.win = win;
                self.text(WIN, win.map(|win| windows[win].name))?;
            }
            self.places_and_times(event, ids)?;
            let args = trace.args(event);
            self.text(ARGS, Some(&args))?;
            self.details(trace, event)?;
            self.insert.raw_execute()?;
            if before.waits
                && event.kind == EventKind::Syscall
                && let Some(timeout) = wait_timeout(before.name, &args).filter(|t| *t != Timeout::Ms(0))
            {
                self.wait(run, trace, event, (id, timeout))?;
            }
        }
        Ok(())
    }

    /// What is mostly the same as in the row before.
    fn seldom_new<'t>(&mut self, trace: &'t Trace, event: &Event, before: &mut Before<'t>) -> Result<()> {
        let thread = Some((event.thread, event.tid));
        if before.thread != thread {
            before.thread = thread;
            let thread = trace.thread(event);
            self.set(PID, thread.pid)?;
            self.set(TID, event.tid)?;
            self.set(ROLE, thread.role.as_str())?;
        }
        if before.kind != Some(event.kind) {
            before.kind = Some(event.kind);
            self.set(KIND, event.kind.as_str())?;
        }
        let name = trace.name(event);
        if before.name != name || name.is_empty() {
            (before.name, before.waits) = (name, name.starts_with("epoll_"));
            self.set(NAME, name)?;
        }
        if before.phase != Some(event.phase) {
            before.phase = Some(event.phase);
            self.set(PHASE, event.phase.as_str())?;
        }
        if before.ok != Some(event.ok()) {
            before.ok = Some(event.ok());
            self.set(OK, event.ok())?;
        }
        if before.complete != Some(event.complete) {
            before.complete = Some(event.complete);
            self.set(COMPLETE, event.complete)?;
        }
        Ok(())
    }

    fn places_and_times(&mut self, event: &Event, ids: Ids) -> Result<()> {
        self.set(LINE, event.line)?;
        self.set(END_LINE, event.end_line)?;
        self.number(T_NS, event.t_ns)?;
        self.number(END_NS, event.end_ns())?;
        self.number(DUR_NS, event.dur_ns)?;
        self.number(RET, event.ret)?;
        self.number(FD, event.fd.map(i64::from))?;
        self.number(SERIAL, event.serial.map(|serial| ids.fd(serial)))
    }

    fn details(&mut self, trace: &Trace, event: &Event) -> Result<()> {
        let details = trace.details(event);
        self.text(ERRNO, trace.errno(event))?;
        self.text(PATH, details.path.as_deref())?;
        self.text(REAL, details.real.as_deref())?;
        self.text(DATA, details.data.as_deref())?;
        self.number(BYTES, details.bytes)?;
        self.text(FAMILY, details.family)?;
        self.text(REMOTE, details.remote.as_deref())
    }

    fn set(&mut self, at: usize, value: impl ToSql) -> Result<()> {
        self.insert.raw_bind_parameter(at, value)
    }

    fn number(&mut self, at: usize, value: Option<i64>) -> Result<()> {
        if value.is_none() && self.nulls[at] {
            return Ok(());
        }
        self.nulls[at] = value.is_none();
        self.set(at, value)
    }

    fn text(&mut self, at: usize, value: Option<&str>) -> Result<()> {
        if value.is_none() && self.nulls[at] {
            return Ok(());
        }
        self.nulls[at] = value.is_none();
        self.set(at, value.map(clip))
    }

    fn wait(
        &mut self,
        run: &RunInput<'_>,
        trace: &Trace,
        event: &Event,
        (id, timeout): (Option<i64>, Timeout),
    ) -> Result<()> {
        self.waits.execute(params![
            id,
            run.label,
            run.try_no,
            event.tid,
            trace.thread(event).role.as_str(),
            event.t_ns,
            event.dur_ns,
            timeout.ms(),
            event.ret.filter(|ready| *ready >= 0),
        ])?;
        Ok(())
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
