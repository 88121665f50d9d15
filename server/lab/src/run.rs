//! What a run is asked to do, and what came of it.
//!
//! These types are the contract between a lab (which declares runs), the sandbox (which executes
//! them) and grading (which reads what happened). They carry units and know no container.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// `n` KiB (1024 bytes).
    #[must_use]
    pub const fn kib(n: u64) -> Self {
        Self(n * 1024)
    }

    /// `n` MiB (1024 KiB).
    #[must_use]
    pub const fn mib(n: u64) -> Self {
        Self(n * 1024 * 1024)
    }
}

/// How the tracee is observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tracer {
    /// Every call of the trace set, one line each: `strace -f`.
    Trace,
    /// Not observed: for throughput and CPU figures that tracing would distort.
    None,
}

/// One execution that a lab declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpec {
    /// Name of the run, unique in the lab: `run` in every evidence table.
    pub label: String,
    /// Image that the sandbox starts: a folder of `lab-images/`.
    pub image: String,
    /// The learner's file that node executes, relative to the work folder.
    pub entry: String,
    /// Arguments after the entry.
    pub args: Vec<String>,
    /// Environment of the tracee, added to the sandbox's own small set.
    pub env: BTreeMap<String, String>,
    /// Whether the run is traced.
    pub tracer: Tracer,
    /// Whether the files that the run leaves in the work folder are collected.
    #[serde(default)]
    pub collect: bool,
    /// Bounds on what the run may use.
    pub limits: Limits,
}

/// Bounds on one run. The first that strikes is the run's [`Outcome`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall time from the tracee's start.
    pub wall: Duration,
    /// Memory of everything in the sandbox; swap is off.
    pub memory: Bytes,
    /// Processes and threads alive at one time.
    pub processes: u32,
    /// CPUs in thousandths: 1000 is one CPU.
    pub milli_cpus: u32,
    /// Open file descriptors of one process (`RLIMIT_NOFILE`).
    pub open_files: u32,
    /// Bytes of standard output, and as many of standard error.
    pub output: Bytes,
    /// Bytes of trace text.
    pub trace: Bytes,
    /// Bytes in each of the writable places (work folder, `/tmp`).
    pub disk: Bytes,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(10),
            memory: Bytes::mib(512),
            processes: 128,
            milli_cpus: 1000,
            open_files: 1024,
            output: Bytes::kib(256),
            trace: Bytes::mib(64),
            disk: Bytes::mib(64),
        }
    }
}

/// How a run ended. A value, not an error: the learner's program failing is a fact to grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The main tracee called `exit_group`; see [`Run::exit_code`].
    Exited,
    /// A signal ended the main tracee; see [`Run::signal`].
    Signalled,
    /// [`Limits::wall`] passed.
    WallLimit,
    /// [`Limits::memory`] was reached and the kernel killed something of the run.
    MemoryLimit,
    /// [`Limits::processes`] stopped a fork or a thread.
    ProcessLimit,
    /// [`Limits::output`] was written.
    OutputLimit,
    /// A writable place was full ([`Limits::disk`]).
    DiskLimit,
    /// [`Limits::trace`] was written.
    TraceLimit,
}

impl Outcome {
    /// The word used in evidence tables, the database and the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::Signalled => "signalled",
            Self::WallLimit => "wall_limit",
            Self::MemoryLimit => "memory_limit",
            Self::ProcessLimit => "process_limit",
            Self::OutputLimit => "output_limit",
            Self::DiskLimit => "disk_limit",
            Self::TraceLimit => "trace_limit",
        }
    }
}

/// Bytes of a stream, capped while they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// What was kept from the beginning: all of it where nothing was dropped.
    pub bytes: Vec<u8>,
    /// Bytes that came after those and were not kept.
    pub dropped: u64,
    /// What was kept from the end, behind the dropped ones. Output has it; a trace never does.
    #[serde(default)]
    pub tail: Vec<u8>,
}

impl Captured {
    /// A stream of which everything was kept.
    #[must_use]
    pub const fn whole(bytes: Vec<u8>) -> Self {
        Self { bytes, dropped: 0, tail: Vec::new() }
    }

    /// Bytes that came.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.bytes.len() as u64 + self.dropped + self.tail.len() as u64
    }
}

/// What the run used. `None` where the host could not tell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// From the tracee's start to its end.
    pub wall: Duration,
    /// CPU time of everything in the sandbox.
    pub cpu: Option<Duration>,
    /// Peak memory of everything in the sandbox.
    pub max_memory: Option<Bytes>,
    /// Whether the kernel's OOM killer struck in the sandbox.
    pub oom: bool,
}

/// What came of one [`RunSpec`]: ground state, from which evidence and grade are recomputed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The spec's label.
    pub label: String,
    /// 1 for the first execution of this label in an attempt.
    pub try_no: u32,
    /// The tracee's command line.
    pub command: Vec<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// Exit status of the main tracee, where it exited.
    pub exit_code: Option<i32>,
    /// Name of the signal that ended the main tracee (`SIGKILL`), where one did.
    pub signal: Option<String>,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// What it used.
    pub usage: Usage,
    /// CPUs in thousandths that it was given.
    pub milli_cpus: u32,
    /// Whether and how it was traced.
    pub tracer: Tracer,
    /// strace's text; empty when untraced.
    pub trace: Captured,
    /// What lay in the work folder afterwards; `None` where it was not collected.
    pub files: Option<FilesLeft>,
}

/// What a run left in its work folder, its inputs included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesLeft {
    /// By path.
    pub rows: Vec<FileLeft>,
    /// Why something is missing here, where it is.
    pub cut: Option<String>,
}

/// One thing in the work folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLeft {
    /// Path in the work folder; bytes that are no UTF-8 are replaced.
    pub path: String,
    /// What it is.
    pub kind: FileKind,
    /// Its size.
    pub size_bytes: u64,
    /// Permission bits.
    pub mode: u32,
    /// SHA-256 of its content in hex, where it was read.
    pub sha256: Option<String>,
    /// The content of a small UTF-8 file; where a link leads.
    pub text: Option<String>,
}

/// What something in the work folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A symbolic link.
    Link,
    /// A FIFO, a socket or a device.
    Other,
}

impl FileKind {
    /// The word used in evidence tables and the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Dir => "dir",
            Self::Link => "link",
            Self::Other => "other",
        }
    }
}
