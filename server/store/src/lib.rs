//! Everything Todoku keeps, in PostgreSQL.
//!
//! The sole home of PostgreSQL's SQL. One public method is one transaction. This room knows no HTTP and no sandbox; it
//! takes the time from its caller wherever time decides something (leases, expiry), so that tests bring their own clock.
//!
//! Web server and workers never call each other. They meet here: [`Store::enqueue`] puts an attempt into the queue,
//! [`Store::claim`] takes it out, [`Store::finish`] writes what came of it, and [`Store::changes`] tells who waits.

mod attempts;
mod changes;
mod error;
mod grades;
mod health;
mod ids;
mod live_output;
mod people;
mod queue;
mod reading;
mod runs;
mod terminals;
mod text;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{Connection, PgConnection};

pub use attempts::{AttemptState, Cancelled, Enqueued, NewAttempt, StoredLab, Viewer};
pub use changes::{Change, Changes, Subscription};
pub use error::{Conflict, Error};
pub use grades::{Cause, LateAnswers, StoredGrade};
pub use health::Schema;
pub use ids::{AttemptId, RunId, TerminalId, UserId};
pub use live_output::{LIVE_BYTES, LiveOutput};
pub use people::{Session, UserKind};
pub use queue::{AfterFailure, Backlog, Claim, Failure, FailureCode, Lease, LeaseState, MAX_FAILURES};
pub use reading::{Attempt, AttemptSummary, LabProgress};
pub use runs::{FinishedRun, RunTrace, StoredRun};
pub use terminals::{
    NewTerminal, OpenedTerminal, TERMINAL_WAITS, Terminal, TerminalClaim, TerminalEnd, TerminalState,
};

/// How long a caller waits for a free connection before it is told that there is none.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// A host that vanishes in the middle of a transaction must not hold its locks for hours. (The second means nothing on a
/// Unix socket.)
const SERVER_SETTINGS: [(&str, &str); 2] =
    [("idle_in_transaction_session_timeout", "30s"), ("tcp_keepalives_idle", "30")];

static MIGRATOR: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations");

/// The door to the database: cheap to clone, shared by all of a process.
#[derive(Debug, Clone)]
pub struct Store {
    pool: PgPool,
    changes: Arc<OnceLock<Changes>>,
}

impl Store {
    /// Connects, with at most `max_connections` at one time (one more listens once [`Store::changes`] is used).
    ///
    /// # Errors
    /// When `url` is not a PostgreSQL URL or the server cannot be reached.
    pub async fn connect(url: &str, max_connections: u32) -> Result<Self, Error> {
        let options: PgConnectOptions = url.parse().map_err(Error::Database)?;
        let pool = PgPoolOptions::new()
            .max_connections(max_connections)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .after_release(|connection, _| Box::pin(end_any_transaction(connection)))
            .connect_with(options.application_name("todoku").options(SERVER_SETTINGS))
            .await?;
        Ok(Self::from_pool(pool))
    }

    /// Uses a pool that somebody else made: for tests.
    #[must_use]
    pub fn from_pool(pool: PgPool) -> Self {
        Self { pool, changes: Arc::default() }
    }

    /// Brings the schema up to date. Several processes may do so at once: one does, the others wait.
    ///
    /// # Errors
    /// When a migration fails, or the database was migrated by a newer program.
    pub async fn migrate(&self) -> Result<(), Error> {
        MIGRATOR.run(&self.pool).await.map_err(Error::Migration)
    }

    /// What happens to attempts and terminals, as it happens. The first call of a process starts listening, on one connection of its own
    /// for all subscribers; it must be made inside a tokio runtime.
    #[must_use]
    pub fn changes(&self) -> &Changes {
        self.changes.get_or_init(|| Changes::listen(self.pool.connect_options().as_ref().clone()))
    }

    /// Closes all connections, after what is under way has ended.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// Sees to it that a connection goes back to the pool outside of any transaction.
///
/// A caller that goes away while `BEGIN` is on its way leaves a transaction that sqlx does not know of: the next user of
/// the connection would write into it, and lose what was written. A transaction of our own joins one that is open, and its
/// end is the end of both. Nobody waits for this: connections are released in the background.
async fn end_any_transaction(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let end = async { connection.begin().await?.rollback().await };
    // A server that has fallen silent must not keep a place in the pool: the connection is closed then.
    tokio::time::timeout(ACQUIRE_TIMEOUT, end).await.map_err(|_late| sqlx::Error::PoolTimedOut)??;
    Ok(true)
}
