//! Interned names of calls, signals and errors: a few hundred per trace, met millions of times.

use rustc_hash::FxHashMap;

/// An index into [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Name(u16);

impl Name {
    /// What stands for a name beyond the most that are kept, and for no name.
    pub(crate) const NONE: Self = Self(0);
}

/// What a call's arguments and value mean, as far as the model needs it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Position of the path argument.
    pub(crate) path: Option<u8>,
    /// Position of the descriptor that the call acts on.
    pub(crate) fd: Option<u8>,
    /// Whether it acts on its first argument when its path is empty (`AT_EMPTY_PATH`).
    pub(crate) empty_path: bool,
    /// What it does to descriptors.
    pub(crate) effect: Effect,
    /// Whether the value counts bytes moved.
    pub(crate) moves_bytes: bool,
    /// Whether an address of a socket may stand among the arguments.
    pub(crate) address: bool,
    /// Whether its time is spent asleep, waiting for something to happen.
    pub(crate) waits: bool,
    /// What the model does about it beyond descriptors.
    pub(crate) call: Call,
}

/// Calls that mean something to the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Call {
    #[default]
    Other,
    /// Makes a thread or process.
    Clone,
    /// Opens a file by its path.
    Open,
    /// Asks about a path: how marks are left.
    Access,
    /// Reads bytes from a descriptor at its first argument.
    Read,
    /// Begins another program.
    Execve,
    /// Ends the process.
    ExitGroup,
    /// Names a thread, among much else.
    Prctl,
    /// Duplicates a descriptor or sets its flags.
    Fcntl,
    /// Sets close-on-exec, among much else.
    Ioctl,
    /// What `uv_loop_init` makes for an event loop, and a pool's thread never does.
    LoopMaker,
    /// What pthread_create(3) itself does between one clone and the next.
    ThreadSetup,
    /// Makes a socket.
    Socket,
}

/// What a call does to the table of open descriptors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Effect {
    #[default]
    None,
    /// Its value is a new descriptor.
    Opens,
    /// Its value is a copy of the descriptor at its first argument.
    Copies,
    /// Two new descriptors stand in brackets at this argument: `pipe2([3, 4])`.
    OpensPair(u8),
    /// It ends the descriptor it acts on.
    Closes,
    /// It ends a range of descriptors.
    ClosesRange,
    /// `dup2`, `dup3`: its value is a new descriptor, and what had the number ends.
    Replaces,
}

#[derive(Debug)]
pub(crate) struct Names {
    entries: Vec<(Box<str>, Shape)>,
    index: FxHashMap<Box<[u8]>, Name>,
    /// Short names as words, each where its hash says: nearly every name is found here, without a hash
    /// over its bytes.
    recent: Box<[(Key, Name); RECENT]>,
    exits: [Name; 3],
}

/// A name of up to sixteen bytes as two words; no name holds a zero byte.
type Key = [u64; 2];

const RECENT: usize = 256;

fn key(name: &[u8]) -> Option<Key> {
    let word = |from: usize| match name.get(from..from + 8) {
        Some(eight) => eight.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        None => name
            .get(from..)
            .unwrap_or_default()
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    (name.len() <= 16).then(|| [word(0), word(8)])
}

/// Where a key has its place: multiplied by the golden ratio's fraction, the high bits are mixed well.
fn place(key: Key) -> usize {
    ((key[0] ^ key[1].rotate_left(7)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// How a thread ends: the names of `exit` events.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ExitName {
    Exited,
    Killed,
    Superseded,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self {
            entries: vec![("?".into(), Shape::default())],
            index: FxHashMap::default(),
            recent: Box::new([([0; 2], Name::NONE); RECENT]),
            exits: [Name::NONE; 3],
        };
        names.exits = [b"exited".as_slice(), b"killed", b"superseded"].map(|name| names.intern(name));
        names
    }
}

impl Names {
    /// The name of `bytes`; allocates only when it is new.
    #[inline]
    pub(crate) fn intern(&mut self, bytes: &[u8]) -> Name {
        let Some(key) = key(bytes) else { return self.lookup(bytes) };
        let place = place(key);
        let (known, name) = self.recent[place];
        if known == key && name != Name::NONE {
            return name;
        }
        let name = self.lookup(bytes);
        self.recent[place] = (key, name);
        name
    }

    fn lookup(&mut self, bytes: &[u8]) -> Name {
        match self.index.get(bytes) {
            Some(&name) => name,
            None => self.add(bytes),
        }
    }

    fn add(&mut self, bytes: &[u8]) -> Name {
        let Ok(number) = u16::try_from(self.entries.len()) else { return Name::NONE };
        let text = String::from_utf8_lossy(bytes);
        self.entries.push((text.as_ref().into(), shape(&text)));
        self.index.insert(bytes.into(), Name(number));
        Name(number)
    }

    pub(crate) fn exit(&self, how: ExitName) -> Name {
        self.exits[how as usize]
    }

    pub(crate) fn get(&self, name: Name) -> &str {
        self.entries.get(usize::from(name.0)).map_or("", |(text, _)| text)
    }

    pub(crate) fn shape(&self, name: Name) -> &Shape {
        let index = usize::from(name.0).min(self.entries.len() - 1);
        &self.entries[index].1
    }
}

/// Argument positions are those of the calls' own man pages, section 2.
fn shape(name: &str) -> Shape {
    let call = call(name);
    let shape = Shape { call, waits: waits(name), ..arguments(name) };
    Shape {
        address: matches!(
            name,
            "connect"
                | "bind"
                | "accept"
                | "accept4"
                | "sendto"
                | "recvfrom"
                | "sendmsg"
                | "recvmsg"
                | "sendmmsg"
                | "recvmmsg"
                | "getsockname"
                | "getpeername"
        ),
        ..shape
    }
}

fn arguments(name: &str) -> Shape {
    let path = |position| Shape { path: Some(position), ..Shape::default() };
    let fd = |position| Shape { fd: Some(position), ..Shape::default() };
    let moves = Shape { fd: Some(0), moves_bytes: true, ..Shape::default() };
    let effect = |effect| Shape { effect, ..Shape::default() };
    match name {
        "open" | "creat" => Shape { effect: Effect::Opens, ..path(0) },
        "openat" | "openat2" => Shape { effect: Effect::Opens, ..path(1) },
        "access" | "stat" | "stat64" | "lstat" | "lstat64" | "execve" | "readlink" | "mkdir" | "rmdir"
        | "unlink" | "rename" | "chdir" | "chmod" | "chown" | "lchown" | "truncate" | "statfs" | "link"
        | "mknod" | "utime" | "utimes" | "getxattr" | "lgetxattr" | "setxattr" | "listxattr" | "chroot" => {
            path(0)
        }
        "faccessat2" | "newfstatat" | "fstatat64" | "statx" | "execveat" => {
            Shape { empty_path: true, ..path(1) }
        }
        "faccessat" | "readlinkat" | "mkdirat" | "unlinkat" | "renameat" | "renameat2" | "fchmodat"
        | "fchmodat2" | "fchownat" | "linkat" | "utimensat" | "futimesat" | "mknodat" | "symlink"
        | "inotify_add_watch" => path(1),
        "symlinkat" => path(2),
        "read" | "write" | "pread64" | "pwrite64" | "readv" | "writev" | "preadv" | "pwritev" | "preadv2"
        | "pwritev2" | "sendto" | "recvfrom" | "send" | "recv" | "sendmsg" | "recvmsg" | "getdents64"
        | "getdents" | "sendfile" | "sendfile64" | "copy_file_range" | "splice" => moves,
        "close" => Shape { effect: Effect::Closes, ..fd(0) },
        "close_range" => effect(Effect::ClosesRange),
        "socket" | "eventfd" | "eventfd2" | "epoll_create" | "epoll_create1" | "inotify_init"
        | "inotify_init1" | "timerfd_create" | "signalfd" | "signalfd4" | "memfd_create"
        | "io_uring_setup" | "pidfd_open" | "accept" | "accept4" | "userfaultfd" | "perf_event_open"
        | "fanotify_init" => effect(Effect::Opens),
        "dup" => effect(Effect::Copies),
        "dup2" | "dup3" => effect(Effect::Replaces),
        // Opens only with F_DUPFD and F_DUPFD_CLOEXEC: see fds.rs.
        "fcntl" | "fcntl64" => fd(0),
        "pipe" | "pipe2" => effect(Effect::OpensPair(0)),
        "socketpair" => effect(Effect::OpensPair(3)),
        // What an epoll_ctl acts on is the descriptor it registers; the instance stands in `args`.
        "epoll_ctl" => fd(2),
        "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "fstat" | "fstat64" | "lseek" | "_llseek"
        | "fsync" | "fdatasync" | "ftruncate" | "fchmod" | "fchown" | "fchdir" | "flock" | "fallocate"
        | "fadvise64" | "fstatfs" | "ioctl" | "connect" | "bind" | "listen" | "shutdown" | "getsockname"
        | "getpeername" | "setsockopt" | "getsockopt" | "sendmmsg" | "recvmmsg" | "timerfd_settime"
        | "fgetxattr" => fd(0),
        _ => Shape::default(),
    }
}

fn call(name: &str) -> Call {
    match name {
        "clone" | "clone3" | "fork" | "vfork" => Call::Clone,
        "open" | "openat" | "openat2" => Call::Open,
        "access" | "faccessat" | "faccessat2" => Call::Access,
        "read" | "pread64" => Call::Read,
        "execve" | "execveat" => Call::Execve,
        "exit_group" => Call::ExitGroup,
        "prctl" => Call::Prctl,
        "fcntl" | "fcntl64" => Call::Fcntl,
        "ioctl" => Call::Ioctl,
        "epoll_create" | "epoll_create1" | "pipe2" | "eventfd2" => Call::LoopMaker,
        "mmap" | "mprotect" | "munmap" | "madvise" | "brk" | "rt_sigprocmask" | "futex" | "prlimit64"
        | "getrlimit" => Call::ThreadSetup,
        "socket" => Call::Socket,
        _ => Call::Other,
    }
}

/// Calls that sleep by their nature until something happens; a read that blocks is not among them,
/// since the text does not say whether it slept.
fn waits(name: &str) -> bool {
    matches!(
        name,
        "epoll_wait"
            | "epoll_pwait"
            | "epoll_pwait2"
            | "poll"
            | "ppoll"
            | "select"
            | "pselect6"
            | "_newselect"
            | "futex"
            | "futex_wait"
            | "futex_waitv"
            | "nanosleep"
            | "clock_nanosleep"
            | "clock_nanosleep_time64"
            | "wait4"
            | "waitpid"
            | "waitid"
            | "pause"
            | "rt_sigsuspend"
            | "rt_sigtimedwait"
            | "restart_syscall"
            | "accept"
            | "accept4"
            | "io_getevents"
            | "io_uring_enter"
    )
}
