//! Lifetimes of descriptor numbers, from the call that returned one to its close.
//!
//! Ordered by text, not by time: a descriptor opens at the line on which its call returned and ends
//! at the line on which its close began. By time alone the two cross by microseconds, and a peak of
//! five open files reads six.

use std::collections::HashMap;

use crate::line::is_socket;
use crate::names::Effect;
use crate::trace::{Event, FdKind, FdLifetime, Trace};
use crate::value::{fd_argument, fd_pair, note_text};

/// Something that an event does to the table, at one of its lines.
#[derive(Debug, Clone, Copy)]
struct Step {
    line: u32,
    event: u32,
    returns: bool,
}

/// Finds all lifetimes and sets `fd` and `serial` of the events that act on them.
pub(crate) fn lifetimes(trace: &mut Trace) -> Vec<FdLifetime> {
    let mut steps = Vec::with_capacity(trace.events.len());
    for (index, event) in trace.events.iter().enumerate() {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let shape = trace.names.shape(event.name);
        if shape.fd.is_some() || shape.empty_path {
            steps.push(Step { line: event.line, event: index, returns: false });
        }
        if returns_fd(trace, event, shape.effect) {
            steps.push(Step { line: event.end_line, event: index, returns: true });
        }
    }
    steps.sort_by_key(|step| step.line);
    let mut table = Table::default();
    for step in steps {
        let event = &trace.events[step.event as usize];
        let (fd, serial) =
            if step.returns { table.open(trace, step.event) } else { table.act(trace, step.event) };
        let keeps = event.fd.is_some() && step.returns && trace.names.shape(event.name).fd.is_some();
        if !keeps {
            let event = &mut trace.events[step.event as usize];
            (event.fd, event.serial) = (fd, serial);
        }
    }
    table.lifetimes
}

fn returns_fd(trace: &Trace, event: &Event, effect: Effect) -> bool {
    match effect {
        Effect::Opens | Effect::Replaces => event.ok(),
        Effect::OpensPair(_) => event.ret == Some(0),
        Effect::Closes => false,
        Effect::None => {
            matches!(trace.name(event), "fcntl" | "fcntl64")
                && event.ok()
                && trace.arguments(event).get(1).is_some_and(|command| command.starts_with(b"F_DUPFD"))
        }
    }
}

#[derive(Debug, Default)]
struct Table {
    lifetimes: Vec<FdLifetime>,
    /// The open lifetime of each number of each process.
    open: HashMap<(u32, i32), u32>,
    /// Lifetimes that ended because their number was returned again before their close was printed.
    overtaken: HashMap<(u32, i32), u32>,
}

impl Table {
    /// An event that acts on a descriptor; a close ends its lifetime.
    fn act(&mut self, trace: &Trace, index: u32) -> (Option<i32>, Option<u32>) {
        let event = &trace.events[index as usize];
        let shape = trace.names.shape(event.name);
        let arguments = trace.arguments(event);
        let Some(arg) = fd_argument(shape, &arguments) else { return (None, None) };
        let pid = trace.thread(event).pid;
        let key = (pid, arg.fd);
        let closes = shape.effect == Effect::Closes;
        if trace.errno(event) == Some("EBADF") {
            return (Some(arg.fd), None);
        }
        if let Some(old) = self.overtaken(key, event).filter(|_| closes) {
            self.overtaken.remove(&key);
            self.end(old, index, event);
            return (Some(arg.fd), Some(old));
        }
        let serial = self.open.get(&key).copied().unwrap_or_else(|| self.begin(key, arg.note, None, trace));
        if closes {
            self.open.remove(&key);
            self.end(serial, index, event);
        }
        (Some(arg.fd), Some(serial))
    }

    /// The lifetime that a close printed late belongs to: it began before its successor was opened.
    fn overtaken(&self, key: (u32, i32), event: &Event) -> Option<u32> {
        let old = *self.overtaken.get(&key)?;
        let current = self.open.get(&key).and_then(|now| self.lifetimes[*now as usize].opened_ns);
        (event.t_ns <= current).then_some(old)
    }

    /// An event whose value is a new descriptor, or which made two.
    fn open(&mut self, trace: &Trace, index: u32) -> (Option<i32>, Option<u32>) {
        let event = &trace.events[index as usize];
        let pid = trace.thread(event).pid;
        if let Effect::OpensPair(at) = trace.names.shape(event.name).effect {
            let arguments = trace.arguments(event);
            let pair: Vec<_> = arguments.get(at).into_iter().flat_map(fd_pair).collect();
            let serials: Vec<_> =
                pair.iter().map(|arg| self.begin((pid, arg.fd), arg.note, Some(index), trace)).collect();
            return (pair.first().map(|arg| arg.fd), serials.first().copied());
        }
        let Some(fd) = event.ret.and_then(|fd| i32::try_from(fd).ok()) else { return (None, None) };
        let serial = self.begin((pid, fd), trace.bytes(event.ret_note), Some(index), trace);
        (Some(fd), Some(serial))
    }

    fn begin(&mut self, key: (u32, i32), note: &[u8], opener: Option<u32>, trace: &Trace) -> u32 {
        let serial = u32::try_from(self.lifetimes.len()).unwrap_or(u32::MAX);
        let event = opener.map(|index| &trace.events[index as usize]);
        let opened_ns = event.and_then(|event| event.end_ns().or(event.t_ns));
        if let Some(old) = self.open.insert(key, serial) {
            self.lifetimes[old as usize].closed_ns = opened_ns;
            let replaced =
                event.is_some_and(|event| trace.names.shape(event.name).effect == Effect::Replaces);
            if replaced {
                self.lifetimes[old as usize].closed = opener;
            } else {
                self.overtaken.insert(key, old);
            }
        }
        self.lifetimes.push(FdLifetime {
            fd: key.1,
            pid: key.0,
            kind: kind(note, event.map(|event| (event, trace))),
            path: note_text(note).map(std::borrow::Cow::into_owned),
            tid: event.map(|event| event.tid),
            opened: opener,
            closed: None,
            opened_ns,
            closed_ns: None,
        });
        serial
    }

    fn end(&mut self, serial: u32, index: u32, event: &Event) {
        let lifetime = &mut self.lifetimes[serial as usize];
        (lifetime.closed, lifetime.closed_ns) = (Some(index), event.t_ns);
    }
}

/// What a descriptor is, by the call that opened it and by what `-y` says of it.
fn kind(note: &[u8], opener: Option<(&Event, &Trace)>) -> FdKind {
    let name = opener.map_or("", |(event, trace)| trace.name(event));
    match name {
        "epoll_create" | "epoll_create1" => return FdKind::Epoll,
        "eventfd" | "eventfd2" => return FdKind::Eventfd,
        "io_uring_setup" => return FdKind::IoUring,
        "pipe" | "pipe2" => return FdKind::Pipe,
        _ => {}
    }
    if note.starts_with(b"/") {
        let is_dir = opener.is_some_and(|(event, trace)| trace.arguments(event).has_flag("O_DIRECTORY"));
        return if is_dir { FdKind::Dir } else { FdKind::File };
    }
    if is_socket(note) {
        return match note {
            [b'T', b'C', b'P', ..] => FdKind::Tcp,
            [b'U', b'D', b'P', ..] => FdKind::Udp,
            [b'U', b'N', b'I', b'X', ..] => FdKind::Unix,
            _ => FdKind::Other,
        };
    }
    match note {
        b"anon_inode:[eventpoll]" => FdKind::Epoll,
        b"anon_inode:[eventfd]" => FdKind::Eventfd,
        b"anon_inode:[io_uring]" => FdKind::IoUring,
        _ if note.starts_with(b"pipe:[") => FdKind::Pipe,
        _ if note.starts_with(b"{eventfd-") => FdKind::Eventfd,
        _ if matches!(name, "open" | "openat" | "openat2" | "creat") => FdKind::File,
        _ => FdKind::Other,
    }
}
