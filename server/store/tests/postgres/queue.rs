use std::collections::BTreeSet;

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use store::{AttemptState, Backlog, Cancelled, Conflict, Enqueued, Error, LeaseState, Store, UserId, Viewer};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::support::{LEASE, at, claim, enqueue, grade, graded, guest, lab, new_attempt, queued, read, run};

#[sqlx::test(migrations = "../../migrations")]
async fn eight_workers_race_and_each_attempt_is_claimed_once(pool: PgPoolOptions, options: PgConnectOptions) {
    const ATTEMPTS: i64 = 40;
    let store = Store::from_pool(pool.max_connections(8).connect_with(options).await.unwrap());
    let user = guest(&store, "token").await;
    let mut made = BTreeSet::new();
    for n in 0..ATTEMPTS {
        made.insert(enqueue(&store, user, n).await);
    }

    let mut workers = JoinSet::new();
    for n in 0..8 {
        let store = store.clone();
        workers.spawn(async move {
            let mut mine = Vec::new();
            while let Some(claim) = store.claim(&format!("w{n}"), at(100), LEASE).await.unwrap() {
                mine.push(claim.lease.attempt);
            }
            mine
        });
    }
    let all = workers.join_all().await.concat();

    assert_eq!(all.len() as i64, ATTEMPTS, "none is claimed twice");
    assert_eq!(BTreeSet::from_iter(all), made, "none is forgotten");
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_claim_has_what_a_worker_needs(pool: PgPool) {
    let (store, user, id) = queued(pool).await;
    let claim = claim(&store, "w1", 5).await;
    assert_eq!(claim.lease.attempt, id);
    assert_eq!(claim.files, new_attempt(user).files);
    assert_eq!(claim.answers, new_attempt(user).answers);
    assert_eq!(claim.lab, lab("read", "d1"), "the snapshot to the letter");
    assert_eq!(claim.failures, 0);

    let attempt = read(&store, id, user).await;
    assert_eq!(attempt.state, AttemptState::Running);
    assert_eq!(attempt.started_at, Some(at(5)));
    assert_eq!(attempt.queue_position, None);
}

#[sqlx::test(migrations = "../../migrations")]
async fn the_oldest_goes_first_and_positions_say_so(pool: PgPool) {
    let store = Store::from_pool(pool);
    let user = guest(&store, "token").await;
    let third = enqueue(&store, user, 30).await;
    let first = enqueue(&store, user, 10).await;
    let second = enqueue(&store, user, 20).await;
    for (id, position) in [(first, 0), (second, 1), (third, 2)] {
        assert_eq!(store.queue_position(id).await.unwrap(), Some(position));
    }
    assert_eq!(read(&store, third, user).await.queue_position, Some(2));

    let claimed = claim(&store, "w1", 40).await;
    assert_eq!(claimed.lease.attempt, first);
    assert_eq!(store.queue_position(first).await.unwrap(), None);
    assert_eq!(store.queue_position(third).await.unwrap(), Some(1));
    let backlog = Backlog { queued: 2, running: 1 };
    assert_eq!(store.backlog().await.unwrap(), backlog);

    // Given back, it has its old place again.
    assert_eq!(store.release(claimed.lease, None).await.unwrap(), LeaseState::Held);
    assert_eq!(store.queue_position(first).await.unwrap(), Some(0));
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_lab_is_kept_as_it_was_at_its_first_use(pool: PgPool) {
    let (store, user, _) = queued(pool).await;
    let mut again = new_attempt(user);
    again.lab.snapshot = "{}".to_owned();
    store.enqueue(&again, at(1)).await.unwrap();
    assert_eq!(store.lab("d1").await.unwrap(), Some(lab("read", "d1")));
    assert_eq!(store.lab("d2").await.unwrap(), None);
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_request_sent_twice_makes_one_attempt(pool: PgPool) {
    let store = Store::from_pool(pool);
    let user = guest(&store, "token").await;
    let mut new = new_attempt(user);
    new.idempotency_key = Some("k1".to_owned());
    let made = store.enqueue(&new, at(0)).await.unwrap();
    assert!(matches!(made, Enqueued::Made(_)));
    assert_eq!(store.enqueue(&new, at(1)).await.unwrap(), Enqueued::Known(made.id()));

    // The key is the user's own.
    new.user = guest(&store, "another").await;
    assert!(matches!(store.enqueue(&new, at(2)).await.unwrap(), Enqueued::Made(_)));
}

#[sqlx::test(migrations = "../../migrations")]
async fn nobody_has_no_attempts(pool: PgPool) {
    let store = Store::from_pool(pool);
    let made = store.enqueue(&new_attempt(UserId(Uuid::nil())), at(0)).await;
    assert!(matches!(made, Err(Error::Conflict(Conflict::NoSuchUser))), "{made:?}");
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_queued_attempt_can_be_cancelled(pool: PgPool) {
    let (store, user, id) = queued(pool).await;
    let viewer = Viewer::User(user);
    assert_eq!(store.cancel(id, viewer, at(1)).await.unwrap(), Cancelled::Done);
    let attempt = read(&store, id, user).await;
    assert_eq!(attempt.state, AttemptState::Cancelled);
    assert_eq!(attempt.finished_at, Some(at(1)));
    assert_eq!(store.claim("w1", at(2), LEASE).await.unwrap(), None);
    let again = store.cancel(id, viewer, at(2)).await.unwrap();
    assert_eq!(again, Cancelled::Ended(AttemptState::Cancelled));
}

#[sqlx::test(migrations = "../../migrations")]
async fn the_worker_of_a_cancelled_attempt_is_told(pool: PgPool) {
    let (store, user, id) = queued(pool).await;
    let lease = claim(&store, "w1", 1).await.lease;
    let cancelled = store.cancel(id, Viewer::User(user), at(2)).await.unwrap();
    assert_eq!(cancelled, Cancelled::Done);

    assert_eq!(store.heartbeat(lease, at(3), LEASE).await.unwrap(), LeaseState::Cancelled);
    let finished = store.finish(lease, at(4), vec![run("default")], &grade(3)).await;
    assert_eq!(finished.unwrap(), LeaseState::Cancelled);
    assert_eq!(store.release(lease, None).await.unwrap(), LeaseState::Cancelled);

    let attempt = read(&store, id, user).await;
    assert_eq!(attempt.state, AttemptState::Cancelled);
    assert_eq!((attempt.runs, attempt.grade), (vec![], None));
}

#[sqlx::test(migrations = "../../migrations")]
async fn what_has_ended_cannot_be_cancelled(pool: PgPool) {
    let (store, user, id) = graded(pool).await;
    let cancelled = store.cancel(id, Viewer::User(user), at(9)).await.unwrap();
    assert_eq!(cancelled, Cancelled::Ended(AttemptState::Graded));
    assert_eq!(read(&store, id, user).await.finished_at, Some(at(2)));
}
