//! Attempts as their makers read them: one with all that is known of it, and lists.

use chrono::{DateTime, Utc};
use lab::{Answers, Files};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::attempts::{AttemptState, StoredLab, Viewer};
use crate::grades::{StoredGrade, latest_grade};
use crate::ids::{AttemptId, UserId};
use crate::queue::{Failure, FailureCode};
use crate::runs::{StoredRun, Traces, runs_of};
use crate::text::from_word;
use crate::{Error, Store};

/// An attempt with all that is known of it at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    pub id: AttemptId,
    pub user: UserId,
    pub lab_slug: String,
    pub lab_digest: String,
    pub state: AttemptState,
    /// How many are to be run before it; `None` unless queued.
    pub queue_position: Option<u32>,
    pub created_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
    pub files: Files,
    pub answers_before: Answers,
    pub answers_after: Option<Answers>,
    /// Our last failure with it, though a later try may have succeeded.
    pub failure: Option<Failure>,
    /// In the lab's order, without the bytes of their traces.
    pub runs: Vec<StoredRun>,
    /// The latest version.
    pub grade: Option<StoredGrade>,
}

/// A line in a list of attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptSummary {
    pub id: AttemptId,
    pub lab_slug: String,
    pub lab_digest: String,
    pub state: AttemptState,
    pub created_at: DateTime<Utc>,
    /// Of the latest grade, as the two below.
    pub points: Option<u32>,
    pub max_points: Option<u32>,
    pub incomplete: Option<bool>,
}

/// How far somebody has come with a lab, in all its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabProgress {
    pub slug: String,
    /// Those that count: cancelled ones and those that we failed do not.
    pub attempts: u32,
    pub graded: u32,
    /// The most that a latest grade gave.
    pub best_points: Option<u32>,
}

impl Store {
    /// The attempt with its runs and latest grade, all as of one instant.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn attempt(&self, id: AttemptId, viewer: Viewer) -> Result<Option<Attempt>, Error> {
        let mut tx = self.pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let found = read_attempt(&mut tx, id, viewer).await?;
        tx.commit().await?;
        Ok(found)
    }

    /// How many are to be run before this one (0: it is next); `None` unless it is queued.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn queue_position(&self, id: AttemptId) -> Result<Option<u32>, Error> {
        let mut connection = self.pool.acquire().await?;
        queue_position(&mut connection, id).await
    }

    /// Somebody's attempts, newest first: at most `limit`, older than `before` where that is given (the last of the page
    /// before), of the lab `slug` where that is given.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn attempts(
        &self,
        user: UserId,
        slug: Option<&str>,
        before: Option<AttemptId>,
        limit: u32,
    ) -> Result<Vec<AttemptSummary>, Error> {
        let rows = sqlx::query!(
            r#"SELECT a.id, l.slug, a.lab_digest, a.state AS "state: AttemptState", a.created_at,
                      g.points AS "points?", g.max_points AS "max_points?", g.incomplete AS "incomplete?"
               FROM attempts a
               JOIN labs l ON l.digest = a.lab_digest
               LEFT JOIN LATERAL (
                   SELECT points, max_points, incomplete FROM grades
                   WHERE attempt_id = a.id ORDER BY version DESC LIMIT 1
               ) g ON true
               WHERE a.user_id = $1 AND ($2::text IS NULL OR l.slug = $2) AND ($3::uuid IS NULL OR a.id < $3)
               ORDER BY a.id DESC LIMIT $4"#,
            user.0,
            slug,
            before.map(|id| id.0),
            i64::from(limit)
        )
        .fetch_all(&self.pool)
        .await?;
        let summaries = rows.into_iter().map(|row| AttemptSummary {
            id: AttemptId(row.id),
            lab_slug: row.slug,
            lab_digest: row.lab_digest,
            state: row.state,
            created_at: row.created_at,
            points: row.points.map(i32::unsigned_abs),
            max_points: row.max_points.map(i32::unsigned_abs),
            incomplete: row.incomplete,
        });
        Ok(summaries.collect())
    }

    /// How far somebody has come, lab by lab; labs that they never tried are absent.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn progress(&self, user: UserId) -> Result<Vec<LabProgress>, Error> {
        let rows = sqlx::query!(
            r#"SELECT l.slug,
                      count(*) FILTER (WHERE a.state NOT IN ('cancelled', 'errored')) AS "attempts!",
                      count(*) FILTER (WHERE a.state = 'graded') AS "graded!",
                      max(g.points) AS best_points
               FROM attempts a
               JOIN labs l ON l.digest = a.lab_digest
               LEFT JOIN LATERAL (
                   SELECT points FROM grades WHERE attempt_id = a.id ORDER BY version DESC LIMIT 1
               ) g ON true
               WHERE a.user_id = $1
               GROUP BY l.slug ORDER BY l.slug"#,
            user.0
        )
        .fetch_all(&self.pool)
        .await?;
        let progress = rows.into_iter().map(|row| LabProgress {
            slug: row.slug,
            attempts: small(row.attempts),
            graded: small(row.graded),
            best_points: row.best_points.map(i32::unsigned_abs),
        });
        Ok(progress.collect())
    }

    /// A lab as some attempt used it.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn lab(&self, digest: &str) -> Result<Option<StoredLab>, Error> {
        let lab = sqlx::query_as!(
            StoredLab,
            r#"SELECT digest, slug, snapshot::text AS "snapshot!" FROM labs WHERE digest = $1"#,
            digest
        )
        .fetch_optional(&self.pool)
        .await?;
        Ok(lab)
    }
}

async fn read_attempt(
    connection: &mut PgConnection,
    id: AttemptId,
    viewer: Viewer,
) -> Result<Option<Attempt>, Error> {
    let row = sqlx::query!(
        r#"SELECT a.user_id, l.slug, a.lab_digest, a.state AS "state: AttemptState",
                  a.created_at, a.started_at, a.finished_at,
                  a.files AS "files: Json<Files>", a.answers_before AS "answers_before: Json<Answers>",
                  a.answers_after AS "answers_after: Json<Answers>",
                  a.failures, a.failure_code, a.failure_detail
           FROM attempts a JOIN labs l ON l.digest = a.lab_digest
           WHERE a.id = $1 AND ($2::uuid IS NULL OR a.user_id = $2)"#,
        id.0,
        viewer.owner()
    )
    .fetch_optional(&mut *connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let failure = match (row.failure_code, row.failure_detail) {
        (Some(code), Some(detail)) => Some(Failure {
            code: from_word::<FailureCode>(&code)?,
            detail,
            count: row.failures.unsigned_abs(),
        }),
        _ => None,
    };
    Ok(Some(Attempt {
        id,
        user: UserId(row.user_id),
        lab_slug: row.slug,
        lab_digest: row.lab_digest,
        state: row.state,
        queue_position: queue_position(connection, id).await?,
        created_at: row.created_at,
        started_at: row.started_at,
        finished_at: row.finished_at,
        files: row.files.0,
        answers_before: row.answers_before.0,
        answers_after: row.answers_after.map(|answers| answers.0),
        failure,
        runs: runs_of(connection, id, Traces::LeftOut).await?,
        grade: latest_grade(connection, id).await?,
    }))
}

async fn queue_position(connection: &mut PgConnection, id: AttemptId) -> Result<Option<u32>, Error> {
    let ahead = sqlx::query_scalar!(
        r#"SELECT (SELECT count(*) FROM attempts o
                   WHERE o.state = 'queued' AND (o.created_at, o.id) < (a.created_at, a.id)) AS "ahead!"
           FROM attempts a WHERE a.id = $1 AND a.state = 'queued'"#,
        id.0
    )
    .fetch_optional(connection)
    .await?;
    Ok(ahead.map(small))
}

/// A count as PostgreSQL gives it.
pub(crate) fn small(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
