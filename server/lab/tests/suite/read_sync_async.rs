//! The first lab against recorded traces; `todoku verify` proves it against live ones.

use std::fs;
use std::path::{Path, PathBuf};

use lab::{Answers, Given, Lab, Solution, Status, grade, load, load_solutions};

use crate::support::run;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs/read-sync-async")
}

fn lab() -> Lab {
    load(&root()).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A trace of the reference (`reference-...`) or of another script.
fn fixture(name: &str) -> Vec<u8> {
    let folder = if name.starts_with("reference-") { "tests/traces" } else { "../strace/tests/fixtures" };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    fs::read(folder.join(format!("{name}.strace"))).unwrap()
}

/// The checks that fail when the two runs left these traces and nothing was answered after.
fn check(entry: &str, default: &str, pool8: &str, fails: &[&str]) {
    let mut lab = lab();
    lab.entry = entry.to_owned();
    let runs = [run("default", Some(&fixture(default))), run("pool8", Some(&fixture(pool8)))];
    let evidence = lab.gather(&runs, Given::default()).unwrap();
    let grade = grade(&lab, &evidence);
    let failed: Vec<_> =
        grade.checks.iter().filter(|c| c.status == Status::Failed).map(|c| c.id.as_str()).collect();
    assert_eq!(failed, fails, "{default}, {pool8}");
    let open: Vec<_> = grade.checks.iter().filter(|c| c.status == Status::NotJudged).collect();
    assert!(open.iter().all(|check| check.id.starts_with("knows-")), "{open:#?}");
}

#[test]
fn recorded_runs() {
    const NO_POOL: [&str; 6] = [
        "async-on-pool",
        "pool-of-4",
        "pool-of-8",
        "pool-born-between",
        "pool-shares-process",
        "lists-threads",
    ];
    let nothing = [&["finishes", "sync-on-main"][..], &NO_POOL].concat();
    check("read.js", "reference-default", "reference-pool8", &[]);
    // This recording's script did not list its threads.
    check("read.js", "613-read-default", "613-read-pool8", &["lists-threads"]);
    // The runs exchanged: the sizes are those of the other run.
    check("read.js", "reference-pool8", "reference-default", &["pool-of-4", "pool-of-8"]);
    // A thread that only calls itself libuv-worker reads the file.
    check("main.js", "cheat-named-worker", "cheat-named-worker", &nothing);
    check("throw.js", "613-throw", "613-throw", &nothing);
}

#[test]
fn the_reference_answers_from_its_own_trace() {
    let lab = lab();
    let solutions = load_solutions(&root(), &lab).unwrap_or_else(|errors| panic!("{errors}"));
    let runs = ["reference-default", "reference-pool8"].map(fixture);
    let runs = [run("default", Some(&runs[0])), run("pool8", Some(&runs[1]))];
    let judge = |solution: &Solution| {
        let evidence = lab.gather(&runs, Given { before: &solution.before, ..Given::default() }).unwrap();
        let after = solution.after_answers(&evidence).unwrap();
        assert!(lab.validate_after_answers(&after).is_ok(), "{after:?}");
        grade(
            &lab,
            &lab.gather(&runs, Given { before: &solution.before, after: &after, ..Given::default() })
                .unwrap(),
        )
    };
    let reference = judge(&solutions[0]);
    assert_eq!(solutions[0].expected.differences(&reference), [""; 0]);
    assert_eq!((reference.points, reference.max_points, reference.incomplete), (20, 20, false));
    let wrong = solutions.iter().find(|solution| solution.name == "wrong-conclusions").unwrap();
    assert_eq!(wrong.expected.differences(&judge(wrong)), [""; 0]);
    // A grade that should have been worse is told.
    let differences = wrong.expected.differences(&reference);
    assert_eq!(differences.len(), 4, "{differences:?}");
    assert_eq!(differences[0], "knows-sync-tid: expected Failed, was Passed");
}

#[test]
fn the_starter_is_a_known_bad() {
    let lab = lab();
    let solutions = load_solutions(&root(), &lab).unwrap();
    let starter = solutions.iter().find(|solution| solution.name == "everything-sync").unwrap();
    assert_eq!(starter.files, lab.starter);
    assert!(lab.validate_submission(&lab.starter, &Answers::new()).is_ok());
}

#[test]
fn its_example_queries_find_something() {
    let lab = lab();
    let runs = ["default", "pool8"].map(|label| run(label, Some(&fixture(&format!("reference-{label}")))));
    let evidence = lab.gather(&runs, Given::default()).unwrap();
    let found: Vec<_> = lab
        .queries
        .iter()
        .map(|query| {
            let rows = evidence.query(&query.sql, &[], &evidence::QueryLimits::exploring()).unwrap();
            assert_eq!(rows.columns[0], "id", "a row leads to its line: {}", query.en.title);
            rows.rows.len()
        })
        .collect();
    assert_eq!(found, [36, 26, 4, 10]);
}
