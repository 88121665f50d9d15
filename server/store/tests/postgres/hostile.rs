//! What learners can put into our tables.

use serde_json::json;
use sqlx::PgPool;
use store::{Error, LateAnswers, LeaseState, NewAttempt, Store, UserId, Viewer};

use crate::support::{at, captured, claim, grade, graded, guest, new_attempt, queued, read, run};

fn refused_place(result: Result<impl std::fmt::Debug, Error>) -> String {
    match result {
        Err(Error::Nul { place }) => place,
        other => panic!("not refused for its NUL: {other:?}"),
    }
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_nul_in_a_submission_is_refused_by_name(pool: PgPool) {
    let store = Store::from_pool(pool.clone());
    let user = guest(&store, "token").await;
    type Spoil = fn(&mut NewAttempt);
    let cases: [(Spoil, &str); 6] = [
        (|new| drop(new.files.insert("a.js".into(), "x\0".into())), "files.a.js"),
        (|new| drop(new.files.insert("b\0.js".into(), "x".into())), "files.b\u{2400}.js"),
        (|new| drop(new.answers.insert("q".into(), json!("\0"))), "answers.q"),
        (|new| drop(new.answers.insert("q".into(), json!(["a", "\0"]))), "answers.q"),
        (|new| drop(new.answers.insert("q".into(), json!({"deep": {"\0": 1}}))), "answers.q.deep.\u{2400}"),
        (|new| new.idempotency_key = Some("\0".into()), "idempotency_key"),
    ];
    for (spoil, place) in cases {
        let mut new = new_attempt(user);
        spoil(&mut new);
        assert_eq!(refused_place(store.enqueue(&new, at(0)).await), place);
    }
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM attempts").fetch_one(&pool).await.unwrap();
    assert_eq!(kept, 0);
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_nul_in_a_late_answer_is_refused_and_the_chance_remains(pool: PgPool) {
    let (store, user, id) = graded(pool).await;
    let viewer = Viewer::User(user);
    let bad = [("why".to_owned(), json!("a\0b"))].into();
    assert_eq!(refused_place(store.answer_after(id, viewer, &bad, &grade(5), at(3)).await), "answers.why");
    let good = [("why".to_owned(), json!("a b"))].into();
    let stored = store.answer_after(id, viewer, &good, &grade(5), at(4)).await.unwrap();
    assert_eq!(stored, LateAnswers::Stored { version: 2 });
}

#[sqlx::test(migrations = "../../migrations")]
async fn output_and_trace_are_any_bytes(pool: PgPool) {
    let (store, user, id) = queued(pool).await;
    let lease = claim(&store, "w1", 1).await.lease;
    let every_byte: Vec<u8> = (0..=255).collect();
    let mut finished = run("default");
    finished.run.stdout = captured(&every_byte, u64::MAX);
    finished.run.stderr = captured(b"\0", 0);
    finished.run.trace = captured(&every_byte, 0);
    let written = store.finish(lease, at(2), vec![finished], &grade(3)).await.unwrap();
    assert_eq!(written, LeaseState::Held);
    let stored = store.runs_with_traces(id, Viewer::User(user)).await.unwrap().remove(0).run;
    assert_eq!(stored.stdout, captured(&every_byte, i64::MAX.unsigned_abs()));
    assert_eq!(stored.stderr.bytes, b"\0");
    assert_eq!(stored.trace.bytes, every_byte);
}

/// A learner decides what stands in evidence. It must not make an attempt impossible to store.
#[sqlx::test(migrations = "../../migrations")]
async fn a_nul_in_evidence_is_shown_as_a_symbol(pool: PgPool) {
    let (store, user, id) = queued(pool).await;
    let lease = claim(&store, "w1", 1).await.lease;
    let mut finished = run("default");
    finished.run.command.push("a\0b".to_owned());
    finished.incomplete_why = Some("line 3: \0".to_owned());
    let mut spoiled = grade(3);
    spoiled.checks[0].evidence[0].text = "data = a\0b\u{ffff}\u{1f980}".to_owned();
    spoiled.checks[1].near = json!({"da\0ta": "\0", "n": 1}).as_object().cloned();
    spoiled.checks[1].detail = Some("\0".to_owned());
    let written = store.finish(lease, at(2), vec![finished], &spoiled).await.unwrap();
    assert_eq!(written, LeaseState::Held);

    let attempt = read(&store, id, user).await;
    let checks = attempt.grade.unwrap().grade.checks;
    assert_eq!(checks[0].evidence[0].text, "data = a\u{2400}b\u{ffff}\u{1f980}");
    assert_eq!(checks[1].near, json!({"da\u{2400}ta": "\u{2400}", "n": 1}).as_object().cloned());
    assert_eq!(checks[1].detail.as_deref(), Some("\u{2400}"));
    assert_eq!(attempt.runs[0].run.command[2], "a\u{2400}b");
    assert_eq!(attempt.runs[0].incomplete_why.as_deref(), Some("line 3: \u{2400}"));
}

#[sqlx::test(migrations = "../../migrations")]
async fn text_is_never_sql(pool: PgPool) {
    let store = Store::from_pool(pool);
    let user = guest(&store, "'; DROP TABLE attempts; --").await;
    let mut new = new_attempt(user);
    let text = "'; DROP TABLE attempts; -- $1 \\ \u{202e}\u{feff}".to_owned();
    new.files.insert(text.clone(), text.clone());
    let id = store.enqueue(&new, at(0)).await.unwrap().id();
    assert_eq!(read(&store, id, user).await.files[&text], text);
    assert_eq!(store.attempts(user, Some(&text), None, 10).await.unwrap(), vec![]);
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_lab_snapshot_that_is_no_json_is_an_error(pool: PgPool) {
    let (store, _, _) = queued(pool).await;
    let mut new = new_attempt(UserId(uuid::Uuid::nil()));
    new.lab = crate::support::lab("other", "d2");
    new.lab.snapshot = "{".to_owned();
    let refused = store.enqueue(&new, at(0)).await;
    assert!(matches!(refused, Err(Error::Database(_))), "{refused:?}");
}
