//! Queries that want to write, to see what is not theirs, or to eat the machine. Each is told so in time.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::graded::Graded;
use crate::support::{Answer, until};

/// Within this an answer is there.
const IN_TIME: Duration = Duration::from_millis(2500);
/// What the server may grow by, whatever is asked: an answer is 8 MiB at most.
const GROWTH: u64 = 48 << 20;

/// Asks, and sees to it that the answer comes in time.
fn ask(graded: &mut Graded, sql: &str) -> Answer {
    let started = Instant::now();
    let answer = graded.ask(sql);
    let took = started.elapsed();
    let shown: String = sql.chars().take(120).collect();
    assert!(took < IN_TIME, "{took:?}: {shown}");
    answer
}

/// The bound that a query hits.
fn bound(graded: &mut Graded, sql: &str) -> String {
    let answer = ask(graded, sql);
    assert_eq!(answer.problem(), (422, "query_limit".into()), "{sql}");
    answer.json()["bound"].as_str().unwrap().to_owned()
}

/// Afterwards the server is as it was, and answers.
fn unharmed(mut graded: Graded, before: u64) {
    assert_eq!(graded.rows("select 1"), json!([[1]]));
    assert_eq!(graded.server.children(), Vec::<String>::new(), "every process was waited for");
    let grown = graded.server.most_memory().saturating_sub(before);
    assert!(grown < GROWTH, "the server grew by {grown} bytes");
}

/// A server whose evidence is made already.
fn graded() -> (Graded, u64) {
    let mut graded = Graded::new();
    graded.rows("select 1");
    let before = graded.server.most_memory();
    (graded, before)
}

#[test]
fn what_never_ends_is_ended() {
    let (mut graded, before) = graded();
    for sql in [
        "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r",
        "select count(*) from events a, events b, events c, events d",
        "select sum(a.args regexp '(.*)(.*)(.*)(.*)(.*)[xyz]{3}$') from events a, events b",
        "select count(*) from events a, json_tree('[[[1,2],[3,4]],[[5,6],[7,8]]]') b, events c, events d",
        "select sum(instr(hex(zeroblob(32000)) || a.id, hex(zeroblob(16000)) || '1')) from events a, events b",
    ] {
        assert_eq!(bound(&mut graded, sql), "time", "{sql}");
    }
    // SQLite's own way through these is short.
    for (like, any) in [("like", "%"), ("glob", "*")] {
        let sql = format!("select hex(zeroblob(30000)) {like} '{}1'", format!("{any}0").repeat(120));
        assert_eq!(ask(&mut graded, &sql).json()["rows"], json!([[0]]), "{sql}");
        let longer = format!("select 'x' {like} '{}'", any.repeat(300));
        assert_eq!(ask(&mut graded, &longer).problem(), (422, "query_invalid".into()), "{longer}");
    }
    unharmed(graded, before);
}

/// What no clock inside the process can see: it stands still, or it dies.
#[test]
fn a_process_that_does_not_answer_is_killed_and_one_that_was_killed_is_no_error_of_ours() {
    let (graded, before) = graded();
    for (signal, bound) in [("STOP", "time"), ("KILL", "memory"), ("ABRT", "memory"), ("XCPU", "time")] {
        let server = &graded.server;
        let mut visitor = server.visitor();
        visitor.cookie = graded.visitor.cookie.clone();
        let path = format!("{}/query", graded.attempt);
        let started = Instant::now();
        let answer = std::thread::scope(|scope| {
            let endless = json!({ "sql": "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r" });
            let asked = scope.spawn(move || visitor.post(&path, &endless));
            let process = until("the query runs", || server.children().pop());
            assert!(Command::new("kill").args([&format!("-{signal}"), &process]).status().unwrap().success());
            asked.join().unwrap()
        });
        assert!(started.elapsed() < IN_TIME, "{signal}: {:?}", started.elapsed());
        assert_eq!(answer.problem(), (422, "query_limit".into()), "{signal}");
        assert_eq!(answer.json()["bound"], bound, "{signal}");
    }
    unharmed(graded, before);
}

#[test]
fn what_eats_memory_is_ended() {
    let (mut graded, before) = graded();
    let ranks: Vec<String> = (0..60).map(|p| format!("nearest_rank(n, {p})")).collect();
    let numbers = "with recursive r(n) as (select 1 union all select n + 1 from r where n < 100000)";
    for sql in [
        "with recursive r(n, x) as (select 1, hex(zeroblob(30000)) union select n + 1, x || '' from r) select count(*) from r",
        "select a.*, b.* from events a, events b order by b.args, a.args",
        &format!("{numbers} select {} from r", ranks.join(", ")),
    ] {
        let bound = bound(&mut graded, sql);
        assert!(bound == "memory" || bound == "time", "{bound}: {sql}");
    }
    unharmed(graded, before);
}

#[test]
fn what_is_too_large_or_too_deep_is_named() {
    let (mut graded, before) = graded();
    let doubling: Vec<String> = (1..60)
        .map(|n| format!("c{n} as (select * from c{m} union all select * from c{m})", m = n - 1))
        .collect();
    let deep = format!("select {}1{}", "(".repeat(1000), ")".repeat(1000));
    let long = format!("select '{}'", "x".repeat(1 << 20));
    for (sql, hit) in [
        (format!("with c0 as (select 1), {} select count(*) from c59", doubling.join(", ")), "copies"),
        ("select length(zeroblob(1000000000))".into(), "value"),
        ("select group_concat(a.args) from events a, events b".into(), "value"),
        ("select json_group_array(a.args) from events a, events b".into(), "value"),
        ("select replace(hex(zeroblob(30000)), '0', 'xxxxxxxxxxxxxxxx')".into(), "value"),
        (deep, "depth"),
        (long, "sql"),
    ] {
        let shown: String = sql.chars().take(80).collect();
        assert_eq!(bound(&mut graded, &sql), hit, "{shown}");
    }
    let padded = ask(&mut graded, "select printf('%.*c', 1000000000, 'x') as padded");
    assert_eq!(padded.json()["rows"], json!([[null]]), "SQLite's own way to say that it is too long");
    unharmed(graded, before);
}

#[test]
fn what_is_not_for_reading_is_refused() {
    let (mut graded, before) = graded();
    for (sql, word) in [
        ("insert into events (id) values (1)", "writing"),
        ("update runs set exit_code = 0", "writing"),
        ("delete from notes", "writing"),
        ("create table t (x)", "writing"),
        ("create temp view v as select 1", "writing"),
        ("drop table events", "writing"),
        ("alter table events add column x", "writing"),
        ("reindex", "writing"),
        ("vacuum into '/tmp/todoku-was-here'", "writing"),
        ("attach '/etc/passwd' as p", "ATTACH"),
        ("detach main", "ATTACH"),
        ("pragma hard_heap_limit = 0", "PRAGMA"),
        ("select * from pragma_database_list", "not part of the evidence"),
        ("begin", "transaction"),
        ("savepoint s", "transaction"),
        ("select load_extension('/lib/x86_64-linux-gnu/libc.so.6')", "load_extension"),
        ("select randomblob(1000000000)", "randomblob"),
        ("select readfile('/etc/passwd')", "no such function"),
    ] {
        let answer = ask(&mut graded, sql);
        let code = if word.starts_with("no such") { "query_invalid" } else { "query_refused" };
        assert_eq!(answer.problem(), (422, code.into()), "{sql}");
        let detail = answer.json()["detail"].as_str().unwrap().to_lowercase();
        assert!(detail.contains(&word.to_lowercase()), "{sql}: {detail}");
    }
    assert!(!std::path::Path::new("/tmp/todoku-was-here").exists());
    unharmed(graded, before);
}

#[test]
fn what_makes_no_sense_is_explained() {
    let (mut graded, before) = graded();
    let nested = format!("select json_extract('{}', '$')", "[".repeat(8000));
    for (sql, word, position) in [
        ("", "no query", None),
        (" -- nothing\n/* at all */ ; ", "no query", None),
        ("select 1;\n select 2", "second statement", Some((2, 2))),
        ("select\n  nme from events", "no such column: nme", Some((2, 3))),
        ("select * from event", "there are runs, syscall_summary, events", None),
        ("select 1 +", "incomplete input", None),
        ("select 'a\0b'", "NUL", Some((1, 10))),
        ("select :port", "parameter :port has no value", None),
        ("select ?", "needs a name", None),
        ("select 'x' regexp '(((((a{50}){50}){50}){50}){50})'", "pattern of regexp cannot be used", None),
        (nested.as_str(), "malformed JSON", None),
    ] {
        let answer = ask(&mut graded, sql);
        assert_eq!(answer.problem(), (422, "query_invalid".into()), "{sql}");
        let problem = answer.json();
        assert!(
            problem["detail"].as_str().unwrap().to_lowercase().contains(&word.to_lowercase()),
            "{sql}: {problem}"
        );
        if let Some((line, column)) = position {
            assert_eq!(problem["position"], json!({ "line": line, "column": column }), "{sql}");
        }
    }
    assert_eq!(ask(&mut graded, "explain query plan select 1").status, 200, "a plan is reading");
    unharmed(graded, before);
}

#[test]
fn bodies_that_are_no_query() {
    let (mut graded, before) = graded();
    let path = format!("{}/query", graded.attempt);
    let many: serde_json::Map<String, Value> = (0..101).map(|n| (format!("p{n}"), json!(n))).collect();
    let many = json!({ "sql": "select 1", "params": many }).to_string();
    for (body, status, code) in [
        (&b"{\"sql\": "[..], 400, "malformed_json"),
        (b"{\"sql\": \"select '\xff'\"}", 400, "malformed_json"),
        (b"{}", 422, "invalid_body"),
        (b"{\"sql\": 7}", 422, "invalid_body"),
        (b"{\"sql\": \"select 1\", \"limit\": 1}", 422, "invalid_body"),
        (many.as_bytes(), 422, "query_invalid"),
    ] {
        let answer = graded.visitor.send("POST", &path, Some(body));
        assert_eq!(answer.problem(), (status, code.into()), "{}", String::from_utf8_lossy(body));
    }
    unharmed(graded, before);
}
