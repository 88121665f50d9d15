//! What can go wrong here. Absence is no error: methods return `Option`.

use thiserror::Error;

/// Why a method of the store did not do its work. Nothing of it was written then.
#[derive(Debug, Error)]
pub enum Error {
    /// The request contradicts what is stored.
    #[error("{0}")]
    Conflict(Conflict),
    /// PostgreSQL's text and jsonb hold every character but U+0000.
    #[error("{place} has a NUL character (U+0000), which cannot be stored: remove it")]
    Nul {
        /// What has it, as the caller knows it: `files.read.js`, `answers.threads`.
        place: String,
    },
    /// The database refused or could not be reached.
    #[error("the database failed")]
    Database(#[source] sqlx::Error),
    /// The schema could not be brought up to date.
    #[error("the database could not be migrated")]
    Migration(#[source] sqlx::migrate::MigrateError),
    /// A trace could not be compressed, or a stored one not be read back.
    #[error("a trace could not be packed or unpacked")]
    Trace(#[source] std::io::Error),
}

/// A named constraint that callers can meet, and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Conflict {
    /// The user does not exist (any more).
    #[error("there is no such user")]
    NoSuchUser,
    /// The session token is in use: the caller's random numbers are not random.
    #[error("the session token is taken")]
    TokenTaken,
}

impl Conflict {
    fn of(constraint: &str) -> Option<Self> {
        match constraint {
            "attempts_user_fkey" | "sessions_user_fkey" | "terminals_user_fkey" => Some(Self::NoSuchUser),
            "sessions_pkey" => Some(Self::TokenTaken),
            _ => None,
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        let conflict =
            error.as_database_error().and_then(sqlx::error::DatabaseError::constraint).and_then(Conflict::of);
        match conflict {
            Some(conflict) => Self::Conflict(conflict),
            None => Self::Database(error),
        }
    }
}
