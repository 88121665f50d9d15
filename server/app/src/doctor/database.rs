//! PostgreSQL: there, ours, and in time.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use store::{Schema, Store};
use tokio::time::timeout;

use super::Row;

/// A database that takes longer for these small questions is of no use.
const PATIENCE: Duration = Duration::from_secs(15);
/// Leases are compared by the workers' clocks; the database's stands for all of them.
const CLOCK_WARNING: TimeDelta = TimeDelta::seconds(1);
const CLOCK_FAILURE: TimeDelta = TimeDelta::seconds(5);

pub(super) async fn examine(url: &str) -> Vec<Row> {
    let unreached = |row| vec![row, Row::skipped("schema"), Row::skipped("clock")];
    if url.is_empty() {
        let fix = "set it to postgres://user:password@host/name";
        return unreached(Row::failed("database", "DATABASE_URL is not set", fix));
    }
    let store = match Store::connect(url, 1).await {
        Ok(store) => store,
        Err(error) => {
            let fix = "start PostgreSQL, or correct DATABASE_URL (postgres://user:password@host/name)";
            return unreached(Row::failed("database", chain(&error), fix));
        }
    };
    let rows = async {
        let rows = vec![version(&store).await, schema(&store).await, clock(&store).await];
        store.close().await;
        rows
    };
    timeout(PATIENCE, rows).await.unwrap_or_else(|_late| {
        let fix = "see the database's log: it took the connection and answers nothing";
        unreached(Row::failed("database", "it does not answer", fix))
    })
}

async fn version(store: &Store) -> Row {
    match store.server_version().await {
        Ok(version) => Row::ok("database", format!("PostgreSQL {version}")),
        Err(error) => failed("database", &error),
    }
}

async fn schema(store: &Store) -> Row {
    match store.schema().await {
        Ok(Schema::Current) => Row::ok("schema", "up to date"),
        Ok(Schema::Behind(count)) => {
            let fix = "todoku migrate; serve and work do so by themselves when they start";
            Row::warning("schema", format!("migrations to be made: {count}"), fix)
        }
        Ok(Schema::Ahead(count)) => Row::failed(
            "schema",
            format!("a newer program made migrations that this one does not know: {count}"),
            "run the newer program, or return to a backup from before it",
        ),
        Err(error) => failed("schema", &error),
    }
}

async fn clock(store: &Store) -> Row {
    let asked = Utc::now();
    match store.clock().await {
        Ok(theirs) => skew(theirs, asked, Utc::now()),
        Err(error) => failed("clock", &error),
    }
}

/// `theirs` was read somewhere between our two times.
fn skew(theirs: DateTime<Utc>, asked: DateTime<Utc>, answered: DateTime<Utc>) -> Row {
    let skew = if theirs < asked { theirs - asked } else { (theirs - answered).max(TimeDelta::zero()) };
    let ms = skew.num_milliseconds();
    let detail = format!("differs from the database's by {ms} ms");
    let fix = "let both machines keep time (NTP): attempts are given to others when a clock runs ahead";
    match skew.abs() {
        far if far >= CLOCK_FAILURE => Row::failed("clock", detail, fix),
        far if far >= CLOCK_WARNING => Row::warning("clock", detail, fix),
        _ => Row::ok("clock", "agrees with the database's"),
    }
}

fn failed(name: &'static str, error: &store::Error) -> Row {
    Row::failed(name, chain(error), "see the database's log")
}

/// An error with its causes.
fn chain(error: &store::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    #[test]
    fn clocks_may_differ_by_little() {
        let now = Utc::now();
        let state = |ms| skew(now + TimeDelta::milliseconds(ms), now, now).state;
        assert_eq!([0, 999, -999].map(state), [State::Ok; 3]);
        assert_eq!([1_000, -4_999].map(state), [State::Warning; 2]);
        assert_eq!([5_000, -86_400_000].map(state), [State::Failed; 2]);
        let slow = skew(now + TimeDelta::seconds(9), now, now + TimeDelta::seconds(10));
        assert_eq!(slow.state, State::Ok, "the answer was slow, not the clock");
    }
}
