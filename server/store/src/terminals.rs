//! Terminals: where the server that faces a learner and the worker that has the sandbox find each other.
//!
//! The bytes of a terminal do not pass through here. A worker's secret proves its writes, as a lease does for attempts.

use std::time::Duration;

use chrono::{DateTime, Utc};
use lab::{Files, Lang};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::attempts::{StoredLab, keep_lab};
use crate::ids::{TerminalId, UserId};
use crate::people::hash;
use crate::text::{from_word, refuse_nul};
use crate::{Error, Store};

/// A terminal that no worker took within this time ends.
pub const TERMINAL_WAITS: Duration = Duration::from_secs(120);

/// Where a terminal is in its life; see `migrations/0010_terminals.sql`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "terminal_state", rename_all = "snake_case")]
pub enum TerminalState {
    /// No worker has it yet.
    Waiting,
    /// A worker has it.
    Open,
    /// It is over.
    Ended,
}

/// Why a terminal ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalEnd {
    /// The shell ended.
    Exited,
    /// The learner closed it.
    Closed,
    /// Nobody typed for too long.
    Idle,
    /// It lived as long as a terminal may.
    TimeUp,
    /// No worker had room in time.
    NoPlace,
    /// Its worker or its server vanished.
    Lost,
    /// We failed.
    Failed,
}

impl TerminalEnd {
    /// The word for it, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::Closed => "closed",
            Self::Idle => "idle",
            Self::TimeUp => "time_up",
            Self::NoPlace => "no_place",
            Self::Lost => "lost",
            Self::Failed => "failed",
        }
    }
}

/// What [`Store::open_terminal`] takes.
#[derive(Debug, Clone)]
pub struct NewTerminal {
    /// Whose it will be.
    pub user: UserId,
    /// The lab as it is now: image, limits, its own files.
    pub lab: StoredLab,
    /// The learner's files.
    pub files: Files,
    /// Of announcements in the terminal.
    pub lang: Lang,
    /// Where a worker reaches the caller.
    pub server: String,
}

/// What [`Store::open_terminal`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenedTerminal {
    /// Made one; it waits for a worker.
    Made(TerminalId),
    /// Nothing: the user has this one.
    Already(TerminalId),
}

/// A terminal as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    /// Which one.
    pub id: TerminalId,
    /// The lab's slug.
    pub lab: String,
    /// The lab's digest.
    pub lab_digest: String,
    /// Where it is in its life.
    pub state: TerminalState,
    /// Why it ended.
    pub end: Option<TerminalEnd>,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When a worker took it.
    pub opened_at: Option<DateTime<Utc>>,
}

/// Everything that a worker needs.
#[derive(Debug, Clone, PartialEq)]
pub struct TerminalClaim {
    /// Which one.
    pub id: TerminalId,
    /// Image, limits, its own files.
    pub lab: StoredLab,
    /// The learner's files.
    pub files: Files,
    /// Of announcements.
    pub lang: Lang,
    /// Whom to call.
    pub server: String,
}

impl Store {
    /// Asks for a terminal. A user has one at a time.
    ///
    /// # Errors
    /// [`Error::Nul`] names the file that cannot be stored; [`crate::Conflict::NoSuchUser`].
    pub async fn open_terminal(
        &self,
        new: &NewTerminal,
        now: DateTime<Utc>,
    ) -> Result<OpenedTerminal, Error> {
        for (name, text) in &new.files {
            let place = format!("files.{name}");
            refuse_nul(&place, name)?;
            refuse_nul(&place, text)?;
        }
        let id = TerminalId::new(now);
        let mut tx = self.pool.begin().await?;
        end_lapsed(&mut tx, now).await?;
        keep_lab(&mut tx, &new.lab, now).await?;
        let made = sqlx::query!(
            "INSERT INTO terminals (id, user_id, lab_digest, state, files, language, server, created_at)
             VALUES ($1, $2, $3, 'waiting', $4, $5, $6, $7)
             ON CONFLICT (user_id) WHERE state <> 'ended' DO NOTHING",
            id.0,
            new.user.0,
            new.lab.digest,
            Json(&new.files) as _,
            new.lang.as_str(),
            new.server,
            now
        )
        .execute(&mut *tx)
        .await?;
        let opened = if made.rows_affected() == 1 {
            OpenedTerminal::Made(id)
        } else {
            let known = sqlx::query_scalar!(
                "SELECT id FROM terminals WHERE user_id = $1 AND state <> 'ended'",
                new.user.0
            )
            .fetch_one(&mut *tx)
            .await?;
            OpenedTerminal::Already(TerminalId(known))
        };
        tx.commit().await?;
        Ok(opened)
    }

    /// One terminal of this user.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn terminal(&self, id: TerminalId, user: UserId) -> Result<Option<Terminal>, Error> {
        let row = sqlx::query!(
            r#"SELECT t.id, l.slug, t.lab_digest, t.state AS "state: TerminalState", t.end_reason, t.created_at, t.opened_at
               FROM terminals t JOIN labs l ON l.digest = t.lab_digest WHERE t.id = $1 AND t.user_id = $2"#,
            id.0,
            user.0
        )
        .fetch_optional(&self.pool)
        .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Terminal {
            id: TerminalId(row.id),
            lab: row.slug,
            lab_digest: row.lab_digest,
            state: row.state,
            end: row.end_reason.as_deref().map(from_word).transpose()?,
            created_at: row.created_at,
            opened_at: row.opened_at,
        }))
    }

    /// The terminal that this user has at `now`.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn current_terminal(
        &self,
        user: UserId,
        now: DateTime<Utc>,
    ) -> Result<Option<Terminal>, Error> {
        let mut tx = self.pool.begin().await?;
        end_lapsed(&mut tx, now).await?;
        let id =
            sqlx::query_scalar!("SELECT id FROM terminals WHERE user_id = $1 AND state <> 'ended'", user.0)
                .fetch_optional(&mut *tx)
                .await?;
        tx.commit().await?;
        match id {
            Some(id) => self.terminal(TerminalId(id), user).await,
            None => Ok(None),
        }
    }

    /// Ends a terminal of this user, if it has not ended. Its worker learns of it from [`Store::changes`] or at its next
    /// sign of life.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn close_terminal(
        &self,
        id: TerminalId,
        user: UserId,
        now: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let ended = sqlx::query!(
            "UPDATE terminals SET state = 'ended', ended_at = $3, end_reason = 'closed',
                    files = NULL, line_sha256 = NULL, lease_until = NULL
             WHERE id = $1 AND user_id = $2 AND state <> 'ended'",
            id.0,
            user.0,
            now
        )
        .execute(&self.pool)
        .await?;
        Ok(ended.rows_affected() == 1)
    }

    /// Ends terminals that nobody took in time, or whose worker is silent.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn end_lapsed_terminals(&self, now: DateTime<Utc>) -> Result<(), Error> {
        let mut tx = self.pool.begin().await?;
        end_lapsed(&mut tx, now).await?;
        tx.commit().await?;
        Ok(())
    }

    /// The server's word that a terminal's line is lost, and the terminal with it, if it has not ended.
    ///
    /// # Errors
    /// When the database fails; the lease will lapse then.
    pub async fn lose_terminal(&self, id: TerminalId, now: DateTime<Utc>) -> Result<(), Error> {
        sqlx::query!(
            "UPDATE terminals SET state = 'ended', ended_at = $2, end_reason = 'lost',
                    files = NULL, line_sha256 = NULL, lease_until = NULL
             WHERE id = $1 AND state = 'open'",
            id.0,
            now
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Why a terminal ended; `None` while it has not, or when there is none.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn terminal_end(&self, id: TerminalId) -> Result<Option<TerminalEnd>, Error> {
        let reason = sqlx::query_scalar!("SELECT end_reason FROM terminals WHERE id = $1", id.0)
            .fetch_optional(&self.pool)
            .await?;
        reason.flatten().as_deref().map(from_word).transpose()
    }

    /// Takes the terminal that waits longest, for `lease` from `now`. Its `secret`, random and new for each call, proves
    /// the worker to the server and to this table.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn claim_terminal(
        &self,
        worker: &str,
        secret: &str,
        now: DateTime<Utc>,
        lease: Duration,
    ) -> Result<Option<TerminalClaim>, Error> {
        let mut tx = self.pool.begin().await?;
        end_lapsed(&mut tx, now).await?;
        let row = sqlx::query!(
            r#"UPDATE terminals t SET state = 'open', opened_at = $1, worker = $2, line_sha256 = $3, lease_until = $4
               FROM labs l
               WHERE l.digest = t.lab_digest AND t.id = (
                   SELECT id FROM terminals WHERE state = 'waiting'
                   ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
               )
               RETURNING t.id, t.files AS "files!: Json<Files>", t.language, t.server, l.digest, l.slug,
                         l.snapshot::text AS "snapshot!""#,
            now,
            worker,
            &hash(secret),
            now + lease
        )
        .fetch_optional(&mut *tx)
        .await?;
        tx.commit().await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(TerminalClaim {
            id: TerminalId(row.id),
            lab: StoredLab { digest: row.digest, slug: row.slug, snapshot: row.snapshot },
            files: row.files.0,
            lang: from_word(&row.language)?,
            server: row.server,
        }))
    }

    /// A worker's sign of life; whether it still has the terminal.
    ///
    /// # Errors
    /// When the database fails; the terminal may still be the worker's then.
    pub async fn keep_terminal(
        &self,
        id: TerminalId,
        secret: &str,
        now: DateTime<Utc>,
        lease: Duration,
    ) -> Result<bool, Error> {
        let kept = sqlx::query!(
            "UPDATE terminals SET lease_until = $3 WHERE id = $1 AND line_sha256 = $2",
            id.0,
            &hash(secret),
            now + lease
        )
        .execute(&self.pool)
        .await?;
        Ok(kept.rows_affected() == 1)
    }

    /// A worker's last word about a terminal; whether it still had it.
    ///
    /// # Errors
    /// When the database fails; the lease will lapse then.
    pub async fn end_terminal(
        &self,
        id: TerminalId,
        secret: &str,
        end: TerminalEnd,
        now: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let ended = sqlx::query!(
            "UPDATE terminals SET state = 'ended', ended_at = $3, end_reason = $4,
                    files = NULL, line_sha256 = NULL, lease_until = NULL
             WHERE id = $1 AND line_sha256 = $2",
            id.0,
            &hash(secret),
            now,
            end.as_str()
        )
        .execute(&self.pool)
        .await?;
        Ok(ended.rows_affected() == 1)
    }

    /// Whether `secret` is the one of the worker that has this terminal. Good once: a second line is refused.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn take_line(&self, id: TerminalId, secret: &str) -> Result<bool, Error> {
        let taken = sqlx::query!(
            "UPDATE terminals SET line_taken = true WHERE id = $1 AND line_sha256 = $2 AND NOT line_taken",
            id.0,
            &hash(secret)
        )
        .execute(&self.pool)
        .await?;
        Ok(taken.rows_affected() == 1)
    }
}

async fn end_lapsed(connection: &mut PgConnection, now: DateTime<Utc>) -> Result<(), Error> {
    let ended = sqlx::query_scalar!(
        "UPDATE terminals SET state = 'ended', ended_at = $1, files = NULL, line_sha256 = NULL, lease_until = NULL,
                end_reason = CASE state WHEN 'open' THEN 'lost' ELSE 'no_place' END
         WHERE (state = 'open' AND lease_until <= $1) OR (state = 'waiting' AND created_at <= $2)
         RETURNING id",
        now,
        now - TERMINAL_WAITS
    )
    .fetch_all(connection)
    .await?;
    if !ended.is_empty() {
        tracing::warn!(terminals = ?ended, "terminals lapsed");
    }
    Ok(())
}
