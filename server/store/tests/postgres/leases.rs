use chrono::TimeDelta;
use sqlx::PgPool;
use store::{AfterFailure, AttemptState, FailureCode, LeaseState, MAX_FAILURES, Viewer};

use crate::support::{LEASE, at, claim, grade, queued, read, run};

#[sqlx::test(migrations = "../../migrations")]
async fn a_heartbeat_keeps_the_lease(pool: PgPool) {
    let (store, _, _) = queued(pool).await;
    let lease = claim(&store, "w1", 0).await.lease;
    assert_eq!(store.heartbeat(lease, at(29), LEASE).await.unwrap(), LeaseState::Held);
    assert_eq!(store.claim("w2", at(58), LEASE).await.unwrap(), None);
    assert!(store.claim("w2", at(59), LEASE).await.unwrap().is_some());
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_lapsed_lease_goes_to_the_next_worker_and_the_late_one_writes_nothing(pool: PgPool) {
    let (store, user, id) = queued(pool).await;
    let late = claim(&store, "w1", 0).await.lease;
    let second = claim(&store, "w2", 30).await;
    assert_eq!(second.lease.attempt, id);
    assert_eq!(second.failures, 1, "a lapse is our fault");

    assert_eq!(store.heartbeat(late, at(31), LEASE).await.unwrap(), LeaseState::Lost);
    assert_eq!(store.release(late, None).await.unwrap(), LeaseState::Lost);
    let failed = store.fail(late, FailureCode::Internal, "late", at(31), at(31)).await.unwrap();
    assert_eq!(failed, AfterFailure::NotHeld(LeaseState::Lost));
    let finished = store.finish(late, at(31), vec![run("late")], &grade(1)).await.unwrap();
    assert_eq!(finished, LeaseState::Lost);

    let attempt = read(&store, id, user).await;
    assert_eq!(attempt.state, AttemptState::Running);
    assert_eq!(attempt.runs, vec![]);
    let failure = attempt.failure.unwrap();
    assert_eq!((failure.code, failure.count), (FailureCode::WorkerLost, 1));

    let finished = store.finish(second.lease, at(32), vec![run("default")], &grade(3)).await.unwrap();
    assert_eq!(finished, LeaseState::Held);
    let finished = store.finish(late, at(33), vec![run("late")], &grade(1)).await.unwrap();
    assert_eq!(finished, LeaseState::Lost, "nor after the end");
    let attempt = read(&store, id, user).await;
    assert_eq!(attempt.grade.unwrap().grade.points, 3);
    assert_eq!(attempt.runs.len(), 1);
    assert_eq!(attempt.runs[0].run.label, "default");
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_lapse_that_nobody_noticed_is_forgiven(pool: PgPool) {
    let (store, user, id) = queued(pool).await;
    let lease = claim(&store, "w1", 0).await.lease;
    assert_eq!(store.heartbeat(lease, at(300), LEASE).await.unwrap(), LeaseState::Held);
    assert_eq!(store.claim("w2", at(301), LEASE).await.unwrap(), None);
    assert!(read(&store, id, user).await.failure.is_none());
}

#[sqlx::test(migrations = "../../migrations")]
async fn three_failures_of_ours_end_as_errored(pool: PgPool) {
    let (store, user, id) = queued(pool).await;
    for count in 1..=MAX_FAILURES {
        let now = i64::from(count);
        let lease = claim(&store, "w1", now).await.lease;
        let detail = format!("engine refused, time {count}");
        let after =
            store.fail(lease, FailureCode::EngineUnavailable, &detail, at(now), at(now)).await.unwrap();
        let last = count == MAX_FAILURES;
        assert_eq!(after, if last { AfterFailure::Errored } else { AfterFailure::Queued });

        let attempt = read(&store, id, user).await;
        let failure = attempt.failure.unwrap();
        assert_eq!((failure.count, failure.detail), (count, detail));
        assert_eq!(attempt.state, if last { AttemptState::Errored } else { AttemptState::Queued });
        assert_eq!(attempt.finished_at, last.then_some(at(now)));
    }
    assert_eq!(store.claim("w1", at(100), LEASE).await.unwrap(), None);
    let progress = store.progress(user).await.unwrap();
    assert_eq!(progress[0].attempts, 0, "it costs the learner nothing");
}

#[sqlx::test(migrations = "../../migrations")]
async fn three_lapses_end_as_errored(pool: PgPool) {
    let (store, user, id) = queued(pool).await;
    for n in 0..i64::from(MAX_FAILURES) {
        assert_eq!(claim(&store, "w1", n * 30).await.lease.attempt, id);
    }
    assert_eq!(store.claim("w1", at(90), LEASE).await.unwrap(), None);
    let attempt = read(&store, id, user).await;
    assert_eq!(attempt.state, AttemptState::Errored);
    assert_eq!(attempt.failure.unwrap().count, MAX_FAILURES);
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_failed_attempt_waits_for_its_time(pool: PgPool) {
    let (store, _, _) = queued(pool).await;
    let lease = claim(&store, "w1", 0).await.lease;
    let after = store.fail(lease, FailureCode::Internal, "why", at(1), at(5)).await.unwrap();
    assert_eq!(after, AfterFailure::Queued);
    assert_eq!(store.claim("w1", at(4), LEASE).await.unwrap(), None);
    assert_eq!(claim(&store, "w1", 5).await.failures, 1);
}

#[sqlx::test(migrations = "../../migrations")]
async fn giving_back_costs_nothing(pool: PgPool) {
    let (store, user, id) = queued(pool).await;
    for n in 0..10 {
        let claimed = claim(&store, "w1", n).await;
        assert_eq!(claimed.failures, 0);
        let not_before = at(n) + TimeDelta::milliseconds(900);
        let released = store.release(claimed.lease, Some(not_before)).await.unwrap();
        assert_eq!(released, LeaseState::Held);
        assert_eq!(store.claim("w1", at(n), LEASE).await.unwrap(), None, "not before its time");
    }
    let attempt = read(&store, id, user).await;
    assert_eq!(attempt.state, AttemptState::Queued);
    assert_eq!((attempt.started_at, attempt.failure), (None, None));
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_failure_on_the_way_does_not_spoil_the_grade(pool: PgPool) {
    let (store, user, id) = queued(pool).await;
    let lease = claim(&store, "w1", 0).await.lease;
    let after = store.fail(lease, FailureCode::Internal, "why", at(1), at(1)).await.unwrap();
    assert_eq!(after, AfterFailure::Queued);
    let lease = claim(&store, "w1", 2).await.lease;
    let finished = store.finish(lease, at(3), vec![run("default")], &grade(3)).await.unwrap();
    assert_eq!(finished, LeaseState::Held);
    let attempt = read(&store, id, user).await;
    assert_eq!(attempt.state, AttemptState::Graded);
    assert_eq!(attempt.failure.unwrap().count, 1, "operators can still see it");
    let cancelled = store.cancel(id, Viewer::User(user), at(4)).await.unwrap();
    assert_eq!(cancelled, store::Cancelled::Ended(AttemptState::Graded));
}
