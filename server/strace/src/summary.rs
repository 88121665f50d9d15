//! Where the time of a traced program went, in memory that does not grow with the text.
//!
//! What `strace -c` sums, but told apart by what threads are and by whether a call waits or works, and
//! by path and socket. Memory grows with distinct threads, calls, paths and sockets only, and the last
//! two are bounded.

use rustc_hash::FxHashMap;

use crate::event::Phase;
use crate::line::Ret;
use crate::names::{Call, Name, Names};
use crate::roles::Roles;
use crate::scan::is_socket;
use crate::stream::{Begun, Sink, Stream};
use crate::thread::{Role, Thread};
use crate::value::{fd_argument, string, unescape};

/// Most paths, and most sockets, that are told apart; what is beyond them is summed as one.
const MOST_NAMES: usize = 10_000;
/// Longest name of a path or socket that is kept, in bytes.
const NAME_BYTES: usize = 4096;
/// Bytes of one line that are read.
const LINE_BYTES: usize = 1 << 20;

/// Sums of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// How many returned.
    pub calls: u64,
    /// How many of these returned an error.
    pub errors: u64,
    /// Time in them, in ns; 0 without strace's `-T`.
    pub time_ns: i64,
    /// The longest, in ns.
    pub longest_ns: i64,
    /// Bytes moved by those that move bytes.
    pub bytes: i64,
}

/// All calls of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSums {
    /// The name.
    pub name: String,
    /// Whether the call sleeps by its nature until something happens.
    pub waits: bool,
    /// Its sums.
    pub sums: Sums,
}

/// All threads of one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleSums {
    /// The role.
    pub role: Role,
    /// How many threads.
    pub threads: u64,
    /// Their lives together, in ns: from each one's first line to its last.
    pub life_ns: i64,
    /// Their time in calls that wait, in ns.
    pub waiting_ns: i64,
    /// Their time in other calls, in ns. What is left of their lives they spent in their own code, or
    /// without a processor.
    pub working_ns: i64,
    /// Their calls.
    pub calls: u64,
    /// Their calls that returned an error.
    pub errors: u64,
}

/// All calls on one path or socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSums {
    /// The path, or strace's words for the socket (`-yy`).
    pub name: String,
    /// Its sums.
    pub sums: Sums,
}

/// Sums by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ByName {
    /// Those told apart, the most time first.
    pub named: Vec<NamedSums>,
    /// All that came when there was no room for more names.
    pub rest: Sums,
}

/// What a text says in sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Lines.
    pub lines: u64,
    /// Calls that returned, and signals and ends of threads.
    pub events: u64,
    /// From the first time to the last, in ns; `None` without times.
    pub span_ns: Option<i64>,
    /// Whether the text says how long calls took (`-T`).
    pub has_durations: bool,
    /// Calls that began and whose end the text does not hold.
    pub unfinished: u64,
    /// Lines that are no event: remarks of strace and what could not be read.
    pub other_lines: u64,
    /// Lines that could not be read.
    pub unread: u64,
    /// The first line that could not be read, and why.
    pub first_unread: Option<(u64, &'static str)>,
    /// By name, the most time first.
    pub calls: Vec<CallSums>,
    /// By role, in the order of their first threads.
    pub roles: Vec<RoleSums>,
    /// By path.
    pub paths: ByName,
    /// By socket.
    pub sockets: ByName,
}

/// Reads a text in chunks and sums it.
#[derive(Debug)]
pub struct Summarizer(Stream<Work>);

impl Summarizer {
    /// One that has read nothing. `entry` is the script whose opening ends Node's own start, as in
    /// [`Options`](crate::Options): without it, threads that Node made at its start are `other`.
    #[must_use]
    pub fn new(entry: Option<String>) -> Self {
        let phase = if entry.is_some() { Phase::Boot } else { Phase::User };
        let work = Work { entry, phase, ..Work::default() };
        Self(Stream::new(work, LINE_BYTES))
    }

    /// Reads the next chunk, cut anywhere.
    pub fn push(&mut self, chunk: &[u8]) {
        self.0.push(chunk);
    }

    /// Ends the text.
    #[must_use]
    pub fn finish(mut self) -> Summary {
        self.0.end();
        let unfinished = self.0.open_halves();
        self.0.sink.finish(&self.0.names, self.0.lines, unfinished)
    }
}

/// What is gathered while reading.
#[derive(Debug)]
struct Work {
    entry: Option<String>,
    phase: Phase,
    roles: Roles,
    threads: Vec<Thread>,
    lives: Vec<Life>,
    calls: FxHashMap<Name, (bool, Sums)>,
    paths: Keyed,
    sockets: Keyed,
    last_ns: Option<i64>,
    has_durations: bool,
    begun: u32,
    events: u64,
    other_lines: u64,
    unread: u64,
    first_unread: Option<(u64, &'static str)>,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            entry: None,
            phase: Phase::User,
            roles: Roles::default(),
            threads: Vec::new(),
            lives: Vec::new(),
            calls: FxHashMap::default(),
            paths: Keyed::default(),
            sockets: Keyed::default(),
            last_ns: None,
            has_durations: false,
            begun: 0,
            events: 0,
            other_lines: 0,
            unread: 0,
            first_unread: None,
        }
    }
}

/// What one thread did.
#[derive(Debug, Clone, Copy, Default)]
struct Life {
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    waiting_ns: i64,
    working_ns: i64,
    calls: u64,
    errors: u64,
}

/// Sums by name, a bounded number of names.
#[derive(Debug, Default)]
struct Keyed {
    index: FxHashMap<Box<[u8]>, u32>,
    sums: Vec<Sums>,
    rest: Sums,
}

impl Keyed {
    /// The place of a name as strace prints it; [`Keyed::REST`] when there is no room for another.
    fn place(&mut self, name: &[u8]) -> u32 {
        let name = &name[..name.len().min(NAME_BYTES)];
        if let Some(&place) = self.index.get(name) {
            return place;
        }
        if self.sums.len() == MOST_NAMES {
            return Self::REST;
        }
        let place = u32::try_from(self.sums.len()).unwrap_or(Self::REST);
        self.index.insert(name.into(), place);
        self.sums.push(Sums::default());
        place
    }

    const REST: u32 = u32::MAX;

    fn at(&mut self, place: u32) -> &mut Sums {
        self.sums.get_mut(place as usize).unwrap_or(&mut self.rest)
    }

    fn finish(self) -> ByName {
        let named = self
            .index
            .into_iter()
            .map(|(name, place)| NamedSums { name: readable(&name), sums: self.sums[place as usize] });
        // A name is there that never returned: it says nothing.
        let mut named: Vec<_> = named.filter(|named| named.sums.calls > 0).collect();
        named.sort_by(|a, b| by_time(&a.sums, &b.sums).then_with(|| a.name.cmp(&b.name)));
        ByName { named, rest: self.rest }
    }
}

/// A name as it is meant: escapes decoded, and of a device only its path.
fn readable(name: &[u8]) -> String {
    if is_socket(name) {
        return String::from_utf8_lossy(name).into_owned();
    }
    let end = memchr::memchr(b'<', name).unwrap_or(name.len());
    unescape(&name[..end]).into_owned()
}

fn by_time(a: &Sums, b: &Sums) -> std::cmp::Ordering {
    (b.time_ns, b.calls).cmp(&(a.time_ns, a.calls))
}

impl Sums {
    fn add(&mut self, ret: &Ret<'_>, bytes: i64) {
        let time = ret.dur_ns.unwrap_or(0);
        self.calls += 1;
        self.errors += u64::from(ret.errno.is_some());
        self.time_ns = self.time_ns.saturating_add(time);
        self.longest_ns = self.longest_ns.max(time);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// What is kept of a call until it returns.
#[derive(Debug)]
pub(crate) struct Half {
    name: Name,
    number: u32,
    phase: Phase,
    waits: bool,
    moves_bytes: bool,
    target: Target,
    deed: Deed,
}

/// What a call acts on.
#[derive(Debug, Clone, Copy)]
enum Target {
    Nothing,
    Path(u32),
    Socket(u32),
}

/// What a call will mean if it returns well.
#[derive(Debug)]
enum Deed {
    Nothing,
    Clones {
        thread: bool,
    },
    /// Opens the entry script.
    Enters,
    /// Names its thread.
    Names(Option<String>),
}

impl Sink for Work {
    type Half = Half;

    fn thread(&mut self, tid: u32) {
        self.roles.thread();
        self.threads.push(Thread::new(tid));
        self.lives.push(Life::default());
    }

    fn rename_first(&mut self, tid: u32) {
        // Threads that it made before belong to the same process, still without a number.
        for thread in self.threads.iter_mut().filter(|thread| thread.pid == 0) {
            thread.pid = tid;
        }
        if let Some(first) = self.threads.first_mut() {
            first.tid = tid;
        }
    }

    fn time(&mut self, thread: u32, t_ns: i64) {
        let life = &mut self.lives[thread as usize];
        life.first_ns.get_or_insert(t_ns);
        life.last_ns = life.last_ns.max(Some(t_ns));
        self.last_ns = self.last_ns.max(Some(t_ns));
    }

    fn begins(&mut self, names: &Names, begun: &Begun<'_>) -> Half {
        let shape = names.shape(begun.name);
        let path = shape.path.and_then(|position| begun.args.get(position));
        let fd = fd_argument(shape, begun.args);
        let target = self.target(path.as_deref(), fd.map_or(&[], |fd| fd.note));
        self.begun = self.begun.saturating_add(1);
        let path = if shape.call == Call::Open { path.and_then(|path| string(&path).map(own)) } else { None };
        self.roles.call(begun.thread, self.begun, shape, path.as_deref() == Some("/proc/meminfo"));
        if shape.call == Call::ExitGroup && begun.thread == 0 {
            self.phase = Phase::Exit;
        }
        let deed = match shape.call {
            Call::Clone => Deed::Clones { thread: begun.args.has_flag("CLONE_THREAD") },
            Call::Open if path.is_some() && path == self.entry && begun.thread == 0 => Deed::Enters,
            Call::Prctl if begun.args.get(0).as_deref() == Some(b"PR_SET_NAME") => {
                Deed::Names(begun.args.get(1).and_then(|name| string(&name).map(own)))
            }
            _ => Deed::Nothing,
        };
        let (waits, moves_bytes) = (shape.waits, shape.moves_bytes);
        Half { name: begun.name, number: self.begun, phase: self.phase, waits, moves_bytes, target, deed }
    }

    fn returned(&mut self, thread: u32, half: Half, ret: &Ret<'_>) {
        self.events += 1;
        self.has_durations |= ret.dur_ns.is_some();
        let bytes = ret.value.filter(|_| half.moves_bytes && ret.errno.is_none()).unwrap_or(0).max(0);
        self.calls.entry(half.name).or_insert((half.waits, Sums::default())).1.add(ret, bytes);
        match half.target {
            Target::Nothing => {}
            Target::Path(place) => self.paths.at(place).add(ret, bytes),
            Target::Socket(place) => self.sockets.at(place).add(ret, bytes),
        }
        let life = &mut self.lives[thread as usize];
        let time = ret.dur_ns.unwrap_or(0);
        let part = if half.waits { &mut life.waiting_ns } else { &mut life.working_ns };
        *part = part.saturating_add(time);
        life.calls += 1;
        life.errors += u64::from(ret.errno.is_some());
        match half.deed {
            Deed::Enters if ret.errno.is_none() && self.phase == Phase::Boot => self.phase = Phase::User,
            Deed::Names(name) if ret.errno.is_none() => self.threads[thread as usize].comm = name,
            _ => {}
        }
    }

    fn signal(&mut self, _: u32) {
        self.events += 1;
    }

    fn ended(&mut self, _: u32) {
        self.events += 1;
    }

    fn child(&mut self, half: &Half, ret: &Ret<'_>) -> Option<u32> {
        let child = u32::try_from(ret.value?).ok().filter(|child| *child > 0)?;
        matches!(half.deed, Deed::Clones { .. }).then_some(child)
    }

    fn born(&mut self, parent: u32, child: u32, half: &Half) {
        let pid = self.threads[parent as usize].pid;
        let thread = &mut self.threads[child as usize];
        thread.pid = if matches!(half.deed, Deed::Clones { thread: true }) { pid } else { thread.tid };
        self.roles.birth(parent, child, half.number, half.phase);
    }

    fn other(&mut self, line: u64, why: &'static str, unread: bool) {
        self.other_lines += 1;
        if unread {
            self.unread += 1;
            self.first_unread.get_or_insert((line, why));
        }
    }
}

fn own(text: std::borrow::Cow<'_, str>) -> String {
    text.into_owned()
}

impl Work {
    /// What a call acts on, by its path argument or by what strace says of its descriptor.
    fn target(&mut self, path: Option<&[u8]>, note: &[u8]) -> Target {
        if is_socket(note) {
            return Target::Socket(self.sockets.place(note));
        }
        let named = path.and_then(|path| path.strip_prefix(b"\"")?.strip_suffix(b"\"")).unwrap_or_default();
        let path = if named.is_empty() && note.starts_with(b"/") { note } else { named };
        if path.is_empty() { Target::Nothing } else { Target::Path(self.paths.place(path)) }
    }

    fn finish(&mut self, names: &Names, lines: u64, unfinished: u64) -> Summary {
        let mut work = std::mem::take(self);
        let main_pid = work.threads.first().map_or(0, |thread| thread.pid);
        work.roles.assign(&mut work.threads, main_pid);
        let mut calls: Vec<_> = work
            .calls
            .into_iter()
            .map(|(name, (waits, sums))| CallSums { name: names.get(name).to_owned(), waits, sums })
            .collect();
        calls.sort_by(|a, b| by_time(&a.sums, &b.sums).then_with(|| a.name.cmp(&b.name)));
        Summary {
            lines,
            events: work.events,
            span_ns: work.last_ns,
            has_durations: work.has_durations,
            unfinished,
            other_lines: work.other_lines,
            unread: work.unread,
            first_unread: work.first_unread,
            calls,
            roles: roles(&work.threads, &work.lives),
            paths: work.paths.finish(),
            sockets: work.sockets.finish(),
        }
    }
}

/// Threads summed by role, in the order of the roles' first threads.
fn roles(threads: &[Thread], lives: &[Life]) -> Vec<RoleSums> {
    let mut roles: Vec<RoleSums> = Vec::new();
    for (thread, life) in threads.iter().zip(lives) {
        let at = roles.iter().position(|sums| sums.role == thread.role).unwrap_or_else(|| {
            let role = thread.role;
            roles.push(RoleSums {
                role,
                threads: 0,
                life_ns: 0,
                waiting_ns: 0,
                working_ns: 0,
                calls: 0,
                errors: 0,
            });
            roles.len() - 1
        });
        let sums = &mut roles[at];
        let lived = life.last_ns.zip(life.first_ns).map_or(0, |(last, first)| last.saturating_sub(first));
        sums.threads += 1;
        sums.life_ns = sums.life_ns.saturating_add(lived);
        sums.waiting_ns = sums.waiting_ns.saturating_add(life.waiting_ns);
        sums.working_ns = sums.working_ns.saturating_add(life.working_ns);
        sums.calls += life.calls;
        sums.errors += life.errors;
    }
    roles
}
