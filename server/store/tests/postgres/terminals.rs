use std::collections::BTreeMap;
use std::time::Duration;

use lab::Lang;
use sqlx::PgPool;
use store::{
    Change, NewTerminal, OpenedTerminal, Store, TERMINAL_WAITS, TerminalEnd, TerminalId, TerminalState,
    UserId,
};

use crate::support::{LEASE, at, guest, lab};

fn new_terminal(user: UserId) -> NewTerminal {
    NewTerminal {
        user,
        lab: lab("read", "d1"),
        files: BTreeMap::from([("read.js".to_owned(), "1\n".to_owned())]),
        lang: Lang::Ja,
        server: "http://127.0.0.1:8080".to_owned(),
    }
}

async fn made(store: &Store, user: UserId, seconds: i64) -> TerminalId {
    match store.open_terminal(&new_terminal(user), at(seconds)).await.unwrap() {
        OpenedTerminal::Made(id) => id,
        already @ OpenedTerminal::Already(_) => panic!("{already:?}"),
    }
}

async fn state(store: &Store, id: TerminalId, user: UserId) -> (TerminalState, Option<TerminalEnd>) {
    let terminal = store.terminal(id, user).await.unwrap().unwrap();
    (terminal.state, terminal.end)
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_terminal_lives_from_its_asking_to_the_last_word_of_its_worker(pool: PgPool) {
    let store = Store::from_pool(pool);
    let (user, other) = (guest(&store, "a").await, guest(&store, "b").await);
    let id = made(&store, user, 0).await;
    assert_eq!(state(&store, id, user).await, (TerminalState::Waiting, None));
    assert_eq!(store.terminal(id, other).await.unwrap(), None, "it is its owner's alone");
    assert!(!store.take_line(id, "secret").await.unwrap(), "nobody has it yet");

    let claim = store.claim_terminal("w1", "secret", at(1), LEASE).await.unwrap().unwrap();
    let new = new_terminal(user);
    assert_eq!((claim.id, claim.lab, claim.files), (id, new.lab, new.files));
    assert_eq!((claim.lang, claim.server), (Lang::Ja, new.server));
    assert_eq!(store.claim_terminal("w2", "other", at(1), LEASE).await.unwrap(), None);
    assert_eq!(store.current_terminal(user, at(2)).await.unwrap().unwrap().opened_at, Some(at(1)));

    for (secret, good) in [("other", false), ("secret", true), ("secret", false)] {
        assert_eq!(store.take_line(id, secret).await.unwrap(), good, "a secret is good once: {secret}");
    }
    assert!(!store.keep_terminal(id, "other", at(2), LEASE).await.unwrap());
    assert!(!store.end_terminal(id, "other", TerminalEnd::Failed, at(2)).await.unwrap());
    assert!(store.keep_terminal(id, "secret", at(29), LEASE).await.unwrap());
    assert!(store.end_terminal(id, "secret", TerminalEnd::Idle, at(40)).await.unwrap());
    assert_eq!(state(&store, id, user).await, (TerminalState::Ended, Some(TerminalEnd::Idle)));
    assert!(!store.keep_terminal(id, "secret", at(41), LEASE).await.unwrap());
    assert_eq!(store.terminal_end(id).await.unwrap(), Some(TerminalEnd::Idle));
    assert_eq!(store.current_terminal(user, at(42)).await.unwrap(), None);
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_user_has_one_at_a_time(pool: PgPool) {
    let store = Store::from_pool(pool);
    let (user, other) = (guest(&store, "a").await, guest(&store, "b").await);
    let id = made(&store, user, 0).await;
    let again = store.open_terminal(&new_terminal(user), at(1)).await.unwrap();
    assert_eq!(again, OpenedTerminal::Already(id));
    made(&store, other, 1).await;
    assert!(!store.close_terminal(id, other, at(2)).await.unwrap());
    assert!(store.close_terminal(id, user, at(2)).await.unwrap());
    assert!(!store.close_terminal(id, user, at(3)).await.unwrap(), "once");
    assert_eq!(state(&store, id, user).await, (TerminalState::Ended, Some(TerminalEnd::Closed)));
    made(&store, user, 4).await;
}

#[sqlx::test(migrations = "../../migrations")]
async fn what_lapses_ends_by_its_name(pool: PgPool) {
    let store = Store::from_pool(pool.clone());
    let (user, other) = (guest(&store, "a").await, guest(&store, "b").await);
    let open = made(&store, user, 0).await;
    store.claim_terminal("w1", "secret", at(0), LEASE).await.unwrap().unwrap();
    let waiting = made(&store, other, 1).await;
    store.end_lapsed_terminals(at(29)).await.unwrap();
    assert_eq!(state(&store, open, user).await.0, TerminalState::Open);
    store.end_lapsed_terminals(at(30)).await.unwrap();
    assert_eq!(state(&store, open, user).await, (TerminalState::Ended, Some(TerminalEnd::Lost)));
    assert!(!store.keep_terminal(open, "secret", at(31), LEASE).await.unwrap(), "it does not come back");

    let late = Duration::from_secs(1) + TERMINAL_WAITS;
    let late = at(i64::try_from(late.as_secs()).unwrap());
    assert_eq!(store.claim_terminal("w1", "s2", late, LEASE).await.unwrap(), None);
    assert_eq!(state(&store, waiting, other).await, (TerminalState::Ended, Some(TerminalEnd::NoPlace)));
    let files: i64 = sqlx::query_scalar("SELECT count(files) FROM terminals").fetch_one(&pool).await.unwrap();
    assert_eq!(files, 0, "an ended terminal's files are forgotten");
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_lost_line_ends_an_open_terminal_and_no_other(pool: PgPool) {
    let store = Store::from_pool(pool);
    let user = guest(&store, "a").await;
    let id = made(&store, user, 0).await;
    store.lose_terminal(id, at(1)).await.unwrap();
    assert_eq!(state(&store, id, user).await.0, TerminalState::Waiting);
    store.claim_terminal("w1", "secret", at(2), LEASE).await.unwrap().unwrap();
    assert!(store.end_terminal(id, "secret", TerminalEnd::Exited, at(3)).await.unwrap());
    store.lose_terminal(id, at(4)).await.unwrap();
    assert_eq!(state(&store, id, user).await.1, Some(TerminalEnd::Exited), "the first word counts");
}

#[sqlx::test(migrations = "../../migrations")]
async fn each_state_is_announced(pool: PgPool) {
    let store = Store::from_pool(pool);
    let mut changes = store.changes().subscribe();
    let mut next =
        async || tokio::time::timeout(Duration::from_secs(20), changes.next()).await.unwrap().unwrap();
    assert_eq!(next().await, Change::Resync);
    let user = guest(&store, "a").await;
    let id = made(&store, user, 0).await;
    assert_eq!(next().await, Change::Terminal(id));
    store.claim_terminal("w1", "secret", at(1), LEASE).await.unwrap().unwrap();
    assert_eq!(next().await, Change::Terminal(id));
    assert!(store.keep_terminal(id, "secret", at(2), LEASE).await.unwrap());
    assert!(store.close_terminal(id, user, at(3)).await.unwrap());
    assert_eq!(next().await, Change::Terminal(id), "a sign of life is none");
    let other = made(&store, user, 4).await;
    assert_eq!(next().await, Change::Terminal(other));
}
