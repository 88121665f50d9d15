//! Interned names of calls, signals and errors: a few hundred per trace, met millions of times.

use std::collections::HashMap;

/// An index into [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Name(u32);

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
    /// Whether it makes a thread or process.
    pub(crate) clones: bool,
}

/// What a call does to the table of open descriptors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Effect {
    #[default]
    None,
    /// Its value is a new descriptor.
    Opens,
    /// Two new descriptors stand in brackets at this argument: `pipe2([3, 4])`.
    OpensPair(u8),
    /// It ends the descriptor it acts on.
    Closes,
    /// `dup2`, `dup3`: its value is a new descriptor, and what had the number ends.
    Replaces,
}

#[derive(Debug, Default)]
pub(crate) struct Names {
    entries: Vec<(Box<str>, Shape)>,
    index: HashMap<Box<[u8]>, Name>,
}

impl Names {
    /// The name of `bytes`; allocates only when it is new.
    pub(crate) fn intern(&mut self, bytes: &[u8]) -> Name {
        if let Some(&name) = self.index.get(bytes) {
            return name;
        }
        let name = Name(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        let text = String::from_utf8_lossy(bytes);
        self.entries.push((text.as_ref().into(), shape(&text)));
        self.index.insert(bytes.into(), name);
        name
    }

    pub(crate) fn get(&self, name: Name) -> &str {
        self.entries.get(name.0 as usize).map_or("", |(text, _)| text)
    }

    pub(crate) fn shape(&self, name: Name) -> Shape {
        self.entries.get(name.0 as usize).map_or_else(Shape::default, |(_, shape)| *shape)
    }
}

/// Argument positions are those of the calls' own man pages, section 2.
fn shape(name: &str) -> Shape {
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
        | "sendfile" | "sendfile64" | "copy_file_range" | "splice" => moves,
        "close" => Shape { effect: Effect::Closes, ..fd(0) },
        "socket" | "eventfd" | "eventfd2" | "epoll_create" | "epoll_create1" | "inotify_init"
        | "inotify_init1" | "timerfd_create" | "signalfd" | "signalfd4" | "memfd_create"
        | "io_uring_setup" | "pidfd_open" | "dup" | "accept" | "accept4" => effect(Effect::Opens),
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
        "clone" | "clone3" | "fork" | "vfork" => Shape { clones: true, ..Shape::default() },
        _ => Shape::default(),
    }
}
