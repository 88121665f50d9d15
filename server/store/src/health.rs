//! For the operator: what the database is, and whether it is ours to use.

use chrono::{DateTime, Utc};

use crate::{Error, MIGRATOR, Store};

/// The schema beside the one that this program was built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// The same.
    Current,
    /// So many migrations are still to be made.
    Behind(usize),
    /// A newer program made this many more.
    Ahead(usize),
}

impl Store {
    /// Whether the database answers.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ping(&self) -> Result<(), Error> {
        sqlx::query("SELECT 1").execute(&self.pool).await?;
        Ok(())
    }

    /// The server's own word for its version.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn server_version(&self) -> Result<String, Error> {
        Ok(sqlx::query_scalar("SELECT current_setting('server_version')").fetch_one(&self.pool).await?)
    }

    /// The database's clock.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn clock(&self) -> Result<DateTime<Utc>, Error> {
        Ok(sqlx::query_scalar("SELECT clock_timestamp()").fetch_one(&self.pool).await?)
    }

    /// How far the schema is. Changes nothing.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn schema(&self) -> Result<Schema, Error> {
        let made: bool = sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL")
            .fetch_one(&self.pool)
            .await?;
        let there: Vec<i64> = if made {
            sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success")
                .fetch_all(&self.pool)
                .await?
        } else {
            Vec::new()
        };
        let ours: Vec<i64> = MIGRATOR.iter().map(|migration| migration.version).collect();
        let ahead = there.iter().filter(|version| !ours.contains(version)).count();
        let behind = ours.iter().filter(|version| !there.contains(version)).count();
        Ok(match (ahead, behind) {
            (0, 0) => Schema::Current,
            (0, behind) => Schema::Behind(behind),
            (ahead, _) => Schema::Ahead(ahead),
        })
    }
}
