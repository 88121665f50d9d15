//! Engine, database and disk fail under attempts: each attempt is graded in the end, and costs nobody a try.

use std::process::Command;

use serde_json::{Value, json};

use crate::second_engine::SecondEngine;
use crate::support::{Home, Visitor, root, solution, until};

/// Prints a word at its start and its end, a second later.
const SLOW: &str = "console.log('begun'); setTimeout(() => console.log('done'), 1000)";

fn graded(visitor: &mut Visitor, attempt: &str) -> Value {
    let ended = visitor.ended(attempt);
    assert_eq!((&ended["state"], &ended["error"]), (&json!("graded"), &json!(null)), "{ended:#}");
    ended
}

/// An attempt whose script is running.
fn under_way(home: &Home, visitor: &mut Visitor) -> String {
    let attempt = visitor.submit(SLOW);
    visitor.follow(&attempt, |state| state["state"] == "running");
    until("its container is there", || (home.containers() > 0).then_some(()));
    attempt
}

/// The engine dies under load, falls silent, and has no room: three ways of being of no use for a while.
#[test]
fn an_engine_that_dies_falls_silent_or_is_full_costs_no_attempt() {
    let engine = SecondEngine::start(&[]);
    let home =
        Home::new().with("DOCKER_HOST", &engine.host).with("TODOKU_WORKERS", "2").with("TODOKU_PARKED", "2");
    let server = home.start();
    let mut visitor = server.visitor();
    let readiness = |visitor: &mut Visitor, wanted: u16| {
        until("readiness changes", || (visitor.get("/readyz").status == wanted).then_some(()));
    };

    let attempts = [under_way(&home, &mut visitor), visitor.submit(SLOW)];
    engine.end("kill");
    readiness(&mut visitor, 503);
    engine.start_again();
    for attempt in &attempts {
        let ended = graded(&mut visitor, attempt);
        assert_eq!(ended["runs"][0]["outcome"], "exited");
    }

    let attempt = under_way(&home, &mut visitor);
    engine.signal("-STOP");
    readiness(&mut visitor, 503);
    engine.signal("-CONT");
    graded(&mut visitor, &attempt);

    let full = engine.fill();
    readiness(&mut visitor, 503);
    let why = visitor.get("/readyz").json();
    assert!(why["engine"]["detail"].as_str().unwrap().contains("MiB free"), "{why}");
    let attempt = visitor.submit(&solution("reference"));
    assert_eq!(visitor.get(&attempt).json()["state"], "queued");
    std::fs::remove_file(full).unwrap();
    graded(&mut visitor, &attempt);
    server.stop();
    assert_eq!(home.containers(), 0, "nothing is left");
}

#[test]
fn a_database_that_is_away_for_a_while_costs_no_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let postgres = |action: &str| {
        let mut command = Command::new(root().join("server/store/postgres"));
        command.arg(action).arg(folder.path());
        let out = command.args((action == "start").then_some("--scratch")).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    };
    let home = Home::on(&postgres("start")).with("TODOKU_LEASE_SECONDS", "60");
    let server = home.start();
    let mut visitor = server.visitor();
    let attempt = under_way(&home, &mut visitor);
    postgres("stop");
    until("the script has ended without it", || (home.containers() == 0).then_some(()));
    postgres("start");
    let ended = graded(&mut visitor, &attempt);
    assert_eq!(ended["runs"].as_array().unwrap().len(), 2, "{ended:#}");
    server.stop();
    drop(home);
    postgres("stop");
}

/// A connection whose request never ends must not keep the server from stopping.
#[test]
fn a_client_that_says_no_more_does_not_keep_the_server() {
    let home = Home::new().with("TODOKU_WORKERS", "0");
    let server = home.start();
    let visitor = server.visitor();
    let _half = visitor.connect("GET /healthz HTTP/1.1\r\nhost: here\r\n");
    let body = "content-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    let _slow = visitor.connect(&format!("POST /api/v1/attempts HTTP/1.1\r\nhost: here\r\n{body}"));
    server.stop();
}
