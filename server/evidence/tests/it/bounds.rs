//! Hostile, mistaken and merely large queries: each gets its own clear error, in time.

use std::time::{Duration, Instant};

use evidence::{Bound, Evidence, Overflow, Position, QueryError, QueryLimits};
use serde_json::json;

use crate::support::{build, query, rows, run, trace};

/// Every query is over within this, whatever it does and however busy the machine is.
const PATIENCE: Duration = Duration::from_millis(2500);
/// The default bounds, with a deadline that keeps the tests short.
const SHORT: QueryLimits = QueryLimits {
    wall: Duration::from_millis(400),
    rows: 10_000,
    text_bytes: 1 << 20,
    overflow: Overflow::Refuse,
};

/// The error of a query, which must come in time and leave the evidence usable.
fn fails(evidence: &Evidence, sql: &str) -> QueryError {
    let start = Instant::now();
    let outcome = evidence.query(sql, &[], &SHORT);
    let took = start.elapsed();
    let shown: String = sql.chars().take(120).collect();
    assert!(took < PATIENCE, "{shown}: took {took:?}");
    assert_eq!(rows(evidence, "select 1"), json!([[1]]), "after {shown}");
    outcome.expect_err(&shown)
}

#[test]
fn whatever_does_more_than_read_is_refused() {
    let evidence = Evidence::empty().unwrap();
    for (sql, expected) in [
        ("insert into notes values ('a', 1, 1, 'x')", "writing is not allowed"),
        ("update events set ok = 1", "writing is not allowed"),
        ("delete from events", "writing is not allowed"),
        ("replace into params values ('a', 1)", "writing is not allowed"),
        ("with t as (select 1) delete from events", "writing is not allowed"),
        ("create table t (a)", "writing is not allowed"),
        ("create temp table t (a)", "writing is not allowed"),
        ("create temp view v as select 1", "writing is not allowed"),
        ("create table t as select * from events", "writing is not allowed"),
        ("create virtual table t using fts5(a)", "writing is not allowed"),
        ("create trigger t after insert on notes begin select 1; end", "second statement"),
        ("drop table events", "writing is not allowed"),
        ("alter table events add column x", "writing is not allowed"),
        ("reindex", "writing is not allowed"),
        ("analyze", "writing is not allowed"),
        ("attach '/tmp/x' as x", "ATTACH, DETACH and VACUUM are not allowed"),
        ("attach ':memory:' as x", "ATTACH, DETACH and VACUUM are not allowed"),
        ("detach main", "ATTACH, DETACH and VACUUM are not allowed"),
        ("vacuum", "not allowed"),
        ("vacuum into '/tmp/evidence-escaped.sqlite'", "not allowed"),
        ("pragma user_version = 9", "PRAGMA is not allowed"),
        ("pragma query_only = 0", "PRAGMA is not allowed"),
        ("pragma table_info(events)", "PRAGMA is not allowed"),
        ("pragma hard_heap_limit = 1", "PRAGMA is not allowed"),
        ("begin", "transactions are not allowed"),
        ("commit", "transactions are not allowed"),
        ("savepoint a", "transactions are not allowed"),
        ("select load_extension('x')", "the function load_extension is not allowed"),
        ("select random()", "the function random is not allowed"),
        ("select hex(randomblob(16))", "the function randomblob is not allowed"),
        ("select date('now')", "the function date is not allowed"),
        ("select current_timestamp", "the function current_timestamp is not allowed"),
        ("select strftime('%s', 'now')", "the function strftime is not allowed"),
        ("select timediff('now', '2026-01-01')", "the function timediff is not allowed"),
        ("select SQLITE_VERSION()", "the function sqlite_version is not allowed"),
        ("select id from events order by RANDOM()", "the function random is not allowed"),
        ("select * from dbstat", "the table dbstat is not part of the evidence"),
        ("select * from pragma_database_list", "not"),
        ("select readfile('/etc/passwd')", "no such function: readfile"),
        ("select writefile('/tmp/x', 'y')", "no such function: writefile"),
    ] {
        let error = fails(&evidence, sql).to_string();
        assert!(error.contains(expected), "{sql}: {error}");
    }
    assert!(!std::path::Path::new("/tmp/evidence-escaped.sqlite").exists());
}

#[test]
fn mistakes_are_named_and_placed() {
    let evidence = Evidence::empty().unwrap();
    for (sql, expected) in [
        ("", "there is no query"),
        (" ; -- nothing\n", "there is no query"),
        ("selec 1", "near \"selec\": syntax error (line 1, column 1)"),
        ("select *\nfrom events\nwhere and", "near \"and\": syntax error (line 3, column 7)"),
        ("select '届く', nope from events", "no such column: nope (line 1, column 14)"),
        (
            "select \"main\" from events",
            "no such column: \"main\" - should this be a string literal in single-quotes",
        ),
        ("select * from evnts", "no such table: evnts; there are runs, syscall_summary, events, threads"),
        ("select nope(1)", "no such function: nope"),
        ("select 'open", "unrecognized token"),
        ("select 1; select 2", "a second statement begins at line 1, column 11"),
        ("select 1;\ndrop table events", "a second statement begins at line 2, column 1"),
        ("select :port", "the parameter :port has no value; known: none"),
        ("select ?", "a parameter needs a name"),
        ("select ?2", "a parameter needs a name"),
        ("select 1\0; drop table events", "a NUL character (line 1, column 9)"),
        ("select json('{')", "malformed JSON"),
        ("select json_extract('{}', 'x')", "bad JSON path"),
    ] {
        let error = fails(&evidence, sql).to_string();
        assert!(error.contains(expected), "{sql}: {error}");
    }
    let error = fails(&evidence, "select\n  nope");
    assert!(matches!(error, QueryError::Sql { at: Some(Position { line: 2, column: 3 }), .. }), "{error:?}");
}

#[test]
fn bombs_meet_their_bound() {
    let time = Bound::Time(SHORT.wall);
    let value = Bound::Value(64 * 1024);
    let trace = trace("open-mix.strace");
    let evidence = build(&[run("default", Some(&trace), b"")]);
    let endless = "with recursive c(x) as (select 1 union all select x + 1 from c)";
    let doubling = "with recursive c(x) as (values ('a') union all select x || x from c)";
    let long = "(select replace(printf('%.*c', 60000, 'x'), 'x', 'a'))";
    for (sql, expected) in [
        (format!("{endless} select count(*) from c"), time),
        (format!("{endless} select x from c where x < 0"), time),
        (format!("{endless} select max(a.x) from c a, c b"), time),
        ("select count(*) from events a, events b, events c, events d".to_owned(), time),
        ("select a.id from events a, events b order by a.args || b.args".to_owned(), time),
        (format!("{endless} select sum(instr({long}, {long} || 'b')) from c"), time),
        (format!("{endless} select sum(('a' || x || {long}) regexp '(a|b|ab)*c') from c"), time),
        (format!("{endless} select sum('a' || x || {long} like '%a%a%a%a%b') from c"), time),
        ("select zeroblob(1000000000)".to_owned(), value),
        ("select hex(zeroblob(60000))".to_owned(), value),
        ("select replace(printf('%.*c', 60000, 'x'), 'x', 'yyyyyyyyyy')".to_owned(), value),
        (format!("{doubling} select max(length(x)) from c"), value),
        ("select group_concat(args) from events".to_owned(), value),
        ("select json_group_array(args) from events".to_owned(), value),
        (format!("select '{}'", "x".repeat(20_000)), Bound::Sql(16 * 1024)),
    ] {
        assert_eq!(fails(&evidence, &sql), QueryError::Limit(expected), "{sql}");
    }
    // SQLite's printf has null for what is too long.
    let printf = "select printf('%.*c', 1000000000, 'x') is null, printf('%1000000000d', 1) is null";
    assert_eq!(rows(&evidence, printf), json!([[1, 1]]));
}

#[test]
fn large_statements_are_refused_by_size() {
    let evidence = Evidence::empty().unwrap();
    let terms = |term: &str, join: &str, count: usize| vec![term; count].join(join);
    for (sql, expected) in [
        (format!("select {}", terms("1", "+", 500)), "Expression tree is too large (maximum depth 100)"),
        (format!("select {}1", "- ".repeat(101)), "Expression tree is too large"),
        (terms("select 1", " union all ", 51), "too many terms in compound SELECT"),
        (format!("select {}", terms("1", ",", 101)), "too many columns in result set"),
        (format!("select max({})", terms("1", ",", 33)), "too many arguments on function max"),
        (format!("select 1 from {}", terms("events", ",", 65)), "at most 64 tables in a join"),
        (format!("select 'a' like '{}'", "%a".repeat(200)), "LIKE or GLOB pattern too complex"),
        ("select :a, ?200".to_owned(), "variable number must be between ?1 and ?100"),
    ] {
        let error = fails(&evidence, &sql).to_string();
        assert!(error.contains(expected), "{}: {error}", &sql[..sql.len().min(100)]);
    }
    // Thousands of statements cost nothing: the second ends it.
    assert!(matches!(fails(&evidence, &"select 1;".repeat(1800)), QueryError::ManyStatements { .. }));
}

#[test]
fn too_many_rows_are_refused_or_cut() {
    let evidence = Evidence::empty().unwrap();
    let count = |n: usize| {
        format!(
            "with recursive c(x) as (select 1 union all select x + 1 from c where x < {n}) select x from c"
        )
    };
    assert_eq!(query(&evidence, &count(10_000)).unwrap().rows.len(), 10_000);
    assert_eq!(fails(&evidence, &count(10_001)), QueryError::Limit(Bound::Rows(10_000)));

    let cut = evidence.query(&count(10_001), &[], &QueryLimits::exploring()).unwrap();
    assert_eq!((cut.rows.len(), cut.truncated), (10_000, true));
    let whole = evidence.query(&count(10_000), &[], &QueryLimits::exploring()).unwrap();
    assert_eq!((whole.rows.len(), whole.truncated), (10_000, false));

    let wide = "with recursive c(x) as (select 1 union all select x + 1 from c where x < 100) select printf('%.*c', 20000, 'x') from c";
    assert_eq!(fails(&evidence, wide), QueryError::Limit(Bound::TextOut(1 << 20)));
    let cut = evidence.query(wide, &[], &QueryLimits::exploring()).unwrap();
    assert_eq!((cut.rows.len(), cut.truncated), ((1 << 20) / 20_000, true));
}

#[test]
fn the_default_deadline_is_two_seconds() {
    let evidence = Evidence::empty().unwrap();
    let start = Instant::now();
    let endless = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c";
    let error = query(&evidence, endless).unwrap_err();
    assert!((Duration::from_secs(2)..PATIENCE).contains(&start.elapsed()));
    assert_eq!(error.to_string(), "the query is over its bound on time: it may run for 2000 ms");
    let limits = QueryLimits::default();
    assert_eq!(
        (limits.rows, limits.text_bytes, limits.overflow),
        (SHORT.rows, SHORT.text_bytes, SHORT.overflow)
    );
}

#[test]
fn a_query_is_checked_without_running() {
    let evidence = Evidence::empty().unwrap();
    let sql = "select id, t_ns as start_ns from events where run = :run and fd = $fd";
    assert_eq!(evidence.check_sql(sql).unwrap(), ["id", "start_ns"]);
    assert_eq!(evidence.parameters(sql).unwrap(), ["run", "fd"]);
    assert!(matches!(evidence.check_sql("select nope from events"), Err(QueryError::Sql { .. })));
    assert!(matches!(evidence.check_sql("delete from events"), Err(QueryError::Refused { .. })));
    // Would never end if it ran.
    let endless =
        "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) as n from c";
    assert_eq!(evidence.check_sql(endless).unwrap(), ["n"]);
}

#[test]
fn the_schema_and_json_are_readable() {
    let evidence = Evidence::empty().unwrap();
    assert_eq!(rows(&evidence, "select count(*) from sqlite_schema where name = 'events'"), json!([[1]]));
    assert_eq!(rows(&evidence, "select j.value from json_each('[1,2]') j"), json!([[1], [2]]));
}

/// What SQLite does before the first step of a statement is bounded by its size alone.
#[test]
fn preparing_is_short() {
    let evidence = Evidence::empty().unwrap();
    let list = |term: &str, join: &str, count: usize| vec![term; count].join(join);
    for sql in [
        format!("select 1 from {}", list("(select 1 as x union all select 2)", ",", 60)),
        format!("select 1 from {}", list("(select * from events union all select * from events)", ",", 60)),
        format!("select 1 from {}", list("events", " natural join ", 63)),
        format!("select {}", list("(select count(*) from events a, events b where a.id = b.id)", ",", 99)),
        format!("select 1 from events where {}", list("id = 1", " or ", 90)),
        format!("select 1 from events where id in ({})", list("1", ",", 8000)),
        format!("values {}", list("(1)", ",", 4000)),
        format!("{} * from events {}", "select * from (select".repeat(40), ")".repeat(40)),
        format!(
            "with {} select 1",
            (0..100).map(|n| format!("t{n} as (select 1)")).collect::<Vec<_>>().join(",")
        ),
    ] {
        let start = Instant::now();
        let _ = evidence.check_sql(&sql);
        let took = start.elapsed();
        assert!(took < PATIENCE, "{}: took {took:?}", &sql[..100]);
    }
}
