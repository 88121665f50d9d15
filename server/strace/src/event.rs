//! System calls, signals and ends of threads.

use crate::names::Name;
use crate::trace::Span;

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

/// One system call, signal or thread end. Texts are read through [`Trace`](crate::Trace).
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
    /// Index into [`Trace::threads`](crate::Trace::threads).
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

    /// Index into [`Trace::fds`](crate::Trace::fds): the descriptor's lifetime.
    #[must_use]
    pub const fn serial(&self) -> Option<u32> {
        if self.serial == NO_INDEX { None } else { Some(self.serial) }
    }
}
