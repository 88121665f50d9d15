//! What goes in comes out: runs, answers, parameters, output.

use std::collections::BTreeMap;

use evidence::{Answer, BuildError, Evidence, Kept, QueryLimits, RunInput, Stage};
use serde_json::{Value, json};

use crate::support::{build, rows, run, whole};

fn answer(id: &str, stage: Stage, value: Value) -> Answer {
    Answer { id: id.to_owned(), stage, value }
}

fn params(values: &[(&str, Value)]) -> BTreeMap<String, Value> {
    values.iter().map(|(id, value)| ((*id).to_owned(), value.clone())).collect()
}

#[test]
fn an_untraced_run() {
    let command = ["node".to_owned(), "read \"me\".js".to_owned()];
    let input = RunInput {
        command: &command,
        outcome: "signalled",
        exit_code: None,
        signal: Some("SIGKILL"),
        max_rss_bytes: Some(7),
        oom: true,
        trace_bytes: 99,
        ..run("memory", None, b"")
    };
    let evidence = build(&[input]);
    assert_eq!(
        rows(&evidence, "select * from runs"),
        json!([[
            "memory",
            1,
            "[\"node\",\"read \\\"me\\\".js\"]",
            "signalled",
            null,
            "SIGKILL",
            80_000_000,
            60_000_000,
            7,
            1,
            null,
            null,
            "none",
            null,
            null,
            1.5,
            null
        ]])
    );
    assert_eq!(evidence.runs()[0].complete, None);
    assert_eq!(
        rows(&evidence, "select json_extract(command, '$[1]') from runs"),
        json!([["read \"me\".js"]])
    );
}

#[test]
fn output_of_an_untraced_run_is_kept_without_writes() {
    let stdout = Kept { head: "一\n\ntwo".as_bytes(), dropped: 5, tail: b"n\nend" };
    let input = RunInput { stdout, stderr: whole(b"warn\xff\n"), ..run("a", None, b"") };
    let evidence = build(&[input]);
    assert_eq!(
        rows(
            &evidence,
            "select stream, n, text, event_id, t_ns, truncated from output order by stream desc, n"
        ),
        json!([
            ["stdout", 1, "一", null, null, 0],
            ["stdout", 2, "", null, null, 0],
            ["stdout", 3, "two", null, null, 1],
            ["stdout", 4, "n", null, null, 1],
            ["stdout", 5, "end", null, null, 0],
            ["stderr", 1, "warn\u{fffd}", null, null, 0]
        ])
    );
}

#[test]
fn answers_keep_their_kinds() {
    let answers = [
        answer("count", Stage::Before, json!(4)),
        answer("count", Stage::After, json!(4.5)),
        answer("async", Stage::Before, json!(true)),
        answer("who", Stage::Before, json!("libuv-worker")),
        answer("order", Stage::After, json!(["a", "b"])),
        answer("none", Stage::After, json!(null)),
    ];
    let evidence = Evidence::build(&[], &answers, &BTreeMap::new(), &[]).unwrap();
    assert_eq!(
        rows(&evidence, "select id, stage, value, typeof(value) from answers order by rowid"),
        json!([
            ["count", "before", 4, "integer"],
            ["count", "after", 4.5, "real"],
            ["async", "before", 1, "integer"],
            ["who", "before", "libuv-worker", "text"],
            ["order", "after", "[\"a\",\"b\"]", "text"],
            ["none", "after", null, "null"]
        ])
    );
    assert!(evidence.answered("count") && evidence.answered("order"));
    assert!(!evidence.answered("nobody asked"));
}

#[test]
fn parameters_are_bound_by_name() {
    let evidence =
        Evidence::build(&[], &[], &params(&[("port", json!(8099)), ("path", json!("/x"))]), &[]).unwrap();
    let ask = |sql: &str, given: &[(String, Value)]| evidence.query(sql, given, &QueryLimits::default());
    assert_eq!(
        ask("select :port, $path, @port", &[]).unwrap().rows,
        [[json!(8099), json!("/x"), json!(8099)]]
    );
    // What the caller gives goes before what the host drew.
    let given = [("port".to_owned(), json!(1)), ("mine".to_owned(), json!(null))];
    assert_eq!(ask("select :port, :mine", &given).unwrap().rows, [[json!(1), json!(null)]]);
    let error = ask("select :nope", &given).unwrap_err();
    assert_eq!(error.to_string(), "the parameter :nope has no value; known: :port, :mine, :path, :port");
    assert_eq!(rows(&evidence, "select * from params"), json!([["path", "/x"], ["port", 8099]]));
}

#[test]
fn input_that_contradicts_itself_is_refused() {
    let twice = [run("a", None, b""), run("b", None, b""), run("a", None, b"")];
    let error = Evidence::build(&twice, &[], &BTreeMap::new(), &[]).unwrap_err();
    assert!(matches!(&error, BuildError::DuplicateRun { label, try_no: 1 } if label == "a"), "{error}");

    let again = [run("a", None, b""), RunInput { try_no: 2, ..run("a", None, b"") }];
    assert_eq!(rows(&build(&again), "select run, try from runs"), json!([["a", 1], ["a", 2]]));

    let answers = [answer("q", Stage::After, json!(1)), answer("q", Stage::After, json!(2))];
    let error = Evidence::build(&[], &answers, &BTreeMap::new(), &[]).unwrap_err();
    assert!(matches!(&error, BuildError::DuplicateAnswer { id } if id == "q"), "{error}");

    let long = params(&[("essay", json!("x".repeat(20_000)))]);
    let error = Evidence::build(&[], &[], &long, &[]).unwrap_err();
    assert_eq!(error.to_string(), "the value of essay is longer than 16384 bytes");
}

#[test]
fn evidence_travels_as_bytes() {
    let answers = [answer("q", Stage::Before, json!("a"))];
    let made =
        Evidence::build(&[run("a", None, b"hi\n")], &answers, &params(&[("port", json!(1))]), &[]).unwrap();
    let bytes = made.to_bytes().unwrap();
    assert!(bytes.starts_with(b"SQLite format 3\0"));
    let read = Evidence::from_bytes(&bytes).unwrap();
    assert_eq!(read.runs(), made.runs());
    assert!(read.answered("q"));
    assert_eq!(rows(&read, "select text from output where :port = 1"), json!([["hi"]]));
    assert!(crate::support::query(&read, "delete from output").is_err());
    assert!(Evidence::from_bytes(b"not a database").is_err());
    assert!(Evidence::from_bytes(b"").is_err());
}
