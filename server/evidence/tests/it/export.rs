//! The file that is downloaded, opened as anybody's SQLite opens it.

use std::collections::BTreeMap;

use evidence::{Answer, Edges, Evidence, Stage, WindowSpec, schema};
use rusqlite::Connection;
use serde_json::json;

use crate::support::{query, rows, run, trace};

fn evidence() -> Evidence {
    let (nuxt, block) = (trace("nuxt-all.strace"), trace("block-offload.strace"));
    let runs = [run("nuxt", Some(&nuxt), b""), run("block", Some(&block), b"a\n"), run("bare", None, b"")];
    let answers = [Answer { id: "q".to_owned(), stage: Stage::Before, value: json!("a") }];
    let edges = Edges::Request { path: "/all".to_owned(), nth: 1 };
    let windows = [WindowSpec { name: "all".to_owned(), edges }];
    Evidence::build(&runs, &answers, &BTreeMap::from([("port".to_owned(), json!(1))]), &windows).unwrap()
}

/// A connection that knows none of our functions.
fn plain(bytes: &[u8]) -> Connection {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    Connection::open(file.path()).unwrap()
}

fn count(db: &Connection, sql: &str) -> i64 {
    db.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

#[test]
fn every_table_and_view_is_the_same_in_a_plain_sqlite() {
    let evidence = evidence();
    let db = plain(&evidence.export().unwrap());
    assert_eq!(count(&db, "pragma user_version"), i64::from(schema::VERSION));
    for table in schema::TABLES {
        let sql = format!("select count(*) from {}", table.name);
        assert_eq!(json!([[count(&db, &sql)]]), rows(&evidence, &sql), "{}", table.name);
    }
    for full in ["events", "sockets", "windows", "served", "gaps", "steps", "waits", "output", "answers"] {
        assert!(count(&db, &format!("select count(*) from {full}")) > 0, "{full}");
    }
}

#[test]
fn its_references_lead_somewhere_and_its_pages_are_sound() {
    let db = plain(&evidence().export().unwrap());
    assert_eq!(count(&db, "select count(*) from pragma_foreign_key_check"), 0);
    let check: String = db.query_row("pragma integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    // Declared at all: what is checked is not nothing.
    let declared =
        |table: &str| count(&db, &format!("select count(*) from pragma_foreign_key_list('{table}')"));
    assert_eq!(
        ["events", "fds", "threads", "sockets", "windows", "output", "runs", "answers"].map(declared),
        [3, 4, 3, 5, 4, 3, 0, 0]
    );
}

#[test]
fn a_trace_that_was_cut_anywhere_still_makes_sound_evidence() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../strace/tests/fixtures");
    let edges = Edges::Marks { from: "N0/a".to_owned(), to: "N0/b".to_owned() };
    let windows = [WindowSpec { name: "w".to_owned(), edges }];
    for (n, entry) in std::fs::read_dir(folder).unwrap().enumerate() {
        let path = entry.unwrap().path();
        let text = std::fs::read(&path).unwrap();
        // The first lines lost, the last one broken: each file at other places.
        let (from, to) = (text.len() / (n + 3), text.len() - 7 * n);
        let trace = strace::parse(&text[from..to], &strace::Options::default());
        let inputs = [run("a", Some(&trace), b"")];
        let evidence = Evidence::build(&inputs, &[], &BTreeMap::new(), &windows).unwrap();
        let db = plain(&evidence.export().unwrap());
        let broken = count(&db, "select count(*) from pragma_foreign_key_check");
        assert_eq!(broken, 0, "{}", path.display());
        for view in ["served", "gaps", "steps", "sockets"] {
            count(&db, &format!("select count(*) from {view}"));
        }
    }
}

#[test]
fn its_indices_are_used() {
    let db = plain(&evidence().export().unwrap());
    for (condition, index) in [
        ("run = 'a' and name = 'openat'", "events_run_name"),
        ("tid = 1", "events_tid"),
        ("serial = 1", "events_serial"),
        ("path = '/x'", "events_path"),
        ("t_ns between 1 and 2", "events_t_ns"),
    ] {
        let sql = format!("explain query plan select * from events where {condition}");
        let plan: String = db.query_row(&sql, [], |row| row.get(3)).unwrap();
        assert!(plan.contains(index), "{condition}: {plan}");
    }
}

#[test]
fn it_explains_itself() {
    let db = plain(&evidence().export().unwrap());
    let columns: usize = schema::TABLES.iter().map(|table| table.columns.len()).sum();
    let expected = schema::TABLES.len() + columns + schema::FUNCTIONS.len();
    assert_eq!(count(&db, "select count(*) from readme"), i64::try_from(expected).unwrap());
    assert_eq!(count(&db, "select count(*) from readme where trim(about) = '' or about is null"), 0);
    let column: (String, String, String) = db
        .query_row(
            "select kind, type, about from readme where name = 'gaps' and \"column\" = 'dur_ns'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!(column, ("view".to_owned(), "integer".to_owned(), "Its length, more than 0.".to_owned()));
}

#[test]
fn it_is_evidence_again() {
    let evidence = evidence();
    let file = evidence.export().unwrap();
    let read = Evidence::from_bytes(&file).unwrap();
    assert_eq!(read.runs(), evidence.runs());
    assert!(read.export().unwrap() == file, "exported twice");
    assert!(read.opened("nuxt", "all"));
    assert_eq!(
        rows(&read, "select shape(step order by id) from steps where role = 'main' and win = 'all'"),
        json!([["CCWW~RR"]])
    );
    assert_eq!(
        rows(&read, "select type from readme where name = 'runs' and \"column\" = 'cpus'"),
        json!([["real"]])
    );
    assert!(query(&evidence, "select * from readme").unwrap_err().to_string().contains("no such table"));
}
