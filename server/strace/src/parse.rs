//! From chunks of text to events: lines are read as they end, halves are joined per thread.

use std::collections::HashMap;

use memchr::memchr;

use crate::line::{self, Body, HeadEnd, Leader, Ret, Time};
use crate::model;
use crate::names::{Name, Names};
use crate::trace::{Event, EventKind, Incomplete, Phase, Role, Span, Thread, Trace};

/// Caps on what is kept of a trace. Beyond one, the trace is cut and says so.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of text; at most 4 GiB - 1.
    pub bytes: usize,
    /// Events.
    pub events: usize,
    /// Bytes of one line: strace can print tens of megabytes for one `select` with `-yy`.
    pub line_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 64 << 20, events: 2_000_000, line_bytes: 1 << 20 }
    }
}

/// What is known of the traced program beforehand.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Absolute path of the script that node executes: its first opening by the main thread ends
    /// the boot phase. Without it the whole trace counts as user phase.
    pub entry: Option<String>,
    /// Caps.
    pub limits: Limits,
}

/// Parses a whole text. Never fails: see [`Trace::notes`] and [`Trace::incomplete`].
#[must_use]
pub fn parse(text: &[u8], options: &Options) -> Trace {
    let mut parser = Parser::new(options.clone());
    parser.push(text);
    parser.finish()
}

/// Parses a text that comes in chunks, cut anywhere.
#[derive(Debug)]
pub struct Parser {
    options: Options,
    trace: Trace,
    /// Offset of the line being read.
    line_start: usize,
    /// Bytes of it that did not fit.
    overlong: usize,
    /// Whether a cap has been hit: everything after it is dropped.
    full: bool,
    clock: Clock,
    /// The live thread of each tid, as an index into `trace.threads`.
    live: HashMap<u32, u32>,
    /// First halves that wait for their second, by thread index.
    waiting: HashMap<u32, Waiting>,
    /// `execve` halves that go on under another tid.
    moved: HashMap<u32, Waiting>,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    event: u32,
    depth: u32,
}

/// Turns printed times into ns since the first one.
#[derive(Debug, Default)]
struct Clock {
    first: Option<i64>,
    last: i64,
    day: i64,
}

const DAY_NS: i64 = 86_400 * 1_000_000_000;

impl Clock {
    fn since_start(&mut self, time: Time) -> i64 {
        let now = match time {
            Time::Epoch(ns) => ns,
            Time::Delta(ns) => self.last.saturating_add(ns),
            Time::OfDay(ns) => {
                // A step back of more than half a day is midnight, not a clock set back.
                if self.first.is_some() && ns.saturating_add(self.day) < self.last.saturating_sub(DAY_NS / 2)
                {
                    self.day = self.day.saturating_add(DAY_NS);
                }
                ns.saturating_add(self.day)
            }
        };
        self.last = now;
        now.saturating_sub(*self.first.get_or_insert(now))
    }
}

impl Parser {
    /// A parser that has read nothing.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            trace: Trace::default(),
            line_start: 0,
            overlong: 0,
            full: false,
            clock: Clock::default(),
            live: HashMap::new(),
            waiting: HashMap::new(),
            moved: HashMap::new(),
        }
    }

    /// Reads the next chunk. After a cap was hit it does nothing.
    pub fn push(&mut self, mut chunk: &[u8]) {
        while !chunk.is_empty() && !self.full {
            let end = memchr(b'\n', chunk);
            let (piece, rest) = chunk.split_at(end.map_or(chunk.len(), |end| end + 1));
            self.append(piece);
            if end.is_some() {
                self.end_line();
            }
            chunk = rest;
        }
    }

    /// Ends the text and models what was read.
    #[must_use]
    pub fn finish(mut self) -> Trace {
        if self.trace.text.len() > self.line_start {
            self.end_line();
        }
        if self.full {
            self.trace.incomplete.push(Incomplete::Capped);
        }
        // A thread that died in a call explains why that call has no second half.
        for (thread, half) in std::mem::take(&mut self.waiting) {
            if !self.trace.threads[thread as usize].ended {
                self.abandon(half);
            }
        }
        model::complete(&mut self.trace, &self.options);
        self.trace
    }

    /// Whether a cap was hit, so that further chunks are not kept.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.full
    }

    fn append(&mut self, piece: &[u8]) {
        let limits = &self.options.limits;
        let length = self.trace.text.len();
        let in_line = limits.line_bytes.saturating_sub(length - self.line_start);
        let in_all = limits.bytes.min(u32::MAX as usize).saturating_sub(length);
        let take = piece.len().min(in_line).min(in_all);
        self.trace.text.extend_from_slice(&piece[..take]);
        if take < piece.len() {
            self.overlong += piece.len() - take;
            self.full = in_all < in_line;
        }
    }

    fn end_line(&mut self) {
        let start = self.line_start;
        self.trace.line_starts.push(offset(start));
        self.line_start = self.trace.text.len();
        let number = self.trace.lines();
        if self.overlong > 0 {
            let text = format!("{} bytes of this line are over a limit and were not kept", self.overlong);
            self.trace.note(number, text);
            self.overlong = 0;
            self.trace.incomplete.push(Incomplete::Capped);
        }
        let Trace { text, names, .. } = &mut self.trace;
        let line = text[start..].strip_suffix(b"\n").unwrap_or(&text[start..]);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (leader, body) = line::leader(line);
        let record = match line::body(line, body) {
            // Its arguments can be read only where its first half left off.
            Body::Tail { name, rest } => {
                let tid = leader.tid.unwrap_or(0);
                let depth = self.live.get(&tid).and_then(|thread| self.waiting.get(thread));
                let depth = depth.or_else(|| self.moved.get(&tid)).map_or(1, |waiting| waiting.depth);
                let name = names.intern(name);
                match line::tail_end(line, rest, depth) {
                    Some((args, ret)) => {
                        Record::Tail { name, args: span(start, args), ret: own(ret, start, names) }
                    }
                    None => Record::Unread,
                }
            }
            body => Record::new(body, start, names),
        };
        self.record(number, leader, record);
        if self.trace.events.len() >= self.options.limits.events {
            self.full = true;
            self.trace.note(number, "the limit of events was reached here");
        }
    }

    fn record(&mut self, line: u32, leader: Leader, record: Record) {
        let t_ns = leader.time.map(|time| self.clock.since_start(time));
        let tid = leader.tid.unwrap_or(0);
        match record {
            Record::Remark => {}
            Record::Unread => {
                self.trace.note(line, "this line could not be read");
                self.trace.incomplete.push(Incomplete::Unread);
            }
            Record::Call { name, args, ret } => {
                let event = self.event(line, tid, t_ns, EventKind::Syscall, name);
                self.trace.events[event as usize].args = args;
                self.returned(event, line, ret);
            }
            Record::Head { name, args, depth, why } => {
                let event = self.event(line, tid, t_ns, EventKind::Syscall, name);
                let entry = &mut self.trace.events[event as usize];
                (entry.args, entry.complete) = (args, false);
                let waiting = Waiting { event, depth };
                match why {
                    HeadEnd::PidChanged(to) => drop(self.moved.insert(to, waiting)),
                    HeadEnd::Unfinished | HeadEnd::Cut => drop(self.waiting.insert(entry.thread, waiting)),
                    HeadEnd::Detached => self.trace.incomplete.push(Incomplete::Detached),
                }
            }
            Record::Tail { name, args, ret } => self.tail(line, tid, t_ns, name, args, ret),
            Record::Signal { name, info } => {
                let event = self.event(line, tid, t_ns, EventKind::Signal, name);
                self.trace.events[event as usize].args = info;
            }
            Record::End { name, status, signal } => {
                let event = self.event(line, tid, t_ns, EventKind::Exit, name);
                let entry = &mut self.trace.events[event as usize];
                (entry.ret, entry.args) = (status, signal);
                let thread = &mut self.trace.threads[entry.thread as usize];
                (thread.exited_ns, thread.ended) = (t_ns, true);
                self.live.remove(&tid);
            }
        }
    }

    fn tail(&mut self, line: u32, tid: u32, t_ns: Option<i64>, name: Name, args: Span, ret: OwnRet) {
        let thread = self.thread(tid);
        let waiting = self.waiting.remove(&thread);
        let fits = |waiting: &Waiting| self.trace.events[waiting.event as usize].name == name;
        if let Some(head) = waiting.filter(fits).or_else(|| self.moved.remove(&tid).filter(fits)) {
            let entry = &mut self.trace.events[head.event as usize];
            (entry.args_tail, entry.complete) = (args, true);
            self.returned(head.event, line, ret);
            return;
        }
        let event = self.event(line, tid, t_ns, EventKind::Syscall, name);
        let entry = &mut self.trace.events[event as usize];
        (entry.args_tail, entry.complete, entry.t_ns) = (args, false, None);
        self.returned(event, line, ret);
        // A child's first line may be the end of the clone that its parent began.
        let born = self.trace.names.shape(name).clones && ret.value == Some(0);
        if !born {
            self.trace.note(line, "the first half of this call is missing");
            self.trace.incomplete.push(Incomplete::HeadMissing);
        }
    }

    fn returned(&mut self, event: u32, line: u32, ret: OwnRet) {
        let entry = &mut self.trace.events[event as usize];
        entry.end_line = line;
        (entry.ret, entry.errno, entry.ret_note) = (ret.value, ret.errno, ret.note);
        entry.dur_ns = ret.dur_ns;
        let (name, tid, parent) = (entry.name, entry.tid, entry.thread);
        let end = entry.end_ns().or(entry.t_ns);
        let child = ret.value.and_then(|child| u32::try_from(child).ok()).filter(|child| *child > 0);
        if let (true, Some(child)) = (self.trace.names.shape(name).clones, child) {
            self.born(child, tid, parent, event, end);
        }
    }

    /// Links a child to the clone that returned its number.
    fn born(&mut self, child: u32, parent_tid: u32, parent: u32, event: u32, t_ns: Option<i64>) {
        let known = self.live.get(&child).copied();
        // A live thread that already has a creator is an old one whose end the trace lost.
        let linked = known.is_some_and(|thread| self.trace.threads[thread as usize].created.is_some());
        if linked {
            self.live.remove(&child);
        }
        let thread = self.thread(child);
        let is_thread = self.trace.arguments(&self.trace.events[event as usize]).has_flag("CLONE_THREAD");
        let pid = if is_thread { self.trace.threads[parent as usize].pid } else { child };
        let entry = &mut self.trace.threads[thread as usize];
        (entry.pid, entry.parent_tid) = (pid, Some(parent_tid));
        (entry.created, entry.created_ns) = (Some(event), t_ns);
    }

    /// A first half whose second will not come although its thread lives on.
    fn abandon(&mut self, half: Waiting) {
        let line = self.trace.events[half.event as usize].line;
        self.trace.note(line, "the second half of this call is missing");
        self.trace.incomplete.push(Incomplete::HalfMissing);
    }

    /// Adds an event of a thread, which comes to be known by it.
    fn event(&mut self, line: u32, tid: u32, t_ns: Option<i64>, kind: EventKind, name: Name) -> u32 {
        let thread = self.thread(tid);
        if kind == EventKind::Syscall
            && let Some(half) = self.waiting.remove(&thread)
        {
            self.abandon(half);
        }
        self.trace.events.push(Event {
            kind,
            line,
            end_line: line,
            tid,
            thread,
            t_ns,
            dur_ns: None,
            ret: None,
            fd: None,
            serial: None,
            phase: Phase::User,
            complete: true,
            name,
            errno: None,
            args: Span::default(),
            args_tail: Span::default(),
            ret_note: Span::default(),
        });
        offset(self.trace.events.len() - 1)
    }

    fn thread(&mut self, tid: u32) -> u32 {
        *self.live.entry(tid).or_insert_with(|| {
            self.trace.threads.push(Thread {
                pid: tid,
                tid,
                parent_tid: None,
                role: Role::Other,
                rule: "",
                comm: None,
                created_ns: None,
                named_ns: None,
                exited_ns: None,
                created: None,
                ended: false,
            });
            offset(self.trace.threads.len() - 1)
        })
    }
}

/// A line's body with names interned and offsets into the whole text.
#[derive(Debug, Clone, Copy)]
enum Record {
    Call { name: Name, args: Span, ret: OwnRet },
    Head { name: Name, args: Span, depth: u32, why: HeadEnd },
    Tail { name: Name, args: Span, ret: OwnRet },
    Signal { name: Name, info: Span },
    End { name: Name, status: Option<i64>, signal: Span },
    Remark,
    Unread,
}

#[derive(Debug, Clone, Copy)]
struct OwnRet {
    value: Option<i64>,
    errno: Option<Name>,
    note: Span,
    dur_ns: Option<i64>,
}

impl Record {
    fn new(body: Body<'_>, start: usize, names: &mut Names) -> Self {
        match body {
            Body::Call { name, args, ret } => {
                Self::Call { name: names.intern(name), args: span(start, args), ret: own(ret, start, names) }
            }
            Body::Head { name, args, depth, why } => {
                Self::Head { name: names.intern(name), args: span(start, args), depth, why }
            }
            Body::Signal { name, info } => Self::Signal { name: names.intern(name), info: span(start, info) },
            Body::Exited(status) => {
                Self::End { name: names.intern(b"exited"), status: Some(status), signal: Span::default() }
            }
            Body::Killed { signal } => {
                Self::End { name: names.intern(b"killed"), status: None, signal: span(start, signal) }
            }
            Body::Superseded => {
                Self::End { name: names.intern(b"superseded"), status: None, signal: Span::default() }
            }
            Body::Remark => Self::Remark,
            Body::Tail { .. } | Body::Unread => Self::Unread,
        }
    }
}

fn own(ret: Ret<'_>, start: usize, names: &mut Names) -> OwnRet {
    OwnRet {
        value: ret.value,
        errno: ret.errno.map(|errno| names.intern(errno)),
        note: span(start, ret.note),
        dur_ns: ret.dur_ns,
    }
}

fn span(start: usize, range: (usize, usize)) -> Span {
    Span { start: offset(start + range.0), end: offset(start + range.1) }
}

/// Offsets fit: the text is capped below 4 GiB.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
