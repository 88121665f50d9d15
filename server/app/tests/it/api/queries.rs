//! What learners may ask of their evidence, and who may.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::graded::{Graded, trace};
use crate::support::{Home, until};

#[test]
fn a_question_gets_rows() {
    let mut graded = Graded::new();
    let path = format!("{}/query", graded.attempt);
    let sql =
        "select id, line, args from events where run = :run and path = '/etc/hostname' and ok order by id";
    let answer = graded.visitor.post(&path, &json!({ "sql": sql, "params": { "run": "default" } }));
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"), "{answer:?}");
    assert_eq!(answer.header("cache-control"), "no-store");
    let found = answer.json();
    assert_eq!((&found["columns"], &found["truncated"]), (&json!(["id", "line", "args"]), &json!(false)));
    assert!(found["wall_ms"].as_f64().unwrap() >= 0.0);
    let line = usize::try_from(found["rows"][0][1].as_u64().unwrap()).unwrap();
    let text = String::from_utf8(trace("default")).unwrap();
    let args = found["rows"][0][2].as_str().unwrap();
    assert!(text.lines().nth(line - 1).unwrap().contains(args), "a row names its line");

    let many =
        graded.ask("with recursive n(n) as (select 1 union all select n + 1 from n) select n from n").json();
    assert_eq!((many["rows"].as_array().unwrap().len(), &many["truncated"]), (10_000, &json!(true)));
    let values = graded.rows("select null, 1, 0.5, 'あ\"\\', x'00ff'");
    assert_eq!(values, json!([[null, 1, 0.5, "あ\"\\", "X'00FF'"]]));

    let metrics = String::from_utf8(graded.visitor.get("/metrics").body).unwrap();
    assert!(metrics.contains("todoku_queries_total{outcome=\"rows\"} 2"), "{metrics}");
    assert!(metrics.contains("todoku_query_seconds"), "{metrics}");
}

#[test]
fn the_asked_process_is_given_nothing_of_the_servers() {
    let mut graded = Graded::new();
    let endless = "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r";
    std::thread::scope(|scope| {
        let mut other = graded.server.visitor();
        other.cookie = graded.visitor.cookie.clone();
        let path = format!("{}/query", graded.attempt);
        let asked = scope.spawn(move || other.post(&path, &json!({ "sql": endless })).problem());
        // Once its memory is bounded, it is past all that it does before the query.
        let (process, limits) = until("the query runs", || {
            let process = graded.server.children().pop()?;
            let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).ok()?;
            limits
                .lines()
                .any(|line| line.starts_with("Max open files") && line.contains(" 3 "))
                .then_some((process, limits))
        });
        let row = |name: &str| -> Vec<String> {
            let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
            line[name.len()..].split_whitespace().map(Into::into).collect()
        };
        assert_eq!(row("Max cpu time")[..2], ["3", "3"]);
        assert_eq!(row("Max core file size")[..2], ["0", "0"]);
        assert_eq!(row("Max file size")[..2], ["0", "0"]);
        let space: u64 = row("Max address space")[1].parse().unwrap();
        assert!((128 << 20..512 << 20).contains(&space), "{space}");
        assert_eq!(std::fs::read(format!("/proc/{process}/environ")).unwrap(), b"");
        assert_eq!(std::fs::read_link(format!("/proc/{process}/cwd")).unwrap().to_str(), Some("/"));
        // What whoever started us left open for every program reaches this one too; nothing of the server's does.
        let files = |process: &str| -> BTreeSet<_> {
            let files =
                std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().map(|file| file.unwrap().path());
            let open = files
                .filter_map(|file| Some((file.file_name()?.to_owned(), std::fs::read_link(&file).ok()?)));
            open.collect()
        };
        let given: Vec<_> = files(&process).difference(&files("self")).cloned().collect();
        assert_eq!(given.len(), 3, "input, output and complaints: {given:?}");
        assert_eq!(asked.join().unwrap(), (422, "query_limit".into()));
    });
    assert_eq!(graded.rows("select 1"), json!([[1]]));
}

#[test]
fn who_asks_too_much_at_once_is_told_to_wait() {
    let graded = Graded::new();
    let endless = json!({ "sql": "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r" });
    let path = format!("{}/query", graded.attempt);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let ask = || {
            let mut visitor = graded.server.visitor();
            visitor.cookie = graded.visitor.cookie.clone();
            visitor.post(&path, &endless)
        };
        let asked: Vec<_> = (0..5).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 429).collect();
    assert_eq!(refused.len(), 2, "one runs and two wait");
    for answer in refused {
        assert_eq!(answer.problem(), (429, "too_many_queries".into()));
        assert!(answer.header("retry-after").parse::<u64>().unwrap() > 0);
    }
    assert_eq!(answers.iter().filter(|answer| answer.status == 422).count(), 3, "each had its time");
}

#[test]
fn a_query_whose_asker_left_is_over() {
    let graded = Graded::new();
    let endless = "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r";
    let body = json!({ "sql": endless }).to_string();
    let head = format!(
        "POST {}/query HTTP/1.1\r\nhost: localhost\r\ncookie: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        graded.attempt,
        graded.visitor.cookie.clone().unwrap(),
        body.len()
    );
    let connection = graded.visitor.connect(&head);
    until("it runs", || (!graded.server.children().is_empty()).then_some(()));
    let left = std::time::Instant::now();
    drop(connection);
    until("it is over", || graded.server.children().is_empty().then_some(()));
    assert!(left.elapsed() < Duration::from_millis(1500), "well before its own end");
}

#[test]
fn only_the_owner_asks_and_only_what_is_graded_has_evidence() {
    let home = Home::new().with("TODOKU_WORKERS", "0");
    let server = home.start();
    let mut owner = server.visitor();
    let attempt = owner.submit("");
    let (query, file) = (format!("{attempt}/query"), format!("{attempt}/evidence.sqlite"));
    let sql = json!({ "sql": "select 1" });
    assert_eq!(owner.post(&query, &sql).problem(), (409, "attempt_not_finished".into()));
    assert_eq!(owner.get(&file).problem(), (409, "attempt_not_finished".into()));
    crate::graded::work(&home);
    assert_eq!((owner.post(&query, &sql).status, owner.get(&file).status), (200, 200));
    let mut other = server.visitor();
    other.submit("");
    for stranger in [&mut other, &mut server.visitor()] {
        assert_eq!(stranger.post(&query, &sql).problem(), (404, "not_found".into()));
        assert_eq!(stranger.get(&file).problem(), (404, "not_found".into()));
    }
}

#[test]
fn later_answers_are_in_the_evidence() {
    let mut graded = Graded::new();
    let sql = "select count(*) from answers where stage = 'after'";
    assert_eq!(graded.rows(sql), json!([[0]]));
    let first = graded.visitor.get(&format!("{}/evidence.sqlite", graded.attempt));
    let answers = json!({ "answers": {
        "sync-tid": 1, "async-tid": 2, "pool-born": "first-async", "clone-flags": ["shares-memory"],
    }});
    assert_eq!(graded.visitor.post(&format!("{}/answers", graded.attempt), &answers).status, 200);
    assert_eq!(graded.rows(sql), json!([[4]]));
    let second = graded.visitor.get(&format!("{}/evidence.sqlite", graded.attempt));
    assert_ne!(first.header("etag"), second.header("etag"));
    assert_ne!(first.body, second.body);
}

#[test]
fn nothing_is_kept_where_nothing_may_be_and_all_is_answered() {
    let home = Home::new().with("TODOKU_WORKERS", "0").with("TODOKU_EVIDENCE_CACHE_MIB", "0");
    let server = home.start();
    let mut visitor = server.visitor();
    let attempt = visitor.submit("");
    crate::graded::work(&home);
    for _ in 0..2 {
        let answer =
            visitor.post(&format!("{attempt}/query"), &json!({ "sql": "select count(*) from runs" }));
        assert_eq!(answer.json()["rows"], json!([[2]]));
    }
}

#[test]
fn errors_are_for_programs_too() {
    let mut graded = Graded::new();
    let problem: Value = graded.ask("selec 1").json();
    assert_eq!(problem["position"], json!({ "line": 1, "column": 1 }), "{problem}");
    assert_eq!(problem.get("bound"), None);
    let problem: Value = graded.ask(&format!("select '{}'", "x".repeat(20_000))).json();
    assert_eq!((problem.get("position"), &problem["bound"]), (None, &json!("sql")), "{problem}");
}
