//! What descriptors are, and their lifetimes.

use crate::trace::Span;

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
/// handed it down, to what ended it. Its path is [`Trace::fd_path`](crate::Trace::fd_path).
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
