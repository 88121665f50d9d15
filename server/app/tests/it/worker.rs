//! What happens to attempts when things die.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::{Home, Visitor, engine_socket, solution, until};

/// Runs until the wall limit ends it.
const ENDLESS: &str = "for (;;) {}";

fn running(visitor: &mut Visitor, attempt: &str, home: &Home) {
    visitor.follow(attempt, |state| state["state"] == "running");
    until("its container is there", || (home.containers() > 0).then_some(()));
}

#[test]
fn after_kill_9_the_attempt_is_graded_and_nothing_is_left() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let attempt = visitor.submit(ENDLESS);
    running(&mut visitor, &attempt, &home);
    server.kill();
    assert!(home.containers() > 0, "nobody could clean up");

    let server = home.start();
    let mut back = server.visitor();
    back.cookie = visitor.cookie;
    let graded = back.ended(&attempt);
    assert_eq!((&graded["state"], &graded["runs"][0]["outcome"]), (&json!("graded"), &json!("wall_limit")));
    // What the learner is told of it comes from the trace, and is kept with the attempt.
    let limit = &graded["runs"][0]["limit"];
    assert_eq!(
        (&limit["allowed"], &limit["last_call"]["in_flight"]),
        (&json!(10_000), &json!(false)),
        "{limit}"
    );
    assert!(limit["left_loop_ms"].as_u64().is_some_and(|ms| ms < 10_000), "{limit}");
    until("no container is left", || (home.containers() == 0).then_some(()));
    server.stop();
    // What processes agree on about their places outlives them.
    let left = std::fs::read_dir(home.path("fifos")).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name != "slots").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_server_that_stops_puts_its_attempt_back() {
    let mut home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let attempt = visitor.submit(ENDLESS);
    running(&mut visitor, &attempt, &home);
    server.stop();
    assert_eq!(home.containers(), 0, "it cleaned up");

    home.settings.insert("TODOKU_WORKERS", "0".into());
    let server = home.start();
    let mut back = server.visitor();
    back.cookie = visitor.cookie;
    let waiting = back.get(&attempt).json();
    assert_eq!((&waiting["state"], &waiting["queue_position"]), (&json!("queued"), &json!(0)));
}

#[test]
fn a_cancelled_attempt_ends_at_once() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let first = visitor.submit(ENDLESS);
    running(&mut visitor, &first, &home);
    let second = visitor.submit(&solution("reference"));
    assert_eq!(visitor.get(&second).json()["queue_position"], 0);
    assert_eq!(visitor.send("DELETE", &first, None).json()["state"], "cancelled");
    until("its container is gone", || (home.containers() == 0).then_some(()));
    assert_eq!(visitor.ended(&second)["state"], "graded", "the next is served");
    assert_eq!(visitor.get(&first).json()["state"], "cancelled");
    assert_eq!(visitor.send("DELETE", &first, None).problem(), (409, "attempt_finished".into()));
}

#[test]
fn without_an_engine_attempts_wait() {
    let home = Home::new();
    let socket = home.path("engine.sock");
    let home = home.with("DOCKER_HOST", format!("unix://{}", socket.display()));
    let server = home.start();
    let mut visitor = server.visitor();
    let ready = |visitor: &mut Visitor| visitor.get("/readyz").status == 200;
    let attempt = visitor.submit(&solution("reference"));
    let state = visitor.get("/readyz").json();
    assert_eq!(
        (&state["ready"], &state["database"]["ok"], &state["engine"]["ok"]),
        (&json!(false), &json!(true), &json!(false))
    );
    assert_eq!(visitor.get(&attempt).json()["state"], "queued");

    symlink(engine_socket(), &socket).unwrap();
    assert_eq!(visitor.ended(&attempt)["state"], "graded");
    until("the server is ready", || ready(&mut visitor).then_some(()));

    std::fs::remove_file(&socket).unwrap();
    until("the server says so", || (!ready(&mut visitor)).then_some(()));
    let attempt = visitor.submit(&solution("reference"));
    assert_eq!(visitor.get(&attempt).json()["state"], "queued");
    symlink(engine_socket(), &socket).unwrap();
    let graded = visitor.ended(&attempt);
    assert_eq!((&graded["state"], &graded["error"]), (&json!("graded"), &json!(null)));
}
