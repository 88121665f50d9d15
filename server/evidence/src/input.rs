//! What evidence is made of.

use serde_json::Value as Json;

/// What was kept of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kept<'a> {
    /// Its beginning; all of it where nothing was dropped.
    pub head: &'a [u8],
    /// How many bytes behind the head were not kept.
    pub dropped: u64,
    /// Its end, behind those.
    pub tail: &'a [u8],
}

/// One execution of the learner's program, as it comes from the sandbox.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunInput<'a> {
    /// Label of the run in the lab.
    pub label: &'a str,
    /// 1 for its first execution, 2 for a repeat, ...
    pub try_no: u32,
    /// Argument list.
    pub command: &'a [String],
    /// Word of the outcome (`exited`, `wall_limit`, ...).
    pub outcome: &'a str,
    /// Exit status, where it exited.
    pub exit_code: Option<i32>,
    /// Signal that ended it, where one did.
    pub signal: Option<&'a str>,
    /// Duration by the wall clock.
    pub wall_ns: i64,
    /// Processor time.
    pub cpu_ns: Option<i64>,
    /// Most memory in use at one time.
    pub max_rss_bytes: Option<i64>,
    /// Whether the kernel killed something of it for want of memory.
    pub oom: bool,
    /// Processors allowed, in thousandths; `None` where that is not known.
    pub milli_cpus: Option<u32>,
    /// Its trace; `None` for an untraced run.
    pub trace: Option<&'a strace::Trace>,
    /// Size of the trace as it was written.
    pub trace_bytes: u64,
    /// Its standard output.
    pub stdout: Kept<'a>,
    /// Its standard error.
    pub stderr: Kept<'a>,
    /// Counts of calls, where the tracer printed a table of them (`strace -c`).
    pub summary: &'a [CallCount<'a>],
    /// What it left in its work folder.
    pub files: &'a [FileLeft<'a>],
    /// Whether that is everything; `None` where nothing was collected.
    pub files_complete: Option<bool>,
    /// What the lab's server received from it.
    pub requests: &'a [RequestSeen<'a>],
    /// Files that were put into its work folder: the learner's and the lab's.
    pub inputs: &'a [InputFile<'a>],
}

/// A line of a table of counts. <https://man7.org/linux/man-pages/man1/strace.1.html>, `-c`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallCount<'a> {
    /// Name of the call.
    pub name: &'a str,
    /// How often it was made.
    pub calls: u64,
    /// How often it failed.
    pub errors: u64,
    /// Time in the kernel, in seconds.
    pub seconds: f64,
}

/// A file that a run left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLeft<'a> {
    /// Path in the work folder.
    pub path: &'a str,
    /// `file`, `dir`, `link` or `other`.
    pub kind: &'a str,
    /// Size.
    pub size_bytes: u64,
    /// Permission bits.
    pub mode: u32,
    /// SHA-256 of the content in hex, where it was read.
    pub sha256: Option<&'a str>,
    /// The content of a small UTF-8 file; where a link leads.
    pub text: Option<&'a str>,
}

/// A request that the lab's server received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestSeen<'a> {
    /// Number of its connection, from 1.
    pub conn: u64,
    /// Its method.
    pub method: &'a str,
    /// Its target, query included.
    pub path: &'a str,
    /// Status of the answer, where there was one.
    pub status: Option<u16>,
    /// When it was received, in ns since the trace's first timestamp.
    pub received_ns: i64,
    /// When it was answered, in ns since the trace's first timestamp.
    pub responded_ns: Option<i64>,
}

/// A file of the lab that was put into the work folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputFile<'a> {
    /// Path in the work folder.
    pub path: &'a str,
    /// SHA-256 of the content, in hex.
    pub sha256: &'a str,
    /// Size.
    pub size_bytes: u64,
}

/// When an answer was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// A prediction, locked before the run.
    Before,
    /// A conclusion from the own trace.
    After,
}

/// One answer of the learner.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The question.
    pub id: String,
    /// When it was given.
    pub stage: Stage,
    /// The answer.
    pub value: Json,
}
