//! Builders of what tests need, and a clock that stands still.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use lab::{Bytes, Captured, CheckGrade, EvidenceRow, Grade, Outcome, Reason, Run, Status, Tracer, Usage};
use serde_json::json;
use sqlx::PgPool;
use store::{
    Attempt, AttemptId, Claim, FinishedRun, LeaseState, NewAttempt, Store, StoredLab, UserId, Viewer,
};

/// How long workers may be silent in these tests.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// `seconds` after the tests' beginning of time.
pub(crate) fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_700_000_000, 0).unwrap() + TimeDelta::seconds(seconds)
}

pub(crate) async fn guest(store: &Store, token: &str) -> UserId {
    store.create_guest(token, at(0), at(3600)).await.unwrap()
}

pub(crate) fn new_attempt(user: UserId) -> NewAttempt {
    NewAttempt {
        user,
        lab: lab("read", "d1"),
        files: BTreeMap::from([("read.js".to_owned(), "console.log(1)\n".to_owned())]),
        answers: BTreeMap::from([("threads".to_owned(), json!(4))]),
        idempotency_key: None,
    }
}

pub(crate) fn lab(slug: &str, digest: &str) -> StoredLab {
    StoredLab {
        digest: digest.to_owned(),
        slug: slug.to_owned(),
        snapshot: format!(r#"{{"slug": "{slug}",  "of": "{digest}"}}"#),
    }
}

/// A store with a guest and an attempt that waits since `at(0)`.
pub(crate) async fn queued(pool: PgPool) -> (Store, UserId, AttemptId) {
    let store = Store::from_pool(pool);
    let user = guest(&store, "token").await;
    let id = enqueue(&store, user, 0).await;
    (store, user, id)
}

pub(crate) async fn enqueue(store: &Store, user: UserId, seconds: i64) -> AttemptId {
    let made = store.enqueue(&new_attempt(user), at(seconds)).await;
    made.unwrap().id()
}

/// Claims what must be there.
pub(crate) async fn claim(store: &Store, worker: &str, seconds: i64) -> Claim {
    let claimed = store.claim(worker, at(seconds), LEASE).await.unwrap();
    claimed.expect("an attempt waits")
}

/// A store with a guest and a graded attempt.
pub(crate) async fn graded(pool: PgPool) -> (Store, UserId, AttemptId) {
    let (store, user, id) = queued(pool).await;
    let lease = claim(&store, "w1", 1).await.lease;
    let finished = store.finish(lease, at(2), vec![run("default")], &grade(3)).await;
    assert_eq!(finished.unwrap(), LeaseState::Held);
    (store, user, id)
}

/// The attempt as its owner sees it.
pub(crate) async fn read(store: &Store, id: AttemptId, user: UserId) -> Attempt {
    let found = store.attempt(id, Viewer::User(user)).await.unwrap();
    found.expect("the attempt is its owner's to see")
}

pub(crate) fn run(label: &str) -> FinishedRun {
    FinishedRun {
        run: Run {
            label: label.to_owned(),
            try_no: 1,
            command: vec!["node".to_owned(), "read.js".to_owned()],
            outcome: Outcome::Exited,
            exit_code: Some(0),
            signal: None,
            stdout: captured(b"1\n", 0),
            stderr: captured(b"", 7),
            usage: Usage {
                wall: Duration::from_millis(81),
                cpu: Some(Duration::from_nanos(60_000_001)),
                max_memory: Some(Bytes::mib(48)),
                oom: false,
            },
            milli_cpus: 1000,
            tracer: Tracer::Trace,
            trace: captured(b"7 1700000000.000000 openat(...) = 3\n", 0),
            files: None,
        },
        trace_lines: 1,
        incomplete_why: None,
        explanation: None,
    }
}

pub(crate) fn captured(bytes: &[u8], dropped: u64) -> Captured {
    Captured { bytes: bytes.to_vec(), dropped, tail: Vec::new() }
}

/// `points` of 5 in three checks, one of which waits for an answer.
pub(crate) fn grade(points: u32) -> Grade {
    let check = |id: &str, status, points, max_points| CheckGrade {
        id: id.to_owned(),
        status,
        reason: (status == Status::NotJudged).then_some(Reason::AwaitingAnswer),
        detail: None,
        points,
        max_points,
        evidence: Vec::new(),
        row: None,
        near: None,
    };
    let mut sync = check("sync-on-main", Status::Passed, points, points);
    sync.evidence.push(EvidenceRow {
        run: Some("default".to_owned()),
        event: Some(12),
        line: Some(1),
        text: "openat(AT_FDCWD, \"sync.txt\") = 3".to_owned(),
    });
    sync.row = json!({"line": 1, "role": "main"}).as_object().cloned();
    let mut pool = check("async-on-pool", Status::Failed, 0, 5 - points);
    pool.near = json!({"role": "main", "n": 2}).as_object().cloned();
    Grade {
        points,
        max_points: 5,
        incomplete: true,
        checks: vec![sync, pool, check("tid", Status::NotJudged, 0, 0)],
    }
}
