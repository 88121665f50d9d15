//! Which runs a learner may know of.

use evidence::QueryLimits;
use lab::Given;

use crate::support::{Draft, run};

const READS_ONE: &str = "runs = [\"one\"]";

#[test]
fn a_run_is_hidden_when_only_hidden_checks_read_it() {
    let hidden = |from: &str, to: &str| {
        let lab = Draft::new().edit(from, to).load().unwrap();
        [lab.hides_run("one", false), lab.hides_run("one", true)]
    };
    let with = |stage: &str, runs: &str| hidden(READS_ONE, &format!("stage = \"{stage}\"\n{runs}"));
    assert_eq!(with("visible", READS_ONE), [false, false]);
    assert_eq!(with("after_graded", READS_ONE), [true, false]);
    assert_eq!(with("after_due", READS_ONE), [true, true]);
    assert_eq!(with("hidden", READS_ONE), [true, true]);
    assert_eq!(with("hidden", ""), [false, false], "a check of all runs is no reason to hide one");
    let also_seen = Draft::new()
        .edit(READS_ONE, &format!("stage = \"hidden\"\n{READS_ONE}"))
        .edit("runs = []", READS_ONE)
        .load()
        .unwrap();
    assert!(!also_seen.hides_run("one", true), "another check shows it");
    assert!(!also_seen.hides_run("plain", true), "no check reads it");
}

/// The lab lists the hidden run first.
#[test]
fn events_have_the_same_ids_with_and_without_hidden_runs() {
    let lab = Draft::new().edit(READS_ONE, &format!("stage = \"hidden\"\n{READS_ONE}")).load().unwrap();
    let trace =
        "7 1.000001 execve(\"/n\", [\"n\"], 0x1 /* 0 vars */) = 0 <0.000001>\n7 1.1 +++ exited with 0 +++\n";
    let runs = [run("one", Some(trace.as_bytes())), run("seen", Some(trace.as_bytes()))];
    let all = lab.gather(&runs, Given::default()).unwrap();
    let seen = lab.gather_seen(runs.to_vec(), Given::default()).unwrap();
    let rows = |evidence: &evidence::Evidence, sql: &str| {
        serde_json::json!(evidence.query(sql, &[], &QueryLimits::default()).unwrap().rows)
    };
    let ids = "select run, min(id), max(id) from events group by run order by run desc";
    assert_eq!(rows(&all, ids), serde_json::json!([["seen", 1, 2], ["one", 3, 4]]));
    assert_eq!(rows(&seen, ids), serde_json::json!([["seen", 1, 2]]));
    assert_eq!(rows(&seen, "select run from runs"), serde_json::json!([["seen"]]));
}
