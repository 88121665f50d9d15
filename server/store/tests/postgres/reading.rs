use lab::{Captured, Explanation, FileKind, FileLeft, FilesLeft, LastCall};
use sqlx::PgPool;
use store::{AttemptState, LabProgress, LeaseState, RunId, Store, Viewer};
use uuid::Uuid;

use crate::support::{
    at, captured, claim, enqueue, grade, graded, guest, lab, new_attempt, queued, read, run,
};

#[sqlx::test(migrations = "../../migrations")]
async fn anothers_attempt_does_not_exist(pool: PgPool) {
    let (store, user, id) = graded(pool).await;
    let run = read(&store, id, user).await.runs[0].id;
    let other = Viewer::User(guest(&store, "other").await);

    assert_eq!(store.attempt(id, other).await.unwrap(), None);
    assert_eq!(store.run_trace(run, other).await.unwrap(), None);
    assert_eq!(store.attempt_of_run(run, other).await.unwrap(), None);
    assert_eq!(store.runs_with_traces(id, other).await.unwrap(), vec![]);
    assert_eq!(store.grade_versions(id, other).await.unwrap(), vec![]);
    let cancelled = store.cancel(id, other, at(9)).await.unwrap();
    assert_eq!(cancelled, store::Cancelled::Absent);

    assert!(store.attempt(id, Viewer::Admin).await.unwrap().is_some());
    assert!(store.run_trace(run, Viewer::Admin).await.unwrap().is_some());
    assert_eq!(store.attempt_of_run(run, Viewer::User(user)).await.unwrap(), Some(id));
    let unknown = store::AttemptId(Uuid::nil());
    assert_eq!(store.attempt(unknown, Viewer::Admin).await.unwrap(), None);
    assert_eq!(store.run_trace(RunId(Uuid::nil()), Viewer::Admin).await.unwrap(), None);
}

#[sqlx::test(migrations = "../../migrations")]
async fn runs_read_as_they_were_written(pool: PgPool) {
    let (store, user, id) = queued(pool).await;
    let lease = claim(&store, "w1", 1).await.lease;
    let first = run("default");
    let mut second = run("eight");
    second.run.outcome = lab::Outcome::WallLimit;
    second.run.stdout = Captured { bytes: b"head".to_vec(), dropped: 9, tail: b"tail".to_vec() };
    let call =
        LastCall { name: "read".to_owned(), line: 7, start_ns: 12_000_000, in_flight: true, poll: false };
    second.explanation =
        Some(Explanation { last_call: Some(call), left_loop_ns: Some(1), ..Explanation::default() });
    second.run.exit_code = None;
    let odd = FileLeft {
        path: "a\u{fffd}\n".to_owned(),
        kind: FileKind::Link,
        size_bytes: 1 << 42,
        mode: 0o777,
        sha256: None,
        text: Some("/etc".to_owned()),
    };
    second.run.files = Some(FilesLeft { rows: vec![odd], cut: Some("too many".to_owned()) });
    second.run.signal = Some("SIGKILL".to_owned());
    second.run.usage.cpu = None;
    second.run.usage.oom = true;
    second.run.trace = captured(&b"9 openat(AT_FDCWD, \"x\") = 3\n".repeat(100_000), 12);
    second.trace_lines = 100_000;
    second.incomplete_why = Some("the tracer was lost".to_owned());
    let mut third = run("bare");
    third.run.tracer = lab::Tracer::None;
    third.run.trace = captured(b"", 0);
    third.trace_lines = 0;
    let written = vec![first, second, third];
    let finished = store.finish(lease, at(2), written.clone(), &grade(3)).await.unwrap();
    assert_eq!(finished, LeaseState::Held);

    let with_traces = store.runs_with_traces(id, Viewer::User(user)).await.unwrap();
    assert_eq!(with_traces.len(), written.len());
    for (stored, written) in with_traces.iter().zip(&written) {
        assert_eq!(stored.run, written.run);
        assert_eq!(stored.trace_lines, written.trace_lines);
        assert_eq!(stored.trace_bytes, written.run.trace.bytes.len() as u64);
        assert_eq!(stored.incomplete_why, written.incomplete_why);
        assert_eq!(stored.explanation, written.explanation);
        let trace = store.run_trace(stored.id, Viewer::User(user)).await.unwrap().unwrap();
        assert_eq!((trace.attempt, trace.label.as_str()), (id, written.run.label.as_str()));
        assert_eq!(trace.bytes, written.run.trace.bytes);
    }
    let complete: Vec<_> = with_traces.iter().map(|run| run.complete).collect();
    assert_eq!(complete, [Some(true), Some(false), None]);

    let mut without = with_traces;
    for run in &mut without {
        run.run.trace.bytes.clear();
    }
    assert_eq!(read(&store, id, user).await.runs, without, "the same, but for the traces");
}

#[sqlx::test(migrations = "../../migrations")]
async fn lists_page_from_the_newest(pool: PgPool) {
    let store = Store::from_pool(pool);
    let user = guest(&store, "token").await;
    let mut newest_first = Vec::new();
    for n in 0..7 {
        newest_first.insert(0, enqueue(&store, user, n).await);
    }
    enqueue(&store, guest(&store, "other").await, 3).await;

    let mut seen = Vec::new();
    let mut pages = Vec::new();
    loop {
        let page = store.attempts(user, None, seen.last().copied(), 3).await.unwrap();
        if page.is_empty() {
            break;
        }
        pages.push(page.len());
        seen.extend(page.iter().map(|summary| summary.id));
    }
    assert_eq!(pages, [3, 3, 1]);
    assert_eq!(seen, newest_first);
}

#[sqlx::test(migrations = "../../migrations")]
async fn lists_tell_what_was_earned(pool: PgPool) {
    let (store, user, id) = graded(pool).await;
    let waiting = enqueue(&store, user, 10).await;
    let mut elsewhere = new_attempt(user);
    elsewhere.lab = lab("copy", "d9");
    store.enqueue(&elsewhere, at(20)).await.unwrap();

    let list = store.attempts(user, Some("read"), None, 10).await.unwrap();
    let told: Vec<_> = list.iter().map(|s| (s.id, s.state, s.points, s.max_points, s.incomplete)).collect();
    assert_eq!(
        told,
        [
            (waiting, AttemptState::Queued, None, None, None),
            (id, AttemptState::Graded, Some(3), Some(5), Some(true)),
        ]
    );
    assert_eq!(list[1].lab_slug, "read");
    assert_eq!(list[1].lab_digest, "d1");
    assert_eq!(list[1].created_at, at(0));
    assert_eq!(store.attempts(user, Some("none"), None, 10).await.unwrap(), vec![]);
}

#[sqlx::test(migrations = "../../migrations")]
async fn progress_counts_the_latest_grades_of_all_versions_of_a_lab(pool: PgPool) {
    let (store, user, id) = graded(pool).await;
    let viewer = Viewer::User(user);
    let progress =
        |attempts, graded, best| LabProgress { slug: "read".to_owned(), attempts, graded, best_points: best };
    assert_eq!(store.progress(user).await.unwrap(), [progress(1, 1, Some(3))]);

    // A second version of the grade counts in place of the first, though it gives less.
    store.answer_after(id, viewer, &Default::default(), &grade(2), at(3)).await.unwrap();
    assert_eq!(store.progress(user).await.unwrap(), [progress(1, 1, Some(2))]);

    // A changed lab is the same lab.
    let mut newer = new_attempt(user);
    newer.lab = lab("read", "d2");
    store.enqueue(&newer, at(4)).await.unwrap();
    assert_eq!(store.progress(user).await.unwrap(), [progress(2, 1, Some(2))]);
    let lease = claim(&store, "w1", 5).await.lease;
    assert_eq!(store.finish(lease, at(6), vec![], &grade(4)).await.unwrap(), LeaseState::Held);
    assert_eq!(store.progress(user).await.unwrap(), [progress(2, 2, Some(4))]);

    let cancelled = enqueue(&store, user, 7).await;
    store.cancel(cancelled, viewer, at(8)).await.unwrap();
    assert_eq!(store.progress(user).await.unwrap(), [progress(2, 2, Some(4))]);
}
