//! The queue: attempts on their way to a worker and back.
//!
//! A claim gives a [`Lease`]. Each later write shows it, and writes nothing once the attempt has gone to somebody else: a
//! worker that slept, or was cut off, cannot spoil what another has done since.

use std::time::Duration;

use chrono::{DateTime, Utc};
use lab::{Answers, Files, Grade};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use crate::attempts::{AttemptState, StoredLab};
use crate::grades::{Cause, insert_grade};
use crate::ids::{AttemptId, new_uuid};
use crate::reading::small;
use crate::runs::{FinishedRun, insert_runs, pack};
use crate::text::{show_nul, word_of};
use crate::{Error, Store};

/// So often may we fail with an attempt before it is `errored`.
pub const MAX_FAILURES: u16 = 3;

/// The right to write about an attempt, until it lapses and somebody else claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// What is leased.
    pub attempt: AttemptId,
    pub(crate) token: Uuid,
}

/// Everything that a worker needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// To be shown at each write.
    pub lease: Lease,
    /// What to run.
    pub files: Files,
    /// Predictions.
    pub answers: Answers,
    /// What it is graded by.
    pub lab: StoredLab,
    /// How often we failed with it before.
    pub failures: u16,
}

/// Whether a write was made, or why not.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    /// The lease is good; the write was made.
    Held,
    /// The attempt was cancelled: stop.
    Cancelled,
    /// Somebody else has the attempt, or it has ended: stop.
    Lost,
}

/// What became of an attempt with which we failed.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// It waits for the next try.
    Queued,
    /// That was the last try.
    Errored,
    /// Nothing was written: see [`LeaseState`], never `Held` here.
    NotHeld(LeaseState),
}

/// What failed on our side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// The engine that runs sandboxes could not be used.
    EngineUnavailable,
    /// The worker vanished: it stopped, or lost the database, without a word.
    WorkerLost,
    /// Anything else.
    Internal,
}

/// Our last failure with an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind it was.
    pub code: FailureCode,
    /// For operators; nothing that a learner needs.
    pub detail: String,
    /// How many there were.
    pub count: u16,
}

/// How much there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Attempts that wait.
    pub queued: u32,
    /// Attempts that workers have.
    pub running: u32,
}

impl Store {
    /// Takes the oldest attempt that waits, for `lease` from `now`; `None` when none does. Attempts whose lease has lapsed
    /// are put back first, at the cost of a failure each.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn claim(
        &self,
        worker: &str,
        now: DateTime<Utc>,
        lease: Duration,
    ) -> Result<Option<Claim>, Error> {
        let token = new_uuid(now);
        let mut tx = self.pool.begin().await?;
        put_back_lapsed(&mut tx, now).await?;
        let row = sqlx::query!(
            r#"UPDATE attempts a SET state = 'running', claim_token = $1, worker = $2, started_at = $3,
                      lease_until = $4, not_before = NULL
               FROM labs l
               WHERE l.digest = a.lab_digest AND a.id = (
                   SELECT id FROM attempts
                   WHERE state = 'queued' AND (not_before IS NULL OR not_before <= $3)
                   ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
               )
               RETURNING a.id, a.files AS "files: Json<Files>", a.answers_before AS "answers: Json<Answers>", a.failures,
                         l.digest, l.slug, l.snapshot::text AS "snapshot!""#,
            token,
            worker,
            now,
            now + lease
        )
        .fetch_optional(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(row.map(|row| Claim {
            lease: Lease { attempt: AttemptId(row.id), token },
            files: row.files.0,
            answers: row.answers.0,
            lab: StoredLab { digest: row.digest, slug: row.slug, snapshot: row.snapshot },
            failures: row.failures.unsigned_abs(),
        }))
    }

    /// Prolongs a lease to `length` from `now`. One that lapsed unnoticed comes to life again.
    ///
    /// # Errors
    /// When the database fails; the lease may still be good then.
    pub async fn heartbeat(
        &self,
        lease: Lease,
        now: DateTime<Utc>,
        length: Duration,
    ) -> Result<LeaseState, Error> {
        let mut tx = self.pool.begin().await?;
        let updated = sqlx::query!(
            "UPDATE attempts SET lease_until = $3 WHERE id = $1 AND claim_token = $2",
            lease.attempt.0,
            lease.token,
            now + length
        )
        .execute(&mut *tx)
        .await?;
        let state = lease_state(&mut tx, lease, updated.rows_affected()).await?;
        tx.commit().await?;
        Ok(state)
    }

    /// Writes what came of an attempt: its runs and first grade.
    ///
    /// # Errors
    /// When the database fails; the lease is then still held.
    pub async fn finish(
        &self,
        lease: Lease,
        now: DateTime<Utc>,
        runs: Vec<FinishedRun>,
        grade: &Grade,
    ) -> Result<LeaseState, Error> {
        let runs = pack(runs).await?;
        let mut tx = self.pool.begin().await?;
        let lab_digest = sqlx::query_scalar!(
            "UPDATE attempts SET state = 'graded', finished_at = $3, claim_token = NULL, lease_until = NULL
             WHERE id = $1 AND claim_token = $2 RETURNING lab_digest",
            lease.attempt.0,
            lease.token,
            now
        )
        .fetch_optional(&mut *tx)
        .await?;
        let Some(lab_digest) = lab_digest else {
            return lease_state(&mut tx, lease, 0).await;
        };
        insert_runs(&mut tx, lease.attempt, &runs, now).await?;
        insert_grade(&mut tx, lease.attempt, &lab_digest, Cause::Run, grade, now).await?;
        tx.commit().await?;
        Ok(LeaseState::Held)
    }

    /// Gives an attempt back because we failed with it: to the queue, not to be claimed before `retry_at`, or to `errored`
    /// when that was the last of [`MAX_FAILURES`].
    ///
    /// # Errors
    /// When the database fails; the lease is then still held.
    pub async fn fail(
        &self,
        lease: Lease,
        code: FailureCode,
        detail: &str,
        now: DateTime<Utc>,
        retry_at: DateTime<Utc>,
    ) -> Result<AfterFailure, Error> {
        let mut tx = self.pool.begin().await?;
        let held = sqlx::query_scalar!(
            "SELECT id FROM attempts WHERE id = $1 AND claim_token = $2 FOR UPDATE",
            lease.attempt.0,
            lease.token
        )
        .fetch_all(&mut *tx)
        .await?;
        let states = count_failure(&mut tx, &held, code, detail, now, retry_at).await?;
        let after = match states.first() {
            None => AfterFailure::NotHeld(lease_state(&mut tx, lease, 0).await?),
            Some(AttemptState::Errored) => AfterFailure::Errored,
            Some(_) => AfterFailure::Queued,
        };
        tx.commit().await?;
        Ok(after)
    }

    /// Gives an attempt back unharmed, to its old place in the queue: the worker shuts down, or the engine is out of reach
    /// (then `not_before` keeps it from being claimed at once again).
    ///
    /// # Errors
    /// When the database fails; the lease is then still held.
    pub async fn release(
        &self,
        lease: Lease,
        not_before: Option<DateTime<Utc>>,
    ) -> Result<LeaseState, Error> {
        let mut tx = self.pool.begin().await?;
        let updated = sqlx::query!(
            "UPDATE attempts SET state = 'queued', claim_token = NULL, lease_until = NULL, worker = NULL,
                    started_at = NULL, not_before = $3
             WHERE id = $1 AND claim_token = $2",
            lease.attempt.0,
            lease.token,
            not_before
        )
        .execute(&mut *tx)
        .await?;
        let state = lease_state(&mut tx, lease, updated.rows_affected()).await?;
        tx.commit().await?;
        Ok(state)
    }

    /// How much there is to do.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn backlog(&self) -> Result<Backlog, Error> {
        let row = sqlx::query!(
            r#"SELECT count(*) FILTER (WHERE state = 'queued') AS "queued!",
                      count(*) FILTER (WHERE state = 'running') AS "running!"
               FROM attempts WHERE state IN ('queued', 'running')"#
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(Backlog { queued: small(row.queued), running: small(row.running) })
    }
}

/// What to tell a worker whose write touched so many rows.
async fn lease_state(
    connection: &mut PgConnection,
    lease: Lease,
    rows_written: u64,
) -> Result<LeaseState, Error> {
    if rows_written == 1 {
        return Ok(LeaseState::Held);
    }
    let state = sqlx::query_scalar!(
        r#"SELECT state AS "state: AttemptState" FROM attempts WHERE id = $1"#,
        lease.attempt.0
    )
    .fetch_optional(connection)
    .await?;
    Ok(match state {
        Some(AttemptState::Cancelled) => LeaseState::Cancelled,
        _ => LeaseState::Lost,
    })
}

async fn put_back_lapsed(connection: &mut PgConnection, now: DateTime<Utc>) -> Result<(), Error> {
    let lapsed = sqlx::query_scalar!(
        "SELECT id FROM attempts WHERE state = 'running' AND lease_until <= $1 FOR UPDATE SKIP LOCKED",
        now
    )
    .fetch_all(&mut *connection)
    .await?;
    let detail = "the lease lapsed: the worker stopped or lost the database";
    let states = count_failure(connection, &lapsed, FailureCode::WorkerLost, detail, now, now).await?;
    if !states.is_empty() {
        tracing::warn!(attempts = ?lapsed, ?states, "leases lapsed");
    }
    Ok(())
}

/// Counts a failure of ours with each of `ids`, which the caller has locked, and says where each is now.
async fn count_failure(
    connection: &mut PgConnection,
    ids: &[Uuid],
    code: FailureCode,
    detail: &str,
    now: DateTime<Utc>,
    retry_at: DateTime<Utc>,
) -> Result<Vec<AttemptState>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let states = sqlx::query_scalar!(
        r#"UPDATE attempts a SET failures = a.failures + 1, failure_code = $2, failure_detail = $3,
                  claim_token = NULL, lease_until = NULL,
                  state = CASE WHEN last THEN 'errored' ELSE 'queued' END::attempt_state,
                  worker = CASE WHEN last THEN a.worker END,
                  started_at = CASE WHEN last THEN a.started_at END,
                  finished_at = CASE WHEN last THEN $4::timestamptz END,
                  not_before = CASE WHEN NOT last THEN $5::timestamptz END
           FROM (SELECT id, failures + 1 >= $6 AS last FROM attempts WHERE id = ANY($1)) f
           WHERE a.id = f.id
           RETURNING a.state AS "state: AttemptState""#,
        ids,
        word_of(code)?,
        &show_nul(detail),
        now,
        retry_at,
        i32::from(MAX_FAILURES)
    )
    .fetch_all(connection)
    .await?;
    Ok(states)
}
