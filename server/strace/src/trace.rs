//! The value that parsing yields.

use std::borrow::Cow;

use crate::event::{Event, EventKind};
use crate::fd::FdLifetime;
use crate::names::{Name, Names};
use crate::thread::Thread;
use crate::value::{self, Arguments};

/// A range of the trace's text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
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
