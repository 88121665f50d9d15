//! The evidence as a file, and its tables described.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::graded::Graded;

#[test]
fn the_evidence_is_a_database_file() {
    let mut graded = Graded::new();
    let path = format!("{}/evidence.sqlite", graded.attempt);
    let file = graded.visitor.get(&path);
    assert_eq!((file.status, file.header("content-type")), (200, "application/vnd.sqlite3"));
    let id = graded.attempt.rsplit('/').next().unwrap();
    assert_eq!(file.header("content-disposition"), format!("attachment; filename=\"{id}.sqlite\""));
    assert_eq!(file.header("cache-control"), "private, no-cache");
    assert!(file.body.starts_with(b"SQLite format 3\0"));
    let evidence = evidence::Evidence::from_bytes(&file.body).unwrap();
    let asked =
        evidence.query("select count(*) from events", &[], &evidence::QueryLimits::default()).unwrap();
    assert_eq!(serde_json::json!(asked.rows), graded.rows("select count(*) from events"));

    graded.visitor.headers.push(("if-none-match", file.header("etag").to_owned()));
    let again = graded.visitor.get(&path);
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert_eq!(again.header("etag"), file.header("etag"));
    graded.visitor.headers =
        vec![("accept-encoding", "gzip".to_owned()), ("if-none-match", "W/\"other\"".into())];
    let packed = graded.visitor.get(&path);
    assert_eq!((packed.status, packed.header("content-encoding")), (200, "gzip"));
    assert_eq!(gunzip(&packed.body), file.body);
    assert!(packed.body.len() < file.body.len() / 2);
}

fn gunzip(packed: &[u8]) -> Vec<u8> {
    let mut gzip =
        Command::new("gzip").arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = gzip.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(packed).unwrap());
        gzip.wait_with_output().unwrap().stdout
    })
}

/// Everything that is described is there under its name, and nothing else is.
#[test]
fn the_description_is_that_of_the_tables() {
    let mut graded = Graded::new();
    let described = graded.visitor.get("/api/v1/evidence").json();
    assert_eq!(described["version"], evidence::schema::VERSION);
    let tables = described["tables"].as_array().unwrap();
    for table in tables {
        let columns: Vec<&str> = table["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| column["name"].as_str().unwrap())
            .collect();
        let name = table["name"].as_str().unwrap();
        let found = graded.ask(&format!("select * from {name} limit 1")).json();
        assert_eq!(found["columns"], serde_json::json!(columns), "{name}");
        let kind = table["kind"].as_str().unwrap();
        let sql = format!("select count(*) from sqlite_schema where name = '{name}' and type = '{kind}'");
        assert_eq!(graded.rows(&sql), serde_json::json!([[1]]), "{name}");
        for part in table["columns"].as_array().unwrap().iter().chain([table]) {
            assert!(!part["about"].as_str().unwrap().is_empty(), "{part}");
        }
    }
    let known = graded.rows("select count(*) from sqlite_schema where type in ('table', 'view')");
    assert_eq!(known, serde_json::json!([[tables.len()]]));
}

/// The picture of a run: a slice for each of its system calls.
#[test]
fn a_run_can_be_drawn() {
    let mut graded = Graded::new();
    let shown = graded.visitor.get(&graded.attempt.clone()).json();
    let run = &shown["runs"][1];
    let path = format!("/api/v1/runs/{}/trace.json", run["id"].as_str().unwrap());
    let file = graded.visitor.get(&path);
    assert_eq!((file.status, file.header("content-type")), (200, "application/json"), "{file:?}");
    let id = shown["id"].as_str().unwrap();
    let name = format!("attachment; filename=\"{id}-{}-1.trace.json\"", run["label"].as_str().unwrap());
    assert_eq!(file.header("content-disposition"), name);
    let picture = file.json();
    let drawn = picture["traceEvents"].as_array().unwrap();
    let slices = drawn.iter().filter(|event| event["ph"] == "X").count();
    let sql = format!("select count(*) from events where run = {} and kind = 'syscall'", run["label"]);
    assert_eq!(serde_json::json!([[slices]]), graded.rows(&sql.replace('"', "'")));

    graded.visitor.headers = vec![("if-none-match", file.header("etag").to_owned())];
    assert_eq!(graded.visitor.get(&path).status, 304);
    let mut stranger = graded.server.visitor();
    assert_eq!(stranger.get(&path).problem(), (404, "not_found".into()));
}
