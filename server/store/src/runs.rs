//! Runs: what is kept of each execution.

use std::time::Duration;

use chrono::{DateTime, Utc};
use lab::{Bytes, Captured, Explanation, Run, Tracer, Usage};
use sqlx::PgConnection;

use crate::attempts::Viewer;
use crate::ids::{AttemptId, RunId};
use crate::text::{from_json, from_word, show_nul, to_json, word_of};
use crate::{Error, Store};

/// zstd's own default: a trace shrinks to about a tenth at hundreds of MB a second.
const ZSTD_LEVEL: i32 = 3;

/// A run, and what parsing its trace told.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedRun {
    /// What the sandbox saw.
    pub run: Run,
    /// Lines of the trace.
    pub trace_lines: u64,
    /// Why the trace cannot be trusted whole; `None` when it can, or the run was not traced.
    pub incomplete_why: Option<String>,
    /// What the trace tells of the limit that struck.
    pub explanation: Option<Explanation>,
}

/// A run as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    /// Names it.
    pub id: RunId,
    /// What the sandbox saw. `trace.bytes` is empty unless traces were asked for.
    pub run: Run,
    /// Bytes of the trace.
    pub trace_bytes: u64,
    /// Lines of the trace.
    pub trace_lines: u64,
    /// Whether the trace can be trusted whole; `None` when the run was not traced.
    pub complete: Option<bool>,
    /// Why not.
    pub incomplete_why: Option<String>,
    /// What the trace tells of the limit that struck.
    pub explanation: Option<Explanation>,
}

/// The trace of a run, and what to call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTrace {
    /// Whose run it is.
    pub attempt: AttemptId,
    /// The run's label.
    pub label: String,
    /// Which execution of it.
    pub try_no: u32,
    /// strace's text.
    pub bytes: Vec<u8>,
}

/// Whether to read the bytes of traces, which may be large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Traces {
    LeftOut,
    Read,
}

/// A run with its trace compressed.
pub(crate) struct PackedRun {
    finished: FinishedRun,
    trace_bytes: usize,
    trace_zstd: Vec<u8>,
}

impl Store {
    /// The runs of an attempt with their traces, in the lab's order: all that evidence is computed from. Empty where there
    /// is no such attempt for the viewer, or nothing has run yet.
    ///
    /// # Errors
    /// When the database fails or a stored trace is damaged.
    pub async fn runs_with_traces(
        &self,
        attempt: AttemptId,
        viewer: Viewer,
    ) -> Result<Vec<StoredRun>, Error> {
        let mut tx = self.pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let visible = sqlx::query_scalar!(
            "SELECT id FROM attempts WHERE id = $1 AND ($2::uuid IS NULL OR user_id = $2)",
            attempt.0,
            viewer.owner()
        )
        .fetch_optional(&mut *tx)
        .await?;
        let runs = match visible {
            Some(_) => runs_of(&mut tx, attempt, Traces::Read).await?,
            None => Vec::new(),
        };
        tx.commit().await?;
        Ok(runs)
    }

    /// The attempt that a run belongs to.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn attempt_of_run(&self, id: RunId, viewer: Viewer) -> Result<Option<AttemptId>, Error> {
        let attempt = sqlx::query_scalar!(
            "SELECT attempt_id FROM runs JOIN attempts ON attempts.id = attempt_id
             WHERE runs.id = $1 AND ($2::uuid IS NULL OR user_id = $2)",
            id.0,
            viewer.owner()
        )
        .fetch_optional(&self.pool)
        .await?;
        Ok(attempt.map(AttemptId))
    }

    /// The raw trace of one run.
    ///
    /// # Errors
    /// When the database fails or the stored trace is damaged.
    pub async fn run_trace(&self, id: RunId, viewer: Viewer) -> Result<Option<RunTrace>, Error> {
        let row = sqlx::query!(
            "SELECT attempt_id, label, try_no, trace_zstd, trace_bytes
             FROM runs JOIN attempts ON attempts.id = attempt_id
             WHERE runs.id = $1 AND ($2::uuid IS NULL OR user_id = $2)",
            id.0,
            viewer.owner()
        )
        .fetch_optional(&self.pool)
        .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(RunTrace {
            attempt: AttemptId(row.attempt_id),
            label: row.label,
            try_no: row.try_no.unsigned_abs(),
            bytes: unpack(row.trace_zstd, row.trace_bytes).await?,
        }))
    }
}

/// Compresses traces, away from the threads that wait for sockets.
pub(crate) async fn pack(runs: Vec<FinishedRun>) -> Result<Vec<PackedRun>, Error> {
    let packed = tokio::task::spawn_blocking(move || {
        runs.into_iter()
            .map(|mut finished| {
                let trace = std::mem::take(&mut finished.run.trace.bytes);
                Ok(PackedRun {
                    trace_zstd: zstd::bulk::compress(&trace, ZSTD_LEVEL)?,
                    trace_bytes: trace.len(),
                    finished,
                })
            })
            .collect()
    });
    joined(packed.await)
}

/// The trace of `trace_bytes` that [`pack`] compressed; no more is ever written than that.
async fn unpack(trace_zstd: Vec<u8>, trace_bytes: i64) -> Result<Vec<u8>, Error> {
    let capacity = usize::try_from(trace_bytes).unwrap_or(0);
    joined(tokio::task::spawn_blocking(move || zstd::bulk::decompress(&trace_zstd, capacity)).await)
}

fn joined<T>(joined: Result<Result<T, std::io::Error>, tokio::task::JoinError>) -> Result<T, Error> {
    joined.map_err(std::io::Error::other).flatten().map_err(Error::Trace)
}

pub(crate) async fn insert_runs(
    connection: &mut PgConnection,
    attempt: AttemptId,
    runs: &[PackedRun],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    for (ordinal, packed) in (1_i16..).zip(runs) {
        insert_run(connection, attempt, ordinal, packed, RunId::new(now)).await?;
    }
    Ok(())
}

async fn insert_run(
    connection: &mut PgConnection,
    attempt: AttemptId,
    ordinal: i16,
    packed: &PackedRun,
    id: RunId,
) -> Result<(), Error> {
    let FinishedRun { run, trace_lines, incomplete_why, explanation } = &packed.finished;
    let traced = run.tracer != Tracer::None;
    let incomplete_why = incomplete_why.as_deref().filter(|_| traced).map(show_nul);
    let signal = run.signal.as_deref().map(show_nul);
    let explanation = explanation.as_ref().map(to_json).transpose()?;
    let files = run.files.as_ref().map(to_json).transpose()?;
    let command: Vec<String> = run.command.iter().map(|arg| show_nul(arg).into()).collect();
    sqlx::query!(
        "INSERT INTO runs (id, attempt_id, ordinal, label, try_no, command, outcome, exit_code, signal,
                wall_ns, cpu_ns, max_memory_bytes, oom, milli_cpus, tracer,
                stdout, stdout_dropped_bytes, stdout_tail, stderr, stderr_dropped_bytes, stderr_tail,
                trace_zstd, trace_bytes, trace_dropped_bytes, trace_lines, complete, incomplete_why, explanation, files)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
                $20, $21, $22, $23, $24, $25, $26, $27, $28, $29)",
        id.0,
        attempt.0,
        ordinal,
        &show_nul(&run.label),
        i32::try_from(run.try_no).unwrap_or(i32::MAX),
        &command,
        run.outcome.as_str(),
        run.exit_code,
        signal.as_deref(),
        nanoseconds(run.usage.wall),
        run.usage.cpu.map(nanoseconds),
        run.usage.max_memory.map(|bytes| signed(bytes.0)),
        run.usage.oom,
        i32::try_from(run.milli_cpus).unwrap_or(i32::MAX),
        word_of(run.tracer)?,
        run.stdout.bytes,
        signed(run.stdout.dropped),
        run.stdout.tail,
        run.stderr.bytes,
        signed(run.stderr.dropped),
        run.stderr.tail,
        packed.trace_zstd,
        signed(packed.trace_bytes as u64),
        signed(run.trace.dropped),
        signed(*trace_lines),
        traced.then_some(incomplete_why.is_none()),
        incomplete_why.as_deref(),
        explanation,
        files
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// All runs of an attempt, in the lab's order.
pub(crate) async fn runs_of(
    connection: &mut PgConnection,
    attempt: AttemptId,
    traces: Traces,
) -> Result<Vec<StoredRun>, Error> {
    let rows = sqlx::query_as!(
        RunRow,
        "SELECT id, label, try_no, command, outcome, exit_code, signal, wall_ns, cpu_ns, max_memory_bytes, oom,
                milli_cpus, tracer, stdout, stdout_dropped_bytes, stdout_tail, stderr, stderr_dropped_bytes, stderr_tail,
                CASE WHEN $2 THEN trace_zstd END AS trace_zstd, trace_bytes, trace_dropped_bytes, trace_lines,
                complete, incomplete_why, explanation, files
         FROM runs WHERE attempt_id = $1 ORDER BY ordinal",
        attempt.0,
        traces == Traces::Read
    )
    .fetch_all(connection)
    .await?;
    let mut runs = Vec::with_capacity(rows.len());
    for mut row in rows {
        let trace = match row.trace_zstd.take() {
            Some(packed) => unpack(packed, row.trace_bytes).await?,
            None => Vec::new(),
        };
        runs.push(row.into_run(trace)?);
    }
    Ok(runs)
}

struct RunRow {
    id: uuid::Uuid,
    label: String,
    try_no: i32,
    command: Vec<String>,
    outcome: String,
    exit_code: Option<i32>,
    signal: Option<String>,
    wall_ns: i64,
    cpu_ns: Option<i64>,
    max_memory_bytes: Option<i64>,
    oom: bool,
    milli_cpus: i32,
    tracer: String,
    stdout: Vec<u8>,
    stdout_dropped_bytes: i64,
    stdout_tail: Vec<u8>,
    stderr: Vec<u8>,
    stderr_dropped_bytes: i64,
    stderr_tail: Vec<u8>,
    trace_zstd: Option<Vec<u8>>,
    trace_bytes: i64,
    trace_dropped_bytes: i64,
    trace_lines: i64,
    complete: Option<bool>,
    incomplete_why: Option<String>,
    explanation: Option<serde_json::Value>,
    files: Option<serde_json::Value>,
}

impl RunRow {
    fn into_run(self, trace: Vec<u8>) -> Result<StoredRun, Error> {
        let captured = |bytes, dropped: i64, tail| Captured { bytes, dropped: dropped.unsigned_abs(), tail };
        let explanation = self.explanation.map(from_json).transpose()?;
        let files = self.files.map(from_json).transpose()?;
        let duration = |ns: i64| Duration::from_nanos(ns.unsigned_abs());
        Ok(StoredRun {
            id: RunId(self.id),
            trace_bytes: self.trace_bytes.unsigned_abs(),
            trace_lines: self.trace_lines.unsigned_abs(),
            complete: self.complete,
            incomplete_why: self.incomplete_why,
            explanation,
            run: Run {
                label: self.label,
                try_no: self.try_no.unsigned_abs(),
                command: self.command,
                outcome: from_word(&self.outcome)?,
                exit_code: self.exit_code,
                signal: self.signal,
                stdout: captured(self.stdout, self.stdout_dropped_bytes, self.stdout_tail),
                stderr: captured(self.stderr, self.stderr_dropped_bytes, self.stderr_tail),
                usage: Usage {
                    wall: duration(self.wall_ns),
                    cpu: self.cpu_ns.map(duration),
                    max_memory: self.max_memory_bytes.map(|bytes| Bytes(bytes.unsigned_abs())),
                    oom: self.oom,
                },
                milli_cpus: self.milli_cpus.unsigned_abs(),
                tracer: from_word(&self.tracer)?,
                trace: captured(trace, self.trace_dropped_bytes, Vec::new()),
                files,
            },
        })
    }
}

/// PostgreSQL has no unsigned numbers; what does not fit (292 years, 8 EiB) is the largest that does.
fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
