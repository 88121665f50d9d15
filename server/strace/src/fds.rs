//! Lifetimes of descriptor numbers, from the call that returned one to what ended it.
//!
//! Ordered by text, not by time: a descriptor opens at the line on which its call returned and ends
//! at the line on which its close began. By time alone the two cross by microseconds, and a peak of
//! five open files reads six.

use rustc_hash::FxHashMap;

use crate::event::{Event, NO_FD, NO_INDEX};
use crate::fd::{FdEnd, FdKind, FdLifetime};
use crate::names::{Call, Effect, Shape};
use crate::scan::is_socket;
use crate::table::{Entry, Table};
use crate::trace::{Span, Trace};
use crate::value::{Arguments, FdArg, fd_argument, fd_pair};

/// The tables of all processes while the trace is read.
#[derive(Debug, Default)]
pub(crate) struct Fds {
    lifetimes: Vec<FdLifetime>,
    tables: Vec<Table>,
    /// Each thread's table.
    of_thread: Vec<u32>,
    /// Lifetimes that ended because their number was returned again before their close was printed.
    overtaken: FxHashMap<(u32, i32), u32>,
    /// Lifetimes that turned out to be another: a thread acted before the clone that made it returned.
    aliases: FxHashMap<u32, u32>,
    /// Numbers handed down to processes that live.
    handed_down: usize,
    /// Whether more would have been handed down than is followed.
    pub(crate) too_many: bool,
}

/// Most numbers that are followed into processes which may never act on them, all together: a program
/// with thousands of descriptors can fork thousands of times.
const MOST_HANDED_DOWN: usize = 1 << 20;

/// What an event does, with all that is known of it.
#[derive(Clone, Copy)]
pub(crate) struct Act<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) index: u32,
    pub(crate) event: &'a Event,
    pub(crate) shape: &'a Shape,
}

impl<'a> Act<'a> {
    fn arguments(self) -> Arguments<'a> {
        self.trace.arguments(self.event)
    }

    fn name(self) -> &'a str {
        self.trace.name(self.event)
    }

    /// When a call that returned well did so.
    fn returned_ns(self) -> Option<i64> {
        self.event.end_ns().or(self.event.t_ns())
    }

    fn pid(self) -> u32 {
        self.trace.thread(self.event).pid
    }

    /// Where a part of the text stands in it.
    fn span(self, part: &[u8]) -> Span {
        self.trace.span_of(part)
    }
}

/// Descriptor and lifetime that an event acts on.
pub(crate) type Acted = (i32, u32);

const NOTHING: Acted = (NO_FD, NO_INDEX);

impl Fds {
    /// A thread came to be known. Until the clone that made it returns it has a table of its own.
    pub(crate) fn thread(&mut self) {
        self.of_thread.push(u32::try_from(self.tables.len()).unwrap_or(u32::MAX));
        self.tables.push(Table::new(self.tables.is_empty()));
    }

    /// A call begins that acts on a descriptor; a close ends its lifetime.
    #[inline]
    pub(crate) fn begins(&mut self, act: Act<'_>) -> Acted {
        if act.shape.fd.is_none() && !act.shape.empty_path {
            return NOTHING;
        }
        let Some(arg) = fd_argument(act.shape, act.arguments()) else { return NOTHING };
        if act.event.errno != crate::names::Name::NONE && act.trace.errno(act.event) == Some("EBADF") {
            return (arg.fd, NO_INDEX);
        }
        let table = self.of_thread[act.event.thread as usize];
        let closes = act.shape.effect == Effect::Closes;
        if closes && let Some(old) = self.overtaken(table, arg.fd, act.event) {
            self.overtaken.remove(&(table, arg.fd));
            let t_ns = act.event.t_ns();
            let lifetime = &mut self.lifetimes[old as usize];
            (lifetime.closed, lifetime.closed_ns, lifetime.end) = (Some(act.index), t_ns, Some(FdEnd::Close));
            return (arg.fd, old);
        }
        let serial = match self.tables[table as usize].get(arg.fd) {
            Some(Entry::Own(serial)) => serial,
            Some(Entry::Inherited(from)) => self.inherit(table, from, arg, act),
            None => self.open(table, arg, None, act),
        };
        if closes {
            self.tables[table as usize].remove(arg.fd);
            self.end(serial, act.index, act.event.t_ns(), FdEnd::Close);
        }
        (arg.fd, serial)
    }

    /// The second half of a call says that there was no such descriptor: what its first half did is undone.
    pub(crate) fn refused(&mut self, act: Act<'_>) {
        let (fd, serial) = (act.event.fd, act.event.serial);
        let Some(lifetime) = self.lifetimes.get_mut(serial as usize) else { return };
        if lifetime.closed == Some(act.index) {
            (lifetime.closed, lifetime.closed_ns, lifetime.end) = (None, None, None);
            let table = &mut self.tables[self.of_thread[act.event.thread as usize] as usize];
            if table.get(fd).is_none() {
                table.set(fd, Entry::Own(serial));
            }
        }
    }

    /// A call returned well: new descriptors, copies, flags, closed ranges.
    #[inline]
    pub(crate) fn returns(&mut self, act: Act<'_>) -> Acted {
        let table = self.of_thread[act.event.thread as usize];
        let value = || act.event.ret().and_then(|fd| i32::try_from(fd).ok()).filter(|fd| *fd >= 0);
        match act.shape.effect {
            Effect::None | Effect::Closes => match act.shape.call {
                Call::Fcntl => self.fcntl(table, act),
                Call::Ioctl => self.ioctl(table, act),
                _ => NOTHING,
            },
            Effect::Opens | Effect::Copies | Effect::Replaces => {
                let Some(fd) = value() else { return NOTHING };
                let note = act.trace.bytes(act.event.ret_note);
                (fd, self.open(table, FdArg { fd, note }, Some(act), act))
            }
            Effect::OpensPair(at) => {
                let arguments = act.arguments().get(at);
                let mut first = NOTHING;
                for arg in arguments.iter().flat_map(|pair| fd_pair(pair)) {
                    let serial = self.open(table, arg, Some(act), act);
                    if first == NOTHING {
                        first = (arg.fd, serial);
                    }
                }
                first
            }
            Effect::ClosesRange => {
                self.close_range(table, act);
                NOTHING
            }
        }
    }

    fn fcntl(&mut self, table: u32, act: Act<'_>) -> Acted {
        let Some(command) = act.arguments().get(1) else { return NOTHING };
        if command.starts_with(b"F_DUPFD") {
            let Some(fd) = act.event.ret().and_then(|fd| i32::try_from(fd).ok()) else { return NOTHING };
            let note = act.trace.bytes(act.event.ret_note);
            return (fd, self.open(table, FdArg { fd, note }, Some(act), act));
        }
        if command.as_ref() == b"F_SETFD" {
            self.set_cloexec(table, act, act.arguments().has_flag("FD_CLOEXEC"));
        }
        NOTHING
    }

    fn ioctl(&mut self, table: u32, act: Act<'_>) -> Acted {
        match act.arguments().get(1).as_deref() {
            Some(b"FIOCLEX") => self.set_cloexec(table, act, true),
            Some(b"FIONCLEX") => self.set_cloexec(table, act, false),
            _ => {}
        }
        NOTHING
    }

    fn set_cloexec(&mut self, table: u32, act: Act<'_>, cloexec: bool) {
        let entry = self.tables[table as usize].get(act.event.fd);
        if let Some(Entry::Own(serial)) = entry {
            self.lifetimes[serial as usize].cloexec = cloexec;
        }
    }

    /// `close_range(first, last, flags)`: <https://man7.org/linux/man-pages/man2/close_range.2.html>
    fn close_range(&mut self, table: u32, act: Act<'_>) {
        let arguments = act.arguments();
        let bound = |at| {
            let text = arguments.get(at)?;
            // `~0U` is what the manual page writes for no upper bound, and strace prints it so.
            if text.starts_with(b"~") { Some(u64::MAX) } else { crate::scan::number(&text, 0).0 }
        };
        let (Some(first), Some(last)) = (bound(0), bound(1)) else { return };
        let only_flags = arguments.has_flag("CLOSE_RANGE_CLOEXEC");
        for (fd, entry) in self.tables[table as usize].entries() {
            if !u64::try_from(fd).is_ok_and(|fd| (first..=last).contains(&fd)) {
                continue;
            }
            match entry {
                Entry::Own(serial) if only_flags => self.lifetimes[serial as usize].cloexec = true,
                _ if only_flags => {}
                entry => {
                    self.tables[table as usize].remove(fd);
                    if let Entry::Own(serial) = entry {
                        self.end(serial, act.index, act.event.t_ns(), FdEnd::Close);
                    }
                }
            }
        }
    }

    /// A thread or process was made by `act`. It shares its parent's table, or has a copy of it.
    pub(crate) fn born(&mut self, act: Act<'_>, child: u32, shares: bool) {
        let of = |thread: u32| self.of_thread[thread as usize] as usize;
        let (parents, own) = (of(act.event.thread), of(child));
        if parents == own {
            return;
        }
        let early = std::mem::take(&mut self.tables[own]);
        let pid = act.trace.threads[child as usize].pid;
        for &serial in early.early() {
            self.lifetimes[serial as usize].pid = pid;
        }
        if shares {
            self.of_thread[child as usize] = u32::try_from(parents).unwrap_or(u32::MAX);
            self.tables[parents].users += 1;
            self.join(parents, &early);
            return;
        }
        let mut table = Table::default();
        if self.handed_down + self.tables[parents].size() <= MOST_HANDED_DOWN {
            table = self.tables[parents].copy();
            self.handed_down += table.size();
        } else {
            self.too_many = true;
        }
        (table.born, table.users, table.handed_down) = (Some(act.index), 1, table.size());
        // What the child did before the fork's line was printed holds; the rest it has from its parent.
        for &serial in early.early() {
            let lifetime = &mut self.lifetimes[serial as usize];
            if lifetime.opened.is_none() {
                (lifetime.opened, lifetime.opened_ns) = (Some(act.index), act.returned_ns());
                lifetime.tid = Some(act.event.tid);
            }
            if lifetime.end.is_some() {
                table.remove(lifetime.fd);
            } else {
                table.set(lifetime.fd, Entry::Own(serial));
            }
        }
        self.tables[own] = table;
    }

    /// A thread had acted on what is its process's table before that was known.
    fn join(&mut self, parents: usize, early: &Table) {
        for &serial in early.early() {
            let lifetime = self.lifetimes[serial as usize].clone();
            let (known, fd) = (self.tables[parents].get(lifetime.fd), lifetime.fd);
            match known {
                Some(Entry::Own(old)) if lifetime.opened.is_none() => {
                    self.aliases.insert(serial, old);
                    if let (Some(end), Some(closed)) = (lifetime.end, lifetime.closed) {
                        self.tables[parents].remove(fd);
                        self.end(old, closed, lifetime.closed_ns, end);
                    }
                }
                _ if lifetime.end.is_none() => self.tables[parents].set(fd, Entry::Own(serial)),
                _ => {}
            }
        }
    }

    /// A process begins another program: descriptors with the close-on-exec flag end.
    pub(crate) fn exec(&mut self, act: Act<'_>) {
        let table = self.of_thread[act.event.thread as usize] as usize;
        let ns = act.returned_ns();
        for (fd, entry) in self.tables[table].entries() {
            let (Entry::Own(serial) | Entry::Inherited(serial)) = entry;
            if self.lifetimes[serial as usize].cloexec {
                self.tables[table].remove(fd);
                if let Entry::Own(serial) = entry {
                    self.end(serial, act.index, ns, FdEnd::Exec);
                }
            }
        }
    }

    /// `thread` takes over where another of its process left off in an `execve`.
    pub(crate) fn goes_on(&mut self, thread: u32, from: u32) {
        let table = self.of_thread[from as usize];
        self.of_thread[thread as usize] = table;
        self.tables[table as usize].users += 1;
    }

    /// A thread ended; with the last of its process all descriptors end.
    pub(crate) fn ended(&mut self, thread: u32, index: u32, t_ns: Option<i64>) {
        let table = self.of_thread[thread as usize] as usize;
        let users = &mut self.tables[table].users;
        *users = users.saturating_sub(1);
        if *users == 0 {
            let ended = std::mem::take(&mut self.tables[table]);
            self.handed_down -= ended.handed_down;
            for (_, entry) in ended.entries() {
                if let Entry::Own(serial) = entry {
                    self.end(serial, index, t_ns, FdEnd::Exit);
                }
            }
        }
    }

    /// The process that had no number has this one.
    pub(crate) fn rename_first(&mut self, pid: u32) {
        for lifetime in &mut self.lifetimes {
            for number in std::iter::once(&mut lifetime.pid).chain(&mut lifetime.tid) {
                if *number == 0 {
                    *number = pid;
                }
            }
        }
    }

    /// The lifetimes, and what events' serials are to be changed to.
    pub(crate) fn finish(self) -> (Vec<FdLifetime>, Option<Vec<u32>>) {
        if self.aliases.is_empty() {
            return (self.lifetimes, None);
        }
        let mut kept = Vec::with_capacity(self.lifetimes.len());
        let mut serials = vec![NO_INDEX; self.lifetimes.len()];
        for (serial, lifetime) in (0u32..).zip(self.lifetimes) {
            if !self.aliases.contains_key(&serial) {
                serials[serial as usize] = u32::try_from(kept.len()).unwrap_or(NO_INDEX);
                kept.push(lifetime);
            }
        }
        for serial in self.aliases.keys() {
            let mut real = *serial;
            while let Some(&next) = self.aliases.get(&real) {
                real = next;
            }
            serials[*serial as usize] = serials[real as usize];
        }
        (kept, Some(serials))
    }

    /// The lifetime that a close printed late belongs to: it began before its successor was opened.
    fn overtaken(&self, table: u32, fd: i32, event: &Event) -> Option<u32> {
        if self.overtaken.is_empty() {
            return None;
        }
        let old = *self.overtaken.get(&(table, fd))?;
        let current = match self.tables[table as usize].get(fd) {
            Some(Entry::Own(now)) => self.lifetimes[now as usize].opened_ns,
            _ => None,
        };
        (event.t_ns() <= current).then_some(old)
    }

    /// A process acts for the first time on a descriptor that it has from its parent.
    fn inherit(&mut self, table: u32, from: u32, arg: FdArg<'_>, act: Act<'_>) -> u32 {
        let born = self.tables[table as usize].born;
        let fork = born.map(|born| &act.trace.events[born as usize]);
        let parent = &self.lifetimes[from as usize];
        let lifetime = FdLifetime {
            pid: act.pid(),
            tid: fork.map(|fork| fork.tid),
            opened: born,
            opened_ns: fork.and_then(|fork| fork.end_ns().or(fork.t_ns())),
            closed: None,
            closed_ns: None,
            end: None,
            ..parent.clone()
        };
        self.push(table, arg.fd, lifetime)
    }

    /// A descriptor that `opener` returned, or that was open before the trace began.
    fn open(&mut self, table: u32, arg: FdArg<'_>, opener: Option<Act<'_>>, act: Act<'_>) -> u32 {
        let opened_ns = opener.and_then(Act::returned_ns);
        let replaced = act.shape.effect == Effect::Replaces;
        if opener.is_some()
            && let Some(Entry::Own(old)) = self.tables[table as usize].get(arg.fd)
        {
            let lifetime = &mut self.lifetimes[old as usize];
            if replaced {
                self.end(old, act.index, opened_ns, FdEnd::Dup);
            } else {
                (lifetime.closed_ns, lifetime.end) = (opened_ns, Some(FdEnd::Reused));
                self.overtaken.insert((table, arg.fd), old);
            }
        }
        let copied = opener.and_then(|act| self.copied(table, act));
        let named = |span: Span| if arg.note.is_empty() { span } else { act.span(arg.note) };
        let (kind, label) = match copied.map(|serial| &self.lifetimes[serial as usize]) {
            Some(source) => (source.kind, named(source.label)),
            None => (kind(arg.note, opener), named(opener.map_or(Span::default(), path_span))),
        };
        let lifetime = FdLifetime {
            fd: arg.fd,
            pid: act.pid(),
            kind,
            cloexec: opener.is_some_and(cloexec),
            end: None,
            tid: opener.map(|act| act.event.tid),
            opened: opener.map(|act| act.index),
            closed: None,
            opened_ns,
            closed_ns: None,
            label,
        };
        self.push(table, arg.fd, lifetime)
    }

    fn push(&mut self, table: u32, fd: i32, lifetime: FdLifetime) -> u32 {
        let serial = u32::try_from(self.lifetimes.len()).unwrap_or(u32::MAX);
        self.lifetimes.push(lifetime);
        self.tables[table as usize].opened(fd, serial);
        serial
    }

    /// The lifetime that a `dup` copies, where it is known.
    fn copied(&self, table: u32, act: Act<'_>) -> Option<u32> {
        let copies =
            matches!(act.shape.effect, Effect::Copies | Effect::Replaces) || act.shape.call == Call::Fcntl;
        if !copies {
            return None;
        }
        let arguments = act.arguments();
        let source = FdArg::parse(&arguments.get(0)?)?.fd;
        self.tables[table as usize].get(source).map(|entry| {
            let (Entry::Own(serial) | Entry::Inherited(serial)) = entry;
            serial
        })
    }

    fn end(&mut self, serial: u32, index: u32, t_ns: Option<i64>, end: FdEnd) {
        let lifetime = &mut self.lifetimes[serial as usize];
        (lifetime.closed, lifetime.closed_ns, lifetime.end) = (Some(index), t_ns, Some(end));
    }
}

/// The path argument of an opener, quotes included: what is known of a file without `-y`.
fn path_span(act: Act<'_>) -> Span {
    let argument = act.shape.path.and_then(|position| act.arguments().get(position));
    match argument {
        Some(std::borrow::Cow::Borrowed(path)) if path.starts_with(b"\"") => act.span(path),
        _ => Span::default(),
    }
}

/// Whether the descriptor that a call returned ends at an `execve`.
fn cloexec(opener: Act<'_>) -> bool {
    match opener.name() {
        // No flag is needed: io_uring_setup(2), pidfd_open(2).
        "io_uring_setup" | "pidfd_open" => true,
        // `accept`, `dup`, `dup2` and the like take no flags.
        "dup" | "dup2" | "accept" | "creat" | "epoll_create" | "pipe" => false,
        // O_CLOEXEC, SOCK_CLOEXEC, EFD_CLOEXEC, F_DUPFD_CLOEXEC, ...
        _ => opener.arguments().holds(b"_CLOEXEC"),
    }
}

/// What a descriptor is, by the call that opened it and by what `-y` says of it.
fn kind(note: &[u8], opener: Option<Act<'_>>) -> FdKind {
    let name = opener.map_or("", Act::name);
    match name {
        "epoll_create" | "epoll_create1" => return FdKind::Epoll,
        "eventfd" | "eventfd2" => return FdKind::Eventfd,
        "io_uring_setup" => return FdKind::IoUring,
        "pipe" | "pipe2" => return FdKind::Pipe,
        _ => {}
    }
    let is_dir = || opener.is_some_and(|act| act.arguments().has_flag("O_DIRECTORY"));
    let file = |is_dir| if is_dir { FdKind::Dir } else { FdKind::File };
    if note.starts_with(b"/") {
        return file(is_dir());
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
        _ if matches!(name, "open" | "openat" | "openat2" | "creat") => file(is_dir()),
        _ => FdKind::Other,
    }
}
