//! Users and their sessions.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ids::UserId;
use crate::text::from_word;
use crate::{Error, Store};

/// How somebody is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserKind {
    /// By a cookie alone.
    Guest,
    /// By an account.
    Account,
}

/// A sign-in that is still good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Whose it is.
    pub user: UserId,
    /// What they are.
    pub kind: UserKind,
    /// When it ends, unless it is used before.
    pub expires_at: DateTime<Utc>,
    /// Whether this use moved the end: the browser's cookie must move with it.
    pub renewed: bool,
}

pub(crate) fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

impl Store {
    /// A new guest, signed in by `token` until `expires_at`. The token is the caller's: 256 random bits as text, known to the
    /// browser alone; only its hash is kept.
    ///
    /// # Errors
    /// [`crate::Conflict::TokenTaken`] when the token was used before.
    pub async fn create_guest(
        &self,
        token: &str,
        now: DateTime<Utc>,
        expires_at: DateTime<Utc>,
    ) -> Result<UserId, Error> {
        let user = UserId::new(now);
        let mut tx = self.pool.begin().await?;
        sqlx::query!("INSERT INTO users (id, kind, created_at) VALUES ($1, 'guest', $2)", user.0, now)
            .execute(&mut *tx)
            .await?;
        sqlx::query!(
            "INSERT INTO sessions (token_sha256, user_id, created_at, expires_at) VALUES ($1, $2, $3, $4)",
            &hash(token),
            user.0,
            now,
            expires_at
        )
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(user)
    }

    /// The session of `token`, if it has not ended at `now`. Use prolongs it: once less than half of `lifetime` is left, it
    /// ends `lifetime` from now. (Not at each use: most requests should only read.)
    ///
    /// # Errors
    /// When the database fails.
    pub async fn session(
        &self,
        token: &str,
        now: DateTime<Utc>,
        lifetime: TimeDelta,
    ) -> Result<Option<Session>, Error> {
        let token = hash(token);
        let found = sqlx::query!(
            "SELECT user_id, kind, expires_at FROM sessions JOIN users ON users.id = user_id
             WHERE token_sha256 = $1 AND expires_at > $2",
            &token,
            now
        )
        .fetch_optional(&self.pool)
        .await?;
        let Some(found) = found else { return Ok(None) };
        let mut session = Session {
            user: UserId(found.user_id),
            kind: from_word(&found.kind)?,
            expires_at: found.expires_at,
            renewed: false,
        };
        if session.expires_at - now < lifetime / 2 {
            session.expires_at = now + lifetime;
            session.renewed = true;
            sqlx::query!(
                "UPDATE sessions SET expires_at = greatest(expires_at, $2) WHERE token_sha256 = $1",
                &token,
                session.expires_at
            )
            .execute(&self.pool)
            .await?;
        }
        Ok(Some(session))
    }

    /// What a user is known by; `None` when there is no such user.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn user_kind(&self, user: UserId) -> Result<Option<UserKind>, Error> {
        let kind = sqlx::query_scalar!("SELECT kind FROM users WHERE id = $1", user.0)
            .fetch_optional(&self.pool)
            .await?;
        kind.as_deref().map(from_word).transpose()
    }

    /// Ends the session of `token`, if there is one.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn end_session(&self, token: &str) -> Result<(), Error> {
        sqlx::query!("DELETE FROM sessions WHERE token_sha256 = $1", &hash(token))
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Removes sessions that ended before `now`; says how many.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn delete_ended_sessions(&self, now: DateTime<Utc>) -> Result<u64, Error> {
        let deleted =
            sqlx::query!("DELETE FROM sessions WHERE expires_at <= $1", now).execute(&self.pool).await?;
        Ok(deleted.rows_affected())
    }
}
