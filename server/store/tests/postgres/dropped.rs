//! Calls whose callers go away: a browser closes its event stream, a worker is told to stop.

use std::pin::pin;
use std::time::{Duration, Instant};

use sqlx::{ConnectOptions, PgPool};
use store::{Store, Viewer};
use tokio::time::timeout;

use crate::support::{at, queued};

/// A call that is dropped between any two messages to the server leaves no transaction behind: the
/// connection it used still writes, and what it writes stays.
#[sqlx::test(migrations = "../../migrations")]
async fn a_dropped_call_leaves_no_transaction_behind(pool: PgPool) {
    let (_, _, attempt) = queued(pool.clone()).await;
    let url = pool.connect_options().to_url_lossy().to_string();
    let store = Store::connect(&url, 1).await.unwrap();
    for step in 0..600 {
        {
            let mut call = pin!(store.attempt(attempt, Viewer::Admin));
            // 0 to 1.5 ms: from before the first message to after the last.
            let until = Instant::now() + Duration::from_micros(5 * (step % 300));
            while timeout(Duration::ZERO, &mut call).await.is_err() && Instant::now() < until {
                tokio::task::yield_now().await;
            }
        }
        let token = format!("token {step}");
        store.create_guest(&token, at(0), at(3600)).await.unwrap();
        // Seen from outside, through another pool: it was committed.
        let outside = Store::from_pool(pool.clone());
        assert!(
            outside.session(&token, at(1), chrono::TimeDelta::hours(1)).await.unwrap().is_some(),
            "{step}"
        );
    }
}
