//! Runs and queries in few words.

use std::path::Path;

use evidence::{Evidence, Kept, QueryError, QueryLimits, Rows, RunInput};
use serde_json::Value;

pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../strace/tests/fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A fixture as a trace. The entry script is the file that the command of its first line names.
pub(crate) fn trace(name: &str) -> strace::Trace {
    let text = fixture(name);
    let first = String::from_utf8_lossy(text.split(|&byte| byte == b'\n').next().unwrap()).into_owned();
    let script = first.split(['"', ',']).find(|word| word.ends_with("js") && !word.contains("strace"));
    let entry = script.map(|script| format!("/lab/{}", script.trim_start_matches("/lab/")));
    strace::parse(&text, &strace::Options { entry, ..Default::default() })
}

pub(crate) fn run<'a>(label: &'a str, trace: Option<&'a strace::Trace>, stdout: &'a [u8]) -> RunInput<'a> {
    RunInput {
        label,
        try_no: 1,
        outcome: "exited",
        exit_code: Some(0),
        wall_ns: 80_000_000,
        cpu_ns: Some(60_000_000),
        milli_cpus: Some(1500),
        trace,
        stdout: whole(stdout),
        ..RunInput::default()
    }
}

pub(crate) fn whole(head: &[u8]) -> Kept<'_> {
    Kept { head, ..Kept::default() }
}

pub(crate) fn build(runs: &[RunInput<'_>]) -> Evidence {
    Evidence::build(runs, &[], &Default::default(), &[]).unwrap()
}

pub(crate) fn query(evidence: &Evidence, sql: &str) -> Result<Rows, QueryError> {
    evidence.query(sql, &[], &QueryLimits::default())
}

/// The rows of a query, as one JSON list of lists.
pub(crate) fn rows(evidence: &Evidence, sql: &str) -> Value {
    let rows = query(evidence, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    serde_json::to_value(rows.rows).unwrap()
}

/// The only value of a query.
pub(crate) fn value(evidence: &Evidence, sql: &str) -> Value {
    rows(evidence, sql)[0][0].take()
}
