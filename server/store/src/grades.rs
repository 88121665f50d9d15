//! Grades: versions that are added, never changed.

use chrono::{DateTime, Utc};
use lab::{Answers, Grade};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::attempts::{AttemptState, Viewer};
use crate::ids::AttemptId;
use crate::text::{from_word, refuse_nul_in, to_json, word_of};
use crate::{Error, Store};

/// Why there is a version of a grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The runs were judged.
    Run,
    /// Answers came after the run.
    Answers,
    /// The lab's checks changed.
    Regrade,
    /// An instructor decided.
    Review,
}

/// A version of a grade.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredGrade {
    /// From 1; the highest counts.
    pub version: u32,
    /// The exact lab that judged.
    pub lab_digest: String,
    /// Why there is this version.
    pub cause: Cause,
    /// Since when.
    pub created_at: DateTime<Utc>,
    /// The judgement. U+0000 in its texts was stored as U+2400.
    pub grade: Grade,
}

/// What [`Store::answer_after`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateAnswers {
    /// Stored them and this version of the grade.
    Stored {
        /// The new version.
        version: u32,
    },
    /// Nothing: answers were given before.
    AlreadyGiven,
    /// Nothing: the attempt is not graded but in this state.
    NotGraded(AttemptState),
    /// Nothing: there is no such attempt for this viewer.
    Absent,
}

impl Store {
    /// Stores the answers given after the run, once, and the grade that they lead to.
    ///
    /// # Errors
    /// [`Error::Nul`] names the answer that cannot be stored.
    pub async fn answer_after(
        &self,
        id: AttemptId,
        viewer: Viewer,
        answers: &Answers,
        grade: &Grade,
        now: DateTime<Utc>,
    ) -> Result<LateAnswers, Error> {
        refuse_nul_in("answers", answers)?;
        let mut tx = self.pool.begin().await?;
        let row = sqlx::query!(
            r#"SELECT state AS "state: AttemptState", answers_after IS NOT NULL AS "given!", lab_digest FROM attempts
               WHERE id = $1 AND ($2::uuid IS NULL OR user_id = $2) FOR UPDATE"#,
            id.0,
            viewer.owner()
        )
        .fetch_optional(&mut *tx)
        .await?;
        let lab_digest = match row {
            None => return Ok(LateAnswers::Absent),
            Some(row) if row.state != AttemptState::Graded => {
                return Ok(LateAnswers::NotGraded(row.state));
            }
            Some(row) if row.given => return Ok(LateAnswers::AlreadyGiven),
            Some(row) => row.lab_digest,
        };
        sqlx::query!(
            "UPDATE attempts SET answers_after = $2, answered_after_at = $3 WHERE id = $1",
            id.0,
            Json(answers) as _,
            now
        )
        .execute(&mut *tx)
        .await?;
        let version = insert_grade(&mut tx, id, &lab_digest, Cause::Answers, grade, now).await?;
        tx.commit().await?;
        Ok(LateAnswers::Stored { version })
    }

    /// All versions of an attempt's grade, oldest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn grade_versions(&self, id: AttemptId, viewer: Viewer) -> Result<Vec<StoredGrade>, Error> {
        let mut connection = self.pool.acquire().await?;
        let mut versions = grades_of(&mut connection, id, viewer, None).await?;
        versions.reverse();
        Ok(versions)
    }
}

type Checks = Json<Vec<lab::CheckGrade>>;

struct GradeRow {
    version: i32,
    lab_digest: String,
    cause: String,
    created_at: DateTime<Utc>,
    points: i32,
    max_points: i32,
    incomplete: bool,
    checks: Checks,
}

impl GradeRow {
    fn into_grade(self) -> Result<StoredGrade, Error> {
        Ok(StoredGrade {
            version: self.version.unsigned_abs(),
            lab_digest: self.lab_digest,
            cause: from_word(&self.cause)?,
            created_at: self.created_at,
            grade: Grade {
                points: self.points.unsigned_abs(),
                max_points: self.max_points.unsigned_abs(),
                incomplete: self.incomplete,
                checks: self.checks.0,
            },
        })
    }
}

/// The version that counts; the caller knows that it may be seen.
pub(crate) async fn latest_grade(
    connection: &mut PgConnection,
    attempt: AttemptId,
) -> Result<Option<StoredGrade>, Error> {
    let newest = grades_of(connection, attempt, Viewer::Admin, Some(1)).await?;
    Ok(newest.into_iter().next())
}

/// Versions, newest first, at most `limit`. The keys of `checks` are the fields of `lab::CheckGrade`.
async fn grades_of(
    connection: &mut PgConnection,
    attempt: AttemptId,
    viewer: Viewer,
    limit: Option<i64>,
) -> Result<Vec<StoredGrade>, Error> {
    let rows = sqlx::query_as!(
        GradeRow,
        r#"SELECT version, g.lab_digest, cause, g.created_at, points, max_points, incomplete,
                  (SELECT coalesce(jsonb_agg(jsonb_build_object(
                              'id', check_id, 'status', status, 'reason', reason, 'detail', detail, 'points', points,
                              'max_points', max_points, 'evidence', evidence, 'row', first_row, 'near', near) ORDER BY ordinal), '[]')
                   FROM grade_checks c WHERE c.attempt_id = g.attempt_id AND c.version = g.version
                  ) AS "checks!: Checks"
           FROM grades g JOIN attempts a ON a.id = g.attempt_id
           WHERE a.id = $1 AND ($2::uuid IS NULL OR a.user_id = $2)
           ORDER BY version DESC LIMIT $3"#,
        attempt.0,
        viewer.owner(),
        limit
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(GradeRow::into_grade).collect()
}

/// Adds the next version. The caller has the attempt's row locked, so two cannot take the same number.
pub(crate) async fn insert_grade(
    connection: &mut PgConnection,
    attempt: AttemptId,
    lab_digest: &str,
    cause: Cause,
    grade: &Grade,
    now: DateTime<Utc>,
) -> Result<u32, Error> {
    let version = sqlx::query_scalar!(
        "INSERT INTO grades (attempt_id, version, lab_digest, cause, points, max_points, incomplete, created_at)
         SELECT $1, coalesce(max(version), 0) + 1, $2, $3, $4, $5, $6, $7 FROM grades WHERE attempt_id = $1
         RETURNING version",
        attempt.0,
        lab_digest,
        word_of(cause)?,
        i32::try_from(grade.points).unwrap_or(i32::MAX),
        i32::try_from(grade.max_points).unwrap_or(i32::MAX),
        grade.incomplete,
        now
    )
    .fetch_one(&mut *connection)
    .await?;
    // One statement for all checks; the columns of `c` are the fields of `lab::CheckGrade`.
    sqlx::query!(
        r#"INSERT INTO grade_checks (attempt_id, version, ordinal, check_id, status, reason, detail, points,
                  max_points, evidence, first_row, near)
           SELECT $1, $2, ordinal, id, status, reason, detail, points, max_points, evidence, first_row, near
           FROM ROWS FROM (
               jsonb_to_recordset($3) AS (id text, status text, reason text, detail text, points integer,
                                          max_points integer, evidence jsonb, "row" jsonb, near jsonb)
           ) WITH ORDINALITY
             AS c (id, status, reason, detail, points, max_points, evidence, first_row, near, ordinal)"#,
        attempt.0,
        version,
        to_json(&grade.checks)?
    )
    .execute(connection)
    .await?;
    Ok(version.unsigned_abs())
}
