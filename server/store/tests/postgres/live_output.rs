//! What a running attempt writes is there for as long as it runs.

use sqlx::PgPool;
use store::{Change, LIVE_BYTES, LeaseState, LiveOutput};

use crate::support::{at, claim, grade, queued, run};

fn row(seq: i64, stream: &str, bytes: &[u8]) -> LiveOutput {
    LiveOutput { seq, run: "default".to_owned(), stream: stream.to_owned(), bytes: bytes.to_vec() }
}

#[sqlx::test(migrations = "../../migrations")]
async fn it_is_read_in_order_from_any_place_and_goes_with_the_state(pool: PgPool) {
    let (store, _, id) = queued(pool).await;
    let lease = claim(&store, "w1", 5).await.lease;
    let rows = [row(0, "stdout", b"a\0\xff"), row(1, "stderr", b"b"), row(2, "stdout", &[b'c'; LIVE_BYTES])];
    assert_eq!(store.add_live_output(lease, &rows[..2]).await.unwrap(), LeaseState::Held);
    assert_eq!(store.add_live_output(lease, &rows[2..]).await.unwrap(), LeaseState::Held);
    assert_eq!(store.live_output(id, 0, 10).await.unwrap(), rows);
    assert_eq!(store.live_output(id, 1, 1).await.unwrap(), rows[1..2]);
    assert_eq!(store.live_output(id, 3, 10).await.unwrap(), []);

    assert_eq!(store.finish(lease, at(9), vec![run("default")], &grade(1)).await.unwrap(), LeaseState::Held);
    assert_eq!(store.live_output(id, 0, 10).await.unwrap(), []);
    assert_eq!(
        store.add_live_output(lease, &rows).await.unwrap(),
        LeaseState::Lost,
        "late news are not kept"
    );
    assert_eq!(store.live_output(id, 0, 10).await.unwrap(), []);
}

#[sqlx::test(migrations = "../../migrations")]
async fn an_attempt_given_back_begins_anew_and_its_old_worker_is_not_heard(pool: PgPool) {
    let (store, _, id) = queued(pool).await;
    let old = claim(&store, "w1", 5).await.lease;
    assert_eq!(store.add_live_output(old, &[row(0, "stdout", b"old")]).await.unwrap(), LeaseState::Held);
    assert_eq!(store.release(old, None).await.unwrap(), LeaseState::Held);
    assert_eq!(store.live_output(id, 0, 10).await.unwrap(), []);
    let new = claim(&store, "w2", 6).await.lease;
    assert_eq!(store.add_live_output(old, &[row(1, "stdout", b"late")]).await.unwrap(), LeaseState::Lost);
    assert_eq!(store.add_live_output(new, &[row(0, "stdout", b"new")]).await.unwrap(), LeaseState::Held);
    assert_eq!(store.live_output(id, 0, 10).await.unwrap(), [row(0, "stdout", b"new")]);
}

#[sqlx::test(migrations = "../../migrations")]
async fn what_comes_is_announced_and_what_breaks_the_rules_is_refused(pool: PgPool) {
    let (store, _, id) = queued(pool).await;
    let lease = claim(&store, "w1", 5).await.lease;
    let mut changes = store.changes().subscribe();
    // Listening has begun once this is heard.
    while changes.next().await != Some(Change::Resync) {}
    assert_eq!(
        store.add_live_output(lease, &[row(0, "stdout", b"a"), row(1, "stdout", b"b")]).await.unwrap(),
        LeaseState::Held
    );
    assert_eq!(changes.next().await, Some(Change::Output(id)));
    for bad in [
        row(2, "stdin", b"a"),
        row(2, "stdout", b""),
        row(2, "stdout", &[0; LIVE_BYTES + 1]),
        row(0, "stdout", b"a"),
    ] {
        assert!(
            store.add_live_output(lease, std::slice::from_ref(&bad)).await.is_err(),
            "{} {}",
            bad.seq,
            bad.stream
        );
    }
}
