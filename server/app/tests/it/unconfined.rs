//! The verdict is the same on an engine whose own defaults confine nothing.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};

use crate::second_engine::SecondEngine;
use crate::support::{Home, Visitor, engine_socket, solution};

/// Solutions of the first lab: the reference, and wrong ones of each kind.
const SOLUTIONS: [&str; 5] = ["reference", "everything-sync", "forged-worker", "prints-only", "throws"];

/// What of the evidence is the same each time, threads' numbers left out: who did what to which files, which
/// threads there were, and how runs ended.
const QUERIES: [&str; 3] = [
    "select run, role, name, path, errno, count(*) as calls from events
     where phase = 'user' and (path glob '/etc/*' or path glob '/lab/*' or path = '/proc/self/task')
     group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5",
    "select run, role, rule, count(*) as threads from threads group by 1, 2, 3 order by 1, 2, 3",
    "select run, outcome, exit_code, complete, incomplete_why from runs order by 1",
];

/// Tries calls that the engine's own profile decides about, each by number, and prints what became of them:
/// a ring (it would hide calls from the trace), keys, namespaces.
const CALLS: &str = "for ([425, 8, 0], [250, 0, -3, 0], [272, 0x10000000]) { $! = 0; my ($n, @a) = @$_; \
                     syscall($n, @a); print 0 + $!, qq(\\n) }";

fn perl(engine: &str) -> String {
    let out = Command::new("docker")
        .args(["-H", engine, "run", "--rm", "--network", "none", "--entrypoint", "perl"])
        .args(["todoku/node24:local", "-e", CALLS])
        .output()
        .unwrap();
    String::from_utf8(out.stdout).unwrap()
}

/// What an engine makes of each solution: its grade, and the rows of evidence that grades rest on.
fn verdicts(home: &Home) -> BTreeMap<&'static str, Value> {
    let server = home.start();
    let mut visitor = server.visitor();
    let attempts = SOLUTIONS.map(|name| (name, visitor.submit(&solution(name))));
    let mut found: BTreeMap<_, _> =
        attempts.iter().map(|(name, attempt)| (*name, verdict(&mut visitor, attempt))).collect();
    let script =
        format!("console.log(require('node:child_process').execFileSync('perl', ['-e', {CALLS:?}]) + '')");
    let attempt = visitor.submit(&script);
    let ended = visitor.ended(&attempt);
    found.insert("calls", json!([ended["grade"]["points"], ended["runs"][0]["stdout"]]));
    server.stop();
    found
}

fn verdict(visitor: &mut Visitor, attempt: &str) -> Value {
    let ended = visitor.ended(attempt);
    let checks: Vec<_> = ended["grade"]["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| json!([check["id"], check["status"], check["points"], check["reason"]]))
        .collect();
    let tables = QUERIES.map(|sql| {
        let answer = visitor.post(&format!("{attempt}/query"), &json!({ "sql": sql }));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["rows"].take()
    });
    json!({ "state": ended["state"], "points": ended["grade"]["points"], "checks": checks, "tables": tables })
}

#[test]
fn an_engine_that_confines_nothing_gives_the_same_grades_and_tables() {
    let profile = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(profile.path(), r#"{ "defaultAction": "SCMP_ACT_ALLOW" }"#).unwrap();
    let engine = SecondEngine::start(&["--seccomp-profile", &profile.path().display().to_string()]);
    let usual = format!("unix://{}", engine_socket().display());
    assert_ne!(perl(&engine.host), perl(&usual), "its own default closes less");

    let here = verdicts(&Home::new());
    let there = verdicts(&Home::new().with("DOCKER_HOST", &engine.host));
    assert!(here["reference"]["tables"][0].as_array().unwrap().len() > 3, "{here:#?}");
    assert_ne!(here["reference"]["points"], here["prints-only"]["points"]);
    for (name, verdict) in &here {
        assert_eq!(verdict, &there[name], "{name}");
    }
}
