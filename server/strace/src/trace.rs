//! The value that parsing yields.

use std::borrow::Cow;

use crate::names::{Name, Names};
use crate::value::{self, Arguments};

/// A range of the trace's text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// What one or two lines of the trace say happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A system call.
    Syscall,
    /// A signal delivered (`--- SIGTERM {...} ---`) or a group stop.
    Signal,
    /// The end of a thread (`+++ exited with 0 +++`, `+++ killed by SIGKILL +++`, superseded).
    Exit,
}

impl EventKind {
    /// The word of the evidence tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Syscall => "syscall",
            Self::Signal => "signal",
            Self::Exit => "exit",
        }
    }
}

/// Where in the program's life an event lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Before the main thread first opens the entry script: Node's own start.
    Boot,
    /// The learner's code, and everything Node does for it.
    User,
    /// From the main process's `exit_group` on.
    Exit,
}

impl Phase {
    /// The word of the evidence tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::User => "user",
            Self::Exit => "exit",
        }
    }
}

/// What a thread is, from its lineage and behaviour. Its name plays no part: names can be forged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The first thread of the first process.
    Main,
    /// A thread of libuv's pool.
    LibuvWorker,
    /// A worker thread of V8's platform.
    V8Worker,
    /// The platform's scheduler of delayed tasks: owner of the first event loop.
    DelayedTask,
    /// Node's signal inspector, started before any user code.
    SignalInspector,
    /// A `worker_threads` thread.
    JsWorker,
    /// A thread of another process.
    Child,
    /// None of these.
    Other,
}

impl Role {
    /// The word of the evidence tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::LibuvWorker => "libuv-worker",
            Self::V8Worker => "v8-worker",
            Self::DelayedTask => "delayed-task",
            Self::SignalInspector => "signal-inspector",
            Self::JsWorker => "js-worker",
            Self::Child => "child",
            Self::Other => "other",
        }
    }
}

/// One system call, signal or thread end. Texts are read through [`Trace`].
#[derive(Debug, Clone)]
pub struct Event {
    // Three million of them are kept: numbers that may be absent have a value that stands for it.
    pub(crate) t_ns: i64,
    pub(crate) dur_ns: i64,
    pub(crate) ret: i64,
    /// Line of the event, or of its first half; from 1.
    pub line: u32,
    /// Line of its second half; the same as `line` for a whole line.
    pub end_line: u32,
    /// Thread that made it, as the kernel numbers it. 0 where the trace names none.
    pub tid: u32,
    /// Index into [`Trace::threads`].
    pub thread: u32,
    pub(crate) fd: i32,
    pub(crate) serial: u32,
    /// Arguments, or the text of a signal; of the first half where there are two.
    pub(crate) args: Span,
    /// Arguments of the second half.
    pub(crate) args_tail: Span,
    /// What stands in `<...>` behind the return value.
    pub(crate) ret_note: Span,
    pub(crate) name: Name,
    pub(crate) errno: Name,
    /// What it is.
    pub kind: EventKind,
    /// Phase of the program.
    pub phase: Phase,
    /// Whether both halves are there.
    pub complete: bool,
    pub(crate) has_ret: bool,
}

/// Stands for a time that the trace does not say.
pub(crate) const NO_TIME: i64 = i64::MIN;
/// Stands for no descriptor.
pub(crate) const NO_FD: i32 = i32::MIN;
/// Stands for no index.
pub(crate) const NO_INDEX: u32 = u32::MAX;

impl Event {
    /// Start in ns since the trace's first timestamp; `None` without timestamps.
    #[must_use]
    pub const fn t_ns(&self) -> Option<i64> {
        if self.t_ns == NO_TIME { None } else { Some(self.t_ns) }
    }

    /// Duration in ns, where strace printed one (`-T`).
    #[must_use]
    pub const fn dur_ns(&self) -> Option<i64> {
        if self.dur_ns == NO_TIME { None } else { Some(self.dur_ns) }
    }

    /// End in ns since the trace's first timestamp, where start and duration are known.
    #[must_use]
    pub fn end_ns(&self) -> Option<i64> {
        Some(self.t_ns()?.saturating_add(self.dur_ns()?))
    }

    /// Return value, or exit status; `None` for `?`, a signal, or a half.
    #[must_use]
    pub const fn ret(&self) -> Option<i64> {
        if self.has_ret { Some(self.ret) } else { None }
    }

    /// Whether the call returned something other than an error.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.has_ret && self.errno == Name::NONE
    }

    /// The file descriptor it acts on, or the one it returned.
    #[must_use]
    pub const fn fd(&self) -> Option<i32> {
        if self.fd == NO_FD { None } else { Some(self.fd) }
    }

    /// Index into [`Trace::fds`]: the descriptor's lifetime.
    #[must_use]
    pub const fn serial(&self) -> Option<u32> {
        if self.serial == NO_INDEX { None } else { Some(self.serial) }
    }
}

/// A thread that the trace shows.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Its process: the thread group's leader.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// The thread that cloned it, where the trace shows that.
    pub parent_tid: Option<u32>,
    /// What it is.
    pub role: Role,
    /// Which rule gave it the role.
    pub rule: &'static str,
    /// The last name it was given (`PR_SET_NAME`); a report, never a proof.
    pub comm: Option<String>,
    /// Return of the clone that made it.
    pub created_ns: Option<i64>,
    /// When it was first named.
    pub named_ns: Option<i64>,
    /// Its end.
    pub exited_ns: Option<i64>,
    /// Index into [`Trace::events`] of the clone that made it.
    pub created: Option<u32>,
    /// Whether its end is in the trace.
    pub ended: bool,
}

impl Thread {
    /// A thread of which nothing is known but its number.
    pub(crate) const fn new(tid: u32) -> Self {
        Self {
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
        }
    }
}

/// What a file descriptor refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FdKind {
    /// A regular file, or a device.
    File,
    /// A directory.
    Dir,
    /// A TCP socket.
    Tcp,
    /// A UDP socket.
    Udp,
    /// A Unix-domain socket.
    Unix,
    /// One end of a pipe.
    Pipe,
    /// An epoll instance.
    Epoll,
    /// An eventfd.
    Eventfd,
    /// An io_uring.
    IoUring,
    /// Anything else.
    Other,
}

impl FdKind {
    /// The word of the evidence tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Dir => "dir",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Unix => "unix",
            Self::Pipe => "pipe",
            Self::Epoll => "epoll",
            Self::Eventfd => "eventfd",
            Self::IoUring => "io_uring",
            Self::Other => "other",
        }
    }
}

/// One lifetime of a descriptor number in one process, from the call that returned it, or the fork that
/// handed it down, to what ended it. Its path is [`Trace::fd_path`].
#[derive(Debug, Clone)]
pub struct FdLifetime {
    /// The number.
    pub fd: i32,
    /// Its process.
    pub pid: u32,
    /// What it refers to.
    pub kind: FdKind,
    /// Whether a successful `execve` ends it.
    pub cloexec: bool,
    /// What ended it; `None` while it is open.
    pub end: Option<FdEnd>,
    /// Thread that opened it; `None` where it was open before the trace began.
    pub tid: Option<u32>,
    /// Index of the event that opened it, or of the fork that handed it down.
    pub opened: Option<u32>,
    /// Index of the event that ended it.
    pub closed: Option<u32>,
    /// Return of the opening call.
    pub opened_ns: Option<i64>,
    /// Start of the closing call.
    pub closed_ns: Option<i64>,
    /// What strace says it is, or the path argument of its opener.
    pub(crate) label: Span,
}

/// What ended a descriptor's lifetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FdEnd {
    /// `close` or `close_range`.
    Close,
    /// `dup2` or `dup3` over it.
    Dup,
    /// The number was returned anew, so that it must have been closed unseen.
    Reused,
    /// A successful `execve`, by its close-on-exec flag.
    Exec,
    /// The end of its process.
    Exit,
}

impl FdEnd {
    /// The word of the evidence tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Dup => "dup",
            Self::Reused => "reused",
            Self::Exec => "exec",
            Self::Exit => "exit",
        }
    }
}

/// `mark(name)`: one failing `access("/__mark__/name")` of the main thread. The first of each name.
#[derive(Debug, Clone)]
pub struct Mark {
    /// The mark's name.
    pub name: String,
    /// Index into [`Trace::events`].
    pub event: u32,
}

/// Something odd, with the line it was met on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Line, from 1; 0 where it concerns the whole trace.
    pub line: u32,
    /// What was odd.
    pub text: Cow<'static, str>,
}

/// A row of a table of `strace -c` that stands in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryRow {
    /// Line, from 1.
    pub line: u32,
    /// The call.
    pub name: String,
    /// How often it was made.
    pub calls: u64,
    /// How often it failed.
    pub errors: u64,
    /// Time spent in it, as the tracer counted it.
    pub seconds: f64,
}

/// Why a trace cannot be trusted whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incomplete {
    /// There is no event at all.
    Empty,
    /// The end of the main tracee was not seen: the tracer was lost, or the text was cut.
    EndMissing,
    /// A call of a thread that is not known to have ended has no second half.
    HalfMissing,
    /// A second half has no first.
    HeadMissing,
    /// A process was made with `CLONE_UNTRACED`: what it did is not in the trace.
    Untraced,
    /// strace let go of a tracee.
    Detached,
    /// A cap on bytes, events or a line's length was hit.
    Capped,
    /// A line could not be read.
    Unread,
    /// The trace holds stack frames (`-k`): a symbol's name may hold anything, whole lines included.
    Frames,
    /// The main thread never opened the entry script.
    NeverLeftBoot,
}

impl Incomplete {
    /// A sentence for `runs.incomplete_why`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "the trace holds no event",
            Self::EndMissing => "the end of the main process is not in the trace",
            Self::HalfMissing => "a call was begun by a living thread and its end is not in the trace",
            Self::HeadMissing => "the end of a call is in the trace and its beginning is not",
            Self::Untraced => "a process was made that the tracer could not follow (CLONE_UNTRACED)",
            Self::Detached => "the tracer let go of a process",
            Self::Capped => "the trace was longer than its limit and was cut",
            Self::Unread => "a line of the trace could not be read",
            Self::Frames => "the trace holds stack frames, whose names can forge lines",
            Self::NeverLeftBoot => "the main thread never opened the entry script",
        }
    }
}

/// What a call's arguments say, decoded. `None` where the call has no such part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Details<'a> {
    /// Path as the argument says it.
    pub path: Option<Cow<'a, str>>,
    /// Path as the kernel resolved it (strace's `fd<path>`).
    pub real: Option<Cow<'a, str>>,
    /// First string of a call that takes no path, or the name that a `prctl` set.
    pub data: Option<Cow<'a, str>>,
    /// Bytes moved, for calls that move bytes.
    pub bytes: Option<i64>,
    /// Address family of a socket call (`AF_INET`).
    pub family: Option<&'a str>,
    /// Address of the other side: `192.0.2.1:80`, `[::1]:80`, or a Unix socket's path.
    pub remote: Option<String>,
}

/// Everything that one strace text says.
#[derive(Debug, Default)]
pub struct Trace {
    /// Events in the order of their first lines.
    pub events: Vec<Event>,
    /// Threads in the order in which they appear; the main thread is the first.
    pub threads: Vec<Thread>,
    /// Descriptor lifetimes in the order of opening.
    pub fds: Vec<FdLifetime>,
    /// Marks in the order of their first events.
    pub marks: Vec<Mark>,
    /// Oddities in the order of their lines.
    pub notes: Vec<Note>,
    /// Tables of `strace -c` that stand in the text.
    pub summary: Vec<SummaryRow>,
    /// Reasons not to trust the trace whole, each once; empty for a complete trace.
    pub incomplete: Vec<Incomplete>,
    pub(crate) text: Vec<u8>,
    pub(crate) line_starts: Vec<u32>,
    pub(crate) names: Names,
}

impl Trace {
    /// Whether the trace can be trusted whole.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.incomplete.is_empty()
    }

    /// Lines read.
    #[must_use]
    pub fn lines(&self) -> u32 {
        u32::try_from(self.line_starts.len()).unwrap_or(u32::MAX)
    }

    /// The text as it was read, up to the cap.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Text of a line (from 1) without its end; empty for a line that does not exist.
    #[must_use]
    pub fn line(&self, line: u32) -> Cow<'_, str> {
        let Some(&start) = (line as usize).checked_sub(1).and_then(|i| self.line_starts.get(i)) else {
            return Cow::Borrowed("");
        };
        let start = start as usize;
        let end = self.line_starts.get(line as usize).map_or(self.text.len(), |&next| next as usize);
        let bytes = self.text[start..end].trim_ascii_end();
        String::from_utf8_lossy(bytes)
    }

    /// Name of the call or signal; `exited`, `killed` or `superseded` for a thread's end.
    #[must_use]
    pub fn name(&self, event: &Event) -> &str {
        self.names.get(event.name)
    }

    /// Symbol of the error (`ENOENT`), where the call failed.
    #[must_use]
    pub fn errno(&self, event: &Event) -> Option<&str> {
        (event.errno != Name::NONE).then(|| self.names.get(event.errno))
    }

    /// Arguments as strace wrote them, both halves joined.
    #[must_use]
    pub fn args(&self, event: &Event) -> Cow<'_, str> {
        let (head, tail) = (self.bytes(event.args), self.bytes(event.args_tail));
        if tail.is_empty() {
            return String::from_utf8_lossy(head);
        }
        Cow::Owned(String::from_utf8_lossy(&[head, tail].concat()).into_owned())
    }

    /// What the arguments say, decoded.
    #[must_use]
    pub fn details(&self, event: &Event) -> Details<'_> {
        match event.kind {
            EventKind::Syscall => value::details(self, event),
            EventKind::Signal | EventKind::Exit => Details::default(),
        }
    }

    /// The thread that made an event.
    #[must_use]
    pub fn thread(&self, event: &Event) -> &Thread {
        &self.threads[event.thread as usize]
    }

    pub(crate) fn bytes(&self, span: Span) -> &[u8] {
        &self.text[span.start as usize..span.end as usize]
    }

    /// Path of a descriptor as the kernel resolved it, or strace's words for a socket or pipe. Without
    /// strace's `-y` it is the path as its opener said it; `None` where the trace does not say.
    #[must_use]
    pub fn fd_path(&self, lifetime: &FdLifetime) -> Option<Cow<'_, str>> {
        value::label(self.bytes(lifetime.label))
    }

    /// Where a part of the text stands in it; nowhere for a text that is not of this trace.
    pub(crate) fn span_of(&self, part: &[u8]) -> Span {
        let start = part.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        match (u32::try_from(start), u32::try_from(start.wrapping_add(part.len()))) {
            (Ok(start), Ok(end)) if end as usize <= self.text.len() => Span { start, end },
            _ => Span::default(),
        }
    }

    /// The signal of a `killed` event (`SIGKILL`).
    #[must_use]
    pub fn signal(&self, event: &Event) -> Option<&str> {
        let killed = event.kind == EventKind::Exit && event.args != Span::default();
        killed.then(|| std::str::from_utf8(self.bytes(event.args)).unwrap_or_default())
    }

    pub(crate) fn arguments(&self, event: &Event) -> Arguments<'_> {
        Arguments { head: self.bytes(event.args), tail: self.bytes(event.args_tail) }
    }

    pub(crate) fn note(&mut self, line: u32, text: impl Into<Cow<'static, str>>) {
        self.notes.push(Note { line, text: text.into() });
    }
}
