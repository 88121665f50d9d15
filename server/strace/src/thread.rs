//! Threads and what they are.

/// What a thread is, from its lineage and behaviour. Its name plays no part: names can be forged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The first thread of the first process.
    Main,
    /// A thread of libuv's pool.
    LibuvWorker,
    /// A worker thread of V8's platform.
    V8Worker,
    /// The platform's scheduler of delayed tasks: owner of the first event loop.
    DelayedTask,
    /// Node's signal inspector, started before any user code.
    SignalInspector,
    /// A `worker_threads` thread.
    JsWorker,
    /// A thread of another process.
    Child,
    /// None of these.
    Other,
}

impl Role {
    /// The word of the evidence tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::LibuvWorker => "libuv-worker",
            Self::V8Worker => "v8-worker",
            Self::DelayedTask => "delayed-task",
            Self::SignalInspector => "signal-inspector",
            Self::JsWorker => "js-worker",
            Self::Child => "child",
            Self::Other => "other",
        }
    }
}

/// A thread that the trace shows.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Its process: the thread group's leader.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// The thread that cloned it, where the trace shows that.
    pub parent_tid: Option<u32>,
    /// What it is.
    pub role: Role,
    /// Which rule gave it the role.
    pub rule: &'static str,
    /// The last name it was given (`PR_SET_NAME`); a report, never a proof.
    pub comm: Option<String>,
    /// Return of the clone that made it.
    pub created_ns: Option<i64>,
    /// When it was first named.
    pub named_ns: Option<i64>,
    /// Its end.
    pub exited_ns: Option<i64>,
    /// Index into [`Trace::events`](crate::Trace::events) of the clone that made it.
    pub created: Option<u32>,
    /// Whether its end is in the trace.
    pub ended: bool,
}

impl Thread {
    /// A thread of which nothing is known but its number.
    pub(crate) const fn new(tid: u32) -> Self {
        Self {
            pid: tid,
            tid,
            parent_tid: None,
            role: Role::Other,
            rule: "",
            comm: None,
            created_ns: None,
            named_ns: None,
            exited_ns: None,
            created: None,
            ended: false,
        }
    }
}
