//! What a call is about, for pictures: colours and letters stand for these, no grade does.

/// A family of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Sleeps until something happens: `epoll_wait`, `poll`, `nanosleep`, `wait4`.
    Wait,
    /// Files and folders.
    File,
    /// Sockets, and reads and writes of them.
    Network,
    /// Pipes and eventfds: bytes between threads and processes, standard output among them.
    Pipe,
    /// Makes, ends or changes a thread or process.
    Process,
    /// Anything else.
    Other,
}

impl Family {
    /// Every family, in the order of legends.
    pub const ALL: [Self; 6] =
        [Self::File, Self::Network, Self::Pipe, Self::Process, Self::Other, Self::Wait];

    /// The family of a call by its name and, where known, the kind of descriptor that it acts on
    /// (`fds.kind`).
    #[must_use]
    pub fn of(name: &str, fd_kind: Option<&str>) -> Self {
        match name {
            "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "poll" | "ppoll" | "select" | "pselect6"
            | "nanosleep" | "clock_nanosleep" | "pause" | "wait4" | "waitid" | "futex"
            | "rt_sigtimedwait" | "io_uring_enter" => return Self::Wait,
            "clone" | "clone3" | "fork" | "vfork" | "execve" | "execveat" | "exit" | "exit_group"
            | "prctl" | "setsid" | "setpgid" | "prlimit64" | "kill" | "tgkill" => return Self::Process,
            "socket" | "connect" | "bind" | "listen" | "accept" | "accept4" | "shutdown" | "getsockname"
            | "getpeername" | "setsockopt" | "getsockopt" | "sendto" | "recvfrom" | "sendmsg" | "recvmsg"
            | "sendmmsg" | "recvmmsg" => return Self::Network,
            // What an epoll_ctl registers is not what it is about.
            "epoll_ctl" | "epoll_create" | "epoll_create1" => return Self::Other,
            _ => {}
        }
        match fd_kind {
            Some("tcp" | "udp" | "unix") => Self::Network,
            Some("pipe" | "eventfd") => Self::Pipe,
            Some("file" | "dir") => Self::File,
            _ if matches!(name, "pipe" | "pipe2" | "eventfd" | "eventfd2") => Self::Pipe,
            _ if takes_path(name) => Self::File,
            _ => Self::Other,
        }
    }

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::File => "file",
            Self::Network => "network",
            Self::Pipe => "pipe",
            Self::Process => "process",
            Self::Other => "other",
        }
    }
}

/// Calls whose argument is a path, whether they succeed or not.
fn takes_path(name: &str) -> bool {
    matches!(
        name,
        "open"
            | "openat"
            | "openat2"
            | "creat"
            | "access"
            | "faccessat"
            | "faccessat2"
            | "stat"
            | "stat64"
            | "lstat"
            | "lstat64"
            | "newfstatat"
            | "fstatat64"
            | "statx"
            | "statfs"
            | "readlink"
            | "readlinkat"
            | "mkdir"
            | "mkdirat"
            | "rmdir"
            | "unlink"
            | "unlinkat"
            | "rename"
            | "renameat"
            | "renameat2"
            | "link"
            | "linkat"
            | "symlink"
            | "symlinkat"
            | "chmod"
            | "fchmodat"
            | "fchmodat2"
            | "chown"
            | "lchown"
            | "fchownat"
            | "truncate"
            | "utimensat"
            | "chdir"
            | "getcwd"
            | "inotify_add_watch"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families() {
        for (name, fd_kind, expected) in [
            ("openat", Some("file"), Family::File),
            ("openat", None, Family::File),
            ("openat2", None, Family::File),
            ("faccessat2", None, Family::File),
            ("newfstatat", None, Family::File),
            ("stat", None, Family::File),
            ("lstat64", None, Family::File),
            ("statx", None, Family::File),
            ("unlinkat", None, Family::File),
            ("read", Some("file"), Family::File),
            ("read", Some("tcp"), Family::Network),
            ("write", Some("pipe"), Family::Pipe),
            ("write", Some("eventfd"), Family::Pipe),
            ("pipe2", None, Family::Pipe),
            ("close", Some("dir"), Family::File),
            ("close", None, Family::Other),
            ("connect", Some("unix"), Family::Network),
            ("epoll_pwait", Some("epoll"), Family::Wait),
            ("epoll_ctl", Some("tcp"), Family::Other),
            ("clone3", None, Family::Process),
            ("exit_group", None, Family::Process),
            ("io_uring_setup", Some("io_uring"), Family::Other),
        ] {
            assert_eq!(Family::of(name, fd_kind), expected, "{name} {fd_kind:?}");
        }
    }
}
