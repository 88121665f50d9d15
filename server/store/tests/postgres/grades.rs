use std::collections::BTreeMap;

use serde_json::json;
use sqlx::PgPool;
use store::{AttemptState, Cause, LateAnswers, Viewer};

use crate::support::{at, grade, graded, guest, queued, read};

fn answers() -> lab::Answers {
    BTreeMap::from([("which-tid".to_owned(), json!("12"))])
}

#[sqlx::test(migrations = "../../migrations")]
async fn a_grade_reads_as_it_was_written(pool: PgPool) {
    let (store, user, id) = graded(pool).await;
    let stored = read(&store, id, user).await.grade.unwrap();
    assert_eq!(stored.grade, grade(3));
    assert_eq!((stored.version, stored.cause), (1, Cause::Run));
    assert_eq!((stored.lab_digest.as_str(), stored.created_at), ("d1", at(2)));
}

#[sqlx::test(migrations = "../../migrations")]
async fn late_answers_add_a_version_once(pool: PgPool) {
    let (store, user, id) = graded(pool).await;
    let viewer = Viewer::User(user);
    let stored = store.answer_after(id, viewer, &answers(), &grade(5), at(9)).await.unwrap();
    assert_eq!(stored, LateAnswers::Stored { version: 2 });

    let attempt = read(&store, id, user).await;
    assert_eq!(attempt.answers_after, Some(answers()));
    let latest = attempt.grade.unwrap();
    assert_eq!((latest.version, latest.cause, latest.created_at), (2, Cause::Answers, at(9)));
    assert_eq!(latest.grade, grade(5));

    let again = store.answer_after(id, viewer, &BTreeMap::new(), &grade(0), at(10)).await.unwrap();
    assert_eq!(again, LateAnswers::AlreadyGiven);
    let versions = store.grade_versions(id, viewer).await.unwrap();
    assert_eq!(versions.iter().map(|v| v.version).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(versions[0].grade, grade(3), "the first is as it was");
    assert_eq!(read(&store, id, user).await.answers_after, Some(answers()));
}

#[sqlx::test(migrations = "../../migrations")]
async fn of_two_late_answers_at_once_one_is_taken(pool: PgPool) {
    let (store, user, id) = graded(pool).await;
    let viewer = Viewer::User(user);
    let (answers, grade) = (answers(), grade(5));
    let (a, b) = tokio::join!(
        store.answer_after(id, viewer, &answers, &grade, at(9)),
        store.answer_after(id, viewer, &answers, &grade, at(9)),
    );
    let mut told = [a.unwrap(), b.unwrap()];
    told.sort_by_key(|told| *told == LateAnswers::AlreadyGiven);
    assert_eq!(told, [LateAnswers::Stored { version: 2 }, LateAnswers::AlreadyGiven]);
}

#[sqlx::test(migrations = "../../migrations")]
async fn only_ones_own_graded_attempt_takes_late_answers(pool: PgPool) {
    let (store, user, id) = queued(pool).await;
    let told = store.answer_after(id, Viewer::User(user), &answers(), &grade(5), at(9)).await.unwrap();
    assert_eq!(told, LateAnswers::NotGraded(AttemptState::Queued));
    let other = guest(&store, "other").await;
    let told = store.answer_after(id, Viewer::User(other), &answers(), &grade(5), at(9)).await.unwrap();
    assert_eq!(told, LateAnswers::Absent);
    let attempt = read(&store, id, user).await;
    assert_eq!((attempt.answers_after, attempt.grade), (None, None));
}

#[sqlx::test(migrations = "../../migrations")]
async fn not_even_by_hand_is_a_grade_changed(pool: PgPool) {
    let (store, user, id) = graded(pool.clone()).await;
    for statement in
        ["UPDATE grades SET points = max_points", "UPDATE grade_checks SET status = 'passed', reason = NULL"]
    {
        let refused = sqlx::query(statement).execute(&pool).await.unwrap_err().to_string();
        assert!(refused.contains("add a version"), "{refused}");
    }
    assert_eq!(read(&store, id, user).await.grade.unwrap().grade, grade(3));
}

/// The table refuses what would contradict an attempt's state, whoever writes it.
#[sqlx::test(migrations = "../../migrations")]
async fn contradictions_are_refused(pool: PgPool) {
    graded(pool.clone()).await;
    for (change, constraint) in [
        ("state = 'queued'", "attempts_state_columns"),
        ("state = 'running'", "attempts_state_columns"),
        ("state = 'errored'", "attempts_errored_failed"),
        ("finished_at = NULL", "attempts_state_columns"),
        ("lease_until = now()", "attempts_state_columns"),
        ("not_before = now()", "attempts_state_columns"),
        ("failures = 1", "attempts_failure_told"),
        ("answers_after = '{}'", "attempts_after_dated"),
        ("files = '[]'", "attempts_files_object"),
    ] {
        let statement = sqlx::AssertSqlSafe(format!("UPDATE attempts SET {change}"));
        let refused = sqlx::query(statement).execute(&pool).await.unwrap_err();
        let named = refused.as_database_error().and_then(|error| error.constraint());
        assert_eq!(named, Some(constraint), "{change}: {refused}");
    }
}
