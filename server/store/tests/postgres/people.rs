use chrono::TimeDelta;
use sqlx::PgPool;
use store::{Conflict, Error, Store, UserKind};

use crate::support::{at, enqueue, guest};

#[sqlx::test(migrations = "../../migrations")]
async fn a_session_ends_at_its_time(pool: PgPool) {
    let store = Store::from_pool(pool);
    let user = store.create_guest("token", at(0), at(100)).await.unwrap();
    let lifetime = TimeDelta::seconds(100);

    let session = store.session("token", at(49), lifetime).await.unwrap().unwrap();
    assert_eq!(session.user, user);
    assert_eq!(session.kind, UserKind::Guest);
    assert_eq!((session.expires_at, session.renewed), (at(100), false));

    assert_eq!(store.session("token", at(100), lifetime).await.unwrap(), None);
    assert_eq!(store.session("tokem", at(49), lifetime).await.unwrap(), None);
}

#[sqlx::test(migrations = "../../migrations")]
async fn use_prolongs_a_session(pool: PgPool) {
    let store = Store::from_pool(pool);
    store.create_guest("token", at(0), at(100)).await.unwrap();
    let lifetime = TimeDelta::seconds(100);

    let session = store.session("token", at(51), lifetime).await.unwrap().unwrap();
    assert_eq!((session.expires_at, session.renewed), (at(151), true));
    let session = store.session("token", at(100), lifetime).await.unwrap().unwrap();
    assert_eq!((session.expires_at, session.renewed), (at(151), false));
}

#[sqlx::test(migrations = "../../migrations")]
async fn ended_sessions_are_gone(pool: PgPool) {
    let store = Store::from_pool(pool);
    for (token, expires) in [("a", 10), ("b", 20), ("c", 30)] {
        store.create_guest(token, at(0), at(expires)).await.unwrap();
    }
    store.end_session("c").await.unwrap();
    assert_eq!(store.session("c", at(1), TimeDelta::seconds(1)).await.unwrap(), None);
    assert_eq!(store.delete_ended_sessions(at(10)).await.unwrap(), 1);
    assert!(store.session("b", at(1), TimeDelta::seconds(1)).await.unwrap().is_some());
}

#[sqlx::test(migrations = "../../migrations")]
async fn the_token_itself_is_not_stored(pool: PgPool) {
    let store = Store::from_pool(pool.clone());
    guest(&store, "a-very-secret-token").await;
    let rows: Vec<String> =
        sqlx::query_scalar("SELECT to_jsonb(s)::text || encode(token_sha256, 'escape') FROM sessions s")
            .fetch_all(&pool)
            .await
            .unwrap();
    assert_eq!(rows.len(), 1);
    assert!(!rows[0].contains("secret"), "{}", rows[0]);
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_token_signs_in_one_user(pool: PgPool) {
    let store = Store::from_pool(pool.clone());
    guest(&store, "token").await;
    let again = store.create_guest("token", at(1), at(2)).await;
    assert!(matches!(again, Err(Error::Conflict(Conflict::TokenTaken))), "{again:?}");
    let users: i64 = sqlx::query_scalar("SELECT count(*) FROM users").fetch_one(&pool).await.unwrap();
    assert_eq!(users, 1, "the second guest is not left behind");
}

#[sqlx::test(migrations = "../../migrations")]
async fn what_is_somebodys_goes_with_them(pool: PgPool) {
    let store = Store::from_pool(pool.clone());
    let user = guest(&store, "token").await;
    enqueue(&store, user, 0).await;
    sqlx::query("DELETE FROM users WHERE id = $1").bind(user.0).execute(&pool).await.unwrap();
    let left: i64 =
        sqlx::query_scalar("SELECT (SELECT count(*) FROM attempts) + (SELECT count(*) FROM sessions)")
            .fetch_one(&pool)
            .await
            .unwrap();
    assert_eq!(left, 0);
}
