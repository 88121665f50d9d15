use std::time::Duration;

use sqlx::PgPool;
use store::{AttemptId, AttemptState, Change, LeaseState, Store, Subscription, Viewer};
use tokio::time::timeout;

use crate::support::{LEASE, at, claim, enqueue, grade, guest, run};

/// Far longer than an announcement takes on a busy machine; only a failing test waits for it.
const DEADLINE: Duration = Duration::from_secs(20);

async fn next(subscription: &mut Subscription) -> Change {
    let change = timeout(DEADLINE, subscription.next()).await;
    change.expect("a change within the deadline").expect("the store is there")
}

fn change(id: AttemptId, state: AttemptState) -> Change {
    Change::Attempt { id, state }
}

/// A store that listens, and a subscription that has been told so.
async fn listening(pool: &PgPool) -> (Store, Subscription) {
    let store = Store::from_pool(pool.clone());
    let mut subscription = store.changes().subscribe();
    assert_eq!(next(&mut subscription).await, Change::Resync, "once, when listening begins");
    (store, subscription)
}

#[sqlx::test(migrations = "../../migrations")]
async fn every_change_of_state_is_announced(pool: PgPool) {
    let (store, mut changes) = listening(&pool).await;
    let user = guest(&store, "token").await;
    let viewer = Viewer::User(user);

    let id = enqueue(&store, user, 0).await;
    assert_eq!(next(&mut changes).await, change(id, AttemptState::Queued));
    let lease = claim(&store, "w1", 1).await.lease;
    assert_eq!(next(&mut changes).await, change(id, AttemptState::Running));
    assert_eq!(store.release(lease, None).await.unwrap(), LeaseState::Held);
    assert_eq!(next(&mut changes).await, change(id, AttemptState::Queued));
    let lease = claim(&store, "w1", 2).await.lease;
    assert_eq!(next(&mut changes).await, change(id, AttemptState::Running));
    // A heartbeat is not: the next to come is the grade, and it comes once.
    assert_eq!(store.heartbeat(lease, at(3), LEASE).await.unwrap(), LeaseState::Held);
    assert_eq!(store.finish(lease, at(4), vec![run("default")], &grade(3)).await.unwrap(), LeaseState::Held);
    assert_eq!(next(&mut changes).await, change(id, AttemptState::Graded));
    store.answer_after(id, viewer, &Default::default(), &grade(5), at(5)).await.unwrap();
    assert_eq!(next(&mut changes).await, change(id, AttemptState::Graded));

    let second = enqueue(&store, user, 6).await;
    assert_eq!(next(&mut changes).await, change(second, AttemptState::Queued));
    store.cancel(second, viewer, at(7)).await.unwrap();
    assert_eq!(next(&mut changes).await, change(second, AttemptState::Cancelled));
}

#[sqlx::test(migrations = "../../migrations")]
async fn all_subscribers_hear_of_other_processes(pool: PgPool) {
    let (store, mut first) = listening(&pool).await;
    let mut second = store.changes().subscribe();
    let elsewhere = Store::from_pool(pool);
    let user = guest(&elsewhere, "token").await;
    let id = enqueue(&elsewhere, user, 0).await;
    for subscription in [&mut first, &mut second] {
        assert_eq!(next(subscription).await, change(id, AttemptState::Queued));
    }
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_lost_connection_is_made_again_and_told_of(pool: PgPool) {
    let (store, mut changes) = listening(&pool).await;
    let user = guest(&store, "token").await;
    for n in 0..3 {
        let killed: Vec<bool> = sqlx::query_scalar(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND query LIKE 'LISTEN%' AND pid <> pg_backend_pid()",
        )
        .fetch_all(&pool)
        .await
        .unwrap();
        assert_eq!(killed, [true], "one connection listens");
        assert_eq!(next(&mut changes).await, Change::Resync);
        let id = enqueue(&store, user, n).await;
        assert_eq!(next(&mut changes).await, change(id, AttemptState::Queued));
    }
}

#[sqlx::test(migrations = "../../migrations")]
async fn who_falls_behind_is_told_to_read_again(pool: PgPool) {
    let (store, mut slow) = listening(&pool).await;
    let mut fast = store.changes().subscribe();
    // More than is buffered, all of one transaction: equal payloads would be merged, so each has its own id.
    sqlx::query(
        "SELECT pg_notify('attempt_changed', gen_random_uuid() || ' queued') FROM generate_series(1, 2000)",
    )
    .execute(&pool)
    .await
    .unwrap();
    // The last of them is known by what follows it.
    let user = guest(&store, "token").await;
    let id = enqueue(&store, user, 0).await;
    while next(&mut fast).await != change(id, AttemptState::Queued) {}

    assert_eq!(next(&mut slow).await, Change::Resync);
    while next(&mut slow).await != change(id, AttemptState::Queued) {}
}

#[sqlx::test(migrations = "../../migrations")]
async fn nonsense_on_the_channel_is_passed_over(pool: PgPool) {
    let (store, mut changes) = listening(&pool).await;
    for payload in ["", "x", "no-id queued", "00000000-0000-0000-0000-000000000000 asleep"] {
        sqlx::query("SELECT pg_notify('attempt_changed', $1)").bind(payload).execute(&pool).await.unwrap();
    }
    let user = guest(&store, "token").await;
    let id = enqueue(&store, user, 0).await;
    assert_eq!(next(&mut changes).await, change(id, AttemptState::Queued));
}

#[sqlx::test(migrations = "../../migrations")]
async fn listening_ends_with_the_store(pool: PgPool) {
    let (store, mut changes) = listening(&pool).await;
    drop(store);
    let end = timeout(DEADLINE, changes.next()).await;
    assert_eq!(end.expect("an end within the deadline"), None);
}
