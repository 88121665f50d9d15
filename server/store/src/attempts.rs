//! Attempts as their makers handle them: made and cancelled. Reading is in `reading.rs`, the workers' side in `queue.rs`.

use chrono::{DateTime, Utc};
use lab::{Answers, Files};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::ids::{AttemptId, UserId};
use crate::text::{refuse_nul, refuse_nul_in};
use crate::{Error, Store};

/// Where an attempt is in its life; see `migrations/0002_attempts.sql`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "attempt_state", rename_all = "snake_case")]
pub enum AttemptState {
    /// Waits for a worker.
    Queued,
    /// A worker has it.
    Running,
    /// Judged.
    Graded,
    /// We failed, finally.
    Errored,
    /// Called off by its maker.
    Cancelled,
}

impl AttemptState {
    /// Whether nothing more will happen by itself.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Graded | Self::Errored | Self::Cancelled)
    }
}

/// Who asks. What is not theirs to see does not exist for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Viewer {
    /// Somebody signed in: sees their own.
    User(UserId),
    /// The administrator's token: sees everything.
    Admin,
}

impl Viewer {
    /// The only owner whose rows may be seen; `None` for no such bound.
    pub(crate) fn owner(self) -> Option<uuid::Uuid> {
        match self {
            Self::User(user) => Some(user.0),
            Self::Admin => None,
        }
    }
}

/// The exact content of a lab, as some attempt used it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLab {
    /// Names the content.
    pub digest: String,
    /// Names the lab through all its versions.
    pub slug: String,
    /// The lab as JSON text: kept as given.
    pub snapshot: String,
}

/// What [`Store::enqueue`] takes.
#[derive(Debug, Clone)]
pub struct NewAttempt {
    /// Whose it will be.
    pub user: UserId,
    /// The lab as it is now; its snapshot is kept at its first use.
    pub lab: StoredLab,
    /// The submission.
    pub files: Files,
    /// Predictions.
    pub answers: Answers,
    /// The caller's own name for this request, if it has one: sent again, it makes no second attempt.
    pub idempotency_key: Option<String>,
}

/// What [`Store::enqueue`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// Made and queued an attempt.
    Made(AttemptId),
    /// Nothing: the same user's attempt with this idempotency key.
    Known(AttemptId),
}

impl Enqueued {
    /// The attempt, new or known.
    #[must_use]
    pub const fn id(self) -> AttemptId {
        match self {
            Self::Made(id) | Self::Known(id) => id,
        }
    }
}

/// What [`Store::cancel`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// Cancelled it. A worker that has it learns at its next heartbeat, or from [`Store::changes`].
    Done,
    /// Nothing: it had ended already, in this state.
    Ended(AttemptState),
    /// Nothing: there is no such attempt for this viewer.
    Absent,
}

impl Store {
    /// Puts an attempt into the queue.
    ///
    /// # Errors
    /// [`Error::Nul`] names the file or answer that cannot be stored; [`crate::Conflict::NoSuchUser`].
    pub async fn enqueue(&self, new: &NewAttempt, now: DateTime<Utc>) -> Result<Enqueued, Error> {
        refuse_nul_in_attempt(new)?;
        let id = AttemptId::new(now);
        let mut tx = self.pool.begin().await?;
        keep_lab(&mut tx, &new.lab, now).await?;
        let made = sqlx::query!(
            "INSERT INTO attempts (id, user_id, lab_digest, files, answers_before, idempotency_key, state, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, 'queued', $7)
             ON CONFLICT ON CONSTRAINT attempts_idempotency_key DO NOTHING",
            id.0,
            new.user.0,
            new.lab.digest,
            Json(&new.files) as _,
            Json(&new.answers) as _,
            new.idempotency_key,
            now
        )
        .execute(&mut *tx)
        .await?;
        let enqueued = if made.rows_affected() == 1 {
            Enqueued::Made(id)
        } else {
            let known = sqlx::query_scalar!(
                "SELECT id FROM attempts WHERE user_id = $1 AND idempotency_key = $2",
                new.user.0,
                new.idempotency_key
            )
            .fetch_one(&mut *tx)
            .await?;
            Enqueued::Known(AttemptId(known))
        };
        tx.commit().await?;
        Ok(enqueued)
    }

    /// Calls an attempt off, queued or running.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn cancel(
        &self,
        id: AttemptId,
        viewer: Viewer,
        now: DateTime<Utc>,
    ) -> Result<Cancelled, Error> {
        let mut tx = self.pool.begin().await?;
        let state = sqlx::query_scalar!(
            r#"SELECT state AS "state: AttemptState" FROM attempts
               WHERE id = $1 AND ($2::uuid IS NULL OR user_id = $2) FOR UPDATE"#,
            id.0,
            viewer.owner()
        )
        .fetch_optional(&mut *tx)
        .await?;
        match state {
            None => return Ok(Cancelled::Absent),
            Some(state) if state.is_final() => return Ok(Cancelled::Ended(state)),
            Some(_) => {}
        }
        sqlx::query!(
            "UPDATE attempts SET state = 'cancelled', finished_at = $2,
                    claim_token = NULL, lease_until = NULL, not_before = NULL
             WHERE id = $1",
            id.0,
            now
        )
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(Cancelled::Done)
    }
}

/// Keeps a lab's snapshot at its first use.
pub(crate) async fn keep_lab(
    connection: &mut PgConnection,
    lab: &StoredLab,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    sqlx::query!(
        "INSERT INTO labs (digest, slug, snapshot, first_used_at) VALUES ($1, $2, ($3::text)::json, $4)
         ON CONFLICT (digest) DO NOTHING",
        lab.digest,
        lab.slug,
        lab.snapshot,
        now
    )
    .execute(connection)
    .await?;
    Ok(())
}

fn refuse_nul_in_attempt(new: &NewAttempt) -> Result<(), Error> {
    for (name, text) in &new.files {
        let place = format!("files.{name}");
        refuse_nul(&place, name)?;
        refuse_nul(&place, text)?;
    }
    refuse_nul_in("answers", &new.answers)?;
    refuse_nul("idempotency_key", new.idempotency_key.as_deref().unwrap_or(""))
}
