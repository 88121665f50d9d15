//! What a running attempt writes, on its way from the worker to whoever watches.

use crate::ids::AttemptId;
use crate::queue::{Lease, LeaseState};
use crate::{Error, Store};

/// Bytes in one row at most; the table holds to it.
pub const LIVE_BYTES: usize = 65_536;

/// Bytes of one stream of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveOutput {
    /// Place among the attempt's rows, from 0.
    pub seq: i64,
    /// Label of the run.
    pub run: String,
    /// `stdout` or `stderr`.
    pub stream: String,
    /// At least one, at most [`LIVE_BYTES`].
    pub bytes: Vec<u8>,
}

impl Store {
    /// Adds what came, while the lease is held.
    ///
    /// # Errors
    /// When the database fails, or a row breaks the rules of [`LiveOutput`].
    pub async fn add_live_output(&self, lease: Lease, rows: &[LiveOutput]) -> Result<LeaseState, Error> {
        let seqs: Vec<i64> = rows.iter().map(|row| row.seq).collect();
        let runs: Vec<String> = rows.iter().map(|row| row.run.clone()).collect();
        let streams: Vec<String> = rows.iter().map(|row| row.stream.clone()).collect();
        let bytes: Vec<Vec<u8>> = rows.iter().map(|row| row.bytes.clone()).collect();
        // The attempt's row is locked, or it could leave its state between this statement's look and its end.
        let added = sqlx::query!(
            "WITH held AS (
                 SELECT id FROM attempts WHERE id = $1 AND claim_token = $2 AND state = 'running' FOR SHARE
             )
             INSERT INTO live_output (attempt_id, seq, run, stream, bytes)
             SELECT held.id, r.seq, r.run, r.stream, r.bytes
             FROM held, unnest($3::bigint[], $4::text[], $5::text[], $6::bytea[]) AS r (seq, run, stream, bytes)",
            lease.attempt.0,
            lease.token,
            &seqs,
            &runs,
            &streams,
            &bytes
        )
        .execute(&self.pool)
        .await?;
        Ok(if added.rows_affected() > 0 || rows.is_empty() { LeaseState::Held } else { LeaseState::Lost })
    }

    /// Rows of an attempt from `seq` on, at most `most`, in order.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn live_output(
        &self,
        attempt: AttemptId,
        seq: i64,
        most: i64,
    ) -> Result<Vec<LiveOutput>, Error> {
        let rows = sqlx::query_as!(
            LiveOutput,
            "SELECT seq, run, stream, bytes FROM live_output WHERE attempt_id = $1 AND seq >= $2 ORDER BY seq LIMIT $3",
            attempt.0,
            seq,
            most
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows)
    }
}
